//! What the end of a run says to scripts, whose standard error is no terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::harness::{Said, World, endow, project, said};

fn run(world: &World, options: &[&str], script: &str) -> Said {
    let words = [&["run"], options, &["--", "sh", "-c", script]].concat();
    said(world.endow(words).current_dir(world.project()))
}

/// Options, and a script that makes a protected name beside another.
const HELD: &[&[&str]] = &[
    &[],
    &["--workspace", "rw"],
    &["--workspace", "rw", "--sync", "review"],
    &["--workspace", "rw", "--sync", "discard"],
];

/// Whoever looks is told what a command that failed may have lacked.
#[test]
fn keys_and_profiles_that_are_not_used_are_named_to_who_looks() {
    let world = World::new();
    let agent = world.write("home/project/bin/claude", "#!/bin/sh\nexit $1\n");
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).expect("a mode");
    let told = |options: &[&str], code: &str| {
        let words = [&["run"], options, &["--", "bin/claude", code]].concat();
        said(world.endow(words).env("SOME_API_KEY", "canary")).stderr
    };
    let all = told(&["-v", "--net", "host"], "1");
    assert!(
        all.contains("(--profile claude)") && all.contains("SOME_API_KEY (--env NAME)"),
        "{all}"
    );
    assert!(!all.contains("canary"), "{all}");
    let alone = told(&["-v"], "1");
    assert!(alone.contains("--profile claude") && !alone.contains("SOME_API_KEY"), "{alone}");
    for quiet in [told(&["-v", "--net", "host"], "0"), told(&["--net", "host"], "1")] {
        assert!(!quiet.contains("--profile") && !quiet.contains("SOME_API_KEY"), "{quiet}");
    }
}

/// What an agent calls saved is nowhere once the run is over.
#[test]
fn files_that_go_with_the_home_are_named_to_who_looks() {
    let world = project();
    let granted = world.write("home/granted", "host\n").display().to_string();
    let script =
        "cd ~; mkdir notes deep deep/er; echo a >report.md; echo a >notes/one; ln -s /etc linked
        echo a >deep/er/file; echo a >.history; cat granted";
    let told =
        |options: &[&str]| run(&world, &[options, &["--ro", &granted]].concat(), script).stderr;
    let line = told(&["-v"]);
    let line = line.lines().find(|line| line.contains("own home")).expect("a line");
    let home = world.home().display().to_string();
    assert_eq!(
        line,
        format!(
            "endow: gone with the run's own home: {home}/notes/one, {home}/report.md (--rw DIR keeps what is written there)"
        )
    );
    assert!(!told(&[]).contains("own home"), "nobody looks");
    let nothing = run(&world, &["-v"], "echo a >~/.history; echo a >/tmp/file").stderr;
    assert!(!nothing.contains("own home"), "{nothing}");
}

#[test]
fn what_is_held_is_named_in_one_line() {
    for options in HELD {
        let world = World::new();
        let held = run(&world, options, "echo x >Jenkinsfile; echo x >plain");
        held.ok();
        let told: Vec<&str> = held.stderr.lines().collect();
        assert_eq!(told.len(), 1, "{options:?}: {told:?}");
        assert!(told[0].contains("1 held for review: "), "{options:?}: {told:?}");
        assert!(told[0].contains("Jenkinsfile (endow apply "), "{options:?}: {told:?}");
    }
}

#[test]
fn directory_of_what_is_held_is_not_held_twice() {
    for options in HELD {
        let world = World::new();
        let held = run(&world, options, "mkdir .vscode; echo {} >.vscode/tasks.json");
        held.ok();
        assert!(held.stderr.contains("1 held for review: "), "{}", held.stderr);
        assert!(held.stderr.contains("/.vscode/tasks.json (endow apply "), "{}", held.stderr);
        let listed = said(&mut world.endow(["runs"]));
        assert!(listed.ok().contains(" 1 wait "), "{options:?}: {}", listed.stdout);
        let stat = said(&mut world.endow(["diff", "--stat"]));
        assert!(stat.ok().contains(" 1 file changed"), "{options:?}: {}", stat.stdout);
    }
}

