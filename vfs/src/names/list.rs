//! What one directory holds, as far as rules ask.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::RawDir;

use super::{NameRules, Vendored};
use crate::fs::{FileId, Fs, Kind, OsFs, Result, Status, Timespec};

/// Names below which the default patterns don't look; `.cargo/registry` is the pair below.
pub(crate) const VENDORED: [&[u8]; 4] =
    [b"node_modules", b"site-packages", b"dist-packages", b"vendor"];

/// What makes a directory one of git's (gitrepository-layout(5)).
const PARTS: [&[u8]; 3] = [b"HEAD", b"objects", b"refs"];

/// What was found in one directory, and the proof that it is still so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) path: Vec<u8>,
    pub(super) stamp: Stamp,
    pub(super) entries: u32,
    pub(super) hidden: Vec<(Kind, Vec<u8>)>,
    /// Names that are shown and of interest.
    pub(super) noted: Vec<(Kind, Vec<u8>)>,
    /// It has the parts of a git directory, and those are of interest.
    pub(super) is_repository: bool,
    /// The directories that the walk enters next.
    pub(super) children: Vec<Vec<u8>>,
}

/// While these are unchanged, so are the names of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) id: FileId,
    pub(super) modified: Timespec,
    pub(super) changed: Timespec,
}

impl From<&Status> for Stamp {
    fn from(status: &Status) -> Self {
        Self { id: status.id, modified: status.modified, changed: status.changed }
    }
}

/// What is asked of each directory.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) rules: &'a dyn NameRules,
    pub(super) vendored: Vendored,
    /// Directories at this depth are not entered.
    pub(super) depth: usize,
}

/// Room for the names that one call of the kernel returns.
pub(super) type Buffer = [MaybeUninit<u8>];

pub(super) fn buffer() -> Vec<MaybeUninit<u8>> {
    vec![MaybeUninit::uninit(); 32 * 1024]
}

/// Reads the names of an open directory at `path`, `depth` names below the root.
pub(super) fn list(
    dir: BorrowedFd<'_>,
    path: Vec<u8>,
    stamp: Stamp,
    question: &Question<'_>,
    buffer: &mut Buffer,
) -> Result<Record> {
    let mut record = Record::new(path, stamp);
    let mut parts = 0;
    let mut full = record.path.clone();
    if !full.is_empty() {
        full.push(b'/');
    }
    let mut names = RawDir::new(dir, buffer);
    while let Some(entry) = names.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let kind = match crate::fs::kind_of(entry.file_type()) {
            Some(kind) => kind,
            None => OsFs.status(dir.as_fd(), OsStr::from_bytes(name))?.kind,
        };
        record.add(&mut full, name, kind, question);
        if kind == Kind::Symlink && question.rules.notes_links() {
            record.add_link(&mut full, dir, name, question.rules);
        }
        parts += u8::from(PARTS.contains(&name));
    }
    let has_parts = usize::from(parts) == PARTS.len();
    record.is_repository = has_parts && question.rules.notes_repositories();
    Ok(record)
}

impl Record {
    pub(super) fn new(path: Vec<u8>, stamp: Stamp) -> Self {
        let (hidden, noted, children) = (Vec::new(), Vec::new(), Vec::new());
        Self { path, stamp, entries: 0, hidden, noted, is_repository: false, children }
    }

    fn add(&mut self, full: &mut Vec<u8>, name: &[u8], kind: Kind, question: &Question<'_>) {
        self.entries = self.entries.saturating_add(1);
        let is_dir = kind == Kind::Directory;
        if question.rules.may_match_name(last(&self.path), name) {
            let above = full.len();
            full.extend_from_slice(name);
            let is_hidden = question.rules.decide(full, is_dir) == Some(true);
            let is_noted = !is_hidden && question.rules.notes(full);
            full.truncate(above);
            if is_hidden {
                return self.hidden.push((kind, name.to_vec()));
            }
            if is_noted {
                self.noted.push((kind, name.to_vec()));
            }
        }
        if is_dir && question.enters(&self.path, name) {
            self.children.push(name.to_vec());
        }
    }
}

impl Record {
    /// Notes a link by where it leads. One that is gone meanwhile is none.
    fn add_link(
        &mut self,
        full: &mut Vec<u8>,
        dir: BorrowedFd<'_>,
        name: &[u8],
        rules: &dyn NameRules,
    ) {
        let Ok(target) = OsFs.read_link(dir, OsStr::from_bytes(name)) else { return };
        let is_told = |told: &[(Kind, Vec<u8>)]| told.last().is_some_and(|it| it.1 == name);
        let above = full.len();
        full.extend_from_slice(name);
        let is_noted = rules.notes_link(full, &target);
        full.truncate(above);
        if is_noted && !is_told(&self.hidden) && !is_told(&self.noted) {
            self.noted.push((Kind::Symlink, name.to_vec()));
        }
    }
}

impl Question<'_> {
    /// Returns whether a directory at this path is entered, when those above it are.
    pub(super) fn enters_path(&self, path: &[u8]) -> bool {
        let end = path.iter().rposition(|byte| *byte == b'/');
        let above = end.and_then(|end| path.get(..end)).unwrap_or_default();
        self.enters(above, last(path))
    }

    fn enters(&self, above: &[u8], name: &[u8]) -> bool {
        let is_registry = name == b"registry" && last(above) == b".cargo";
        let is_vendored = VENDORED.contains(&name) || is_registry;
        name != b".git"
            && depth(above) + 1 < self.depth
            && !(is_vendored && self.vendored == Vendored::Skip)
    }
}

/// Returns whether a walk that leaves other people's code alone sees what is in a directory; of a
/// `.git` that is asked for itself, others do.
pub fn is_looked_into(path: &Path) -> bool {
    let names: Vec<&[u8]> = path.iter().map(OsStrExt::as_bytes).collect();
    let is_registry = names.windows(2).any(|pair| pair == [&b".cargo"[..], b"registry"]);
    let above = names.split_last().map_or(&[][..], |(_, above)| above);
    let is_vendored = names.iter().any(|name| VENDORED.contains(name));
    !is_registry && !is_vendored && !above.contains(&&b".git"[..])
}

/// Returns how many names a path below the root has.
pub(super) fn depth(path: &[u8]) -> usize {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).count()
}

/// Returns the path of a name in a directory.
pub(super) fn join(above: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if above.is_empty() { b"" } else { b"/" };
    [above, slash, name].concat()
}

fn last(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}
