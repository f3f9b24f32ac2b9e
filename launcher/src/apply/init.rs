//! The interpreter of pid 1's steps: one match, a line or two per step, nothing decided.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, mkdirat, mknodat, openat, openat2, statat,
    symlinkat,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount,
    open_tree, unmount,
};

use super::lower::{Expected, From, Init, Place, TakesAway};
use super::message::{Stage, StepFailure};
use super::{overlay, served};
use crate::sys;

/// The bytes that the skeleton may hold: names, links and a few small files.
pub(super) const SKELETON_BYTES: &CStr = c"16777216";

/// The view under construction.
#[derive(Debug, Default)]
pub(super) struct View {
    root: Option<OwnedFd>,
    proc: Option<OwnedFd>,
    devpts: Option<OwnedFd>,
    /// The roots of upper layers in memory, in the order of their steps.
    pub(super) layers: Vec<OwnedFd>,
    /// Directories for the supervisor, in the order of their steps.
    pub(super) handed: Vec<OwnedFd>,
    /// Sockets for the supervisor.
    pub(super) sockets: served::Sockets,
}

impl View {
    /// Carries out steps of a stage, of which the first has the number `first`; the error says which
    /// one failed.
    pub(super) fn run(
        &mut self,
        (stage, first): (Stage, u32),
        steps: &[Init],
    ) -> Result<(), StepFailure> {
        for (number, step) in (first..).zip(steps) {
            self.step(step).map_err(|errno| StepFailure {
                stage,
                step: number,
                detail: 0,
                errno: errno.raw_os_error(),
            })?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Init) -> Result<(), Errno> {
        match step {
            Init::IdMaps { uid_map, gid_map } => id_maps(uid_map, gid_map),
            Init::NewRoot => self.new_root(),
            Init::NewProc => {
                of_kernel(c"proc", MountAttrFlags::empty()).map(|made| self.proc = Some(made))
            }
            Init::NewDevpts => devpts().map(|made| self.devpts = Some(made)),
            Init::AttachRoot => attach_root(self.root()?),
            Init::Mkdir { at, mode } => self.mkdir(at, *mode),
            Init::Touch { at } => self.touch(at),
            Init::Symlink { at, to } => self.make(at, |parent, name| symlinkat(to, parent, name)),
            Init::Write { at, content, mode } => write_all(&self.create(at, *mode)?, content),
            Init::Bind { from, at, attributes, recursive } => {
                self.bind(from, at, *attributes, *recursive)
            }
            Init::Tmpfs { at, size, inodes, mode, attributes } => {
                let tmpfs = tmpfs(Some(size), inodes.as_deref(), mode, *attributes)?;
                self.place_mount(&tmpfs, at)
            }
            Init::Overlay { lower, upper, at, attributes } => {
                self.overlay(lower, upper.as_ref(), at, *attributes)
            }
            Init::Proc { at } => self.place_mount(self.proc.as_ref().ok_or(Errno::BADF)?, at),
            Init::Cgroup { at } => {
                let made = of_kernel(c"cgroup2", MountAttrFlags::MOUNT_ATTR_RDONLY)?;
                self.place_mount(&made, at)
            }
            Init::Devpts { at } => self.place_mount(self.devpts.as_ref().ok_or(Errno::BADF)?, at),
            Init::Seal { at } => {
                let mount = self.open(at)?;
                let sealed = sys::mount::attribute::READONLY;
                sys::mount::set_attributes(mount.as_fd(), sealed, false)
            }
            Init::HandOut { at } => self.open(at).map(|handed| self.handed.push(handed)),
            Init::LoopbackUp => sys::net::loopback_up(),
            Init::LocalRange { address, prefix_len } => served::local(*address, *prefix_len),
            Init::Serve { stream, at } => self.sockets.serve(*stream, *at),
            Init::SpareSockets { count } => self.sockets.spare(*count),
            Init::Hostname { name } => rustix::system::sethostname(name),
            Init::Pivot => pivot(self.root()?),
            Init::NoNestedUserns => {
                let file = c"proc/sys/user/max_user_namespaces";
                write_all(&openat(self.root()?, file, OFlags::WRONLY, Mode::empty())?, b"0")
            }
        }
    }

    fn root(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.root.as_ref().map(AsFd::as_fd).ok_or(Errno::BADF)
    }

    fn new_root(&mut self) -> Result<(), Errno> {
        let attributes = sys::mount::attribute::NOSUID | sys::mount::attribute::NODEV;
        self.root = Some(tmpfs(Some(SKELETON_BYTES), None, c"755", attributes)?);
        Ok(())
    }

    /// Takes a mount for the root, in the place of the one that has nothing yet.
    pub(super) fn show_as_root(&mut self, mount: OwnedFd) {
        self.root = Some(mount);
    }

    /// What was brought into a private directory before may have the name already.
    fn mkdir(&self, at: &Place, mode: u32) -> Result<(), Errno> {
        self.make(at, |parent, name| {
            let made = mkdirat(parent, name, Mode::from_raw_mode(mode));
            made.or_else(|errno| stands(parent, name, (FileType::Directory, errno)))
        })
    }

    fn touch(&self, at: &Place) -> Result<(), Errno> {
        let (mode, kind) = (Mode::from_raw_mode(0o644), FileType::RegularFile);
        self.make(at, |parent, name| {
            let made = mknodat(parent, name, kind, mode, 0);
            made.or_else(|errno| stands(parent, name, (kind, errno)))
        })
    }

    fn create(&self, at: &Place, mode: u32) -> Result<OwnedFd, Errno> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        self.make(at, |parent, name| openat(parent, name, flags, Mode::from_raw_mode(mode)))
    }

