//! Trees with as many files as wanted, in the shape of real ones: the names and directories of the
//! packages that `cargo ci provision` fetches, as often as it takes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// What a tree is made of, below the directory of provisioned packages.
const PACKAGES: [&str; 4] = ["snapd", "git", "busybox", "bzip2"];

/// Paths of files as real packages have them.
pub(super) struct Shape {
    paths: Vec<PathBuf>,
}

impl Shape {
    /// Reads the names of the packages.
    pub(super) fn read() -> Result<Self> {
        let root = workspace::work_dir().join("c");
        let mut paths = Vec::new();
        for package in PACKAGES {
            add(&root, Path::new(package), &mut paths)
                .with_context(|| format!("no {package}: `cargo ci provision` fetches it"))?;
        }
        ensure!(!paths.is_empty(), "the packages are empty");
        // Directories come in any order; a tree is the same each time.
        paths.sort();
        Ok(Self { paths })
    }

    /// Makes a repository without commits that has so many files below `root`, all empty.
    pub(super) fn make(&self, root: &Path, files: usize) -> Result<PathBuf> {
        for number in 0..files {
            let (copy, path) = (number / self.paths.len(), &self.paths[number % self.paths.len()]);
            let path = root.join(format!("part{copy}")).join(path);
            if let Err(error) = File::create(&path) {
                let above = path.parent().context("a file without a directory")?;
                fs::create_dir_all(above).with_context(|| error.to_string())?;
                File::create(&path)?;
            }
        }
        workspace::must(Command::new("git").args(["init", "-q"]).arg(root))?;
        Ok(root.to_owned())
    }
}

fn add(root: &Path, below: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        // Those of the packages' own repositories are no part of them.
        let is_git = entry.file_name() == OsStr::new(".git");
        match entry.file_type()? {
            kind if kind.is_dir() && !is_git => add(root, &path, paths)?,
            kind if kind.is_file() => paths.push(path),
            _ => {}
        }
    }
    Ok(())
}
