//! Limits of a policy, and what is said of an action that reached one.

use std::fs;
use std::time::{Duration, Instant};

use crate::harness::{Project, Running, Said, mark, marked, said, soon};

fn limited(limits: &str) -> Project {
    let project = Project::new("");
    let policy = format!("version = 1\n[limits]\n{limits}\n");
    project.world.write("config/policy.toml", &policy);
    project
}

fn built(project: &Project, script: &str) -> Said {
    project.build_anew(&["--output", "o", "--", "sh", "-c", script])
}

#[test]
fn time_of_the_policy_is_for_actions_that_state_none() {
    let (project, mark) = (limited("timeout = \"1s\""), mark());
    let begun = Instant::now();
    let told = built(&project, &format!("exec sleep {mark}0"));
    assert!(told.fails(1).contains("its time was over"), "{told:?}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_eq!(marked(&format!("{mark}0")), Vec::<i32>::new());
    let own = ["--timeout", "1m", "--output", "o", "--", "sh", "-c", "sleep 2; echo made >o"];
    project.build(&own).ok();
}

/// The controls are the same actions without the limits.
#[test]
fn limits_of_the_policy_hold_in_each_action() {
    for (limits, script) in [
        ("file_size = \"1K\"", "head -c 4096 /dev/zero >o"),
        ("open_files = 20", "[ $(ulimit -n) -gt 20 ] && echo made >o"),
        ("pids = 3", "for i in 1 2 3 4 5 6; do sleep 1 & done; wait; echo made >o"),
        (
            "cpu_time = \"1s\"",
            "timeout 3 sh -c 'while :; do :; done' || [ $? = 124 ] && echo made >o",
        ),
    ] {
        let project = limited(limits);
        assert_eq!(built(&project, script).code, 1, "{limits}");
        fs::remove_file(project.world.root().join("config/policy.toml")).expect("removed");
        built(&project, script).ok();
    }
}

#[test]
fn layer_that_is_full_ends_an_action() {
    let project = limited("layer_size = \"1M\"");
    let script = "head -c 8000000 /dev/zero >x; sleep 20; echo made >o";
    let told = built(&project, script);
    assert!(told.fails(1).contains("it left more than `[limits]` lets a layer hold"), "{told:?}");
    built(&project, "echo made >o").ok();
}

/// Who has the result has it, whatever it may use to come to another one.
#[test]
fn result_is_found_under_other_limits() {
    let project = Project::new("");
    let action = ["--output", "o", "--", "sh", "-c", "echo made >o"];
    assert_eq!(project.states(&action), ["command executed"]);
    project
        .world
        .write("config/policy.toml", "version = 1\n[limits]\ntimeout = \"5s\"\nopen_files = 99\n");
    assert_eq!(project.states(&action), ["command cached"]);
}

/// A memory limit needs a control group; where none can be made the action is refused, and says what accepts the loss.
#[test]
fn limit_that_this_host_can_not_keep_is_accepted_by_name() {
    let project = limited("memory = \"200M\"");
    let plain = project.world.run(&["run", "--workspace", "none", "--chdir", "/"], "true");
    let told = built(&project, "echo made >o");
    assert_eq!(told.code == 0, plain.code == 0, "{told:?}");
    if told.code != 0 {
        assert!(told.stderr.contains("`best_effort = [\"memory\"]` under `[require]`"), "{told:?}");
        let accepted =
            "version = 1\n[limits]\nmemory = \"200M\"\n[require]\nbest_effort = [\"memory\"]\n";
        project.world.write("config/policy.toml", accepted);
        built(&project, "echo made >o").ok();
    }
}

/// What an action writes without an end fills the disk, and ends with it. The first action has one before it in its worker.
#[test]
fn output_for_which_there_is_no_room_ends_its_action() {
    let project = Project::new(
        r#"
[[action]]
name = "before"
command = ["sh", "-c", "echo made >before"]
outputs = ["before"]

[[action]]
name = "endless"
needs = ["before"]
command = ["yes"]
"#,
    );
    let cache = project.world.root().join("cache");
    fs::create_dir_all(&cache).expect("made");
    let script = format!(
        "mount -t tmpfs -o size=16m none {cache} && chmod 700 {cache} || exit 99
         mount -t tmpfs none /usr/share || exit 99
         {endow} build -j1 before || exit 98; df --output=used {cache} | tail -1
         timeout 60 {endow} build -j1; code=$?; df --output=used {cache} | tail -1; exit $code",
        cache = cache.display(),
        endow = crate::harness::endow().display(),
    );
    let mut command = project.world.command("unshare");
    let begun = Instant::now();
    let told = said(command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]));
    assert!(told.fails(1).contains("endless: can't keep what the command writes"), "{told:?}");
    assert!(told.stderr.contains("No space left on device"), "{told:?}");
    assert!(begun.elapsed() < Duration::from_secs(50), "{:?}", begun.elapsed());
    let used: Vec<u64> =
        told.stdout.lines().map(|it| it.trim().parse().expect("a number")).collect();
    assert!(matches!(used[..], [before, after] if after < before + 256), "{used:?} KiB are held");
}

#[test]
fn system_call_that_is_refused_is_named_as_such() {
    let project = Project::new("");
    let told = built(&project, "kill -SYS $$");
    assert!(told.fails(1).contains("endow: command: signal 31\nhint: SIGSYS: "), "{told:?}");
    let other = built(&project, "kill -KILL $$");
    assert!(!other.fails(1).contains("SIGSYS"), "control: {other:?}");
}

/// The control is the other build, which is alone at its end.
#[test]
fn store_that_stays_too_large_is_told() {
    let project = Project::new("");
    project.world.write("config/policy.toml", "version = 1\n[state]\ncache = \"64K\"\n");
    let build = |number: usize| {
        let script = format!("seq {number} 100000 >out");
        project.build(&["--output", "out", "--", "sh", "-c", &script])
    };
    let (other, mark) = (project.path("other"), mark());
    fs::create_dir(&other).expect("made");
    let mut other =
        Running::start(project.world.endow(["build", "--", "sleep", &mark]).current_dir(&other));
    soon("the other goes on", || !marked(&mark).is_empty());
    let said = build(1);
    said.ok();
    let told = "the store has more than `[state] cache` allows, and stays so while others use it";
    assert!(said.stderr.contains(told), "{said:?}");
    other.signal(15);
    other.end();
    let alone = build(2);
    alone.ok();
    assert!(!alone.stderr.contains(told), "{alone:?}");
}
