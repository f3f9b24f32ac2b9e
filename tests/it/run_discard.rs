//! Copy-on-write mounts whose changes are dropped: caches that a command may fill and can't poison.

use std::fs;

use serde_json::Value;

use crate::harness::{Running, Said, World, mark, marked, said, soon};

const KILL: i32 = 9;
const CHANGE: &str = "set -e; echo guest >>file; echo guest >dir/sub/deep; rm dir/inner; mkdir new
    echo x >new/x; mv dir moved; cat file moved/sub/deep new/x";

/// A world with a cache beside the project, and the place of that cache.
fn cache() -> (World, String) {
    let world = World::new();
    world.write("home/project/file", "host\n");
    world.write("shared/file", "host\n");
    world.write("shared/dir/inner", "host\n");
    world.write("shared/dir/sub/deep", "host\n");
    let at = world.root().join("shared").display().to_string();
    (world, at)
}

/// Runs a script in the cache; nothing else can be changed.
fn run(world: &World, mount: &str, script: &str) -> Said {
    let at = mount.split(',').next().unwrap_or_default();
    let options = ["run", "--workspace", "ro", "--cow", mount, "--chdir", at];
    world.run(&options, script)
}

/// Everything that tells of a change: names, kinds, modes, owners, numbers, times, contents.
fn tree(world: &World, at: &str) -> String {
    let script = format!(
        "cd {at}; find . -printf '%P %y %m %u %i %n %T@ %C@ %l\\n' | sort
        find . -type f -print0 | sort -z | xargs -0 sha256sum"
    );
    world.bare(&script).ok().to_owned()
}

fn told(world: &World, words: &[&str]) -> Said {
    said(&mut world.endow(words))
}

#[test]
fn changes_are_seen_inside_and_dropped() {
    let (world, at) = cache();
    let before = tree(&world, &at);
    let mount = format!("{at},sync=discard");
    assert_eq!(run(&world, &mount, CHANGE).ok(), "host\nguest\nguest\nx\n");
    assert_eq!(tree(&world, &at), before, "after success");
    run(&world, &mount, &format!("{CHANGE}; exit 3")).fails(3);
    assert_eq!(tree(&world, &at), before, "after failure");
    run(&world, &mount, &format!("{CHANGE}; kill -9 $$")).fails(128 + KILL);
    assert_eq!(tree(&world, &at), before, "after a signal");
    world.assert_no_run_left();
    let control = run(&world, &at, CHANGE);
    assert_eq!(control.ok(), "host\nguest\nguest\nx\n");
    assert_ne!(tree(&world, &at), before, "without `sync` it is written back");
}

#[test]
fn changes_of_a_killed_supervisor_are_swept() {
    let ((world, at), mark) = (cache(), mark());
    let before = tree(&world, &at);
    let script = format!("{CHANGE}; chmod 0 new; echo ready; exec sleep {mark}");
    let mount = format!("{at},sync=discard");
    let options = ["run", "--workspace", "ro", "--cow", &mount, "--chdir", &at, "--"];
    let mut command = world.endow(options);
    let mut running = Running::start(command.args(["sh", "-c", &script]));
    while running.line() != "ready" {}
    running.signal(KILL);
    assert_eq!(running.end(), 128 + KILL);
    soon("every process is gone", || marked(&mark).is_empty());
    assert_eq!(tree(&world, &at), before);
    world.run(&["run", "--workspace", "ro"], "true").ok();
    world.assert_no_run_left();
}

/// Every way to a file that a command may try, with its own control.
#[test]
fn files_of_the_host_cannot_be_changed() {
    let attacks = [
        "echo poison >file",
        "echo poison >new; mv new file",
        "python3 -c \"import os
fd = os.open('file', os.O_RDONLY)
open(f'/proc/self/fd/{fd}', 'w').write('poison')\"",
        "python3 -c \"import mmap
with open('file', 'r+b') as f: mmap.mmap(f.fileno(), 0)[0:1] = b'P'\"",
        "ln file other; echo poison >>other",
        "truncate -s 0 file",
        "chmod 777 file",
        "touch -d @1000000000 file",
        "python3 -c \"import os; os.setxattr('file', 'user.poison', b'x')\"; touch file",
        "mv dir gone; mkdir dir; echo poison >dir/inner",
        "rm -r dir; ln -s /etc dir; rm dir; ln -s file dir",
    ];
    for attack in attacks {
        let (world, at) = cache();
        let before = tree(&world, &at);
        run(&world, &format!("{at},sync=discard"), attack).ok();
        assert_eq!(tree(&world, &at), before, "{attack}");
        run(&world, &at, attack);
        assert_ne!(tree(&world, &at), before, "control of {attack}");
    }
}

