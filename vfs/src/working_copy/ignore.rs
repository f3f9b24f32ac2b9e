//! What git would not add by itself (gitignore(5)).

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix_ignore::glob::pattern::Case;
use gix_ignore::search::Ignore;
use gix_object::bstr::ByteSlice;

use super::CopyError;

/// The name of a file with patterns.
pub(super) const FILE: &str = ".gitignore";
/// The largest one that counts.
pub(super) const FILE_MAX: u64 = 4 << 20;

/// Reads the patterns that a directory has.
type Load<'l> = dyn FnMut(&Path) -> Result<Option<Vec<u8>>, CopyError> + 'l;

/// The patterns of a work tree.
pub(super) struct Patterns {
    /// Those of `info/exclude`, the weakest.
    exclude: Option<gix_ignore::Search>,
    /// Those of a directory; a directory that is not here was not asked about.
    lists: HashMap<PathBuf, Option<gix_ignore::Search>>,
    /// What was decided of directories.
    decided: HashMap<PathBuf, bool>,
}

impl Patterns {
    pub(super) fn new(exclude: &[u8]) -> Self {
        Self { exclude: parse(exclude), lists: HashMap::new(), decided: HashMap::new() }
    }

    /// Returns whether a path is left out; `load` reads the patterns of a directory.
    ///
    /// # Errors
    /// What `load` answers.
    pub(super) fn leave_out(
        &mut self,
        path: &Path,
        is_directory: bool,
        load: &mut Load<'_>,
    ) -> Result<bool, CopyError> {
        // What is in a directory that is left out can't be taken in again.
        let above: Vec<&Path> = path.ancestors().skip(1).collect();
        for directory in above.into_iter().rev().filter(|it| !it.as_os_str().is_empty()) {
            let is_left_out = match self.decided.get(directory) {
                Some(decided) => *decided,
                None => self.decide(directory, true, load)?,
            };
            self.decided.insert(directory.to_owned(), is_left_out);
            if is_left_out {
                return Ok(true);
            }
        }
        self.decide(path, is_directory, load)
    }

    /// The nearest list that says anything of the path decides.
    fn decide(
        &mut self,
        path: &Path,
        is_directory: bool,
        load: &mut Load<'_>,
    ) -> Result<bool, CopyError> {
        for directory in path.ancestors().skip(1) {
            if !self.lists.contains_key(directory) {
                let list = load(directory)?.and_then(|text| parse(&text));
                self.lists.insert(directory.to_owned(), list);
            }
            let list = self.lists.get(directory).and_then(Option::as_ref);
            let relative = path.strip_prefix(directory).unwrap_or(path);
            if let Some(said) = list.and_then(|list| said(list, relative, is_directory)) {
                return Ok(said);
            }
        }
        let exclude = self.exclude.as_ref();
        Ok(exclude.and_then(|list| said(list, path, is_directory)).unwrap_or(false))
    }
}

fn parse(text: &[u8]) -> Option<gix_ignore::Search> {
    let mut list = gix_ignore::Search::default();
    let parse = Ignore { support_precious: false };
    list.add_patterns_buffer(text, FILE, None, parse).ok()?;
    Some(list)
}

fn said(list: &gix_ignore::Search, path: &Path, is_directory: bool) -> Option<bool> {
    let path = path.as_os_str().as_bytes().as_bstr();
    let found = list.pattern_matching_relative_path(path, Some(is_directory), Case::Sensitive)?;
    Some(!found.pattern.is_negative())
}
