//! All references of a repository, and what `HEAD` says.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use super::error::RevisionFault;
use super::layout::Layout;
use super::refs::{PACKED_SIZE, REF_SIZE, Refs, fault};
use super::{GitError, Id};
use crate::git_dir::{is_reference, packed_refs};

/// The deepest directory below `refs` that is looked into.
const DEPTH: usize = 64;
const PACKED: &str = "packed-refs";
/// Where logs of references stand.
const LOGS: &str = "logs";
/// The largest log: some hundred thousand lines.
const LOG_SIZE: u64 = 16 << 20;
/// The largest list of commits at which a shallow clone ends.
const SHALLOW_SIZE: u64 = 16 << 20;

/// What `HEAD` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The branch that it stands for, as `refs/heads/...`; `None` when it is detached.
    pub branch: Option<String>,
    /// The object that it leads to; `None` for a branch without a commit.
    pub commit: Option<Id>,
}

/// Reads `HEAD`; without one nothing is known.
pub(super) fn head(layout: &Layout) -> Result<Head, GitError> {
    let Some(text) = layout.git.read(Path::new("HEAD"), REF_SIZE)? else {
        return Ok(Head::default());
    };
    let branch = text.trim_ascii_end().strip_prefix(b"ref:").map(<[u8]>::trim_ascii_start);
    let branch = branch.and_then(|name| std::str::from_utf8(name).ok()).map(str::to_owned);
    Ok(Head { branch, commit: Refs::new(layout).find("HEAD")? })
}

/// References that were listed.
#[derive(Default)]
pub(crate) struct Listed {
    /// Those that lead to an object themselves, by their whole names.
    pub(crate) found: BTreeMap<String, Id>,
    /// What can't be read, or names nothing, and why.
    pub(crate) broken: BTreeMap<String, GitError>,
}

/// Returns all references; symbolic ones and what no reference can be called are left out.
pub(super) fn all(layout: &Layout, most: usize) -> Result<Listed, GitError> {
    let mut listed = Listed::default();
    let (mut directories, mut looked) = (VecDeque::from(["refs".to_owned()]), 0);
    while let Some(directory) = directories.pop_front() {
        looked += 1;
        // A link to a directory is none: a few could lead round without end.
        let names = match layout.common.own_names(Path::new(&directory)) {
            Ok(names) => names,
            Err(fault) => {
                listed.broken.insert(directory.clone(), fault);
                Vec::new()
            }
        };
        for name in names {
            let Some(name) = name.to_str() else { continue };
            let whole = format!("{directory}/{name}");
            if matches!(name, "." | "..") || !is_reference(&whole) {
                continue;
            }
            match layout.common.read(Path::new(&whole), REF_SIZE) {
                Ok(None) if whole.matches('/').count() < DEPTH => directories.push_back(whole),
                Ok(None) => {}
                Ok(Some(text)) => listed.add(whole, text.trim_ascii_end()),
                Err(fault) => drop(listed.broken.insert(whole, fault)),
            }
            bounded(listed.len().max(looked), most)?;
        }
    }
    // Last: git packs a reference before it removes the file.
    listed.read_packed(layout, most)?;
    Ok(listed)
}

impl Listed {
    /// Adds lines of names that have no file.
    fn read_packed(&mut self, layout: &Layout, most: usize) -> Result<(), GitError> {
        let packed = match layout.common.read(Path::new(PACKED), PACKED_SIZE) {
            Ok(text) => text.unwrap_or_default(),
            Err(fault) => {
                self.broken.insert(PACKED.to_owned(), fault);
                return Ok(());
            }
        };
        for (name, id) in packed_refs(&packed) {
            let name = std::str::from_utf8(name).ok().filter(|name| is_reference(name));
            let name = name.filter(|name| !self.broken.contains_key(*name));
            if let Some((name, id)) = name.zip(Id::from_digits(id)) {
                self.found.entry(name.to_owned()).or_insert(id);
            }
            bounded(self.len(), most)?;
        }
        Ok(())
    }

    /// Adds a file.
    fn add(&mut self, name: String, text: &[u8]) {
        match Id::from_digits(text) {
            Some(id) => drop(self.found.insert(name, id)),
            None if text.starts_with(b"ref:") => {}
            None => {
                self.broken.insert(name.clone(), GitError::Reference { name });
            }
        }
    }

    fn len(&self) -> usize {
        self.found.len() + self.broken.len()
    }
}

/// Returns what a reference named, the newest first; without a log nothing is known.
pub(super) fn log(layout: &Layout, name: &str) -> Result<Vec<Id>, GitError> {
    let text = layout.common.read(&Path::new(LOGS).join(name), LOG_SIZE)?.unwrap_or_default();
    // The id before, the one after, and who did it.
    let after = |line: &[u8]| Id::from_digits(line.split(|byte| *byte == b' ').nth(1)?);
    Ok(text.split(|byte| *byte == b'\n').rev().filter_map(after).collect())
}

/// Returns the commits at which a shallow clone ends.
pub(super) fn shallow(layout: &Layout) -> Result<Vec<Id>, GitError> {
    let name = Path::new("shallow");
    let text = layout.common.read(name, SHALLOW_SIZE)?.unwrap_or_default();
    let damaged = || GitError::Damaged { path: layout.common.path().join(name) };
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| Id::from_digits(line).ok_or_else(damaged)).collect()
}

fn bounded(found: usize, most: usize) -> Result<(), GitError> {
    if found <= most {
        return Ok(());
    }
    Err(fault("refs", RevisionFault::TooMany(most)))
}
