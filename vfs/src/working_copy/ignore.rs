//! What git would not add by itself (gitignore(5)).

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gix_ignore::glob::pattern::Case;
use gix_ignore::search::Ignore;
use gix_object::bstr::ByteSlice;

use super::CopyError;

/// The name of a file with patterns.
pub(super) const FILE: &str = ".gitignore";
/// The largest one that counts.
pub(super) const FILE_MAX: u64 = 4 << 20;

/// What all comparisons of paths with patterns may cost together: some ten seconds.
const MOST: u64 = 1 << 33;
/// What it costs to compare a path with a pattern that has wildcards.
const WILD: u64 = 16;
/// How many bytes of a path add one to what comparing it costs.
const BYTES: usize = 64;

/// Reads the patterns that a directory has.
type Load<'l> = dyn FnMut(&Path) -> Result<Option<Vec<u8>>, CopyError> + 'l;

/// The patterns of a work tree.
pub(super) struct Patterns {
    /// Those of `info/exclude`, the weakest.
    exclude: Option<Placed>,
    /// What was found out of directories, each with all above it.
    directories: HashMap<PathBuf, Directory>,
    /// What comparing cost so far.
    cost: u64,
}

/// What counts for what is in a directory.
#[derive(Clone)]
struct Directory {
    /// What is in a directory that is left out can't be taken in again.
    is_left_out: bool,
    /// The nearest first.
    lists: Rc<[Placed]>,
}

/// A list, and how many bytes lead to the directory that has it.
#[derive(Clone)]
struct Placed {
    at: usize,
    list: Rc<List>,
}

impl Patterns {
    pub(super) fn new(exclude: &[u8]) -> Self {
        let exclude = parse(exclude).map(|list| Placed { at: 0, list: Rc::new(list) });
        Self { exclude, directories: HashMap::new(), cost: 0 }
    }

    /// Returns whether a path is left out; `load` reads the patterns of a directory.
    ///
    /// # Errors
    /// What `load` answers, or that there is too much to compare.
    pub(super) fn leave_out(
        &mut self,
        path: &Path,
        is_directory: bool,
        load: &mut Load<'_>,
    ) -> Result<bool, CopyError> {
        let above = self.directory(path.parent().unwrap_or(Path::new("")), load)?;
        Ok(above.is_left_out || self.decide(path, is_directory, &above.lists)?)
    }

    fn directory(&mut self, path: &Path, load: &mut Load<'_>) -> Result<Directory, CopyError> {
        let unknown = path.ancestors().take_while(|it| !self.directories.contains_key(*it));
        let unknown: Vec<&Path> = unknown.collect();
        for directory in unknown.into_iter().rev() {
            let made = match directory.parent().and_then(|above| self.directories.get(above)) {
                Some(above) => self.below(directory, above.clone(), load)?,
                None => Directory {
                    is_left_out: false,
                    lists: with(directory, load, self.exclude.as_slice())?,
                },
            };
            self.directories.insert(directory.to_owned(), made);
        }
        let none = || Directory { is_left_out: false, lists: Rc::default() };
        Ok(self.directories.get(path).cloned().unwrap_or_else(none))
    }

    fn below(
        &mut self,
        path: &Path,
        above: Directory,
        load: &mut Load<'_>,
    ) -> Result<Directory, CopyError> {
        if above.is_left_out || self.decide(path, true, &above.lists)? {
            return Ok(Directory { is_left_out: true, ..above });
        }
        Ok(Directory { is_left_out: false, lists: with(path, load, &above.lists)? })
    }

    /// The nearest list that says anything of the path decides.
    fn decide(
        &mut self,
        path: &Path,
        is_directory: bool,
        lists: &[Placed],
    ) -> Result<bool, CopyError> {
        for Placed { at, list } in lists {
            let relative = path.as_os_str().as_bytes().get(*at..).unwrap_or_default();
            list.count(relative, &mut self.cost)?;
            if let Some(said) = list.said(relative, is_directory) {
                return Ok(said);
            }
        }
        Ok(false)
    }
}

/// Returns the lists of a directory: its own, if it has one, before those from above.
fn with(path: &Path, load: &mut Load<'_>, above: &[Placed]) -> Result<Rc<[Placed]>, CopyError> {
    let own = load(path)?.and_then(|text| parse(&text));
    let length = path.as_os_str().len();
    let at = if length == 0 { 0 } else { length + 1 };
    let own = own.map(|list| Placed { at, list: Rc::new(list) });
    Ok(own.into_iter().chain(above.iter().cloned()).collect())
}

/// The patterns of one file.
struct List {
    search: gix_ignore::Search,
    /// What it costs to compare a short path with all of them.
    cost: u64,
}

impl List {
    fn count(&self, path: &[u8], sum: &mut u64) -> Result<(), CopyError> {
        let length = 1 + path.len() / BYTES;
        *sum = sum.saturating_add(self.cost.saturating_mul(length as u64));
        if *sum > MOST {
            return Err(CopyError::TooMuch { what: "comparisons with ignored names", most: MOST });
        }
        Ok(())
    }

    fn said(&self, path: &[u8], is_directory: bool) -> Option<bool> {
        let path = path.as_bstr();
        let found = self.search.pattern_matching_relative_path(
            path,
            Some(is_directory),
            Case::Sensitive,
        )?;
        Some(!found.pattern.is_negative())
    }
}

fn parse(text: &[u8]) -> Option<List> {
    let mut search = gix_ignore::Search::default();
    let parse = Ignore { support_precious: false };
    search.add_patterns_buffer(text, FILE, None, parse).ok()?;
    let patterns = search.patterns.iter().flat_map(|list| &list.patterns);
    let cost = patterns.fold(0_u64, |sum, it| sum.saturating_add(cost(&it.pattern)));
    Some(List { search, cost })
}

/// Each `**` can be tried in two ways, with all ways of those behind it.
fn cost(pattern: &gix_ignore::glob::Pattern) -> u64 {
    let twice = pattern.text.find_iter("**").count().try_into().unwrap_or(u32::MAX);
    match pattern.first_wildcard_pos {
        Some(_) => WILD.saturating_mul(1_u64.checked_shl(twice).unwrap_or(MOST)),
        None => 1,
    }
}
