//! Write-backs that can't be begun or finished: the run can always be dropped, and nothing is lost.
//! The kernel's refusals are injected (strace), but for full disks.

use std::fs;

use crate::harness::{Said, World, debian_program, endow, said};

/// A project with a run that waits: one file edited, one new, one removed.
struct Stuck {
    world: World,
    id: String,
}

impl Stuck {
    fn new() -> Self {
        let world = World::new();
        world.bare("echo old >edited; echo old >gone; touch -d @1400000000 edited gone .").ok();
        world.run(&["run", "--sync", "review"], "echo new >edited; rm gone; echo x >made").ok();
        let runs = fs::read_dir(world.state().join("runs")).expect("runs");
        let id = runs.flatten().next().expect("a run").file_name().into_string().expect("text");
        Self { world, id }
    }

    fn endow(&self, words: &[&str]) -> Said {
        said(&mut self.world.endow(words))
    }

    /// Runs endow while `renameat2` fails with an error, from the call with this number on.
    fn failing(&self, words: &[&str], errno: &str, from: usize) -> Said {
        let inject = format!("inject=renameat2:error={errno}:when={from}+");
        let mut command = self.world.command("strace");
        command.args(["-f", "-q", "-o", "/dev/null", "-e", "signal=none", "-e", &inject]);
        said(command.arg(endow()).args(words))
    }

    fn names(&self) -> String {
        self.world.bare("ls -A; cat edited").ok().to_owned()
    }

    fn has_journal(&self) -> bool {
        self.world.state().join("runs").join(&self.id).join("journal").exists()
    }
}

const OLD: &str = "edited\ngone\nold\n";

#[test]
fn a_file_system_without_the_flags_leaves_the_run_as_it_was() {
    let stuck = Stuck::new();
    for words in [["apply"].as_slice(), &["apply", "edited"], &["apply"]] {
        let refused = stuck.failing(words, "EINVAL", 1);
        let told = refused.fails(121);
        assert!(told.contains("the file system can't"), "{told}");
        assert!(told.contains("git apply"), "{told}");
        assert!(!stuck.has_journal());
        assert_eq!(stuck.names(), OLD);
        assert_eq!(stuck.world.states(), ["waiting"]);
    }
    stuck.failing(&["discard"], "EINVAL", 1).ok();
    assert_eq!(stuck.world.states(), ["discarded"]);
    assert_eq!(stuck.names(), OLD);
}

#[test]
fn the_end_of_a_run_says_why_and_what_helps() {
    let world = World::new();
    world.bare("echo old >edited").ok();
    let inject = "inject=renameat2:error=EINVAL";
    let mut command = world.command("strace");
    command.args(["-f", "-q", "-o", "/dev/null", "-e", "signal=none", "-e", inject]);
    let run = said(command.arg(endow()).args(["run", "--", "sh", "-c", "echo new >edited"]));
    let told = run.fails(121);
    assert!(told.contains("the file system can't") && told.contains("git apply"), "{told}");
    assert_eq!(world.read("edited"), "old\n");
    assert_eq!(world.states(), ["waiting"]);
}

#[test]
fn a_write_back_that_can_not_be_finished_is_given_up() {
    // The first calls are the trial; the write-back fails at one step after another.
    for from in 3..=6 {
        let stuck = Stuck::new();
        let begun = stuck.failing(&["apply"], "EIO", from);
        if begun.code == 0 {
            break;
        }
        let about = format!("from call {from}: {}", begun.stderr);
        assert!(stuck.has_journal(), "{about}");
        let again = stuck.failing(&["discard", &stuck.id], "EIO", 1);
        assert!(
            again.fails(121).contains(&format!("endow discard --force {}", stuck.id)),
            "{about}"
        );
        stuck.failing(&["discard", "--force", &stuck.id], "EIO", 1).ok();
        assert!(!stuck.has_journal(), "{about}");
        if stuck.world.states() == ["applied"] {
            stuck.endow(&["undo"]).ok();
        }
        assert_eq!(stuck.names(), OLD, "{about}");
    }
}

