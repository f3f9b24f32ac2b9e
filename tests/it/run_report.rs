//! Reports, events, and the one JSON object of `run --json`.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::harness::{Running, World, said};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn report_has_every_key_also_when_nothing_was_observed() {
    let world = World::new();
    let report = world.root().join("report.json");
    let option = format!("--report={}", report.display());
    world.run(&["run", &option], "exit 3").fails(3);
    let report = json(&std::fs::read_to_string(report).expect("a report"));
    let keys = [
        "version",
        "run",
        "command",
        "outcome",
        "started",
        "duration_ms",
        "phases_us",
        "policy",
        "enforcement",
        "environment",
        "descriptors",
        "mounts",
        "changes",
        "sync",
        "denials",
        "connections",
        "resources",
    ];
    for key in keys {
        assert!(report.get(key).is_some(), "{key}");
    }
    assert_eq!(report["outcome"], serde_json::json!({"kind": "exited", "code": 3, "signal": null}));
    assert_eq!(report["denials"], serde_json::json!([]));
    assert_eq!(report["enforcement"]["level"], "full");
}

#[test]
fn report_is_written_when_nothing_starts() {
    let world = World::new();
    let report = world.root().join("report.json");
    let option = format!("--report={}", report.display());
    world.run(&["run", "--ro=/nonesuch", &option], "true").fails(125);
    let report = json(&std::fs::read_to_string(report).expect("a report"));
    assert_eq!(report["outcome"]["kind"], "setup_failed");
}

/// Where a shell leads what is no file.
#[test]
fn report_may_go_to_a_stream_or_pipe() {
    let world = World::new();
    let written = |line: &str| {
        let mut shell = world.command("bash");
        let shell = shell.args(["-c", line]).env("E", crate::harness::endow());
        crate::harness::said(shell).ok().to_owned()
    };
    let report = written("\"$E\" --report /dev/stdout -- echo first");
    let report = report.strip_prefix("first\n").expect("what the command wrote");
    assert_eq!(json(report)["outcome"]["code"], 0);
    let to_file = "\"$E\" --report /dev/stdout -- echo first >out; cat out";
    assert!(written(to_file).starts_with("first\n{"));
    let piped = "\"$E\" --report >(cat >piped) -- true; wait $!; cat piped";
    assert_eq!(json(&written(piped))["outcome"]["code"], 0);
    assert_eq!(written("\"$E\" --report /dev/null -- true"), "");
}

/// The command's own failure counts more, and each report is written that can be.
#[test]
fn report_that_cannot_be_written_hides_no_failure() {
    let world = World::new();
    let other = world.root().join("other.json");
    let option = format!("--report={}", other.display());
    for (script, code) in [("exit 3", 3), ("kill -9 $$", 137), ("true", 125)] {
        let out = world.run(&["run", "--report=/dev/full", &option], script);
        assert!(out.fails(code).contains("can't write: /dev/full"), "{out:?}");
        assert!(std::fs::remove_file(&other).is_ok(), "{out:?}");
    }
}

/// What kept the command from running has the code and the word, and the report is told of beside it.
#[test]
fn report_that_cannot_be_written_is_told_beside_whatever_ended_the_run() {
    let world = World::new();
    let run = |words: &[&str]| {
        let fixed = ["run", "--report=/dev/full"].iter().chain(words);
        said(&mut world.endow(fixed.copied().collect::<Vec<_>>()))
    };
    let cases: [(&[&str], i32, &str); 3] = [
        (&["--", "no-such-program"], 127, "no-such-program"),
        (&["-p", "absent.toml", "--", "true"], 120, "absent.toml"),
        (&["--profile", "absent", "--", "true"], 125, "no such profile"),
    ];
    for (words, code, told) in cases {
        let out = run(words);
        let stderr = out.fails(code);
        assert!(stderr.contains("can't write: /dev/full") && stderr.contains(told), "{out:?}");
    }
    for (command, code) in [("true", 125), ("false", 1)] {
        let out = run(&["--json", "--", command]);
        assert!(out.fails(code).contains("can't write: /dev/full"), "{out:?}");
        assert_eq!(json(&out.stdout)["outcome"]["kind"], "exited", "{out:?}");
    }
}