#[test]
fn directories_can_be_renamed() {
    let (world, at) = cache();
    let before = tree(&world, &at);
    let script = "python3 -c \"import os
os.rename('dir', 'moved'); os.rename('moved/sub', 'up'); os.rename('up', 'moved/inner.d')
os.mkdir('dir'); os.rename('moved', 'dir/again')\"
        cat dir/again/inner dir/again/inner.d/deep; ls -A";
    let inside = run(&world, &format!("{at},sync=discard"), script);
    assert_eq!(inside.ok(), "host\nhost\ndir\nfile\n");
    assert_eq!(tree(&world, &at), before);
    world.assert_no_run_left();
}

#[test]
fn nothing_can_be_seen_or_taken_back() {
    let (world, at) = cache();
    run(&world, &format!("{at},sync=discard"), CHANGE).ok();
    for verb in ["diff", "undo", "apply", "discard"] {
        let none = told(&world, &[verb]);
        assert_eq!(none.code, 2, "{none:?}");
        assert!(none.stderr.contains("there is no run of this workspace"), "{none:?}");
    }
    assert!(!told(&world, &["runs"]).ok().contains("sh"));
}

/// Beside a workspace whose changes are kept the cache is in no record, diff or undo.
#[test]
fn workspace_beside_it_is_written_back() {
    let (world, at) = cache();
    let before = tree(&world, &at);
    let mount = format!("{at},sync=discard");
    let script = format!("echo guest >>file; cd {at}; {CHANGE}");
    world.run(&["run", "--cow", &mount], &script).ok();
    assert_eq!(tree(&world, &at), before);
    let file = || fs::read_to_string(world.project().join("file")).expect("there");
    assert_eq!(file(), "host\nguest\n");
    let shown = told(&world, &["diff", "--stat"]);
    assert!(shown.ok().contains("file") && !shown.stdout.contains("shared"), "{shown:?}");
    told(&world, &["undo"]).ok();
    assert_eq!(file(), "host\n");
    assert_eq!(tree(&world, &at), before);
}

/// What waits for the user does not keep what is dropped, and another run begins without it.
#[test]
fn layer_does_not_wait_with_others() {
    let (world, at) = cache();
    let mount = format!("{at},sync=discard");
    let script = format!("echo guest >>file; cd {at}; {CHANGE}; echo CANARY >canary");
    let options = ["run", "--sync", "review", "--cow", &mount];
    world.run(&[&options[..], &["--name", "one"]].concat(), &script).ok();
    assert_eq!(world.states(), ["waiting"]);
    let kept = format!("grep -rl CANARY {} | wc -l", world.state().display());
    assert_eq!(world.bare(&kept).ok(), "0\n");
    let script = format!("cat file; ls {at}");
    let further = world.run(&[&options[..], &["--from", "one"]].concat(), &script);
    assert_eq!(further.ok(), "host\nguest\ndir\nfile\n");
    // What was to be kept is not dropped by another run.
    let project = format!("{},sync=discard", world.project().display());
    let refused = world.run(&["run", "--from", "one", "--cow", &project], "true");
    assert!(refused.fails(125).contains("this run drops what is changed there"), "{refused:?}");
}

#[test]
fn report_plan_and_why_say_it() {
    let (world, at) = cache();
    let report = world.root().join("report.json");
    let (to, mount) = (format!("--report={}", report.display()), format!("{at},sync=discard"));
    let script = format!("echo x >{at}/file");
    world.run(&["run", "--workspace", "ro", &to, "--cow", &mount], &script).ok();
    let report = fs::read(report).expect("a report");
    let report: Value = serde_json::from_slice(&report).expect("json");
    let mounts = report["mounts"].as_array().expect("a list");
    let of = |at: &str| mounts.iter().find(|it| it["at"] == at).expect("a mount");
    assert_eq!((&of(&at)["access"], &of(&at)["sync"]), (&"cow".into(), &"discard".into()));
    assert_eq!(of("/usr")["sync"], Value::Null);
    assert_eq!((&report["changes"], &report["sync"]), (&Value::Null, &Value::Null));
    let plan = told(&world, &["plan", "--cow", &mount, "--", "true"]);
    let line = format!("mount   {at} cow sync=discard (--cow {mount})\n");
    assert!(plan.ok().contains(&line), "{plan:?}");
    let why = told(&world, &["why", "--cow", &mount, &format!("{at}/file")]);
    assert!(why.ok().contains("and drops what is changed"), "{why:?}");
}