#[test]
fn a_torn_journal_is_named_and_goes_by_force() {
    for torn in ["", "{\"vers", "{}", "{\"version\": 1}"] {
        let stuck = Stuck::new();
        let run = stuck.world.state().join("runs").join(&stuck.id);
        let begun = stuck.failing(&["apply"], "EIO", 3);
        assert!(stuck.has_journal(), "{}", begun.stderr);
        fs::write(run.join("journal"), torn).expect("torn");
        let rm = format!("endow runs rm {}", stuck.id);
        for words in [["apply"].as_slice(), &["discard"], &["discard", "--force"], &["diff"]] {
            let told = stuck.endow(words);
            assert!(told.code != 0 && told.stderr.contains(&rm), "{words:?}: {}", told.stderr);
            assert_eq!(told.stderr.matches("hint: `endow").count(), 1, "{}", told.stderr);
        }
        assert!(stuck.endow(&["gc"]).ok().contains(&rm));
        let before = stuck.names();
        let told = stuck.endow(&["runs", "rm", &stuck.id]);
        let undo = run.join("undo");
        for word in [undo.to_str().expect("text"), &format!("endow runs rm --force {}", stuck.id)] {
            assert!(told.fails(125).contains(word), "{}", told.stderr);
        }
        assert!(stuck.has_journal());
        let gone = stuck.endow(&["runs", "rm", "--force", &stuck.id]);
        gone.ok();
        assert!(gone.stderr.contains("half-done"), "{}", gone.stderr);
        assert!(!run.exists());
        assert_eq!(stuck.names(), before);
    }
}

#[test]
fn force_removes_what_waits_and_nothing_else_does() {
    let stuck = Stuck::new();
    let told = stuck.endow(&["runs", "rm", &stuck.id]);
    assert!(told.fails(2).contains("endow discard"), "{}", told.stderr);
    stuck.endow(&["runs", "rm", "--force", &stuck.id]).ok();
    assert_eq!(stuck.world.states(), Vec::<String>::new());
    assert_eq!(stuck.names(), OLD);
}

/// A command can fill the disk that endow's own notes are on: what it left can be dropped, which makes room again.
#[test]
fn what_fills_the_disk_can_be_dropped() {
    let Some(unshare) = debian_program("unshare") else { return };
    let world = World::new();
    let script = format!(
        "mkdir -p {state}; mount -t tmpfs -o size=2m,mode=700 none {state}; endow={}
        says() {{ \"$@\" 2>&1; echo \"= $?\"; }}
        says $endow run --sync review -- sh -c 'head -c 4M /dev/zero >big 2>/dev/null; true'
        says $endow runs; says $endow run -- echo started; says $endow discard
        says $endow run -- sh -c 'echo started >file'; cat file; $endow runs",
        endow().display(),
        state = world.state().display(),
    );
    let mut command = world.command(unshare);
    let inside = said(command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]));
    let told = inside.ok();
    let expected = [
        "can't note how the run ended; what was not written back is kept",
        "No space left on device",
        "make room, then `endow apply",
        "= 121",
        "interrupted",
        "= 0",
        "No space left on device",
        "`endow discard`",
        "= 125",
        "= 0\n= 0\nstarted",
        "discarded",
    ];
    let mut rest = told;
    for words in expected {
        let at = rest.find(words).unwrap_or_else(|| panic!("{words}: {told}"));
        rest = &rest[at + words.len()..];
    }
    assert!(!world.project().join("big").exists());
}

