//! A mask layer in memory: for a mount that contains the run's own directory, where overlayfs
//! refuses a layer that lies in the layer below it (ELOOP).

use std::ffi::CString;
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, XattrFlags, mkdirat, mknodat, openat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// What makes a directory of a layer hide all below it.
const OPAQUE: &std::ffi::CStr = c"user.overlay.opaque";

/// The names of a layer, each directory before what is in it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct MaskLayer {
    mode: u32,
    entries: Vec<Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    path: CString,
    kind: Kind,
}

#[derive(Debug, Serialize, Deserialize)]
enum Kind {
    Directory { mode: u32, opaque: bool },
    File,
    Whiteout,
}

impl MaskLayer {
    /// Reads the layer that was made on disk.
    pub(super) fn read(root: &Path) -> io::Result<Self> {
        let mut layer = Self { mode: fs::metadata(root)?.mode() & 0o7777, entries: Vec::new() };
        layer.read_below(root, Path::new(""))?;
        Ok(layer)
    }

    fn read_below(&mut self, root: &Path, below: &Path) -> io::Result<()> {
        for entry in fs::read_dir(root.join(below))? {
            let path = below.join(entry?.file_name());
            let kind = kind(&root.join(&path), &fs::symlink_metadata(root.join(&path))?)?;
            let is_directory = matches!(kind, Kind::Directory { .. });
            self.entries.push(Entry { path: CString::new(path.as_os_str().as_bytes())?, kind });
            if is_directory {
                self.read_below(root, &path)?;
            }
        }
        Ok(())
    }

    /// Returns the mode of the layer's root, as tmpfs takes it.
    pub(super) fn mode(&self) -> String {
        format!("{:o}", self.mode)
    }

    /// Makes every name in an empty file system.
    pub(super) fn fill(&self, root: BorrowedFd<'_>) -> Result<(), Errno> {
        self.entries.iter().try_for_each(|entry| entry.make(root))
    }
}

impl Entry {
    fn make(&self, root: BorrowedFd<'_>) -> Result<(), Errno> {
        let path = &self.path;
        match self.kind {
            Kind::Directory { mode, opaque } => {
                mkdirat(root, path, Mode::from_raw_mode(mode))?;
                if opaque { make_opaque(&open(root, path)?) } else { Ok(()) }
            }
            Kind::File => mknodat(root, path, FileType::RegularFile, 0o644.into(), 0),
            Kind::Whiteout => mknodat(root, path, FileType::CharacterDevice, Mode::empty(), 0),
        }
    }
}

fn open(root: BorrowedFd<'_>, path: &CString) -> Result<OwnedFd, Errno> {
    openat(root, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn make_opaque(directory: &OwnedFd) -> Result<(), Errno> {
    rustix::fs::fsetxattr(directory.as_fd(), OPAQUE, b"y", XattrFlags::empty())
}

fn kind(path: &Path, found: &Metadata) -> io::Result<Kind> {
    if found.is_file() {
        return Ok(Kind::File);
    }
    if !found.is_dir() {
        return Ok(Kind::Whiteout);
    }
    let opaque = match rustix::fs::lgetxattr(path, OPAQUE, &mut [0; 1]) {
        Ok(_) => true,
        Err(Errno::NODATA | Errno::NOTSUP) => false,
        Err(errno) => return Err(errno.into()),
    };
    Ok(Kind::Directory { mode: found.mode() & 0o7777, opaque })
}
