//! The kernels that `cargo ci provision kernels` made ready.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::workspace;

/// What they are called.
pub(super) const NAMES: [&str; 2] = ["6.1", "6.12"];

/// A kernel to boot.
pub(super) struct Kernel {
    pub(super) name: String,
    /// The package of Debian that it came from.
    pub(super) package: String,
    dir: PathBuf,
}

impl Kernel {
    /// Finds one by its name.
    pub(super) fn named(name: &str) -> Result<Self> {
        let dir = workspace::work_dir().join("kernels").join(name);
        let package = fs::read_to_string(dir.join("package")).with_context(|| {
            format!("no kernel {name}: `cargo ci provision kernels` as root fetches it")
        })?;
        Ok(Self { name: name.to_owned(), package: package.trim().to_owned(), dir })
    }

    /// The kernel itself.
    pub(super) fn image(&self) -> PathBuf {
        self.dir.join("vmlinuz")
    }

    /// What leads to the disks.
    pub(super) fn initramfs(&self) -> PathBuf {
        self.dir.join("initramfs")
    }
}

/// The disk that each guest gets a layer above.
pub(super) fn root_disk() -> PathBuf {
    workspace::work_dir().join("kernels/root.ext4")
}
