//! `endow build`, ended at any time: what is left is right, and so is what comes after it.
//!
//! `ENDOW_SWEEP=all` tries more moments, and more amounts of room.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::time::Instant;

use crate::harness::{Project, Running, endow, mark, marked, said, send, soon};

/// The sizes of the cache's file system: in the largest there is room.
const SIZES_KIB: std::ops::Range<usize> = 64..1600;

/// Returns how many moments and sizes are tried.
fn tries() -> u32 {
    let is_all = std::env::var("ENDOW_SWEEP").is_ok_and(|it| it == "all");
    if is_all { 48 } else { 8 }
}

/// A chain and some beside it, with outputs of a size that takes more than one write.
fn project() -> Project {
    let one = |number: usize, needs: &str| {
        format!(
            "[[action]]\nname = \"a{number}\"\ninputs = [\"in\"]\nneeds = [{needs}]\noutputs = [\"out/{number}/\", \"file-{number}\"]\n\
             command = [\"sh\", \"-c\", \"mkdir out/{number}; seq {number} 20000 | tee out/{number}/a out/{number}/b >file-{number}; cat in\"]\n"
        )
    };
    let chained =
        (0..4).map(|it| one(it, &if it == 0 { String::new() } else { format!("\"a{}\"", it - 1) }));
    let project = Project::new(&chained.chain((4..8).map(|it| one(it, ""))).collect::<String>());
    project.write("in", "said\n");
    fs::create_dir(project.path("out")).expect("made");
    project
}

/// The outputs that are there, by their paths.
fn outputs(project: &Project) -> BTreeMap<String, Vec<u8>> {
    let paths =
        (0..8).flat_map(|it| [format!("out/{it}/a"), format!("out/{it}/b"), format!("file-{it}")]);
    paths.filter_map(|path| Some((path.clone(), fs::read(project.path(&path)).ok()?))).collect()
}

fn remove_outputs(project: &Project) {
    for number in 0..8 {
        fs::remove_dir_all(project.path(&format!("out/{number}"))).expect("removed");
        fs::remove_file(project.path(&format!("file-{number}"))).expect("removed");
    }
}

/// Nothing that is there is half of itself.
#[track_caller]
fn assert_whole(project: &Project, expected: &BTreeMap<String, Vec<u8>>, what: &str) {
    for (path, content) in outputs(project) {
        assert!(expected.get(&path) == Some(&content), "{what}: {path}, {} bytes", content.len());
    }
}

#[test]
fn build_that_is_ended_at_any_time_leaves_nothing_wrong() {
    let reference = project();
    let begun = Instant::now();
    assert_eq!(reference.build(&["-j2"]).ok(), "said\n".repeat(8));
    let longest = begun.elapsed();
    let expected = outputs(&reference);
    assert_eq!(expected.len(), 24);
    for signal in [9, 2, 15] {
        let project = project();
        for time in 0..tries() {
            let mut build = Running::start(&mut project.world.endow(["build", "-j2"]));
            std::thread::sleep(longest / tries() * time);
            build.signal(signal);
            build.end();
            assert_whole(&project, &expected, &format!("signal {signal} at {time}"));
        }
        project.build(&[]).ok();
        assert_eq!(outputs(&project), expected, "signal {signal}");
        // What is remembered is right, too.
        remove_outputs(&project);
        let states = project.states(&[]);
        assert!(states.iter().all(|it| it.ends_with("cached")), "signal {signal}: {states:?}");
        assert_eq!(outputs(&project), expected, "signal {signal}");
        project.world.assert_no_run_left();
    }
}

/// It was killed while it put them in place.
#[test]
fn half_of_an_output_is_removed_by_the_next_build() {
    let project = project();
    project.build(&[]).ok();
    let left = ["out/.endow-build-3/a", ".endow-build-file-3"];
    for path in left {
        project.write(path, "half");
    }
    project.write(".endow-build-other", "somebody's");
    let states = project.states(&["a0"]);
    assert_eq!(states, ["a0 cached"]);
    assert!(!left.iter().any(|path| project.path(path).exists()));
    assert!(!project.path("out/.endow-build-3").exists());
    assert_eq!(project.read(".endow-build-other"), "somebody's");
}

/// As `nohup` has it, and shells that start something in the background. The control is a build that ignores nothing.
#[test]
fn signal_that_a_build_ignores_does_not_end_its_actions() {
    for (signal, name) in [(1, "HUP"), (2, "INT"), (3, "QUIT")] {
        for (ignored, is_made) in [(name, true), ("USR1", false)] {
            let (project, mark) = (Project::new(""), mark());
            let script = format!("sleep {mark} & sleep 1; echo made >out");
            let mut build = project.world.command("env");
            build.arg(format!("--ignore-signal={ignored}")).arg(endow()).process_group(0);
            build.args(["build", "--output", "out", "--", "sh", "-c", &script]);
            let mut build = Running::start(&mut build);
            soon("the action runs", || !marked(&mark).is_empty());
            send(signal, -build.pid());
            assert_eq!(build.end() == 0, is_made, "{name}, {ignored} ignored");
            assert_eq!(project.path("out").exists(), is_made, "{name}, {ignored} ignored");
        }
    }
}

/// The file system of the cache is full at some point of a build, at each of many points. What there is of the host is
/// looked through by each build, and so is little.
#[test]
fn build_without_room_leaves_nothing_wrong() {
    let reference = project();
    reference.build(&[]).ok();
    let expected = outputs(&reference);
    let endow = endow();
    let mut failed = 0;
    let step = SIZES_KIB.len() / usize::try_from(tries()).expect("few");
    for size_kib in SIZES_KIB.step_by(step) {
        let project = project();
        let cache = project.world.root().join("cache");
        fs::create_dir_all(&cache).expect("made");
        let script = format!(
            "mount -t tmpfs -o size=8m none {cache} && chmod 700 {cache} || exit 99
             mount -t tmpfs none /usr/share || exit 99
             head -c {full}k /dev/zero >{cache}/filler || exit 99
             {endow} build -j1; code=$?; rm {cache}/filler
             {endow} build -j1 || exit 98
             rm -r out/* file-*; {endow} build --json || exit 97; exit $code",
            full = 8192 - size_kib,
            cache = cache.display(),
            endow = endow.display(),
        );
        let mut command = project.world.command("unshare");
        let said =
            said(command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]));
        assert!(said.code < 97 || said.code > 99, "{size_kib} KiB: {}", said.stderr);
        failed += usize::from(said.code != 0);
        assert!(!said.stdout.contains("\"executed\""), "{size_kib} KiB: {}", said.stdout);
        assert_eq!(outputs(&project), expected, "{size_kib} KiB");
    }
    assert!(failed > 2, "it was full {failed} times only");
}