/// The command knows where the report goes, and may guess the number of the process that writes it.
#[test]
fn links_in_the_way_of_a_report_lead_nowhere() {
    for (report, plant) in [
        ("report.json", "ln -s $HOME/mine .report.json.$pid; ln -s $HOME/mine report.json"),
        ("out/report.json", "ln -s .. out"),
        ("there/report.json", "mv there moved; ln -s .. there"),
    ] {
        for access in ["rw", "cow"] {
            let world = World::new();
            world.write("home/mine", "mine\n");
            world.write("home/report.json", "mine\n");
            fs::create_dir_all(world.project().join("there")).expect("a directory");
            let script = format!("echo in; read pid; {plant}");
            let mut command = world.endow(["run", "--workspace", access, "--report", report]);
            command.args(["--", "sh", "-c", &script]).stdin(Stdio::piped());
            let mut running = Running::start(&mut command);
            running.expect("in");
            running.say(&format!("{}\n", running.pid()));
            let code = running.end();
            let expected = if report.starts_with("out") { 125 } else { 0 };
            // A link that leads out of a copy is not written back.
            assert!(code == expected || access == "cow", "{report} {access}: {code}");
            for file in ["mine", "report.json"] {
                let text = fs::read_to_string(world.home().join(file)).expect("there");
                assert_eq!(text, "mine\n", "{report} {access}");
            }
        }
    }
}

/// A run before may have left one.
#[test]
fn link_in_the_place_of_events_leads_nowhere() {
    for (flag, code) in [("--events", 0), ("--report", 0)] {
        let world = World::new();
        world.write("home/mine", "mine\n");
        let plant = world.run(&["run", "--workspace", "rw"], "ln -s ../mine told");
        plant.ok();
        assert!(world.project().join("told").is_symlink(), "the link is there");
        world.run(&["run", flag, "told"], "true").fails(code);
        let mine = fs::read_to_string(world.home().join("mine")).expect("there");
        assert_eq!(mine, "mine\n", "{flag}");
        assert!(world.read("told").starts_with('{'), "{flag}");
    }
    let control = World::new();
    control.write("home/mine", "mine\n");
    control.bare("ln -s ../mine told; echo x >told").ok();
    let mine = fs::read_to_string(control.home().join("mine")).expect("there");
    assert_eq!(mine, "x\n", "whoever writes to the name follows it");
}

/// Before the command has run in vain.
#[test]
fn report_that_no_file_can_be_made_for_is_refused_at_the_start() {
    let world = World::new();
    world.write("home/project/file", "");
    for (report, code) in [("file/report", 125), ("/dev/null/report", 125), ("new/a/report", 0)] {
        let out = world.run(&["run", "--report", report], "echo ran");
        assert_eq!((out.code, out.stdout.is_empty()), (code, code != 0), "{report}: {out:?}");
    }
    assert!(json(&world.read("new/a/report"))["outcome"]["code"] == 0);
}

/// Nobody reads: who waits for endow can end it, as any program that writes to a pipe.
#[test]
fn report_to_a_pipe_that_nobody_reads_can_be_broken_off() {
    let world = World::new();
    let mut shell = world.command("bash");
    let line = "mkfifo pipe; timeout -s TERM 3 \"$E\" --report pipe -- sh -c 'echo ran'; echo $?";
    let out = said(shell.args(["-c", line]).env("E", crate::harness::endow()));
    assert_eq!(out.ok(), "ran\n124\n");
}

#[test]
fn report_as_junit_counts_a_failure() {
    let world = World::new();
    let report = world.root().join("report.xml");
    let option = format!("--report={}", report.display());
    world.run(&["run", &option], "exit 3").fails(3);
    let text = std::fs::read_to_string(report).expect("a report");
    assert!(
        text.contains("failures=\"1\"") && text.contains("<failure message=\"exited 3\""),
        "{text}"
    );
}

#[test]
fn report_as_junit_names_the_signal() {
    let world = World::new();
    let report = world.root().join("report.xml");
    let option = format!("--report={}", report.display());
    world.run(&["run", &option], "kill -TERM $$");
    let text = std::fs::read_to_string(report).expect("a report");
    assert!(text.contains("<failure message=\"signaled 15\""), "{text}");
}