    /// Makes something at a place, relative to a directory that no link leads to.
    fn make<T>(
        &self,
        at: &Place,
        make: impl FnOnce(BorrowedFd<'_>, &CStr) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        if at.own {
            return make(self.root()?, &at.path);
        }
        let (parent, name) = self.parent(at)?;
        make(parent.as_fd(), name)
    }

    /// Opens the directory of a place. No name on the way may be a symbolic link: below a live
    /// mount it would be the host's, and lead anywhere.
    fn parent<'a>(&self, at: &'a Place) -> Result<(OwnedFd, &'a CStr), Errno> {
        let bytes = at.path.as_bytes_with_nul();
        let slash = bytes.iter().rposition(|byte| *byte == b'/');
        let (directory, name) = match slash {
            Some(slash) => bytes.split_at(slash + 1),
            None => (&b"."[..], bytes),
        };
        let name = CStr::from_bytes_with_nul(name).map_err(|_| Errno::INVAL)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = openat2(self.root()?, directory, flags, Mode::empty(), inside())?;
        Ok((parent, name))
    }

    fn open(&self, at: &Place) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat2(self.root()?, &at.path, flags, Mode::empty(), inside())
    }

    fn bind(&self, from: &From, at: &Place, attributes: u64, recursive: bool) -> Result<(), Errno> {
        let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        if recursive {
            flags |= OpenTreeFlags::AT_RECURSIVE;
        }
        let tree = match from {
            From::Host { path, expect: Some(expect) } => clone_expected(path, *expect, flags)?,
            _ => open_tree(self.source(from)?, c"", flags | OpenTreeFlags::AT_EMPTY_PATH)?,
        };
        sys::mount::set_attributes(tree.as_fd(), attributes, recursive)?;
        self.place_mount(&tree, at)
    }

    /// Opens a source in this mount namespace and compares it with what was seen before: a
    /// descriptor from before the clone belongs to another mount namespace and can't be mounted.
    pub(super) fn source(&self, from: &From) -> Result<OwnedFd, Errno> {
        match from {
            From::Guest(place) => self.open(place),
            From::Memory { layer, mode } => overlay::layer_in_memory(layer, mode),
            From::Stubs { root, .. } => open_host(root),
            From::Host { path, expect } => {
                let source = open_host(path)?;
                expect.map_or(Ok(()), |expect| check(&source, expect))?;
                Ok(source)
            }
        }
    }

    pub(super) fn place_mount(&self, mount: &OwnedFd, at: &Place) -> Result<(), Errno> {
        let from_here = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        if at.own {
            return move_mount(mount, c"", self.root()?, &at.path, from_here);
        }
        let target = self.open(at)?;
        let flags = from_here | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(mount, c"", &target, c"", flags)
    }
}

/// Clones the mount at a host path and compares what it holds: the file that was found is the
/// right one whatever way led to it, and any other is refused before it is placed.
fn clone_expected(
    path: &CStr,
    expect: (Expected, TakesAway),
    flags: OpenTreeFlags,
) -> Result<OwnedFd, Errno> {
    let tree = open_tree(CWD, path, flags | OpenTreeFlags::AT_SYMLINK_NOFOLLOW)?;
    check(&tree, expect)?;
    Ok(tree)
}

