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

/// Returns the references that lead to an object themselves, by their whole names; symbolic ones
/// and what no reference can be called are left out.
pub(super) fn all(layout: &Layout, most: usize) -> Result<BTreeMap<String, Id>, GitError> {
    let mut found = BTreeMap::new();
    let packed = layout.common.read(Path::new("packed-refs"), PACKED_SIZE)?.unwrap_or_default();
    for (name, id) in packed_refs(&packed) {
        let name = std::str::from_utf8(name).ok().filter(|name| is_reference(name));
        if let Some((name, id)) = name.zip(Id::from_digits(id)) {
            found.insert(name.to_owned(), id);
        }
        bounded(found.len(), most)?;
    }
    let (mut directories, mut looked) = (VecDeque::from(["refs".to_owned()]), 0);
    while let Some(directory) = directories.pop_front() {
        looked += 1;
        // A link to a directory is none: a few could lead round without end.
        for name in layout.common.own_names(Path::new(&directory))? {
            let Some(name) = name.to_str() else { continue };
            let whole = format!("{directory}/{name}");
            if matches!(name, "." | "..") || !is_reference(&whole) {
                continue;
            }
            match layout.common.read(Path::new(&whole), REF_SIZE)? {
                None if whole.matches('/').count() < DEPTH => directories.push_back(whole),
                None => {}
                Some(text) => {
                    found.extend(Id::from_digits(text.trim_ascii_end()).map(|id| (whole, id)));
                }
            }
            bounded(found.len().max(looked), most)?;
        }
    }
    Ok(found)
}

fn bounded(found: usize, most: usize) -> Result<(), GitError> {
    if found <= most {
        return Ok(());
    }
    Err(fault("refs", RevisionFault::TooMany(most)))
}
