//! A tree, and the layer above it where it has one.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use crate::fs::{Fs, Node, Open, Result, Special};

/// What is asked for names: the layer first.
#[derive(Clone, Copy)]
pub struct Sides<'a> {
    fs: &'a dyn Fs,
    layer: Option<BorrowedFd<'a>>,
    tree: BorrowedFd<'a>,
}

impl<'a> Sides<'a> {
    /// Takes the root of a tree, and that of its layer.
    pub fn new(fs: &'a dyn Fs, layer: Option<BorrowedFd<'a>>, tree: BorrowedFd<'a>) -> Self {
        Self { fs, layer, tree }
    }

    /// Returns whether a side has a name.
    pub(super) fn has(&self, above: &Path, name: &str) -> bool {
        self.each().any(|side| self.has_at(side, above, name))
    }

    fn each(&self) -> impl Iterator<Item = BorrowedFd<'a>> {
        self.layer.into_iter().chain([self.tree])
    }

    fn has_at(&self, side: BorrowedFd<'_>, above: &Path, name: &str) -> bool {
        let found = self.node(side, above, OsStr::new(name));
        found.is_ok_and(|node| node.special != Some(Special::Whiteout))
    }

    fn node(&self, side: BorrowedFd<'_>, above: &Path, name: &OsStr) -> Result<Node> {
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        let dir = self.fs.open_below(side, above, Open::Handle)?;
        self.fs.node(dir.as_fd(), name)
    }
}