/// Nothing is executed whose report would be lost. The control has two descriptors.
#[test]
fn descriptor_is_named_once_for_reports_and_events() {
    let world = World::new();
    let run = |options: &str| {
        let mut shell = world.command("bash");
        let line = format!("\"$E\" {options} -- touch ran 7>one 8>two");
        said(shell.args(["-c", &line]).env("E", crate::harness::endow()))
    };
    for options in ["--events fd:7 --report fd:7", "--report fd:7 --report /dev/fd/7"] {
        let told = run(options);
        let why = "a descriptor can be named once for reports and events: 7";
        assert!(told.fails(125).contains(why), "{told:?}");
        assert_eq!(world.read("ran"), "absent");
    }
    run("--events fd:7 --report fd:8").ok();
    assert_eq!(world.read("ran"), "");
    assert!(json(&world.read("two"))["outcome"]["code"] == 0);
}

#[test]
fn json_is_one_object_with_what_the_command_wrote() {
    let world = World::new();
    let out = world.run(&["run", "--json"], "echo out; echo err >&2; exit 4");
    out.fails(4);
    let report = json(&out.stdout);
    assert_eq!((&report["stdout"], &report["stderr"]), (&"out\n".into(), &"err\n".into()));
    assert_eq!(report["outcome"]["code"], 4);
}

#[test]
fn json_keeps_a_mebibyte_and_says_so() {
    let world = World::new();
    let out = world.run(&["run", "--json"], "head -c 3000000 /dev/zero | tr '\\0' x");
    let report = json(out.ok());
    assert_eq!(report["stdout"].as_str().map(str::len), Some(1 << 20));
    assert_eq!(report["truncated"]["stdout"], true);
}

#[test]
fn json_of_bytes_that_are_no_text_is_base64() {
    let world = World::new();
    let out = world.run(&["run", "--json"], "printf '\\377\\376'");
    assert_eq!(json(out.ok())["stdout"]["base64"], "//4=");
}

#[test]
fn events_tell_the_stages_in_order() {
    let world = World::new();
    let events = world.root().join("events");
    let option = format!("--events={}", events.display());
    world.run(&["run", &option], "true").ok();
    let text = std::fs::read_to_string(events).expect("events");
    let names: Vec<String> = text
        .lines()
        .map(|line| json(line)["event"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(names, ["planned", "started", "ended"]);
}

/// The reader has a pipe and never reads: limits hold, and what finds no room is left out and told.
#[test]
fn events_that_nobody_reads_stop_nothing() {
    let world = World::new();
    let mut shell = world.command("bash");
    let many = "i=0; while [ $i -lt 3000 ]; do /bin/sh -c 'unshare -U true' 2>/dev/null; i=$((i+1)); done; sleep 60";
    let line = "mkfifo pipe; sleep 30 <pipe & exec 7>pipe; \
         timeout 25 \"$E\" --events fd:7 --timeout 2s --grace 500ms -- sh -c \"$S\"; echo $?; kill %1";
    let shell = shell.args(["-c", line]).env("E", crate::harness::endow()).env("S", many);
    let out = said(shell);
    assert_eq!(out.stdout, "124\n", "{out:?}");
}

#[test]
fn events_that_cannot_be_written_are_told() {
    let world = World::new();
    let out = world.run(&["run", "--events=/dev/full"], "true");
    out.ok();
    assert!(out.stderr.contains("can't write events"), "{out:?}");
}

#[test]
fn error_as_json_is_one_object() {
    let world = World::new();
    let said = said(&mut world.endow(["plan", "--json", "--ro", "/nonesuch", "--", "true"]));
    said.fails(125);
    let error = json(&said.stdout);
    assert_eq!(error["error"]["kind"], "setup");
    assert!(error["error"]["hints"][0].as_str().is_some_and(|hint| hint.contains("optional")));
}

#[test]
fn command_that_does_not_start_is_one_object_with_its_error() {
    let world = World::new();
    world.write("home/project/text", "no program\n");
    for (command, code, kind) in [("nosuch", 127, "not_found"), ("./text", 126, "not_executable")] {
        let report = world.root().join("report.json");
        let option = format!("--report={}", report.display());
        let told = said(&mut world.endow(["run", "--json", &option, "--", command]));
        told.fails(code);
        let printed = json(&told.stdout);
        assert_eq!(printed["error"]["kind"], kind, "{}", told.stdout);
        let outcome = serde_json::json!({"kind": "setup_failed", "code": code, "signal": null});
        assert_eq!(printed["outcome"], outcome, "{}", told.stdout);
        assert!(printed["stdout"].is_string(), "{}", told.stdout);
        let written = json(&std::fs::read_to_string(report).expect("a report"));
        assert_eq!(written["error"], printed["error"]);
    }
}
