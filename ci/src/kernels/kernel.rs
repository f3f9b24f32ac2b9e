//! The kernels that `cargo ci provision kernels` made ready, and those of `cargo ci provision aarch64`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::arch::Arch;

/// What they are called.
pub(super) const NAMES: [&str; 3] = ["6.1", "6.12", "6.12-aarch64"];

/// What those of this machine's architecture are called.
pub(super) const USUAL: [&str; 2] = ["6.1", "6.12"];

/// A kernel to boot.
pub(super) struct Kernel {
    pub(super) name: String,
    /// The package of Debian that it came from.
    pub(super) package: String,
    pub(super) arch: Arch,
    dir: PathBuf,
}

impl Kernel {
    /// Finds one by its name.
    pub(super) fn named(name: &str) -> Result<Self> {
        let Some(arch) = arch(name) else {
            bail!("no kernel {name}: there are {}", NAMES.join(", "))
        };
        let dir = arch.kernels().join(name);
        let package = fs::read_to_string(dir.join("package")).with_context(|| {
            let word = if arch == Arch::Aarch64 { "aarch64" } else { "kernels" };
            format!("no kernel {name}: `cargo ci provision {word}` as root fetches it")
        })?;
        Ok(Self { name: name.to_owned(), package: package.trim().to_owned(), arch, dir })
    }

    /// The kernel itself.
    pub(super) fn image(&self) -> PathBuf {
        self.dir.join("vmlinuz")
    }

    /// What leads to the disks.
    pub(super) fn initramfs(&self) -> PathBuf {
        self.dir.join("initramfs")
    }

    /// The disk that each guest gets a layer above.
    pub(super) fn root_disk(&self) -> PathBuf {
        self.arch.kernels().join("root.ext4")
    }
}

/// Which architecture a kernel of that name is of.
pub(super) fn arch(name: &str) -> Option<Arch> {
    if !NAMES.contains(&name) {
        return None;
    }
    Some(if name.ends_with("-aarch64") { Arch::Aarch64 } else { Arch::X86_64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_architecture() {
        assert_eq!(arch("6.12"), Some(Arch::X86_64));
        assert_eq!(arch("6.12-aarch64"), Some(Arch::Aarch64));
        assert_eq!(arch("2.6-aarch64"), None);
        assert!(USUAL.iter().all(|name| arch(name) == Some(Arch::X86_64)));
    }
}
