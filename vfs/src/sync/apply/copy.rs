//! Exact copies between file systems: bytes, holes, owner, mode, times, `user.*` attributes, ACLs, links. What a copy
//! can't have is told.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::amend::{set_time, set_user};
use crate::fs::{
    At, Attribute, Errno, Fs, Kind, Node, Open, Result, Special, copy_bytes, write_all,
};
use crate::sync::collect::users;
use crate::sync::lacking::{Lack, Lacking};
use crate::sync::root::{Closed, Dir, Root};

/// Set-user-id and set-group-id.
pub(in crate::sync) const SET_ID: u32 = 0o6000;

/// Copies a name with all that is below it; the new name must be free.
///
/// Sockets and devices are left out: no process can make them equal. What is closed to its owner is opened meanwhile
/// where `closed` says so. Returns what of the original the copy has not, by paths below it.
pub(in crate::sync) fn copy_tree(
    fs: &dyn Fs,
    from: At<'_>,
    to: At<'_>,
    closed: Closed,
) -> Result<Vec<Lacking>> {
    let node = fs.node(from.dir, from.name)?;
    if node.status.kind == Kind::Directory {
        return copy_dir(fs, from, to, (&node, closed));
    }
    let lacks = copy_one(fs, from, to, (&node, closed))?;
    Ok(Lacking::all(Path::new(""), lacks).collect())
}

/// Copies a file or a link.
pub(in crate::sync) fn copy_leaf(
    fs: &dyn Fs,
    from: At<'_>,
    to: At<'_>,
    node: &Node,
) -> Result<Vec<Lack>> {
    copy_one(fs, from, to, (node, Closed::Open))
}

fn copy_one(
    fs: &dyn Fs,
    from: At<'_>,
    to: At<'_>,
    (node, closed): (&Node, Closed),
) -> Result<Vec<Lack>> {
    match node.status.kind {
        Kind::File => copy_file(fs, from, to, (node, closed)),
        Kind::Symlink => {
            let target = fs.read_link(from.dir, from.name)?;
            fs.make_symlink(&target, to.dir, to.name)?;
            Owner::of(node).give(fs, to)?;
            set_time(fs, to, node.status.modified.into()).map(|()| Vec::new())
        }
        Kind::Other if node.special == Some(Special::Fifo) => {
            fs.make_special(to, Special::Fifo)?;
            let (mode, lacks) = bits(fs, to, node)?;
            fs.set_mode_at(to, mode)?;
            set_time(fs, to, node.status.modified.into()).map(|()| lacks)
        }
        Kind::Other => Ok(vec![Lack::Special]),
        Kind::Directory => Ok(Vec::new()),
    }
}

/// Who has a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::sync) struct Owner {
    pub(in crate::sync) uid: u32,
    pub(in crate::sync) gid: u32,
}

impl Owner {
    pub(in crate::sync) fn of(node: &Node) -> Self {
        Self { uid: node.status.uid, gid: node.status.gid }
    }

    /// Returns who makes new files here.
    pub(in crate::sync) fn own() -> Self {
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        Self { uid: uid.as_raw(), gid: gid.as_raw() }
    }

    /// Gives a name to this owner and group, where we may, and else to the group alone; tells whether it is theirs.
    pub(in crate::sync) fn give(self, fs: &dyn Fs, at: At<'_>) -> Result<bool> {
        let found = Self::of(&fs.node(at.dir, at.name)?);
        // One of several who share it may give it to their group, and to nobody else.
        for uid in [self.uid, found.uid] {
            let wanted = Self { uid, ..self };
            if found == wanted {
                return Ok(wanted == self);
            }
            match fs.set_owner(at, uid, self.gid) {
                // One that has no number here is nobody that could be named.
                Err(Errno::PERM | Errno::INVAL) => {}
                result => return result.map(|()| wanted == self),
            }
        }
        Ok(false)
    }