#[test]
fn denied_names_are_absent() {
    let (world, at) = cache();
    world.write("shared/.env", "secret\n");
    world.write("shared/dir/key.pem", "secret\n");
    let before = tree(&world, &at);
    let script = "cat .env dir/key.pem 2>/dev/null; ls -A . dir; echo own >.env; cat .env";
    let inside = run(&world, &format!("{at},sync=discard"), script);
    assert_eq!(inside.ok(), ".:\ndir\nfile\n\ndir:\ninner\nsub\nown\n");
    assert_eq!(tree(&world, &at), before);
    let control = run(&world, &format!("{at},nodeny,sync=discard"), "cat .env dir/key.pem");
    assert_eq!(control.ok(), "secret\nsecret\n");
}

#[test]
fn single_file_is_dropped() {
    let (world, at) = cache();
    let before = tree(&world, &at);
    let script = "echo guest >>file; cat file; sleep 0.3; echo guest >new; mv new file; cat file";
    let single = |option: &str| {
        let mount = format!("{at}/file{option}");
        let options = ["run", "--workspace", "ro", "--cow", &mount, "--chdir", &at];
        world.run(&options, script).ok().to_owned()
    };
    assert_eq!(single(",sync=discard"), "host\nguest\nguest\n");
    assert_eq!(tree(&world, &at), before);
    world.assert_no_run_left();
    assert_eq!(single(""), "host\nguest\nguest\n");
    assert_ne!(tree(&world, &at), before, "control: it is written back");
}

/// Both layers are in memory, for endow's state lies in the directory: each is told apart.
#[test]
fn layers_in_memory_are_told_apart() {
    for (dropped, kept) in [("/a", "/b"), ("/b", "/a")] {
        let (world, at) = cache();
        let before = tree(&world, &at);
        let root = world.root().display().to_string();
        let mounts = [format!("{dropped}={root},sync=discard"), format!("{kept}={root}")];
        let options = ["run", "--workspace", "ro", "--cow", &mounts[0], "--cow", &mounts[1]];
        let script = format!("echo poison >{dropped}/shared/file; echo guest >{kept}/made");
        world.run(&options, &script).ok();
        assert_eq!(tree(&world, &at), before);
        let made = world.root().join("made");
        assert_eq!(fs::read_to_string(made).expect("written back"), "guest\n");
    }
}

#[test]
fn layer_counts_for_the_limits() {
    let (world, at) = cache();
    let policy = world.write("limits.toml", "version = 1\n[limits]\nlayer_size = \"1M\"\n");
    let policy = policy.display().to_string();
    let mount = format!("{at},sync=discard");
    let options = ["run", "-p", &policy, "--workspace", "ro", "--cow", &mount];
    let script = format!("head -c 8M /dev/zero >{at}/large; sleep 30");
    world.run(&options, &script).fails(124);
    world.assert_no_run_left();
}

#[test]
fn cache_inside_a_buffered_workspace() {
    let (world, _) = cache();
    world.write("home/project/target/old", "host\n");
    let script =
        "echo guest >>file; echo guest >target/old; mkdir target/deps; mv target/deps target/d";
    world.run(&["run", "--cow", "target,sync=discard"], script).ok();
    let read = |name: &str| fs::read_to_string(world.project().join(name)).expect("there");
    assert_eq!([read("file"), read("target/old")], ["host\nguest\n", "host\n"]);
    assert!(!world.project().join("target/d").exists());
}

/// A project may lower what it was given, and not raise it: that would poison the cache.
#[test]
fn project_may_drop_and_not_keep() {
    let (world, at) = cache();
    let entry =
        |sync: &str| format!("version = 1\n[mounts]\n\"{at}\" = {{ access = \"cow\"{sync} }}\n");
    let before = tree(&world, &at);
    world.write("config/policy.toml", &entry(""));
    world.write("home/project/endow.toml", &entry(", sync = \"discard\""));
    let script = format!("echo poison >{at}/file");
    world.run(&["run"], &script).ok();
    assert_eq!(tree(&world, &at), before);
    world.write("config/policy.toml", &entry(", sync = \"discard\""));
    world.write("home/project/endow.toml", &entry(""));
    world.run(&["run"], &script).fails(120);
    assert_eq!(tree(&world, &at), before);
}
