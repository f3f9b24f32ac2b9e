//! Limits of a control group, where one is delegated to the user as systemd does.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::{diagnosis, findings};
use crate::harness::{Running, World, elsewhere, mark, marked, said, soon};
use crate::run_groups::own_group;
use crate::run_limits::FORKS;

/// Takes more and more memory, and says so before each step.
const GRABS: &str = "
held = []
for n in range(10):
    held.append(b'x' * 30_000_000)
    print(n, flush=True)";

/// Three processes, each of which takes less than the limit.
const GRAB_TOGETHER: &str = "
import os, time
for n in range(3):
    if os.fork() == 0:
        held = b'x' * 60_000_000
        time.sleep(3)
        os._exit(0)
print([os.waitstatus_to_exitcode(os.wait()[1]) for n in range(3)], flush=True)";

/// The group below which runs get theirs, if it is delegated; else says that the test needs it.
fn delegated() -> Option<PathBuf> {
    let own = own_group().unwrap_or_default();
    let above = Path::new("/sys/fs/cgroup").join(&own);
    let above = above.parent().map(Path::to_path_buf).unwrap_or_default();
    let controllers = fs::read_to_string(above.join("cgroup.controllers")).unwrap_or_default();
    let has = |name: &str| controllers.split_whitespace().any(|it| it == name);
    let writable = access(above.join("cgroup.procs"), Access::WRITE_OK).is_ok();
    let is_there = !own.is_empty() && writable && has("memory") && has("pids");
    if !is_there {
        elsewhere("no control group with memory and pids is delegated");
    }
    is_there.then_some(above)
}

/// The groups of runs that are there.
fn groups(above: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(above).expect("a group").filter_map(Result::ok);
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("endow-")
    };
    entries.map(|entry| entry.path()).filter(is_ours).collect()
}

/// The group of the run that a program called `mark` is in.
fn group_of(above: &Path, pid: i32) -> Option<PathBuf> {
    let holds = |group: &PathBuf| {
        let pids = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        pids.lines().any(|line| line.parse() == Ok(pid))
    };
    groups(above).into_iter().find(holds)
}

fn python(world: &World, options: &[&str], program: &str) -> crate::harness::Said {
    let words = [&["run"], options, &["--", "python3", "-c", program]].concat();
    said(&mut world.endow(words))
}

#[test]
fn doctor_finds_it() {
    let Some(_) = delegated() else { return };
    let world = World::new();
    let found = findings(&diagnosis(&world).1, "cgroup");
    assert!(found[0].starts_with("ok: delegated, with: ") && found[0].contains("memory"));
}

#[test]
fn memory_is_limited_and_the_end_told() {
    let Some(_) = delegated() else { return };
    let world = World::new();
    let inside = python(&world, &["-v", "--memory", "100M"], GRABS);
    assert!(inside.fails(124).contains("memory limit"), "{inside:?}");
    assert!(inside.stdout.starts_with("0\n") && !inside.stdout.contains('5'), "{inside:?}");
    let report = world.root().join("report");
    let at = report.to_str().expect("text");
    python(&world, &["--memory", "100M", "--report", at], GRABS);
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&report).expect("a report")).expect("JSON");
    assert_eq!(report["outcome"]["kind"], "limit", "{report}");
    world.assert_no_run_left();
    let control = python(&world, &[], GRABS);
    assert!(control.ok().ends_with("9\n"));
}

#[test]
fn memory_of_all_processes_counts_together() {
    let Some(_) = delegated() else { return };
    let world = World::new();
    let inside = python(&world, &["--memory", "120M"], GRAB_TOGETHER);
    assert_eq!((inside.code, inside.stdout.as_str()), (124, ""), "{inside:?}");
    let control = python(&world, &["--memory", "400M"], GRAB_TOGETHER);
    assert_eq!(control.ok(), "[0, 0, 0]\n");
}

#[test]
fn memory_files_count_too() {
    let Some(_) = delegated() else { return };
    let world = World::new();
    let inside =
        world.run(&["run", "--memory", "60M"], "head -c 200M /dev/zero >/dev/shm/big; echo end");
    assert_eq!((inside.code, inside.stdout.as_str()), (124, ""), "{inside:?}");
}

#[test]
fn processes_are_limited_at_every_level() {
    let Some(_) = delegated() else { return };
    let world = World::new();
    let inside = python(&world, &["--pids", "12"], FORKS);
    assert_eq!(inside.ok(), "11 Resource temporarily unavailable\n", "{}", inside.stderr);
    let in_place = ["--require", "landlock", "--ro", "/usr", "--pids", "12"];
    let inside = python(&world, &in_place, FORKS);
    if inside.code == 122 {
        assert!(inside.stderr.contains("scope of signals"), "{}", inside.stderr);
    } else {
        assert_eq!(inside.ok(), "11 Resource temporarily unavailable\n", "{}", inside.stderr);
    }
}

#[test]
fn group_holds_all_of_the_run_and_is_gone_afterwards() {
    let Some(above) = delegated() else { return };
    let (world, mark) = (World::new(), mark());
    let script = format!("(sleep {mark} & sleep {mark}) & echo up; wait; sleep {mark}");
    let mut run =
        Running::start(&mut world.endow(["run", "--memory", "1G", "--", "sh", "-c", &script]));
    run.expect("up");
    soon("two sleep", || marked(&mark).len() >= 2);
    let inside = marked(&mark);
    let group = group_of(&above, inside[0]).expect("the run's group");
    assert!(inside.iter().all(|pid| group_of(&above, *pid).as_ref() == Some(&group)));
    assert_eq!(fs::read_to_string(group.join("memory.max")).expect("read").trim(), "1073741824");
    run.signal(15);
    run.end();
    assert!(!group.exists());
}

#[test]
fn command_sees_no_way_to_its_limits() {
    let Some(_) = delegated() else { return };
    let world = World::new();
    let script = "cat /proc/self/cgroup; ls /sys/fs/cgroup 2>&1 | head -1; \
                  mkdir /tmp/c && mount -t cgroup2 c /tmp/c 2>/dev/null; ls /tmp/c";
    let inside = world.run(&["run", "--pids", "20"], script);
    assert!(inside.stdout.starts_with("0::/\n"), "{inside:?}");
    assert!(!inside.stdout.contains("cgroup.procs"), "{inside:?}");
}

#[test]
fn group_of_a_killed_run_holds_nobody() {
    let Some(above) = delegated() else { return };
    let (world, mark) = (World::new(), mark());
    let script = format!("echo up; exec sleep {mark}");
    let mut run =
        Running::start(&mut world.endow(["run", "--pids", "20", "--", "sh", "-c", &script]));
    run.expect("up");
    soon("it sleeps", || !marked(&mark).is_empty());
    let group = group_of(&above, marked(&mark)[0]).expect("the run's group");
    run.signal(9);
    run.end();
    soon("all of it is gone", || marked(&mark).is_empty());
    let left = || fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    soon("its group is empty", || left().is_empty());
    // Nobody was left to remove it.
    drop(fs::remove_dir(&group));
    assert!(!group.exists());
}