#[test]
fn what_was_written_back_is_told_to_who_asks() {
    let world = World::new();
    let line =
        |run: &Said| run.stderr.lines().find(|it| it.contains("wrote back")).map(str::to_owned);
    let told = line(&run(&world, &["-v"], "echo x >plain")).expect("a line");
    assert!(
        told.starts_with("endow: wrote back: 1 created, 0 modified, 0 deleted; `endow undo "),
        "{told}"
    );
    assert_eq!(line(&run(&world, &["-v"], "true")), None);
    assert_eq!(line(&run(&world, &[], "echo y >plain")), None, "nobody asks");
    let held = run(&world, &["--name", "it"], "echo x >Jenkinsfile");
    held.ok();
    let applied = said(&mut world.endow(["apply", "-v", "it"])).stderr;
    assert!(
        applied.contains("nothing was written back") && !applied.contains("applied 0"),
        "{applied}"
    );
}

#[test]
fn quiet_is_quiet_and_nothing_held_is_nothing_said() {
    for options in HELD {
        let world = World::new();
        let quiet = [options, &["-q"][..]].concat();
        let held = run(&world, &quiet, "echo x >Jenkinsfile");
        assert_eq!((held.code, held.stderr.as_str()), (0, ""), "{quiet:?}");
        let world = World::new();
        let plain = run(&world, options, "echo x >plain");
        assert_eq!((plain.code, plain.stderr.as_str()), (0, ""), "{options:?}");
    }
}

#[test]
fn strict_makes_it_an_error() {
    let world = World::new();
    let held = run(&world, &["--strict"], "echo x >Jenkinsfile");
    assert!(held.fails(121).contains("held for review"), "{}", held.stderr);
}

/// Whoever is told a code of endow's own is told why, and no more than that.
#[test]
fn quiet_says_why_the_exit_code_is_endows_own() {
    let world = World::new();
    let check = |options: &[&str], script: &str, code: i32, why: &str| {
        let told = run(&world, &[&["-q"], options].concat(), script);
        let lines: Vec<&str> = told.fails(code).lines().collect();
        assert!(lines.len() == 1 && lines[0].starts_with("endow: "), "{options:?}: {lines:?}");
        assert!(lines[0].contains(why), "{options:?}: {lines:?}");
    };
    check(&["--timeout", "300ms"], "sleep 60", 124, "the time limit has passed");
    check(&[], "mkfifo fifo", 121, "refused");
    check(&["--strict"], "echo x >Jenkinsfile", 121, "held for review");
    world.write("home/project/both", "old\n");
    run(&world, &["-q", "--name", "both", "--sync", "review"], "echo guest >both").ok();
    world.write("home/project/both", "host\n");
    let told = said(&mut world.endow(["apply", "-q", "both"]));
    assert!(told.fails(121).contains("both") && !told.stderr.contains("hint:"), "{}", told.stderr);
}

/// Nobody asked for it, so a script is told as well.
#[test]
fn changes_that_wait_since_the_run_was_ended_are_told_everywhere() {
    let world = project();
    let script = "\"$0\" -- sh -c 'trap \"\" TERM; echo guest >file; echo ready; exec sleep 60' >~/out & run=$!
        until grep -qs ready ~/out; do sleep 0.05; done
        kill $run; sleep 0.7; kill $run; wait $run; echo $?";
    let told = said(world.command("bash").args(["-c", script]).arg(endow()));
    assert_eq!(told.ok(), "137\n");
    assert!(told.stderr.starts_with("endow: 1 waiting: "), "{}", told.stderr);
    assert!(told.stderr.contains("endow apply "), "{}", told.stderr);
    let asked = world.run(&["run", "--sync", "review"], "echo guest >file");
    assert_eq!((asked.ok(), &*asked.stderr), ("", ""), "the control");
}
