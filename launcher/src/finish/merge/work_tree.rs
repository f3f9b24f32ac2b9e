//! The git work tree that a file lies in, found on the host's side alone: a layer's `.git` is the
//! command's own.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use endow_vfs::fs::{Errno, Fs, Kind, Open, OsFs};
use endow_vfs::git_dir;

use crate::finish::Target;

const GIT: &str = ".git";
/// The largest file of one line that is read.
const LINE: usize = 4096;

/// A work tree whose git directory belongs to the user, with all that leads to its objects.
#[derive(Debug)]
pub(super) struct WorkTree {
    git_dir: OwnedFd,
    objects: OwnedFd,
    place: Place,
}

/// Where a work tree begins.
#[derive(Clone, Debug)]
enum Place {
    /// At or below the mount's root, by the path from there.
    Below(PathBuf),
    /// Above it, by the path that leads to the mount's root.
    Above(PathBuf),
}

impl WorkTree {
    /// Returns the directory with its index.
    pub(super) fn git_dir(&self) -> BorrowedFd<'_> {
        self.git_dir.as_fd()
    }

    /// Returns the directory with its objects.
    pub(super) fn objects(&self) -> BorrowedFd<'_> {
        self.objects.as_fd()
    }

    /// Returns the name that git has for a path of the mount.
    pub(super) fn name(&self, path: &Path) -> Option<PathBuf> {
        let name = match &self.place {
            Place::Below(root) => path.strip_prefix(root).ok()?.to_owned(),
            Place::Above(way) => way.join(path),
        };
        let is_git = |name: &OsStr| name.eq_ignore_ascii_case(GIT);
        (!name.iter().any(is_git)).then_some(name)
    }
}

/// The work trees of a mount, each looked for once.
pub(super) struct WorkTrees<'a> {
    target: &'a Target,
    known: BTreeMap<PathBuf, Option<Rc<WorkTree>>>,
}

/// What a directory has in the place of a git directory.
enum InPlace {
    Nothing,
    /// Something that is not followed.
    Odd,
    /// The directory with the index, and that with the objects.
    Here(OwnedFd, OwnedFd),
}

impl<'a> WorkTrees<'a> {
    pub(super) fn new(target: &'a Target) -> Self {
        Self { target, known: BTreeMap::new() }
    }

    /// Returns the innermost work tree that a file lies in.
    pub(super) fn of(&mut self, path: &Path) -> Option<Rc<WorkTree>> {
        let mut passed = Vec::new();
        let look = path.ancestors().skip(1).try_for_each(|dir| {
            passed.push(dir);
            self.below(dir)
        });
        let tree = look.break_value().unwrap_or_else(|| self.above());
        self.known.extend(passed.into_iter().map(|dir| (dir.to_owned(), tree.clone())));
        tree
    }

    fn below(&self, dir: &Path) -> Look {
        if let Some(known) = self.known.get(dir) {
            return ControlFlow::Break(known.clone());
        }
        let opened = OsFs.open_below(self.target.root.as_fd(), dir, Open::Handle).ok();
        let at = self.target.path.as_path().join(dir);
        tree(opened, &at, Place::Below(dir.to_owned()))
    }

    /// As git does, looks no further than the file system.
    fn above(&self) -> Option<Rc<WorkTree>> {
        let root = self.target.path.as_path();
        let device = OsFs.status_of(self.target.root.as_fd()).ok()?.id.dev;
        let look = root.ancestors().skip(1).try_for_each(|at| {
            let is_here = |dir: &OwnedFd| {
                OsFs.status_of(dir.as_fd()).is_ok_and(|status| status.id.dev == device)
            };
            let dir = OsFs.open_canonical(at).ok().filter(is_here);
            let way = root.strip_prefix(at).unwrap_or(Path::new("")).to_owned();
            tree(dir, at, Place::Above(way))
        });
        look.break_value().flatten()
    }
}

/// Whether to look further up; if not, what was found.
type Look = ControlFlow<Option<Rc<WorkTree>>>;

