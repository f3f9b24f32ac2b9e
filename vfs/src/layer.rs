//! What stands in the upper layer of an overlay, entry by entry: each is one change of a command's
//! to what lies below.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use crate::fs::{At, Errno, Fs, Kind, Node, Special};
use crate::sync::root::{Closed, Root};

/// By which overlayfs says that nothing of what lies below a directory shows through.
const OPAQUE: &str = "user.overlay.opaque";

/// An entry of a layer.
#[derive(Debug)]
pub struct LayerEntry<'a> {
    /// The path below the root of the layer.
    pub path: &'a Path,
    /// What stands there.
    pub found: LayerNode,
    /// The place of the entry, in an open directory.
    pub at: At<'a>,
}

/// What stands in a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayerNode {
    /// A directory.
    Directory {
        /// What lies below it in the tree does not show: it is another directory.
        opaque: bool,
    },
    /// A regular file.
    File {
        /// Its bytes.
        size: u64,
        /// Whether its owner may execute it.
        executable: bool,
    },
    /// A symbolic link.
    Symlink(PathBuf),
    /// What the tree has there is gone.
    Whiteout,
    /// A device, a socket or a FIFO.
    Special(&'static str),
}

/// Whether what is in a directory is wanted too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descend {
    /// What is in it is wanted.
    Into,
    /// What is in it is not wanted.
    Past,
}

/// Why a layer can't be read.
#[derive(Debug, thiserror::Error)]
#[error("can't {action} {}", path.display())]
pub struct LayerError {
    /// What was tried.
    pub action: &'static str,
    /// On which path of the layer.
    pub path: PathBuf,
    /// What the kernel said.
    #[source]
    pub errno: Errno,
}

/// Shows every entry of a layer to `visit`, a directory before what is in it and in the order of
/// the names. No link is followed; directories that are closed to their owner are opened meanwhile.
///
/// # Errors
/// A call that fails, or what `visit` answers.
pub fn walk<E: From<LayerError>>(
    fs: &dyn Fs,
    upper: BorrowedFd<'_>,
    visit: &mut dyn FnMut(&LayerEntry<'_>) -> Result<Descend, E>,
) -> Result<(), E> {
    let mut root = Root::new(fs, upper, Closed::Open);
    let walked = each(fs, &mut root, visit);
    let closed = root.close().map_err(failed("close", Path::new("")));
    walked?;
    Ok(closed?)
}

fn each<E: From<LayerError>>(
    fs: &dyn Fs,
    root: &mut Root<'_>,
    visit: &mut dyn FnMut(&LayerEntry<'_>) -> Result<Descend, E>,
) -> Result<(), E> {
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        let listed = root.list(&directory).map_err(failed("open", &directory))?;
        let names = fs.list(listed.as_fd(), usize::MAX).map_err(failed("list", &directory))?;
        let mut names: Vec<_> = names.into_iter().map(|entry| entry.name).collect();
        names.sort();
        let mut below = Vec::new();
        for name in &names {
            let (path, at) = (directory.join(name), At { dir: listed.as_fd(), name });
            let found = found(fs, at, &path)?;
            let is_directory = matches!(found, LayerNode::Directory { .. });
            let descend = visit(&LayerEntry { path: &path, found, at })?;
            if is_directory && descend == Descend::Into {
                below.push(path);
            }
        }
        directories.extend(below.into_iter().rev());
    }
    Ok(())
}

/// Returns what stands at a place of a layer.
///
/// # Errors
/// A failing call; nothing being there is one.
pub fn found(fs: &dyn Fs, at: At<'_>, path: &Path) -> Result<LayerNode, LayerError> {
    let node = fs.node(at.dir, at.name).map_err(failed("look at", path))?;
    let Node { status, special, .. } = &node;
    Ok(match (status.kind, special) {
        (Kind::Directory, _) => {
            LayerNode::Directory { opaque: is_opaque(fs, at, path, status.mode)? }
        }
        (Kind::File, _) => {
            LayerNode::File { size: status.size, executable: status.mode & 0o100 != 0 }
        }
        (Kind::Symlink, _) => {
            let target = fs.read_link(at.dir, at.name).map_err(failed("read the link", path))?;
            LayerNode::Symlink(target.into())
        }
        (_, Some(Special::Whiteout)) => LayerNode::Whiteout,
        (_, Some(Special::Socket)) => LayerNode::Special("a socket"),
        (_, Some(Special::Fifo)) => LayerNode::Special("a FIFO"),
        (_, Some(Special::Device) | None) => LayerNode::Special("a device"),
    })
}

/// Returns whether a directory hides what lies below it. One that is closed to its owner is opened for that long.
fn is_opaque(fs: &dyn Fs, at: At<'_>, path: &Path, mode: u32) -> Result<bool, LayerError> {
    let attributes = match fs.attributes(at) {
        Err(Errno::ACCESS) => {
            let opened = fs.set_mode_at(at, mode | 0o700).and_then(|()| fs.attributes(at));
            fs.set_mode_at(at, mode).map_err(failed("close", path))?;
            opened
        }
        read => read,
    };
    let attributes = attributes.map_err(failed("read the attributes of", path))?;
    Ok(attributes.iter().any(|(name, value)| name == OsStr::new(OPAQUE) && value == b"y"))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(Errno) -> LayerError + use<> {
    let path = path.to_owned();
    move |errno| LayerError { action, path, errno }
}

#[cfg(test)]
mod tests;
