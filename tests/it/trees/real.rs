//! Trees of thousands of files that others wrote, in repositories: each path is as git has it.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use super::git::WHO;
use crate::harness::World;
use crate::work::provisioned;

/// What stands at a path: kind and bits, the size, the path, and the target of a link.
type Place = (String, u64, String, String);

#[test]
fn busybox_is_as_git_has_it() {
    check("busybox", "sha1");
}

#[test]
fn git_is_as_git_has_it() {
    check("git", "sha1");
}

#[test]
fn snapd_with_sha256_is_as_git_has_it() {
    check("snapd", "sha256");
}

fn check(package: &str, algorithm: &str) {
    let Some(source) = provisioned(&format!("c/{package}")) else { return };
    let world = repository(&source, algorithm);
    let before = state(&world);
    for rev in ["HEAD", "HEAD~2"] {
        let (places, bytes) = expected(&world, rev);
        assert!(places.len() > 2000, "{} places", places.len());
        assert!(places.iter().any(|place| place.0 == "f755"), "something can be executed");
        let mount = format!("/ref={rev}");
        let inside = |script: &str, stdin: &str| {
            let options = ["run", "--workspace", "none", "--chdir", "/ref", "--git", &mount, "--"];
            output(world.endow(options).args(["sh", "-c", script]), stdin)
        };
        let list = "find . -mindepth 1 -printf '%y%m\\t%s\\t%P\\t%l\\0'";
        assert_eq!(listed(&inside(list, "")), places, "{rev}");
        let files = places.iter().filter(|place| place.0.starts_with('f'));
        let files: String = files.map(|place| format!("{}\0", place.2)).collect();
        assert!(inside("xargs -0 cat", &files) == bytes, "{rev}: the bytes are other ones");
    }
    assert_eq!(state(&world), before, "the git directory");
}

/// A repository of three commits, of which two are in a pack. The last moves some of it, and changes
/// bits for execution.
fn repository(source: &Path, algorithm: &str) -> World {
    let world = World::in_memory();
    let commit = format!("git {WHO} commit -qm");
    let script = format!(
        "set -e; git init -q --object-format={algorithm} .; git config core.worktree {}
        git config core.compression 1; git config pack.window 2
        git add -f .; {commit} first; git rm -rq --cached $(git ls-tree --name-only HEAD | head -n 3)
        {commit} second; git gc -q; git read-tree --prefix=moved HEAD~1
        git ls-files -s 'moved/*.h' | head -n 9 | sed s/^100644/100755/ | git update-index --index-info
        {commit} third",
        source.display()
    );
    world.bare(&script).ok();
    world
}

/// Every file of the git directory: bits, times, bytes.
fn state(world: &World) -> String {
    let script = "find .git -printf '%p %y %m %T@ %C@ %s\\n' | LC_ALL=C sort
        find .git -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum";
    world.bare(script).ok().to_owned()
}

/// What git says stands where, sorted by path, and the bytes of all files in that order.
fn expected(world: &World, rev: &str) -> (Vec<Place>, Vec<u8>) {
    let listed = output(world.command("git").args(["ls-tree", "-r", "-z", rev]), "");
    let listed = String::from_utf8(listed).expect("names that are text");
    let mut entries: Vec<(&str, &str, &str)> = listed.split_terminator('\0').map(entry).collect();
    entries.sort_by_key(|entry| entry.2);
    let names: String = entries.iter().map(|entry| format!("{}\n", entry.1)).collect();
    let read = output(world.command("git").args(["cat-file", "--batch", "--buffer"]), &names);
    let (mut rest, mut bytes, mut places) = (read.as_slice(), Vec::new(), BTreeSet::new());
    for (mode, _, path) in entries {
        let content = content(&mut rest);
        let size = content.len() as u64;
        let (kind, target) = match mode {
            "120000" => ("l777", String::from_utf8(content.to_vec()).expect("text")),
            "100755" => ("f755", String::new()),
            _ => ("f644", String::new()),
        };
        if kind != "l777" {
            bytes.extend_from_slice(content);
        }
        places.insert((path.to_owned(), kind.to_owned(), size, target));
        let above = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
        let above = above.filter(|path| !path.is_empty());
        places.extend(above.map(|path| (path.to_owned(), "d755".to_owned(), 0, String::new())));
    }
    let places = places.into_iter().map(|(path, kind, size, target)| (kind, size, path, target));
    (places.collect(), bytes)
}

/// Mode, name and path of a line of git's.
fn entry(line: &str) -> (&str, &str, &str) {
    let (about, path) = line.split_once('\t').expect("a path");
    let mut about = about.split(' ');
    (about.next().expect("a mode"), about.nth(1).expect("a name"), path)
}

/// Takes one content off: a line that ends with its size, its bytes, and a line feed.
fn content<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let end = rest.iter().position(|byte| *byte == b'\n').expect("a line");
    let line = str::from_utf8(&rest[..end]).expect("text");
    let size: usize = line.rsplit(' ').next().and_then(|size| size.parse().ok()).expect("a size");
    let content = &rest[end + 1..][..size];
    *rest = &rest[end + size + 2..];
    content
}

/// What a view has, sorted by path; the sizes of directories say nothing.
fn listed(listing: &[u8]) -> Vec<Place> {
    let listing = str::from_utf8(listing).expect("names that are text");
    let place = |line: &str| {
        let parts: Vec<&str> = line.split('\t').collect();
        let [kind, size, path, target] = parts[..] else { panic!("four parts: {line}") };
        let size = if kind.starts_with('d') { 0 } else { size.parse().expect("a size") };
        (kind.to_owned(), size, path.to_owned(), target.to_owned())
    };
    let mut places: Vec<Place> = listing.split_terminator('\0').map(place).collect();
    places.sort_by(|one, other| one.2.cmp(&other.2));
    places
}

/// Runs a program that must succeed, and returns the bytes it wrote.
fn output(command: &mut std::process::Command, stdin: &str) -> Vec<u8> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = piped.spawn().expect("it starts");
    let (mut pipe, stdin) = (child.stdin.take().expect("a pipe"), stdin.to_owned());
    let writer = std::thread::spawn(move || pipe.write_all(stdin.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", output.status);
    drop(writer.join());
    output.stdout
}
