//! Trees of the store whose large files are stubs: links to the store's objects in place of copies.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use super::cas::{cas, put};
use crate::harness::{Running, Said, World, project, said, skip};

/// A project with a program and two files that are large enough, of which one is there twice.
const LARGE: &str =
    "{ echo '#!/bin/sh'; echo echo ran; head -c 40000 /dev/zero | tr '\\0' '#'; } >dir/run
    chmod 755 dir/run; head -c 100000 /dev/urandom >big; cp big dir/again; printf '%32767d' 1 >below
    printf '%32768d' 2 >just";

/// What can be seen of a tree, but for times of directories.
const LIST: &str = "find . -mindepth 1 -printf '%P %y %l\\n' | LC_ALL=C sort
    find . -type f -exec sha256sum {} + | sort; find . -type f -perm -100 | sort; cat big | wc -c";

/// A world with such a project, and the digest of its tree; `None` where overlays take no data-only
/// layers.
fn world() -> Option<(World, String)> {
    let world = project();
    world.bare(LARGE).ok();
    let digest = put(&world, ".");
    let at = format!("/t={digest}");
    let plan = said(&mut world.endow(["plan", "--cas", &at, "--", "true"]));
    if plan.ok().contains("as stubs over linked objects") {
        return Some((world, digest));
    }
    skip("overlays take no data-only layers here");
    None
}

/// Shows the tree at /t and runs a script there.
fn show(world: &World, digest: &str, script: &str) -> Said {
    let at = format!("/t={digest}");
    world.run(&["run", "--workspace", "none", "--cas", &at, "--chdir", "/t"], script)
}

/// Opens the tree in the cache as only its owner can, and returns where it is.
fn opened(world: &World) -> PathBuf {
    let trees = fs::read_dir(world.root().join("cache/trees/v1")).expect("trees");
    let mut trees = trees.map(|entry| entry.expect("an entry").path()).filter(|it| it.is_dir());
    let tree = trees.next().expect("a tree");
    assert!(trees.next().is_none(), "one tree");
    fs::set_permissions(&tree, Permissions::from_mode(0o700)).expect("opened");
    tree
}

