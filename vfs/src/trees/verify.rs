//! Comparing a tree with its manifest, byte for byte.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::manifest::{Expected, parse};
use super::stub::{DATA, Form, form};
use super::{ContentName, ROOT, Seal, TreeCache, TreeError, TreeKey, beside};
use crate::fs::{At, Errno, Fs, Kind, Node, Open, Result as FsResult, Special, read_all};

/// How often a tree is opened that somebody closes at the same time.
const TRIES: usize = 100;

/// What is wrong with a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The path in the tree, or what tells of it; empty for its root.
    pub path: PathBuf,
    /// In words.
    pub what: &'static str,
}

/// What came of comparing a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verified {
    /// There is none.
    Absent,
    /// It is what its name says.
    Whole,
    /// It is not, and it was taken away: the next run that needs it makes it again.
    Damaged(Damage),
}

impl TreeCache {
    /// Compares a tree with what its name says, and takes a damaged one away. `boot` names the start
    /// of the machine: before the next one, what is compared may not be on the disk yet.
    ///
    /// # Errors
    /// A failing call.
    pub fn verify(&self, fs: &dyn Fs, key: &TreeKey, boot: &str) -> Result<Verified, TreeError> {
        let _lock = self.lock(fs, key)?;
        let Some(tree) = self.find(fs, key)? else {
            // A seal that is none, or a directory that was exchanged, is taken away as well.
            self.remove(fs, key)?;
            return Ok(Verified::Absent);
        };
        let damage = self.compare(fs, key, &tree.seal)?;
        let is_doubtful = tree.is_doubtful(boot);
        let (seal, lease) = (tree.seal.clone(), tree.into_lease());
        if let Some(damage) = damage {
            drop(lease);
            self.remove(fs, key)?;
            return Ok(Verified::Damaged(damage));
        }
        // Others that hold the old seal would be lost sight of.
        if is_doubtful && fs.lock(lease.as_fd()).is_ok() {
            drop(self.seal(fs, key, &Seal { boot: None, ..seal })?);
        }
        Ok(Verified::Whole)
    }

    /// Opens a tree that was found, to read it from outside.
    ///
    /// # Errors
    /// A failing call.
    pub fn open_root(&self, fs: &dyn Fs, key: &TreeKey) -> Result<OwnedFd, TreeError> {
        self.open_part(fs, key, ROOT).map_err(self.failed("open", OsStr::new(key.as_str())))
    }

    fn compare(
        &self,
        fs: &dyn Fs,
        key: &TreeKey,
        seal: &Seal,
    ) -> Result<Option<Damage>, TreeError> {
        let name = beside(key, ".manifest");
        let damage = |what| Some(Damage { path: PathBuf::from(&name), what });
        let text = match read_all(fs, self.fd(), Path::new(&name)) {
            Err(Errno::NOENT) => return Ok(damage("it is missing")),
            text => text.map_err(self.failed("read", &name))?,
        };
        let Ok(entries) = parse(&text) else { return Ok(damage("it is not whole")) };
        if entries.len() as u64 != seal.made.entries {
            return Ok(damage("it does not tell of all"));
        }
        let failed = || self.failed("open", OsStr::new(key.as_str()));
        let root = self.open_part(fs, key, ROOT).map_err(failed())?;
        let data = match key.has_stubs().then(|| self.open_part(fs, key, DATA)).transpose() {
            Err(Errno::NOENT) => {
                return Ok(Some(Damage { path: DATA.into(), what: "it is missing" }));
            }
            data => data.map_err(failed())?,
        };
        let data = data.as_ref().map(AsFd::as_fd);
        Ok(Comparison { fs, root: root.as_fd(), data }.find_damage(&entries))
    }

    /// Opens a tree, or the contents of its stubs, from outside: for that moment the directory above
    /// is open to its owner.
    fn open_part(&self, fs: &dyn Fs, key: &TreeKey, part: &str) -> FsResult<OwnedFd> {
        let at = At { dir: self.fd(), name: OsStr::new(key.as_str()) };
        let path = Path::new(key.as_str()).join(part);
        let mut opened = Err(Errno::ACCESS);
        // Whoever finds the tree meanwhile closes it.
        for _ in 0..TRIES {
            fs.set_mode_at(at, 0o700)?;
            opened = fs.open_below(self.fd(), &path, Open::List);
            if !matches!(opened, Err(Errno::ACCESS)) {
                break;
            }
        }
        fs.set_mode_at(at, 0).and(opened)
    }
}