/// Refuses another file, and the same one by a mount that would let the command do more.
fn check(source: &OwnedFd, (file, mount): (Expected, TakesAway)) -> Result<(), Errno> {
    let is_it = sys::identity::of(source)?.parts() == file;
    let now = sys::mount::takes_away(source)?;
    let loses = (mount.0 && !now.0) || (mount.1 && !now.1);
    if is_it && !loses { Ok(()) } else { Err(Errno::STALE) }
}

/// Opens a host path on which no link lies.
pub(super) fn open_host(path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(CWD, path, flags, Mode::empty(), resolve)
}

fn inside() -> ResolveFlags {
    ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS
}

pub(super) fn id_maps(uid_map: &CStr, gid_map: &CStr) -> Result<(), Errno> {
    write_file(c"/proc/self/setgroups", b"deny")?;
    write_file(c"/proc/self/uid_map", uid_map.to_bytes())?;
    write_file(c"/proc/self/gid_map", gid_map.to_bytes())
}

fn write_file(path: &CStr, content: &[u8]) -> Result<(), Errno> {
    write_all(&openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?, content)
}

fn write_all(file: &OwnedFd, mut content: &[u8]) -> Result<(), Errno> {
    while !content.is_empty() {
        let written = rustix::io::write(file, content)?;
        content = content.get(written..).unwrap_or_default();
    }
    Ok(())
}

/// Attaches the new root over the old one: `/` exists everywhere, and names still resolve from
/// the old root, which the process has as its own.
pub(super) fn attach_root(root: BorrowedFd<'_>) -> Result<(), Errno> {
    move_mount(root, c"", CWD, c"/", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

fn pivot(root: BorrowedFd<'_>) -> Result<(), Errno> {
    rustix::process::fchdir(root)?;
    sys::mount::pivot_root_here()?;
    unmount(c".", UnmountFlags::DETACH)?;
    rustix::process::chdir(c"/")
}

pub(super) fn tmpfs(
    size: Option<&CStr>,
    inodes: Option<&CStr>,
    mode: &CStr,
    attributes: u64,
) -> Result<OwnedFd, Errno> {
    let tmpfs = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    if let Some(size) = size {
        fsconfig_set_string(&tmpfs, c"size", size)?;
    }
    if let Some(inodes) = inodes {
        fsconfig_set_string(&tmpfs, c"nr_inodes", inodes)?;
    }
    fsconfig_set_string(&tmpfs, c"mode", mode)?;
    fsconfig_create(&tmpfs)?;
    fsmount(&tmpfs, FsMountFlags::FSMOUNT_CLOEXEC, attribute_flags(attributes))
}

/// Makes a file system of the kernel's own files.
fn of_kernel(kind: &CStr, more: MountAttrFlags) -> Result<OwnedFd, Errno> {
    let made = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&made)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&made, FsMountFlags::FSMOUNT_CLOEXEC, attributes | more)
}

fn devpts() -> Result<OwnedFd, Errno> {
    let devpts = fsopen(c"devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_flag(&devpts, c"newinstance")?;
    fsconfig_set_string(&devpts, c"ptmxmode", c"0666")?;
    fsconfig_set_string(&devpts, c"mode", c"0620")?;
    fsconfig_create(&devpts)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&devpts, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

pub(super) fn attribute_flags(attributes: u64) -> MountAttrFlags {
    MountAttrFlags::from_bits_retain(u32::try_from(attributes).unwrap_or(u32::MAX))
}

/// Accepts that a name is taken by what it was to be.
fn stands(
    parent: BorrowedFd<'_>,
    name: &CStr,
    (kind, errno): (FileType, Errno),
) -> Result<(), Errno> {
    let is_it = |mode| FileType::from_raw_mode(mode) == kind;
    let found = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).map(|it| is_it(it.st_mode));
    if errno == Errno::EXIST && found == Ok(true) { Ok(()) } else { Err(errno) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_is_nothing_but_what_was_seen() {
        let file = OwnedFd::from(tempfile::tempfile().expect("a file"));
        let seen = sys::identity::of(&file).expect("seen");
        let other = sys::identity::Identity { ino: seen.ino + 1, ..seen }.parts();
        let seen = seen.parts();
        let now = sys::mount::takes_away(&file).expect("a mount");
        assert_eq!(check(&file, (seen, now)), Ok(()));
        assert_eq!(check(&file, (other, now)), Err(Errno::STALE));
        assert_eq!(now, (false, false), "a directory for temporary files where programs can't run");
        for mount in [(true, false), (false, true)] {
            assert_eq!(check(&file, (seen, mount)), Err(Errno::STALE), "{mount:?}");
        }
    }
}