/// The contents of the stubs, as paths.
fn contents(tree: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(tree.join("data")).expect("the contents");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// Finds the content of so many bytes.
fn content(tree: &Path, bytes: u64) -> PathBuf {
    let is_it = |path: &PathBuf| path.metadata().expect("stat").len() == bytes;
    contents(tree).into_iter().find(is_it).expect("the content")
}

/// Sets an attribute from outside.
fn set(world: &World, path: &Path, name: &str, value: &str) {
    let script = "import os, sys; os.setxattr(sys.argv[1], sys.argv[2], sys.argv[3].encode())";
    said(world.command("python3").args(["-c", script]).arg(path).args([name, value])).ok();
}

/// Reads the seal of the only tree.
fn seal(world: &World) -> (PathBuf, Value) {
    let names = fs::read_dir(world.root().join("cache/trees/v1")).expect("listed");
    let mut paths = names.map(|entry| entry.expect("an entry").path());
    let path = paths.find(|path| path.extension().is_some_and(|it| it == "seal")).expect("a seal");
    let seal = serde_json::from_slice(&fs::read(&path).expect("read")).expect("JSON");
    (path, seal)
}

#[test]
fn tree_of_stubs_is_the_tree() {
    let Some((world, digest)) = world() else { return };
    let outside = world.bare(LIST).ok().to_owned();
    let report = world.root().join("report.json");
    let path = report.display().to_string();
    let at = format!("/t={digest}");
    let options = ["run", "--workspace", "none", "--cas", &at, "--chdir", "/t", "--report", &path];
    assert_eq!(world.run(&options, LIST).ok(), outside);
    let report: Value = serde_json::from_slice(&fs::read(report).expect("read")).expect("JSON");
    let mounts = report["mounts"].as_array().expect("mounts");
    let mount = mounts.iter().find(|mount| mount["at"] == "/t").expect("the mount");
    assert_eq!(mount["presented_as"], "stubs over linked objects");
    let told = "dir/run; stat -c '%s %a %Y %h' big dir/run; head -c 3 big >/dev/null
        echo x >>big || echo refused; grep -c trees/v1 /proc/self/mountinfo";
    let time = 1_321_009_869;
    let size = world.bare("stat -c %s dir/run").ok().trim().to_owned();
    let expected = format!("ran\n100000 644 {time} 1\n{size} 755 {time} 1\nrefused\n0\n");
    assert_eq!(show(&world, &digest, told).stdout, expected);
}

#[test]
fn large_contents_are_links_and_small_ones_are_copies() {
    let Some((world, digest)) = world() else { return };
    show(&world, &digest, "true").ok();
    let tree = opened(&world);
    let allocated = |name: &str| tree.join("root").join(name).metadata().expect("stat").blocks();
    assert_eq!([allocated("big"), allocated("dir/again"), allocated("just")], [0, 0, 0]);
    assert!(allocated("below") > 0 && allocated("file") > 0);
    assert_eq!(contents(&tree).len(), 3, "one that is there twice has its bytes once");
    for content in contents(&tree) {
        let found = content.metadata().expect("stat");
        assert_eq!((found.nlink(), found.mode() & 0o777), (2, 0o444), "{content:?}");
    }
    // What it keeps on the disk, each content once.
    let script = "find . -type f ! -path ./dir/again -printf '%s\\n' | awk '{ sum += $1 } END { print sum }'";
    let sum: u64 = world.bare(script).ok().trim().parse().expect("a number");
    assert_eq!(seal(&world).1["bytes"], sum);
}

/// Neither endow's collection nor another tool takes the bytes from a tree that is shown.
#[test]
fn store_that_is_emptied_leaves_the_tree_whole() {
    let Some((world, digest)) = world() else { return };
    let outside = world.bare(LIST).ok().to_owned();
    let script = format!("echo in; read go; {LIST}");
    let at = format!("/t={digest}");
    let options = ["run", "--workspace", "none", "--cas", &at, "--chdir", "/t", "--"];
    let mut command = world.endow(options.iter().chain(&["sh", "-c", &script]));
    let mut running = Running::start(command.stdin(Stdio::piped()));
    running.expect("in");
    cas(&world, &["gc", "--max-size", "0"]).ok();
    let left = world.bare("find ../../cache/cas/objects -type f -size +0 | wc -l");
    assert_eq!(left.ok(), "0\n", "nothing keeps it in the store");
    let tree = opened(&world);
    assert!(contents(&tree).iter().all(|it| it.metadata().expect("stat").nlink() == 1));
    running.say("\n");
    outside.lines().for_each(|line| running.expect(line));
    assert_eq!(running.end(), 0);
    // The next one has it from the tree alone.
    assert_eq!(show(&world, &digest, LIST).ok(), outside);
}

#[test]
fn tree_that_goes_frees_what_it_linked() {
    let Some((world, digest)) = world() else { return };
    cas(&world, &["retain", "mine", &digest]).ok();
    show(&world, &digest, "true").ok();
    let shared = "find ../../cache/cas/objects -type f -links +1 | wc -l";
    assert_eq!(world.bare(shared).ok(), "3\n");
    cas(&world, &["gc", "--max-size", "0"]).ok();
    assert_eq!(world.bare(shared).ok(), "0\n");
    assert_eq!(world.bare("ls -A ../../cache/trees/v1 | wc -l").ok(), "0\n");
    cas(&world, &["verify"]).ok();
}

#[test]
fn changed_object_is_a_damaged_tree() {
    let Some((world, digest)) = world() else { return };
    show(&world, &digest, "true").ok();
    cas(&world, &["verify"]).ok();
    // Somebody with the user's rights, by the name in the store.
    let script = "cd ../../cache/cas/objects; big=$(find . -size 100000c); chmod +w $big
        printf XXXXXXXX | dd of=$big conv=notrunc status=none";
    world.bare(script).ok();
    let told = cas(&world, &["verify"]);
    let told = told.fails(1);
    assert!(told.contains("cached tree sha256-stubs-") && told.contains("big: "), "{told}");
    show(&world, &digest, "echo started").fails(125);
    assert_eq!(put(&world, "."), digest, "it is put again");
    let outside = world.bare(LIST).ok().to_owned();
    assert_eq!(show(&world, &digest, LIST).ok(), outside);
}

#[test]
fn tree_is_compared_after_the_machine_was_started() {
    let Some((world, digest)) = world() else { return };
    show(&world, &digest, "true").ok();
    let tree = opened(&world);
    let just = format!("/{}", content(&tree, 32768).file_name().expect("a name").display());
    set(&world, &tree.join("root/big"), "user.overlay.redirect", &just);
    let outside = world.bare("sha256sum big").ok().to_owned();
    assert_ne!(show(&world, &digest, "sha256sum big").ok(), outside, "it is followed");
    let (path, mut seal) = seal(&world);
    seal["boot"] = "another start".into();
    fs::write(path, seal.to_string()).expect("written");
    assert_eq!(show(&world, &digest, "sha256sum big").ok(), outside, "it is made again");
}

#[test]
fn stub_whose_bytes_are_gone_can_not_be_read() {
    let Some((world, digest)) = world() else { return };
    show(&world, &digest, "true").ok();
    let tree = opened(&world);
    // As a file it reads as zeros: this is what must not be shown.
    let zeros = fs::read(tree.join("root/big")).expect("read");
    assert!(zeros.len() == 100_000 && zeros.iter().all(|byte| *byte == 0));
    fs::remove_file(content(&tree, 100_000)).expect("removed");
    let read = show(&world, &digest, "cat below just >/dev/null && echo others; cat big | wc -c");
    assert_eq!(read.stdout, "others\n0\n", "{}", read.stderr);
    assert!(read.stderr.contains("No such file"), "{}", read.stderr);
    fs::remove_dir_all(opened(&world).join("data")).expect("removed");
    show(&world, &digest, "echo started").fails(125);
    cas(&world, &["verify"]).fails(1);
    show(&world, &digest, "cmp big dir/again").ok();
}

/// Makes a file a stub of the content of `just`.
const MAKE: &str = "make() { python3 -c 'import os, sys
name = \"/\" + sys.argv[2]
os.setxattr(sys.argv[1], \"user.overlay.metacopy\", b\"\")
os.setxattr(sys.argv[1], \"user.overlay.redirect\", name.encode())
print(sorted(os.listxattr(sys.argv[1])))' \"$1\" \"$2\"; }
tr '\\0' a </dev/zero | head -c 32768 >own;";
const MADE: &str = "['user.overlay.metacopy', 'user.overlay.redirect']\n";

/// Mounts layers as an ordinary user can, and hashes a file.
fn mount(world: &World, tree: &Path, layers: &str, file: &str) -> Said {
    let script = format!(
        "mkdir -p ../../at && at=$(realpath ../../at) && cd {} &&
        mount -t overlay none -o lowerdir={layers},userxattr $at && sha256sum <$at/{file}",
        tree.display(),
    );
    said(world.command("unshare").args(["-Urm", "sh", "-c", &script]))
}

/// The name of the bytes of `just`.
fn secret(tree: &Path) -> String {
    let path = content(tree, 32768);
    path.file_name().expect("a name").to_str().expect("text").to_owned()
}

/// An overlay's layer above the bytes could name any of them, so a guest's must not be one.
#[test]
fn guest_can_not_make_stubs() {
    let Some((world, digest)) = world() else { return };
    show(&world, &digest, "true").ok();
    let (tree, at) = (opened(&world), format!("/t={digest},cow"));
    let secret = secret(&tree);
    let attack = format!("{MAKE} make own {secret}; make big {secret}; sha256sum own big");
    let options = ["run", "--workspace", "none", "--cas", &at, "--chdir", "/t", "--sync", "review"];
    let inside = world.run(&options, &attack);
    let bare = world.bare("tr '\\0' a </dev/zero | head -c 32768 >own; sha256sum own big");
    assert_eq!(inside.ok(), format!("{MADE}{MADE}{}", bare.ok()));
    // What it left shows the same when it is mounted again.
    let upper =
        world.bare(&format!("echo {}/runs/*/layers/000/t000/upper", world.state().display()));
    let layers = format!("{}:root::data", upper.ok().trim());
    opened(&world);
    for (name, line) in ["own", "big"].iter().zip(bare.ok().lines()) {
        assert_eq!(mount(&world, &tree, &layers, name).ok()[..64], line[..64], "{name}");
    }
}

/// The control: the same attributes, set from outside.
#[test]
fn stubs_of_others_are_followed_right_above_the_bytes_alone() {
    let Some((world, digest)) = world() else { return };
    show(&world, &digest, "true").ok();
    let tree = opened(&world);
    let planted = world.root().join("planted");
    fs::create_dir(&planted).expect("made");
    let plant = format!("cd {}; {MAKE} make own {}", planted.display(), secret(&tree));
    assert_eq!(world.bare(&plant).ok(), MADE);
    let just = world.bare("sha256sum <just").ok().to_owned();
    let alone = format!("{}::data", planted.display());
    assert_eq!(mount(&world, &tree, &alone, "own").ok(), just);
    let above = format!("{}:root::data", planted.display());
    let refused = mount(&world, &tree, &above, "own");
    assert!(refused.fails(2).contains("not permitted"), "{}", refused.stderr);
}

/// Every way to change a stub, beside other ones.
const EDITS: &str = "chmod 755 big; mv dir/again moved; ln just linked; echo more >>linked
    truncate -s 40000 dir/run; exec 3<below 4<moved; printf 5 | dd of=moved bs=1 seek=50000 conv=notrunc status=none
    head -c 70000 /dev/zero >new; cp -p big copied; mv copied dir/copied; rm below; touch just";

#[test]
fn changed_tree_of_stubs_is_what_a_put_of_it_is() {
    let Some((world, digest)) = world() else { return };
    let outside = world.bare(&format!("cp -a . ../view; cd ../view; {EDITS}; {LIST}"));
    let outside = outside.ok().to_owned();
    let report = world.root().join("report.json");
    let path = report.display().to_string();
    let at = format!("/t={digest},cow");
    let options = ["run", "--workspace", "none", "--cas", &at, "--chdir", "/t", "--report", &path];
    let inside = world.run(&options, &format!("{EDITS}; {LIST}"));
    assert_eq!(inside.ok(), outside);
    let report: Value = serde_json::from_slice(&fs::read(report).expect("read")).expect("JSON");
    let new = report["sync"]["digest"].as_str().expect("a digest").to_owned();
    assert_eq!(put(&world, "../view"), new);
    assert_eq!(show(&world, &new, LIST).ok(), outside);
    // The one at the start is what it was.
    let before = world.bare(LIST).ok().to_owned();
    assert_eq!(show(&world, &digest, LIST).ok(), before);
    cas(&world, &["verify"]).ok();
}

/// Some edits of files by chance, each of a name that may be gone by then.
fn edits(seed: u64) -> String {
    const NAMES: [&str; 7] = ["big", "dir/again", "dir/run", "just", "below", "file", "new"];
    let mut state = seed;
    let mut pick = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    let edit = |_| {
        let (one, other) = (NAMES[pick(NAMES.len())], NAMES[pick(NAMES.len())]);
        let edit = match pick(10) {
            0 => format!("chmod 755 {one}"),
            1 => format!("chmod 644 {one}"),
            2 => format!("echo more >>{one}"),
            3 => format!("truncate -s 33000 {one}"),
            4 => format!("mv {one} {other}"),
            5 => format!("ln -f {one} {other}"),
            6 => format!("cp -p {one} {other}"),
            7 => format!("rm {one}"),
            8 => format!("cat {one} {other}"),
            _ => format!("printf XXXXXXXX | dd of={one} bs=1 seek=34000 conv=notrunc"),
        };
        format!("{{ {edit}; }} >/dev/null 2>&1\n")
    };
    (0..14).map(edit).collect()
}

#[test]
fn edits_of_stubs_are_edits_of_files() {
    let Some((world, digest)) = world() else { return };
    let report = world.root().join("report.json");
    let path = report.display().to_string();
    let at = format!("/t={digest},cow");
    let options = ["run", "--workspace", "none", "--cas", &at, "--chdir", "/t", "--report", &path];
    for seed in 1..=8 {
        let script =
            format!("{}{LIST}; stat -c '%n %s %a %h' $(find . -type f | sort)", edits(seed));
        let outside = world.bare(&format!("rm -rf ../view; cp -a . ../view; cd ../view; {script}"));
        let inside = world.run(&options, &script);
        assert_eq!(inside.stdout, outside.stdout, "{seed}: {script}\n{}", inside.stderr);
        let report: Value =
            serde_json::from_slice(&fs::read(&report).expect("read")).expect("JSON");
        let new = report["sync"]["digest"].as_str().unwrap_or(&digest).to_owned();
        assert_eq!(put(&world, "../view"), new, "{seed}: {script}");
    }
}

#[test]
fn reading_and_naming_stubs_is_no_change() {
    let Some((world, digest)) = world() else { return };
    let report = world.root().join("report.json");
    let path = report.display().to_string();
    let at = format!("/t={digest},cow");
    let options = ["run", "--workspace", "none", "--cas", &at, "--chdir", "/t", "--report", &path];
    let script =
        "cat big >/dev/null; touch big; mv big x; mv x big; chmod 600 dir/run; chmod 755 dir/run";
    world.run(&options, script).ok();
    let report: Value = serde_json::from_slice(&fs::read(report).expect("read")).expect("JSON");
    assert_eq!(report["sync"]["digest"], Value::Null);
}

#[test]
fn mount_below_a_tree_of_stubs_has_its_place() {
    let Some((world, digest)) = world() else { return };
    let at = format!("/t={digest}");
    let below = format!("/t/dir/point={}", world.project().join("file").display());
    let options = ["run", "--workspace", "none", "--cas", &at, "--ro", &below, "--chdir", "/t"];
    let sums = "sha256sum big dir/run dir/again just; cat dir/point";
    let outside = world.bare("sha256sum big dir/run dir/again just; cat file").ok().to_owned();
    assert_eq!(world.run(&options, sums).ok(), outside);
}
