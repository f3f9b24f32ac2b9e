//! What one directory holds, as far as rules ask.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::RawDir;

use super::vendored::is_vendored;
use super::{Foreign, NameRules};
use crate::fs::{FileId, Fs, Kind, OsFs, Result, Status, Timespec};
use crate::git_config;

/// What makes a directory one of git's (gitrepository-layout(5)).
const PARTS: [&[u8]; 3] = [b"HEAD", b"objects", b"refs"];

/// What makes one a repository as soon as there is a `HEAD`, if its settings say so: an earlier command may have taken that
/// away.
const CONFIG: &[u8] = b"config";
const TREES: &[u8] = crate::git_dir::WORKTREES.as_bytes();

/// The bits of all parts, and of `HEAD` with a `commondir`, which leads to where the others are.
const ALL: u8 = 0b0111;
const ELSEWHERE: u8 = 0b1001;
const BOTH: u8 = 0b0110;
const SAID: u8 = 0b1_0000;
const BESIDE: u8 = 0b10_0110;
/// What the git directory of a work tree is called.
const GIT: &[u8] = b".git";

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
    /// It is what git keeps of a work tree, or below that.
    pub(super) is_git: bool,
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
    /// Directories at this depth are not entered.
    pub(super) depth: usize,
}

/// Room for the names that one call of the kernel returns.
pub(super) type Buffer = [MaybeUninit<u8>];

pub(super) fn buffer() -> Vec<MaybeUninit<u8>> {
    vec![MaybeUninit::uninit(); 32 * 1024]
}

/// Reads the names of an open directory at a path; `in_git`: below what git keeps of a work tree.
pub(super) fn list(
    dir: BorrowedFd<'_>,
    (path, in_git): (Vec<u8>, bool),
    stamp: Stamp,
    question: &Question<'_>,
    buffer: &mut Buffer,
) -> Result<Record> {
    let mut record = Record::new(path, stamp);
    record.is_git = in_git || (last(&record.path) == GIT && has_parts(dir));
    let question = question.at(&record);
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
        record.add(&mut full, name, kind, &question);
        if kind == Kind::Symlink && question.is_noting() && question.rules.notes_links() {
            record.add_link(name);
        }
        parts |= part(name, kind);
    }
    let has_parts = parts & ALL == ALL || parts & ELSEWHERE == ELSEWHERE || was_git_dir(dir, parts);
    let is_git = has_parts && last(&record.path) != GIT;
    record.is_repository = is_git && question.is_noting() && question.rules.notes_repositories();
    Ok(record)
}

/// One bit for each name that says that a directory is git's, or was.
fn part(name: &[u8], kind: Kind) -> u8 {
    let is_directory = kind != Kind::File;
    match PARTS.iter().position(|part| *part == name) {
        // Only `HEAD` is a file.
        Some(number) if number == 0 || is_directory => 1 << number,
        None if name == b"commondir" => 1 << PARTS.len(),
        None if name == CONFIG && kind != Kind::Directory => SAID,
        None if name == TREES && is_directory => 1 << 5,
        _ => 0,
    }
}

/// Whether a directory was one of git's before a command took its `HEAD` away.
fn was_git_dir(dir: BorrowedFd<'_>, parts: u8) -> bool {
    let settings = || OsFs.open_file(dir, OsStr::from_bytes(CONFIG));
    let says_so = || {
        let text = settings().ok().and_then(|file| git_config::read(&file));
        text.is_some_and(|text| git_config::says_repository(&text))
    };
    parts & BOTH == BOTH || (parts & BESIDE != 0 && parts & SAID != 0 && says_so())
}

/// Whether a directory is one of git's. One that nobody can look into is none: it is walked, which tells.
fn has_parts(dir: BorrowedFd<'_>) -> bool {
    PARTS.iter().all(|part| OsFs.status(dir, OsStr::from_bytes(part)).is_ok())
}

impl Record {
    pub(super) fn new(path: Vec<u8>, stamp: Stamp) -> Self {
        let (hidden, noted, children) = (Vec::new(), Vec::new(), Vec::new());
        let (is_repository, is_git) = (false, false);
        Self { path, stamp, entries: 0, hidden, noted, is_repository, is_git, children }
    }

    fn add(&mut self, full: &mut Vec<u8>, name: &[u8], kind: Kind, question: &InPlace<'_>) {
        self.entries = self.entries.saturating_add(1);
        let is_dir = kind == Kind::Directory;
        if question.rules.may_match_name(last(&self.path), name) {
            let above = full.len();
            full.extend_from_slice(name);
            let is_hidden = question.hides(full, is_dir);
            let is_noted = !is_hidden && question.notes(full);
            full.truncate(above);
            if is_hidden {
                return self.hidden.push((kind, name.to_vec()));
            }
            if is_noted {
                self.noted.push((kind, name.to_vec()));
            }
        }
        if is_dir && question.enters(&join(&self.path, name)) {
            self.children.push(name.to_vec());
        }
    }
}

impl Record {
    /// Returns whether its names were asked about as they would be now. Whether a `.git` is git's own shows in
    /// itself.
    pub(super) fn was_asked(&self, in_git: bool) -> bool {
        self.is_git == in_git || (!in_git && last(&self.path) == GIT)
    }

    /// Notes a link: where it leads, over others or not, is for who asked.
    fn add_link(&mut self, name: &[u8]) {
        let is_told = |told: &[(Kind, Vec<u8>)]| told.last().is_some_and(|it| it.1 == name);
        if !is_told(&self.hidden) && !is_told(&self.noted) {
            self.noted.push((Kind::Symlink, name.to_vec()));
        }
    }
}

impl<'a> Question<'a> {
    /// Returns what is asked in a directory.
    fn at(&self, record: &Record) -> InPlace<'a> {
        let vendored = || is_vendored(&record.path).then_some(Foreign::Vendored);
        let foreign = if record.is_git { Some(Foreign::Git) } else { vendored() };
        InPlace { rules: self.rules, foreign, depth: self.depth }
    }

    /// Returns whether a directory at this path is entered, when those above it are and none of them is
    /// git's.
    pub(super) fn enters_path(&self, path: &[u8]) -> bool {
        InPlace { rules: self.rules, foreign: None, depth: self.depth }.enters(path)
    }
}

/// What is asked of the names in one directory.
struct InPlace<'a> {
    rules: &'a dyn NameRules,
    foreign: Option<Foreign>,
    depth: usize,
}

impl InPlace<'_> {
    fn hides(&self, path: &[u8], is_dir: bool) -> bool {
        let decided = match self.foreign {
            Some(foreign) => self.rules.decide_foreign(foreign, path),
            None => self.rules.decide(path, is_dir),
        };
        decided == Some(true)
    }

    fn notes(&self, path: &[u8]) -> bool {
        match self.foreign {
            Some(foreign) => self.rules.notes_foreign(foreign, path),
            None => self.rules.notes(path),
        }
    }

    /// Nobody looks for links and repositories in what is not the project's own.
    fn is_noting(&self) -> bool {
        self.foreign.is_none()
    }

    fn enters(&self, path: &[u8]) -> bool {
        let foreign = self.foreign.or_else(|| is_vendored(path).then_some(Foreign::Vendored));
        depth(path) < self.depth
            && foreign.is_none_or(|foreign| self.rules.enters_foreign(foreign, path))
    }
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
