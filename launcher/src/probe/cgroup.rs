//! Whether control groups can limit a run here: cgroups(7), version 2, below a group that the user
//! was given.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::{HostPath, Limits};
use rustix::fs::{Access, access};

use crate::plan::host::CgroupFact;
use crate::sys;

/// The controllers that limits ask for.
const WANTED: [&str; 2] = ["memory", "pids"];

/// Finds the group below which the user may make groups; only asked when a limit needs one.
/// `root` is `/`, or the place of a tree made for a test.
pub(super) fn facts(limits: &Limits, root: &Path) -> CgroupFact {
    let is_own = is_own(root);
    if limits.memory_bytes.is_none() && limits.pids.is_none() {
        return CgroupFact { is_own, ..CgroupFact::default() };
    }
    match find(root) {
        Ok(fact) => CgroupFact { is_own, ..fact },
        Err(reason) => CgroupFact { reason: reason.to_owned(), is_own, ..CgroupFact::default() },
    }
}

/// Whether this process is in a group below the root of all: that root alone has no such file
/// (cgroups(7), `cgroup.events`), and a namespace's root may be any group. Version 2 is looked for where programs do.
fn is_own(root: &Path) -> bool {
    let group = own_group(root).unwrap_or_default();
    let group = group.strip_prefix("/").unwrap_or(&group);
    let events = root.join("sys/fs/cgroup").join(group).join("cgroup.events");
    access(events, Access::EXISTS).is_ok()
}

/// The run's group becomes a sibling of the caller's own: a group that holds processes can't
/// hand controllers down.
fn find(root: &Path) -> Result<CgroupFact, &'static str> {
    let mount = mount_point(root).ok_or("no cgroup2 file system is mounted")?;
    let own = own_group(root).ok_or("this process is in no cgroup of version 2")?;
    let own = own.parent().ok_or("this process is in the root group")?;
    let parent = root.join(mount).join(own.strip_prefix("/").unwrap_or(own));
    if access(&parent, Access::WRITE_OK).is_err()
        || access(parent.join("cgroup.procs"), Access::WRITE_OK).is_err()
    {
        return Err("the group above is not delegated to you");
    }
    let enabled = words(&parent.join("cgroup.subtree_control"));
    let can_enable = access(parent.join("cgroup.subtree_control"), Access::WRITE_OK).is_ok();
    let there = words(&parent.join("cgroup.controllers"));
    let usable = |name: &&str| {
        enabled.iter().any(|it| it == name) || (can_enable && there.iter().any(|it| it == name))
    };
    let controllers: Vec<String> =
        WANTED.iter().filter(|name| usable(name)).map(|name| (*name).to_owned()).collect();
    let enable = controllers.iter().filter(|name| !enabled.contains(name)).cloned().collect();
    let parent = HostPath::new(parent).map_err(|_| "the group's path can't be used")?;
    let reason = "the group above hands no such controller down".to_owned();
    Ok(CgroupFact { parent: Some(parent), controllers, enable, reason, is_own: false })
}

/// Finds where the one hierarchy of version 2 is mounted whole, relative to `root`.
fn mount_point(root: &Path) -> Option<PathBuf> {
    let table = fs::read(root.join("proc/self/mountinfo")).ok()?;
    let mut mounts = sys::mountinfo::parse(&table).into_iter();
    let whole = mounts.find(|it| it.kind == "cgroup2" && it.root == Path::new("/"))?;
    whole.place.strip_prefix("/").ok().map(Path::to_owned)
}

fn own_group(root: &Path) -> Option<PathBuf> {
    let groups = fs::read(root.join("proc/self/cgroup")).ok()?;
    let mut lines = groups.split(|byte| *byte == b'\n');
    let own = lines.find_map(|line| line.strip_prefix(b"0::"))?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(own)))
}

fn words(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTINFO: &str = "25 1 0:22 / /sys rw - sysfs sysfs rw\n30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

    /// Makes a tree in which this process is in `slice/scope` and `slice` belongs to the user.
    fn tree(own: &str, enabled: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        };
        write("proc/self/mountinfo", MOUNTINFO);
        write("proc/self/cgroup", own);
        write("sys/fs/cgroup/slice/cgroup.procs", "");
        write("sys/fs/cgroup/slice/cgroup.controllers", "cpu memory pids\n");
        write("sys/fs/cgroup/slice/cgroup.subtree_control", enabled);
        write("sys/fs/cgroup/slice/scope/cgroup.procs", "1\n");
        root
    }

    fn limits() -> Limits {
        Limits { pids: Some(5), ..Limits::default() }
    }

    #[test]
    fn delegated_group_is_found() {
        let root = tree("0::/slice/scope\n", "memory\n");
        let fact = facts(&limits(), root.path());
        assert_eq!(fact.controllers, ["memory", "pids"]);
        assert_eq!(fact.enable, ["pids"]);
        let parent = fact.parent.expect("a parent");
        assert_eq!(parent.as_path(), root.path().join("sys/fs/cgroup/slice"));
    }

    #[test]
    fn version_1_alone_is_no_help() {
        let root = tree("3:memory:/slice/scope\n", "");
        assert_eq!(facts(&limits(), root.path()).parent, None);
    }

    #[test]
    fn group_below_the_root_is_the_runs_own() {
        let is_own = |own: &str, file: &str| {
            let root = tree(own, "");
            fs::write(root.path().join(file), "").expect("written");
            facts(&Limits::default(), root.path()).is_own
        };
        let of_scope = "sys/fs/cgroup/slice/scope/cgroup.events";
        assert!(is_own("0::/slice/scope\n", of_scope));
        assert!(is_own("0::/\n", "sys/fs/cgroup/cgroup.events"), "the root of a namespace");
        assert!(!is_own("0::/\n", of_scope), "the root of all");
        assert!(!is_own("3:memory:/slice/scope\n", of_scope), "version 1");
    }

    #[test]
    fn nothing_is_asked_without_a_limit() {
        assert_eq!(facts(&Limits::default(), Path::new("/nonesuch")), CgroupFact::default());
    }

    #[test]
    fn group_of_somebody_else_is_refused() {
        let root = tree("0::/other/scope\n", "memory pids\n");
        let fact = facts(&limits(), root.path());
        assert_eq!(fact.parent, None);
        assert!(fact.reason.contains("not delegated"), "{}", fact.reason);
    }
}
