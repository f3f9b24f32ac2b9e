//! The control group of a run: made before the clone, left by all processes, removed at the end.

use std::fs::{DirBuilder, File, OpenOptions, read_to_string, remove_dir};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::plan::step::CgroupPlan;

/// How often a group that was just left is tried: its last process may still be counted.
const TRIES: u32 = 50;

/// A group, removed when it is dropped.
#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
    directory: File,
}

impl Cgroup {
    /// Makes the group with its limits.
    pub(super) fn make(plan: &CgroupPlan) -> io::Result<Self> {
        let parent = plan.parent.as_path();
        for controller in &plan.enable {
            write(&parent.join("cgroup.subtree_control"), &format!("+{controller}"))?;
        }
        let path = parent.join(&plan.name);
        DirBuilder::new().create(&path)?;
        let group = File::open(&path).map(|directory| Self { path: path.clone(), directory });
        let group = group.inspect_err(|_| drop(remove_dir(&path)))?;
        for (file, value) in &plan.limits {
            write(&group.path.join(file), value)?;
        }
        Ok(group)
    }

    /// Returns whether the kernel ended the processes of the group at the limit of memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let events = read_to_string(self.path.join("memory.events")).unwrap_or_default();
        let kills = events.lines().filter_map(|line| line.strip_prefix("oom_kill "));
        kills.map(str::trim).any(|number| number != "0")
    }

    /// Returns the descriptor that a clone names to start a process in the group.
    pub(super) fn descriptor(&self) -> RawFd {
        self.directory.as_raw_fd()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            match remove_dir(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                _ => return,
            }
        }
    }
}

fn write(file: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(file)?
        .write_all(value.as_bytes())
}

#[cfg(test)]
mod tests {
    use endow_policy::HostPath;

    use super::*;

    #[test]
    fn group_carries_its_limits() {
        let root = tempfile::tempdir().expect("a directory");
        let plan = CgroupPlan {
            parent: HostPath::new(root.path()).expect("a path"),
            name: "endow-x".to_owned(),
            enable: vec!["pids".to_owned()],
            limits: vec![("pids.max".to_owned(), "5".to_owned())],
        };
        let group = Cgroup::make(&plan).expect("made");
        let read = |name: &str| std::fs::read_to_string(root.path().join(name)).expect("read");
        assert_eq!(read("cgroup.subtree_control"), "+pids");
        assert_eq!(read("endow-x/pids.max"), "5");
        let events = root.path().join("endow-x/memory.events");
        for (text, is_over) in [("oom 1\noom_kill 0\n", false), ("oom 1\noom_kill 3\n", true)] {
            std::fs::write(&events, text).expect("as a kernel would");
            assert_eq!(group.ran_out_of_memory(), is_over);
        }
        std::fs::remove_file(events).expect("as a kernel would");
        std::fs::remove_file(root.path().join("endow-x/pids.max")).expect("as a kernel would");
        drop(group);
        assert!(!root.path().join("endow-x").exists());
    }
}
