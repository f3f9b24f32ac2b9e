//! The disk with the sources, the test executables and what the guest does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::test::Place;
use crate::workspace::{self, must};

/// Disks have whole sectors.
const SECTOR: usize = 512;

const GUEST: &str = include_str!("guest.sh");

/// The disk, which each guest gets a layer above; removed when this is dropped.
pub(super) struct Payload {
    disk: PathBuf,
    place: PathBuf,
}

impl Payload {
    /// Takes the directory that holds everything.
    pub(super) fn of(place: &Place) -> Result<Self> {
        let dir = workspace::target_dir()?.join("kernels");
        fs::create_dir_all(&dir)?;
        fs::write(place.base().join("guest.sh"), GUEST)?;
        let payload = Self { disk: dir.join("payload.ext4"), place: place.base().to_path_buf() };
        payload.make()?;
        Ok(payload)
    }

    fn make(&self) -> Result<()> {
        drop(fs::remove_file(&self.disk));
        let mut command = Command::new("mkfs.ext4");
        command.args(["-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=0,root_owner=0:0"]);
        must(command.arg("-d").arg(&self.place).arg(&self.disk).arg("8G"))
    }

    /// Writes what the next guest does to a file that is a disk as well.
    pub(super) fn write_jobs(&self, jobs: &str) -> Result<PathBuf> {
        let file = self.disk.with_extension("jobs");
        let padding = "\n".repeat(SECTOR - jobs.len() % SECTOR);
        fs::write(&file, format!("{jobs}{padding}"))?;
        Ok(file)
    }

    pub(super) fn disk(&self) -> &Path {
        &self.disk
    }

    /// Where the guest finds it.
    pub(super) fn place(&self) -> &Path {
        &self.place
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.disk));
    }
}