    /// The same; returns which bits of `mode` the name may have then. With another owner or group, set-user-id and
    /// set-group-id would let anybody be who the original does not.
    pub(in crate::sync) fn give_bits(self, fs: &dyn Fs, at: At<'_>, mode: u32) -> Result<u32> {
        Ok(if self.give(fs, at)? { mode } else { mode & !SET_ID })
    }
}

/// Gives a copy its owner; returns the bits that it may have then, and what it lacks by that.
fn bits(fs: &dyn Fs, to: At<'_>, node: &Node) -> Result<(u32, Vec<Lack>)> {
    let mode = Owner::of(node).give_bits(fs, to, node.status.mode)?;
    let lacks = (mode != node.status.mode).then_some(Lack::SetId);
    Ok((mode, lacks.into_iter().collect()))
}

fn has_capability(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|(name, _)| name == "security.capability")
}

fn copy_file(
    fs: &dyn Fs,
    from: At<'_>,
    to: At<'_>,
    (node, closed): (&Node, Closed),
) -> Result<Vec<Lack>> {
    let source = match closed {
        Closed::Open => open_readable(fs, from, node.status.mode)?,
        Closed::Stay => fs.open_file(from.dir, from.name)?,
    };
    let copy = fs.create_file(to.dir, to.name)?;
    copy_bytes(fs, source.as_fd(), copy.as_fd(), node.status.size)?;
    let attributes = attributes(fs, from, (node, closed))?;
    let (mode, mut lacks) = bits(fs, to, node)?;
    lacks.extend(has_capability(&attributes).then_some(Lack::Capability));
    let mode = set_user(fs, to, (&[], &users(attributes)), mode)?;
    fs.set_mode(copy.as_fd(), mode)?;
    set_time(fs, to, node.status.modified.into()).map(|()| lacks)
}

/// Makes a file with other bytes, and the mode and attributes of one of the layer; its times are
/// those of its making.
pub(in crate::sync) fn write_leaf(
    fs: &dyn Fs,
    from: At<'_>,
    to: At<'_>,
    (node, bytes): (&Node, &[u8]),
) -> Result<()> {
    let file = fs.create_file(to.dir, to.name)?;
    write_all(fs, file.as_fd(), bytes)?;
    let user = users(attributes(fs, from, (node, Closed::Open))?);
    let (mode, _) = bits(fs, to, node)?;
    let mode = set_user(fs, to, (&[], &user), mode)?;
    fs.set_mode(file.as_fd(), mode)
}

/// Returns the attributes of a file: who may not read it is told none of them.
fn attributes(fs: &dyn Fs, at: At<'_>, (node, closed): (&Node, Closed)) -> Result<Vec<Attribute>> {
    let read = || fs.attributes(at);
    match closed {
        Closed::Open => with_bits(fs, at, (node.status.mode, 0o400), read),
        Closed::Stay => read().or_else(denied),
    }
}

fn denied<T: Default>(errno: Errno) -> Result<T> {
    if errno == Errno::ACCESS { Ok(T::default()) } else { Err(errno) }
}

/// Opens a file that is ours, also when its bits keep its owner out.
pub(in crate::sync) fn open_readable(fs: &dyn Fs, at: At<'_>, mode: u32) -> Result<OwnedFd> {
    with_bits(fs, at, (mode, 0o400), || fs.open_file(at.dir, at.name))
}

/// Does something with a file that is ours; where its mode keeps its owner out, with further bits
/// meanwhile.
pub(in crate::sync) fn with_bits<T>(
    fs: &dyn Fs,
    at: At<'_>,
    (mode, bits): (u32, u32),
    call: impl Fn() -> Result<T>,
) -> Result<T> {
    match call() {
        Err(Errno::ACCESS) => {
            fs.set_mode_at(at, mode | bits)?;
            let result = call();
            fs.set_mode_at(at, mode)?;
            result
        }
        result => result,
    }
}

struct Made {
    path: PathBuf,
    node: Node,
}