struct Comparison<'a> {
    fs: &'a dyn Fs,
    root: BorrowedFd<'a>,
    /// The contents of its stubs, when there may be any.
    data: Option<BorrowedFd<'a>>,
}

impl Comparison<'_> {
    fn find_damage(&self, entries: &[(PathBuf, Expected)]) -> Option<Damage> {
        let mut seen: HashSet<&Path> = HashSet::new();
        let mut count: HashMap<&Path, usize> = HashMap::from([(Path::new(""), 0)]);
        for (path, expected) in entries {
            *count.entry(path.parent().unwrap_or(Path::new(""))).or_default() += 1;
            // In place of another path, which nothing would be compared with then.
            if !seen.insert(path) {
                return Some(Damage { path: path.clone(), what: "its manifest has it twice" });
            }
            if *expected == Expected::Directory {
                count.entry(path).or_default();
            }
        }
        let damage = |path: &Path, what| Damage { path: path.to_owned(), what };
        let wrong = |(path, expected): &(PathBuf, Expected)| {
            self.what_is_wrong(path, expected).map(|what| damage(path, what))
        };
        let more = |(path, count): (&&Path, &usize)| {
            self.has_more(path, *count).then(|| damage(path, "something is there that was not"))
        };
        entries.iter().find_map(wrong).or_else(|| count.iter().find_map(more))
    }

    fn has_more(&self, path: &Path, expected: usize) -> bool {
        let listed = self.open(path).and_then(|dir| self.fs.list(dir.as_fd(), expected + 1));
        listed.is_ok_and(|names| names.len() > expected)
    }

    fn what_is_wrong(&self, path: &Path, expected: &Expected) -> Option<&'static str> {
        let name = path.file_name().unwrap_or_default();
        let Ok(dir) = self.open(path.parent().unwrap_or(Path::new(""))) else {
            return Some("its directory can't be opened");
        };
        let node = match self.fs.node(dir.as_fd(), name) {
            Ok(node) => node,
            Err(Errno::NOENT) => return Some("it is missing"),
            Err(_) => return Some("it can't be looked at"),
        };
        match expected {
            Expected::Directory => wrong_node(&node, Kind::Directory, 0o755),
            Expected::Whiteout => {
                let is_one = node.special == Some(Special::Whiteout);
                (!is_one).then_some("it hides nothing")
            }
            Expected::Symlink { target } => {
                let found = self.fs.read_link(dir.as_fd(), name);
                // As bytes: for `Path`, `a` and `a/` are the same.
                let is_same = found.is_ok_and(|found| found == *target.as_os_str());
                (!is_same).then_some("the link leads elsewhere")
            }
            Expected::File { content, executable, size } => {
                let mode = if *executable { 0o755 } else { 0o644 };
                let at = At { dir: dir.as_fd(), name };
                wrong_node(&node, Kind::File, mode)
                    .or_else(|| self.wrong_bytes(at, (content, *size), node.status.size))
            }
        }
    }

    fn wrong_bytes(
        &self,
        at: At<'_>,
        (content, size): (&ContentName, u64),
        found: u64,
    ) -> Option<&'static str> {
        let changed = Some("its bytes are not what they were");
        let form = match self.data.map(|_| self.fs.attributes(at)) {
            None => Form::Whole,
            Some(Ok(found)) => form(&found, content),
            Some(Err(_)) => return Some("it can't be looked at"),
        };
        let file = match (form, self.data) {
            (Form::Whole, _) => self.fs.open_file(at.dir, at.name),
            (Form::Stub(name), Some(data)) if found == size => self.fs.open_file(data, &name),
            (Form::Stub(_), _) => return changed,
            (Form::Forged, _) => return Some("an attribute shows other bytes in its place"),
        };
        let is_same = file.and_then(|file| content.is_of(self.fs, file.as_fd(), size));
        if matches!(is_same, Ok(true)) { None } else { changed }
    }

    fn open(&self, path: &Path) -> FsResult<OwnedFd> {
        self.fs.open_below(self.root, path, Open::List)
    }
}

fn wrong_node(node: &Node, kind: Kind, mode: u32) -> Option<&'static str> {
    if node.status.kind != kind {
        return Some("it is of another kind");
    }
    (node.status.mode != mode).then_some("its bits are not what they were")
}
