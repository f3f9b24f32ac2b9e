//! `cargo ci provision`: other people's work for tests to do: C packages, a crate with its
//! dependencies and a toolchain, projects of npm and PyPI, agents, and a store of contents.
//!
//! Everything lies in one directory outside the repository, owned by the user that tests run as,
//! and is fetched by that user through the clients of the package managers. What is there already
//! is kept.

mod agents;
mod aider;
mod buildgrid;
mod casd;
mod crates;
mod debian;
mod kernels;
mod lists;
mod projects;
mod sources;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};

use crate::arch::Arch;
use crate::{test, workspace};

/// The directory, and who owns it.
struct Work {
    root: PathBuf,
    /// The ordinary user when root provisions; `None` is whoever runs this.
    owner: Option<(u32, u32)>,
}

/// Returns the architectures whose kernels are asked for, too.
pub(crate) fn check(args: &[String]) -> Result<Vec<Arch>> {
    let arch = |word: &String| match word.as_str() {
        "kernels" => Ok(Arch::X86_64),
        "aarch64" => Ok(Arch::Aarch64),
        _ => bail!("usage: cargo ci provision [kernels] [aarch64]"),
    };
    args.iter().map(arch).collect()
}

/// Fetches what is missing; the kernels of `cargo ci kernels` only where they are named.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let kernels = check(args)?;
    let owner = if workspace::is_root()? { Some(test::test_user()?) } else { None };
    let work = Work { root: workspace::work_dir(), owner };
    work.directory("")?;
    work.part("c", debian::VERSION, debian::fetch)?;
    work.part("rust", crates::VERSION, crates::fetch)?;
    work.part("buildgrid", buildgrid::VERSION, buildgrid::fetch)?;
    work.part("casd", casd::VERSION, casd::fetch)?;
    work.part("npm", agents::VERSION, agents::fetch)?;
    work.part("aider", aider::VERSION, aider::fetch)?;
    work.part("projects", projects::VERSION, projects::fetch)?;
    for arch in kernels {
        ensure!(work.owner.is_some(), "kernels: only root can make a root for their guests");
        match arch {
            Arch::X86_64 => work.part(arch.part(), kernels::VERSION, kernels::fetch)?,
            Arch::Aarch64 => {
                work.part(arch.part(), kernels::AARCH64_VERSION, kernels::fetch_aarch64)?;
            }
        }
    }
    println!("provisioned: {}", work.root.display());
    Ok(ExitCode::SUCCESS)
}

impl Work {
    /// Makes one part, unless it is there in that version; a broken one is made anew.
    fn part(&self, name: &str, version: &str, make: fn(&Self, &Path) -> Result<()>) -> Result<()> {
        let (dir, stamp) = (self.root.join(name), self.root.join(format!("{name}.version")));
        if fs::read_to_string(&stamp).is_ok_and(|found| found == version) {
            println!("{name}: there already");
            return Ok(());
        }
        if dir.exists() {
            fs::remove_dir_all(&dir).with_context(|| format!("cannot empty {}", dir.display()))?;
        }
        self.directory(name)?;
        make(self, &dir).with_context(|| format!("cannot provision {name}"))?;
        fs::write(&stamp, version)?;
        println!("{name}: provisioned");
        Ok(())
    }

    /// Makes a directory of the owner's.
    fn directory(&self, name: &str) -> Result<PathBuf> {
        let path = self.root.join(name);
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        fs::set_permissions(&path, Permissions::from_mode(0o755))?;
        if let Some((uid, gid)) = self.owner {
            std::os::unix::fs::chown(&path, Some(uid), Some(gid))?;
        }
        Ok(path)
    }

    /// A command of the owner's, started in `dir`, with a home of its own.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(dir).env("HOME", dir).env("LANG", "C.UTF-8");
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text == "CARGO" || text.starts_with("RUSTUP_") || text.starts_with("CARGO_") {
                command.env_remove(&name);
            }
        }
        if let Some((uid, gid)) = self.owner {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Copies a tree for the owner.
    fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        workspace::must(
            Command::new("cp").args(["-a", "--no-preserve=ownership"]).arg(from).arg(to),
        )?;
        if let Some((uid, gid)) = self.owner {
            let owner = format!("{uid}:{gid}");
            workspace::must(Command::new("chown").args(["-R", "-h", &owner]).arg(to))?;
        }
        Ok(())
    }
}
