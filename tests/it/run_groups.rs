//! What a command sees of control groups: its own at most, whichever runs beside it.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::harness::{Said, World, elsewhere, endow, said};

/// What is below the place where programs look for their limits.
const LOOK: &str = "cd /sys/fs/cgroup 2>/dev/null || exit 0
    find . -type d | sort | xargs; test -f cgroup.events && echo limits
    (echo 0 >cgroup.procs) 2>/dev/null && echo moved; true";

/// Runs `LOOK` where one hierarchy of version 2 is mounted, without and with endow.
fn both(world: &World, enter: &str) -> (Said, Said) {
    let mount = "sh -c 'mount -t cgroup2 none /sys/fs/cgroup && exec \"$@\"' sh";
    let around = match rustix::process::getuid().is_root() {
        _ if Path::new("/sys/fs/cgroup/cgroup.procs").exists() => String::new(),
        true => format!("unshare -m {mount}"),
        false => format!("unshare -UrmC {mount}"),
    };
    let script = format!("{enter} exec {around} \"$@\"");
    let run = |words: &[&str]| {
        let mut command = world.command("sh");
        command.args(["-c", &script, "sh"]).args(words).args(["sh", "-c", LOOK]);
        said(&mut command)
    };
    let endow = endow();
    (run(&[]), run(&[endow.to_str().expect("text"), "run", "--"]))
}

/// A process of the root group has no limit to see, and would see all groups.
#[test]
fn root_of_all_groups_is_shown_to_none() {
    let world = World::new();
    if own_group().is_none_or(|own| !own.is_empty()) {
        return elsewhere("the tests are in a control group");
    }
    let (control, inside) = both(&world, "");
    assert!(control.ok().starts_with('.'), "{control:?}");
    assert_eq!(inside.ok(), "");
}

#[test]
fn group_of_the_run_is_shown_and_none_beside_it() {
    let Some(above) = writable_group() else {
        return elsewhere("no control group can be made");
    };
    let world = World::new();
    let (own, beside) = (Group::make(&above, "own"), Group::make(&above, "app-4242.scope"));
    let enter = format!("echo $$ >{}/cgroup.procs;", own.0.display());
    let (control, inside) = both(&world, &enter);
    let name = beside.0.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(control.ok().contains(&name), "{control:?}");
    assert_eq!(inside.ok(), ".\nlimits\n");
}

/// A group that this test makes, and takes away.
struct Group(PathBuf);

impl Group {
    fn make(above: &Path, name: &str) -> Self {
        let group = above.join(format!("endow-test-{}-{name}", std::process::id()));
        fs::create_dir(&group).expect("a group");
        Self(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        drop(fs::remove_dir(&self.0));
    }
}

/// The group of version 2 that the tests run in, below the root.
pub(crate) fn own_group() -> Option<String> {
    let groups = fs::read_to_string("/proc/self/cgroup").expect("groups");
    groups.lines().find_map(|line| line.strip_prefix("0::/")).map(str::to_owned)
}

/// The group beside which the tests run, or in which, where the tests may make others.
fn writable_group() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("a table");
    let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    let mount = Path::new(line.split(' ').nth(4)?);
    let own = own_group()?;
    let above = mount.join(Path::new(&own).parent().unwrap_or(Path::new("")));
    let may = |path: &Path| access(path, Access::WRITE_OK).is_ok();
    (may(&above) && may(&above.join("cgroup.procs"))).then_some(above)
}
