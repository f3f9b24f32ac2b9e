//! The architectures that endow is for: what builds tests for one, and what boots a kernel of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace::{self, must};

/// Where the kernel is told who runs the programs of other machines.
const PROGRAMS: &str = "/proc/sys/fs/binfmt_misc";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arch {
    X86_64,
    Aarch64,
}

impl Arch {
    pub(crate) const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// This machine's.
    pub(crate) const HERE: Self =
        if cfg!(target_arch = "aarch64") { Self::Aarch64 } else { Self::X86_64 };

    /// As Debian calls it.
    pub(crate) fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// What cargo builds for.
    pub(crate) fn target(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// Where `cargo ci provision` puts kernels and the root of their guests.
    pub(crate) fn kernels(self) -> PathBuf {
        workspace::work_dir().join(self.part())
    }

    /// That part of what is provisioned.
    pub(crate) fn part(self) -> &'static str {
        match self {
            Self::X86_64 => "kernels",
            Self::Aarch64 => "kernels-aarch64",
        }
    }

    /// Whether this machine is one.
    pub(crate) fn is_here(self) -> bool {
        self == Self::HERE
    }

    /// Has cargo build for it; build scripts find a C compiler of that name by themselves.
    pub(crate) fn aim(self, cargo: &mut Command) {
        if !self.is_here() {
            let name = self.target().replace('-', "_").to_uppercase();
            cargo.env(format!("CARGO_TARGET_{name}_LINKER"), self.compiler());
            cargo.args(["--target", self.target()]);
        }
    }

    fn compiler(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-linux-gnu-gcc",
            Self::Aarch64 => "aarch64-linux-gnu-gcc",
        }
    }

    /// Sees to it that this machine's kernel hands programs of that architecture to qemu, as Debian's package sets
    /// it up where systemd runs.
    pub(crate) fn make_runnable(self) -> Result<()> {
        let name = format!("qemu-{}", self.target().split('-').next().unwrap_or_default());
        let known = Path::new(PROGRAMS).join(&name);
        if self.is_here() || known.exists() {
            return Ok(());
        }
        let rule = PathBuf::from(format!("/usr/lib/binfmt.d/{name}.conf"));
        let rule = fs::read_to_string(&rule).with_context(|| {
            format!("no {}: the package qemu-user-static has it", rule.display())
        })?;
        if !Path::new(PROGRAMS).join("register").exists() {
            must(Command::new("mount").args(["-t", "binfmt_misc", "binfmt_misc", PROGRAMS]))?;
        }
        fs::write(Path::new(PROGRAMS).join("register"), rule.trim())
            .with_context(|| format!("the kernel does not take {name}"))?;
        ensure!(known.exists(), "the kernel knows no {name}");
        Ok(())
    }
}