/// A directory that can't be opened ends it: what is above it says nothing.
fn tree(dir: Option<OwnedFd>, at: &Path, place: Place) -> Look {
    match dir.map_or(InPlace::Odd, |dir| look(dir.as_fd(), at)) {
        InPlace::Nothing => ControlFlow::Continue(()),
        InPlace::Odd => ControlFlow::Break(None),
        InPlace::Here(git_dir, objects) => {
            ControlFlow::Break(Some(Rc::new(WorkTree { git_dir, objects, place })))
        }
    }
}

fn look(dir: BorrowedFd<'_>, at: &Path) -> InPlace {
    let found = match OsFs.status(dir, OsStr::new(GIT)).map(|status| status.kind) {
        Err(Errno::NOENT) => return InPlace::Nothing,
        Ok(Kind::Directory) => plain(dir),
        Ok(Kind::File) => linked(dir, at),
        _ => None,
    };
    match found {
        Some((git_dir, objects)) => InPlace::Here(git_dir, objects),
        None => InPlace::Odd,
    }
}

type Dirs = (OwnedFd, OwnedFd);

fn plain(dir: BorrowedFd<'_>) -> Option<Dirs> {
    let git_dir = own(OsFs.open_below(dir, Path::new(GIT), Open::Handle).ok()?)?;
    let objects = objects(git_dir.as_fd())?;
    // One that has its objects elsewhere is a linked work tree, of which a file tells.
    has_no(git_dir.as_fd(), "commondir").then_some((git_dir, objects))
}

/// A linked work tree is believed when its repository names it, too.
fn linked(dir: BorrowedFd<'_>, at: &Path) -> Option<Dirs> {
    let named = line(dir, GIT)?;
    let path = joined(at, named.strip_prefix(b"gitdir: ")?)?;
    let trees =
        path.parent().filter(|it| it.file_name() == Some(OsStr::new(git_dir::WORKTREES)))?;
    let git_dir = own(OsFs.open_canonical(&path).ok()?)?;
    let back = joined(&path, &line(git_dir.as_fd(), "gitdir")?)?;
    let is_mutual = back == at.join(GIT) && line(git_dir.as_fd(), "commondir")? == b"../..";
    let common = own(OsFs.open_canonical(trees.parent()?).ok()?)?;
    is_mutual.then_some((git_dir, objects(common.as_fd())?))
}

/// A repository that borrows objects leads elsewhere.
fn objects(git_dir: BorrowedFd<'_>) -> Option<OwnedFd> {
    let objects = own(OsFs.open_below(git_dir, Path::new("objects"), Open::Handle).ok()?)?;
    let info = OsFs.open_below(objects.as_fd(), Path::new("info"), Open::Handle);
    let is_whole = match info {
        Ok(info) => has_no(info.as_fd(), "alternates"),
        Err(errno) => errno == Errno::NOENT,
    };
    is_whole.then_some(objects)
}

fn has_no(dir: BorrowedFd<'_>, name: &str) -> bool {
    OsFs.status(dir, OsStr::new(name)).is_err_and(|errno| errno == Errno::NOENT)
}

/// As for git, what another user owns is not the user's repository.
fn own(dir: OwnedFd) -> Option<OwnedFd> {
    let owner = OsFs.status_of(dir.as_fd()).ok()?.uid;
    (owner == rustix::process::geteuid().as_raw()).then_some(dir)
}

/// Reads a file of one line.
fn line(dir: BorrowedFd<'_>, name: &str) -> Option<Vec<u8>> {
    let file = OsFs.open_file(dir, OsStr::new(name)).ok()?;
    OsFs.status_of(file.as_fd()).ok().filter(|status| status.kind == Kind::File)?;
    let mut bytes = vec![0; LINE];
    let length = OsFs.read(file.as_fd(), &mut bytes).ok().filter(|length| *length < LINE)?;
    bytes.truncate(length);
    Some(bytes.trim_ascii_end().to_vec())
}

/// Joins by words alone: what is opened by the result has no links in it.
fn joined(at: &Path, named: &[u8]) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for component in at.join(OsStr::from_bytes(named)).components() {
        match component {
            Component::ParentDir if !path.pop() => return None,
            Component::ParentDir | Component::CurDir => {}
            component => path.push(component),
        }
    }
    Some(path)
}
