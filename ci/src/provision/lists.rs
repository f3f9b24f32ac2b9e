//! Packages by a pattern of their names: from the lists that apt has, or for another architecture from lists
//! of our own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::sources;
use crate::arch::Arch;
use crate::workspace::must;

pub(super) struct Lists {
    /// What makes apt look at them.
    options: Vec<String>,
    /// Where those of our own are.
    own: Option<PathBuf>,
}

impl Lists {
    /// The lists of one architecture; `dir` holds those that this machine does not have.
    pub(super) fn of(arch: Arch, dir: &Path) -> Result<Self> {
        if arch.is_here() {
            return Ok(Self { options: options(&[]), own: None });
        }
        let own = dir.join("apt");
        for name in ["state/lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(own.join(name))?;
        }
        fs::write(own.join("debian.sources"), sources::of(&sources::release()?)?)?;
        fs::write(own.join("status"), "")?;
        let at = |name: &str| own.join(name).display().to_string();
        let settings = [
            format!("APT::Architecture={}", arch.debian()),
            format!("APT::Architectures::={}", arch.debian()),
            format!("Dir::State={}", at("state")),
            format!("Dir::State::status={}", at("status")),
            format!("Dir::Cache={}", at("cache")),
            format!("Dir::Etc::sourcelist={}", at("debian.sources")),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
        ];
        let lists = Self { options: options(&settings), own: Some(own) };
        must(lists.apt("apt-get").args(["-qq", "update"]))?;
        Ok(lists)
    }

    /// Removes what was made for them.
    pub(super) fn remove(&self) -> Result<()> {
        self.own.as_ref().map_or(Ok(()), fs::remove_dir_all)?;
        Ok(())
    }

    fn apt(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(&self.options);
        command
    }

    /// The package with the highest numbers in a name of that pattern.
    pub(super) fn newest(&self, pattern: &str) -> Result<String> {
        let output = self.apt("apt-cache").args(["search", "-n", pattern]).output();
        let output = output.context("apt-cache does not start")?;
        ensure!(output.status.success(), "apt-cache failed: {}", output.status);
        newest(&String::from_utf8(output.stdout)?)
            .context("apt knows no package of it: is `apt-get update` run?")
    }

    /// Downloads a package to an empty directory, and says where it is.
    pub(super) fn download(&self, package: &str, to: &Path) -> Result<PathBuf> {
        must(self.apt("apt-get").args(["-qq", "download", package]).current_dir(to))?;
        let archive = fs::read_dir(to)?.filter_map(|entry| Some(entry.ok()?.path()));
        let mut archive = archive.filter(|path| path.extension().is_some_and(|it| it == "deb"));
        archive.next().context("apt-get made no file")
    }
}

/// Words of apt's command line that set these and what all calls need.
fn options(settings: &[String]) -> Vec<String> {
    let shared = ["APT::Sandbox::User=root".to_owned()];
    let all = shared.iter().chain(settings);
    all.flat_map(|setting| ["-o".to_owned(), setting.clone()]).collect()
}

fn newest(found: &str) -> Option<String> {
    let packages = found.lines().filter_map(|line| line.split(' ').next());
    packages.max_by_key(|name| numbers(name)).map(str::to_owned)
}

fn numbers(name: &str) -> Vec<u64> {
    let digits = name.split(|letter: char| !letter.is_ascii_digit());
    digits.filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::newest;

    #[test]
    fn newest_package_is_found_by_its_numbers() {
        let found = "linux-image-6.1.0-9-amd64 - Linux\nlinux-image-6.1.0-56-amd64 - Linux\n";
        assert_eq!(newest(found).as_deref(), Some("linux-image-6.1.0-56-amd64"));
        assert_eq!(newest(""), None);
    }
}
