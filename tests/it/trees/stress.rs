//! Stores, caches and repositories that others use, fill up or cut off at the same time.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::cas::{cas, put};
use super::git::{WHO, repository};
use crate::harness::{Said, World, debian_program, endow, project, said, soon};

const SUM: &str = "find . -name .git -prune -o -type f -print0 | LC_ALL=C sort -z \
    | xargs -0 sha256sum | sha256sum";

/// Asserts that store and cache are whole, and that nothing unfinished is left in them.
fn assert_sound(world: &World) {
    cas(world, &["verify"]).ok();
    cas(world, &["gc"]).ok();
    let left = "cd ../../cache; ls -A cas/tmp cas/leases 2>/dev/null | grep endow-
        ls -A trees/v1 | grep '^.new'; true";
    assert_eq!(world.bare(left).ok(), "");
}

/// Asserts that a run showed what it should or said in time why it can't.
fn assert_whole_or_refused(said: &Said, sum: &str) -> bool {
    if said.code == 0 {
        assert_eq!(said.stdout, sum);
        return true;
    }
    assert!(said.stdout.is_empty(), "it started: {said:?}");
    assert!(said.fails(125).contains("cause:"), "{}", said.stderr);
    false
}

#[test]
fn commands_at_once_agree_about_a_tree() {
    let world = project();
    world.bare("mkdir many; for i in $(seq 100); do echo $i >many/f$i; done").ok();
    let (digest, sum) = (put(&world, "."), world.bare(SUM).ok().to_owned());
    let mount = format!("/t={digest}");
    let run = ["run", "--workspace", "none", "--cas", &mount, "--chdir", "/t"];
    let done = AtomicBool::new(false);
    let until_done = |step: &dyn Fn()| {
        while !done.load(Ordering::Relaxed) {
            step();
        }
    };
    let shown = thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| until_done(&|| assert_eq!(put(&world, "."), digest)));
        }
        let collect = || assert_eq!(cas(&world, &["gc", "--max-size", "0"]).code, 0);
        scope.spawn(move || until_done(&collect));
        let runs = scope.spawn(|| {
            let (mut runs, mut shown) = (0, 0);
            // On a busy machine the tree is seldom there when it is asked for.
            while runs < 12 || shown == 0 && runs < 100 {
                shown += usize::from(assert_whole_or_refused(&world.run(&run, SUM), &sum));
                runs += 1;
            }
            shown
        });
        let shown = runs.join();
        done.store(true, Ordering::Relaxed);
        shown.expect("whole trees or none")
    });
    assert!(shown > 0, "no run had the tree");
    put(&world, ".");
    assert_eq!(world.run(&run, SUM).ok(), sum);
    assert_sound(&world);
}