fn copy_dir(
    fs: &dyn Fs,
    from: At<'_>,
    to: At<'_>,
    (node, closed): (&Node, Closed),
) -> Result<Vec<Lacking>> {
    fs.make_dir(to.dir, to.name, 0o700)?;
    let copy = fs.open_below(to.dir, Path::new(to.name), Open::Handle)?;
    // Reached by its name: one that nobody may search can't be opened up from inside.
    let mut sources = Sources { root: Root::new(fs, from.dir, closed), top: from.name, closed };
    let mut copies = Root::new(fs, copy.as_fd(), Closed::Stay);
    let copied = copy_below(fs, &mut sources, &mut copies, node);
    let is_closed = sources.root.close();
    let lacks = copied?;
    is_closed.map(|()| lacks)
}

/// A directory with what is in it, by paths below the one that it stands in.
struct Sources<'s> {
    root: Root<'s>,
    top: &'s OsStr,
    closed: Closed,
}

impl<'s> Sources<'s> {
    fn place(&self, path: &Path) -> PathBuf {
        let top = Path::new(self.top);
        if path.as_os_str().is_empty() { top.to_owned() } else { top.join(path) }
    }

    fn list(&mut self, path: &Path) -> Result<OwnedFd> {
        self.root.list(&self.place(path))
    }

    fn dir(&mut self, path: &Path) -> Result<Dir<'s>> {
        self.root.dir(&self.place(path))
    }
}

fn copy_below(
    fs: &dyn Fs,
    sources: &mut Sources<'_>,
    copies: &mut Root<'_>,
    node: &Node,
) -> Result<Vec<Lacking>> {
    let mut lacks = Vec::new();
    let mut linked: HashMap<u64, PathBuf> = HashMap::new();
    let mut dirs = vec![Made { path: PathBuf::new(), node: *node }];
    let mut pending = vec![PathBuf::new()];
    while let Some(path) = pending.pop() {
        let listed = sources.list(&path)?;
        for entry in fs.list(listed.as_fd(), usize::MAX)? {
            let path = path.join(&entry.name);
            let from = sources.dir(path.parent().unwrap_or(Path::new("")))?;
            let (to, name) = copies.above(&path)?;
            let node = fs.node(from.as_fd(), name)?;
            if node.status.kind == Kind::Directory {
                fs.make_dir(to.as_fd(), name, 0o700)?;
                dirs.push(Made { path: path.clone(), node });
                pending.push(path);
                continue;
            }
            if let Some(known) = linked.get(&node.status.id.ino) {
                let (other, known) = copies.above(known)?;
                fs.link(other.at(known), to.at(name))?;
                continue;
            }
            let lacking = copy_one(fs, from.at(name), to.at(name), (&node, sources.closed))?;
            lacks.extend(Lacking::all(&path, lacking));
            let has_links = node.links > 1 && node.special.is_none();
            linked.extend(has_links.then_some((node.status.id.ino, path)));
        }
    }
    for made in dirs.iter().rev() {
        let lacking = finish_dir(fs, sources, copies, made)?;
        lacks.extend(Lacking::all(&made.path, lacking));
    }
    Ok(lacks)
}

fn finish_dir(
    fs: &dyn Fs,
    sources: &mut Sources<'_>,
    copies: &mut Root<'_>,
    made: &Made,
) -> Result<Vec<Lack>> {
    let (from, to) = (sources.dir(&made.path)?, copies.dir(&made.path)?);
    let here = OsStr::new(".");
    let user = users(fs.attributes(from.at(here)).or_else(denied)?);
    let (mode, lacks) = bits(fs, to.at(here), &made.node)?;
    let mode = set_user(fs, to.at(here), (&[], &user), mode)?;
    // Closed to its owner by its bits, it gets no time any more.
    set_time(fs, to.at(here), made.node.status.modified.into())?;
    fs.set_mode_at(to.at(here), mode).map(|()| lacks)
}