/// A record of a live workspace that fills the disk can't be compared: it can be dropped, which makes room again.
#[test]
fn record_that_fills_the_disk_can_be_dropped() {
    let Some(unshare) = debian_program("unshare") else { return };
    let world = World::new();
    world.bare("mkdir dir; for it in $(seq 300); do echo $it >dir/$it; done").ok();
    let script = format!(
        "mkdir -p {state}; mount -t tmpfs -o size=200k,mode=700 none {state}; endow={}
        says() {{ \"$@\" 2>&1; echo \"= $?\"; }}
        says $endow run --workspace rw --checkpoint -- sh -c 'sleep 1; rm -r dir'
        says $endow runs; says $endow undo; says $endow discard; find {state} -name checkpoint
        says $endow runs",
        endow().display(),
        state = world.state().display(),
    );
    let mut command = world.command(unshare);
    let inside = said(command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]));
    let told = inside.ok();
    let mut rest = told;
    for words in ["interrupted", "= 121", "= 0\n", "discarded"] {
        let at = rest.find(words).unwrap_or_else(|| panic!("{words}: {told}"));
        rest = &rest[at + words.len()..];
    }
    assert!(!told.contains("/checkpoint\n"), "{told}");
}

/// What a write-back takes away has to be copied where the state is on another file system. Without room for that
/// nothing of it is done, and all else goes on.
#[test]
fn what_there_is_no_room_to_keep_is_not_taken_away() {
    let Some(unshare) = debian_program("unshare") else { return };
    let world = World::new();
    world.bare("mkdir dir; head -c 4M /dev/urandom >dir/big; echo old >edited").ok();
    let script = format!(
        "mkdir -p {state}; mount -t tmpfs -o size=2m,mode=700 none {state}; endow={}
        says() {{ \"$@\" 2>&1; echo \"= $?\"; }}
        says $endow run -- sh -c 'rm -r dir; echo new >edited'; stat -c %s dir/big; cat edited
        says $endow apply; says $endow run -- true; says $endow apply edited; cat edited
        says $endow discard; stat -c %s dir/big; says $endow undo; cat edited; ls -A; $endow runs",
        endow().display(),
        state = world.state().display(),
    );
    let mut command = world.command(unshare);
    let inside = said(command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]));
    let told = inside.ok();
    let expected = [
        "can't copy to endow's state directory: dir",
        "No space left on device",
        "= 121\n4194304\nold\n",
        "can't copy to endow's state directory: dir",
        "= 0\n",
        "= 0\nnew\n",
        "= 0\n4194304\n",
        "= 0\nold\ndir\nedited\n",
        "undone",
    ];
    let mut rest = told;
    for words in expected {
        let at = rest.find(words).unwrap_or_else(|| panic!("{words}: {told}"));
        rest = &rest[at + words.len()..];
    }
}

/// Whether there is room for what is noted of a write-back is known before anything is written.
#[test]
fn a_disk_that_fills_up_leaves_nothing_half_written() {
    let Some(unshare) = debian_program("unshare") else { return };
    let world = World::new();
    let script = format!(
        "endow={}; state={}; mkdir -p $state; seen=
        for free in 180 220 240 260 280 300 320 360 400 500; do
            mount -t tmpfs -o size=4m,mode=700 none $state; mkdir p; cd p
            for it in $(seq 60); do echo old >f$it; done
            $endow run --sync review -- sh -c 'for it in $(seq 60); do echo new >f$it; echo new >n$it; done' 2>/dev/null
            have=$(stat -f -c %a $state); head -c $(((have * 4 - free) * 1024)) /dev/zero >$state/fill
            $endow apply 2>../told; code=$?; new=$(grep -l new * | wc -l); rm $state/fill
            $endow undo 2>/dev/null; echo $free $code $new $? $(grep -l new * | wc -l)
            cd ..; rm -r p; umount $state
        done",
        endow().display(),
        world.state().display(),
    );
    let mut command = world.command(unshare);
    let inside = said(command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]));
    let ends: Vec<&str> =
        inside.ok().lines().map(|line| line.split_once(' ').expect("a size").1).collect();
    assert!(ends.iter().all(|end| ["121 0 2 0", "0 120 0 0"].contains(end)), "{ends:?}");
    assert!(ends.contains(&"121 0 2 0") && ends.contains(&"0 120 0 0"), "{ends:?}");
}
