//! Objects in the directories of other tools.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;

use super::store::failed;
use super::{Damage, Digest, StoreError};
use crate::fs::{Errno, Fs, Kind, Open};

/// Where a tool keeps its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The disk cache of Bazel: `cas/<2 digits>/<64 digits>`.
    Bazel,
    /// The store of buildbox-casd: `objects/<2 digits>/<62 digits>`, below `cas` or not.
    Casd,
    /// An image layout of OCI: `blobs/sha256/<64 digits>`.
    Oci,
}

/// Directories by which a layout is known, and where its objects are; the first that is there
/// counts.
const SIGNS: [(&str, Layout); 4] = [
    ("blobs/sha256", Layout::Oci),
    ("cas/objects", Layout::Casd),
    ("objects", Layout::Casd),
    ("cas", Layout::Bazel),
];

/// The directory of another tool, which is only read.
pub struct Other<'fs> {
    fs: &'fs dyn Fs,
    layout: Layout,
    path: PathBuf,
    objects: OwnedFd,
}

impl<'fs> Other<'fs> {
    /// Opens a directory of which the layout is known; `None` when it has none of them.
    ///
    /// # Errors
    /// A failing call.
    pub fn detect(fs: &'fs dyn Fs, path: &Path) -> Result<Option<Self>, StoreError> {
        let root = fs.open_dir(CWD, path.as_os_str()).map_err(failed("open", path))?;
        for (sign, layout) in SIGNS {
            let path = path.join(sign);
            match fs.open_below(root.as_fd(), Path::new(sign), Open::Handle) {
                Ok(objects) => return Ok(Some(Self { fs, layout, path, objects })),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(errno) => return Err(failed("open", path)(errno)),
            }
        }
        Ok(None)
    }

    /// A directory of objects in this layout, that is open.
    pub(crate) fn of(fs: &'fs dyn Fs, layout: Layout, objects: OwnedFd, path: &Path) -> Self {
        Self { fs, layout, path: path.to_owned(), objects }
    }

    /// Returns its layout.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Opens an object for reading. It is a regular file of the right size; its bytes are not
    /// looked at, and whoever owns it can change them.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Damaged`], or a failing call.
    pub fn open_object(&self, digest: &Digest) -> Result<OwnedFd, StoreError> {
        let damaged = |damage| Err(StoreError::Damaged { digest: *digest, damage });
        let (fan, name) = self.layout.place(&digest.to_hex());
        let opened = self.open(&fan, &name);
        let (file, status) = match opened {
            Err(Errno::NOENT) => return Err(StoreError::Missing { digest: *digest }),
            Err(Errno::LOOP) => return damaged(Damage::Kind),
            result => result.map_err(failed("open", self.path.join(fan).join(name)))?,
        };
        match (status.kind, status.size) {
            (Kind::File, size) if size == digest.size => Ok(file),
            (Kind::File, _) => damaged(Damage::Size),
            _ => damaged(Damage::Kind),
        }
    }

    pub(super) fn fs(&self) -> &'fs dyn Fs {
        self.fs
    }

    fn open(&self, fan: &str, name: &str) -> Result<(OwnedFd, crate::fs::Status), Errno> {
        let fan = self.fs.open_handle(self.objects.as_fd(), OsStr::new(fan))?;
        let file = self.fs.open_file(fan.as_fd(), OsStr::new(name))?;
        let status = self.fs.status_of(file.as_fd())?;
        Ok((file, status))
    }
}

impl Layout {
    /// Returns the directory of an object and its name there.
    pub(crate) fn place(self, digits: &str) -> (String, String) {
        let (fan, rest) = digits.split_at(2);
        match self {
            Self::Bazel => (fan.to_owned(), digits.to_owned()),
            Self::Casd => (fan.to_owned(), rest.to_owned()),
            Self::Oci => (".".to_owned(), digits.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
