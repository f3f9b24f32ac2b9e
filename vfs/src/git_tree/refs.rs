//! References: files, and lines of `packed-refs`.

use std::cell::OnceCell;
use std::path::Path;

use super::error::RevisionFault;
use super::files::Dir;
use super::layout::Layout;
use super::{GitError, Id};
use crate::git_dir::{is_reference, packed_refs};

/// The largest file of one reference.
pub(super) const REF_SIZE: u64 = 4096;
/// The largest `packed-refs`: some millions.
pub(super) const PACKED_SIZE: u64 = 256 << 20;
/// How often a reference may lead to another one (git has the same).
const LINKS: usize = 5;
/// Where a short name may stand, in the order of gitrevisions(7).
const PLACES: &[(&str, &str)] = &[
    ("refs/", ""),
    ("refs/tags/", ""),
    ("refs/heads/", ""),
    ("refs/remotes/", ""),
    ("refs/remotes/", "/HEAD"),
];
/// References that each work tree has for itself, beside those without a slash.
const OWN: &[&str] = &["refs/bisect/", "refs/rewritten/", "refs/worktree/"];

/// The references of a repository.
pub(super) struct Refs<'a> {
    layout: &'a Layout,
    /// Read once a file of its own is missing: git packs a reference before it removes that.
    packed: OnceCell<Vec<u8>>,
}

impl<'a> Refs<'a> {
    pub(super) fn new(layout: &'a Layout) -> Self {
        Self { layout, packed: OnceCell::new() }
    }

    /// Returns what a name, short or whole, stands for.
    pub(super) fn find(&self, name: &str) -> Result<Option<Id>, GitError> {
        if !is_reference(name) {
            return Ok(None);
        }
        if (name.starts_with("refs/") || is_pseudo(name))
            && let Some(id) = self.follow(name)?
        {
            return Ok(Some(id));
        }
        let mut found = Vec::new();
        for (before, after) in PLACES {
            let whole = format!("{before}{name}{after}");
            found.extend(self.follow(&whole)?.map(|id| (whole, id)));
        }
        match found.first() {
            Some((_, id)) if found.iter().any(|(_, other)| other != id) => {
                let names = found.into_iter().map(|(name, _)| name).collect();
                Err(fault(name, RevisionFault::Ambiguous(names)))
            }
            first => Ok(first.map(|(_, id)| *id)),
        }
    }

    /// Follows symbolic references to an object.
    fn follow(&self, name: &str) -> Result<Option<Id>, GitError> {
        let mut at = name.to_owned();
        for _ in 0..=LINKS {
            let dir = self.dir(&at);
            let Some(text) = dir.read(Path::new(&at), REF_SIZE)? else {
                return self.packed(&at);
            };
            let damaged = || GitError::Damaged { path: dir.path().join(&at) };
            let line = text.trim_ascii_end();
            let Some(target) = line.strip_prefix(b"ref:") else {
                // Behind it, `FETCH_HEAD` says where it comes from.
                let digits = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
                return Id::from_digits(digits).map(Some).ok_or_else(damaged);
            };
            let target = std::str::from_utf8(target.trim_ascii_start()).map_err(|_| damaged())?;
            if !is_reference(target) || !target.starts_with("refs/") {
                return Err(damaged());
            }
            target.clone_into(&mut at);
        }
        Err(fault(name, RevisionFault::Loop))
    }

    fn dir(&self, name: &str) -> &Dir {
        let is_own = !name.starts_with("refs/") || OWN.iter().any(|it| name.starts_with(it));
        if is_own { &self.layout.git } else { &self.layout.common }
    }

    fn packed(&self, name: &str) -> Result<Option<Id>, GitError> {
        let packed = if let Some(packed) = self.packed.get() {
            packed
        } else {
            let read = self.layout.common.read(Path::new("packed-refs"), PACKED_SIZE)?;
            self.packed.get_or_init(|| read.unwrap_or_default())
        };
        let line = packed_refs(packed).find(|(known, _)| *known == name.as_bytes());
        Ok(line.and_then(|(_, id)| Id::from_digits(id)))
    }
}

/// `HEAD`, `FETCH_HEAD` and their like: no other file beside `refs` is a reference.
fn is_pseudo(name: &str) -> bool {
    name.ends_with("HEAD") && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

pub(super) fn fault(rev: &str, fault: RevisionFault) -> GitError {
    GitError::Revision { rev: rev.to_owned(), fault }
}