#[test]
fn tree_is_whole_while_the_host_packs_its_repository() {
    let world = repository("");
    let more = format!(
        "for i in $(seq 300); do seq $i $((i + 200)) >n$i; done; git add .; git {WHO} commit -qm x"
    );
    world.bare(&more).ok();
    let sum = world.bare(SUM).ok().to_owned();
    let pack = "for i in 1 2 3 4 5 6; do git repack -adfq; git gc -q --prune=now
        git unpack-objects -q <$(ls .git/objects/pack/*.pack | head -n 1); git prune-packed; done";
    let shown = thread::scope(|scope| {
        let packing = scope.spawn(|| world.bare(pack));
        let mut shown = 0;
        while shown < 4 || !packing.is_finished() {
            cas(&world, &["gc", "--max-size", "0"]).ok();
            let options = ["run", "--workspace", "none", "--git", "/r=HEAD", "--chdir", "/r"];
            shown += usize::from(assert_whole_or_refused(&world.run(&options, SUM), &sum));
        }
        packing.join().expect("git").ok();
        shown
    });
    assert!(shown > 0);
    assert_sound(&world);
}

/// Runs a script where `../full` is a disk of a megabyte that is the cache.
fn with_small_disk(world: &World, script: &str) -> Option<Said> {
    let unshare = debian_program("unshare")?;
    let script = format!(
        "set -e; endow={}; mkdir ../full; mount -t tmpfs -o size=1m,mode=700 none ../full
        mount -t tmpfs -o size=64m,mode=700 none ../../state
        fails() {{ if \"$@\" >said 2>&1; then echo no error; exit 9; fi; cat said; }}
        {script}",
        endow().display()
    );
    fs::create_dir_all(world.state()).expect("a directory");
    let mut command = world.command(unshare);
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
    Some(said(&mut command))
}

#[test]
fn full_disk_is_told_and_leaves_nothing() {
    let world = repository("");
    world.bare("head -c 3000000 /dev/urandom >large; mkdir one; cp large file one").ok();
    world.bare(&format!("git add large; git {WHO} commit -qm large")).ok();
    let (whole, small) = (put(&world, "one"), put(&world, "file"));
    let script = format!(
        "fails $endow cas get {whole} ../full/copy; ls -A ../full
        export ENDOW_CACHE_DIR=$(cd ../full; pwd)
        fails $endow cas put one; ls -A ../full/cas/tmp; $endow cas verify | tail -n 1
        fails $endow run --workspace none --git /r=HEAD --chdir / -- echo started
        ls -A ../full/trees/v1 | grep -v '^.lock' || true; $endow cas gc --max-size 0 >/dev/null
        $endow run --workspace none --git /r=HEAD:dir --chdir / -- cat /r/deep/f7
        $endow cas put file"
    );
    let Some(said) = with_small_disk(&world, &script) else { return };
    let told = said.ok();
    assert_eq!(told.matches("No space left on device").count(), 3, "{told}");
    let mut lines =
        told.lines().filter(|line| !line.starts_with("endow: ") && !line.starts_with("cause: "));
    for expected in ["0 damaged", "7", &format!("{small}\tfile")] {
        let line = lines.next().unwrap_or_default();
        assert!(line.ends_with(expected), "{line} for {expected}: {told}");
    }
    assert_eq!(lines.next(), None, "{told}");
}

/// The directory of a tree that is being made, when there are files in it.
fn begun(world: &World) -> Option<PathBuf> {
    let entries = fs::read_dir(world.root().join("cache/trees/v1")).ok()?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path().join("root")));
    paths.find(|path| path.parent().is_some_and(is_new) && has_files(path))
}

fn is_new(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".new-"))
}

fn has_files(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some())
}

/// The pack is mapped: to read behind its new end kills whoever reads.
#[test]
fn pack_that_is_cut_off_while_it_is_read_ends_the_start() {
    let world = repository("");
    let make = format!(
        "for d in $(seq 40); do mkdir m$d; for i in $(seq 40); do head -c 6000 /dev/urandom >m$d/$i
        done; done; git add .; git {WHO} commit -qm many; git gc -q"
    );
    world.bare(&make).ok();
    let pack = world.bare("ls $PWD/.git/objects/pack/*.pack").ok().trim().to_owned();
    let whole = fs::read(&pack).expect("the pack");
    let mut command =
        world.endow(["run", "--workspace", "none", "--git", "/r=HEAD", "--chdir", "/"]);
    command.args(["--", "echo", "started"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn().expect("endow starts");
    soon("a tree that is begun", || begun(&world).is_some());
    fs::set_permissions(&pack, std::os::unix::fs::PermissionsExt::from_mode(0o644)).expect("open");
    let file = OpenOptions::new().write(true).open(&pack).expect("opened");
    file.set_len(4096).expect("cut off");
    let ended = running.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&ended.stderr);
    assert_eq!((ended.status.code(), ended.stdout.len()), (Some(125), 0), "{told}");
    assert!(told.contains("became shorter") || told.contains("damaged"), "{told}");
    fs::write(&pack, whole).expect("written");
    let options = ["run", "--workspace", "none", "--git", "/r=HEAD", "--chdir", "/r"];
    assert_eq!(world.run(&options, SUM).ok(), world.bare(SUM).ok());
    assert_sound(&world);
}
