//! Write-backs of changes that wait, killed on the way.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use crate::harness::{Running, World, said, soon};
use crate::kept_changes::{Changed, MINUTE};

/// A run that changed many files, killed while it is written back.
#[test]
fn killed_apply_is_finished_or_as_if_it_never_began() {
    let run = Changed::with(|run| {
        for number in 0..1000 {
            fs::write(run.upper().join(format!("many{number:04}")), "x").expect("written");
        }
    });
    let many =
        |run: &Changed| (0..1000).filter(|it| run.read(&format!("many{it:04}")).is_some()).count();
    let mut begun = 0;
    for delay in 0..40u64 {
        let mut child = run.world.endow(["apply", &run.id]).spawn().expect("endow starts");
        // The last one ends by itself, however slow the machine is.
        if delay < 39 {
            std::thread::sleep(Duration::from_millis(5 + delay * delay));
            child.kill().expect("killed");
        }
        child.wait().expect("ended");
        let finished = run.json(&["gc"])["finished"].as_array().expect("a list").len();
        begun += finished;
        match run.state().as_str() {
            "waiting" => assert_eq!(many(&run), 0),
            "applied" => {
                run.assert_after();
                assert_eq!(many(&run), 1000);
                run.endow(&["undo", &run.id]).ok();
                run.assert_before();
                assert_eq!(many(&run), 0);
                break;
            }
            other => panic!("{other}"),
        }
        let names = fs::read_dir(run.world.project()).expect("list").count();
        assert_eq!(names, 4, "debris");
    }
    assert!(run.state() == "undone", "{} after {begun}", run.state());
}

/// A write-back that was killed when all was done but its record.
#[test]
fn record_that_is_behind_is_renewed() {
    let run = Changed::new();
    let record = run.world.state().join("runs").join(&run.id).join("record.json");
    let before = fs::read(&record).expect("a record");
    let put_back = |before: &[u8]| {
        fs::write(&record, before).expect("written");
        let file = fs::File::options().write(true).open(&record).expect("open");
        file.set_modified(std::time::SystemTime::now() - MINUTE).expect("a time");
    };
    run.endow(&["apply", &run.id]).ok();
    let after = fs::read(&record).expect("a record");
    put_back(&before);
    assert_eq!(run.state(), "waiting", "control");
    assert_eq!(run.json(&["gc"])["finished"][0], run.id.as_str());
    assert_eq!(run.state(), "applied");
    assert_eq!(run.json(&["gc"])["finished"].as_array().expect("a list").len(), 0, "only once");
    run.assert_after();
    run.endow(&["undo", &run.id]).ok();
    put_back(&after);
    assert_eq!(run.state(), "applied", "control");
    run.json(&["gc"]);
    assert_eq!(run.state(), "undone");
    run.assert_before();
}

/// Kills a write-back once its journal holds; the run then is neither written back nor waiting.
fn killed_on_the_way() -> Changed {
    for _ in 0..50 {
        let run = Changed::with(|run| {
            for number in 0..3000 {
                fs::write(run.upper().join(format!("many{number:04}")), "x").expect("written");
            }
        });
        let journal = run.world.state().join("runs").join(&run.id).join("journal");
        let mut child = run.world.endow(["apply", &run.id]).spawn().expect("endow starts");
        while !journal.exists() && child.try_wait().expect("a child").is_none() {
            std::thread::yield_now();
        }
        child.kill().expect("killed");
        child.wait().expect("ended");
        if journal.exists() {
            return run;
        }
    }
    panic!("never killed on the way");
}

#[test]
fn next_run_finishes_what_was_begun() {
    let run = killed_on_the_way();
    let inside = run.world.run(&["run"], "ls many* | wc -l; cat edited");
    assert_eq!(inside.ok(), "3000\none\n2\n", "it sees all of it");
    assert_eq!(run.state(), "applied");
    run.assert_after();
    run.endow(&["undo", &run.id]).ok();
    run.assert_before();
}

/// Changes that were written back are counted, whoever wrote them.
#[test]
fn apply_finishes_what_was_begun() {
    for words in [["apply", "-v"].as_slice(), &["apply", "-v", "edited"]] {
        let run = killed_on_the_way();
        let said = run.endow(words);
        said.ok();
        let counts = "applied 3002 created, 1 modified, 1 deleted";
        assert!(said.stderr.contains(counts), "{words:?}: {}", said.stderr);
        assert_eq!(run.state(), "applied");
        let counts = &run.json(&["runs"])["runs"][0]["changes"];
        assert_eq!(counts.to_string(), r#"{"created":3002,"deleted":1,"left":0,"modified":1}"#);
        run.assert_after();
        run.endow(&["undo", &run.id]).ok();
        run.assert_before();
    }
}

#[test]
fn run_starts_though_a_write_back_can_not_be_finished() {
    let run = killed_on_the_way();
    let (project, moved) = (run.world.project(), run.world.home().join("moved"));
    fs::rename(&project, &moved).expect("moved");
    fs::create_dir(&project).expect("a project");
    assert_eq!(run.world.run(&["run"], "echo ran").ok(), "ran\n");
    fs::remove_dir(&project).expect("removed");
    fs::rename(&moved, &project).expect("moved back");
    run.world.run(&["run"], "true").ok();
    assert_eq!(run.state(), "applied");
    run.assert_after();
}

/// Kills endow when the command has done what a script says, and returns what `endow runs` lists.
fn listed_after_a_kill(script: &str) -> (World, String) {
    let world = World::new();
    let script = format!("{script}; echo done; read go");
    let words = ["run", "--workspace", "rw", "--", "sh", "-c", &script];
    let mut running = Running::start(world.endow(words).stdin(Stdio::piped()));
    running.expect("done");
    running.signal(9);
    running.end();
    let listed = || said(&mut world.endow(["runs"])).stdout;
    soon("the end of the run", || {
        listed().contains("interrupted") || !listed().contains("running")
    });
    let listed = listed();
    (world, listed)
}

/// What was held waits though the record does not say so.
#[test]
fn names_that_a_killed_run_held_are_counted() {
    let (world, listed) =
        listed_after_a_kill("mkdir -p s/.vscode; echo x >s/.vscode/t; echo y >.envrc");
    soon("they are held", || said(&mut world.endow(["runs"])).stdout.contains("2 wait"));
    let told = said(&mut world.endow(["runs", "--json"]));
    let value: serde_json::Value = serde_json::from_str(told.ok()).expect("JSON");
    assert_eq!(value["runs"][0]["changes"]["left"], 2, "{listed}: {value}");
    assert!(said(&mut world.endow(["diff", "--name-status"])).ok().contains(".envrc"));
    // The control: nothing was held.
    let (_world, listed) = listed_after_a_kill("echo y >other");
    assert!(!listed.contains("wait"), "{listed}");
}
