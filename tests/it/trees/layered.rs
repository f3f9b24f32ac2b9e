//! A commit close to one that is cached: a layer over its tree, which shows exactly the commit.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::PathBuf;

use super::git::{WHO, repository};
use crate::harness::{Running, World, debian_program, endow, said};

/// Makes a second commit that changes what can be changed of few paths.
fn changed() -> World {
    let world = repository("");
    let script = format!(
        r"set -e; mkdir many was; for i in $(seq 1 100); do echo $i >many/$i; done
        echo a >was/a; echo b >was/b; echo old >turns; mkdir -p turned/deep; echo x >turned/deep/x
        git add .; git {WHO} commit -qm base
        echo new >many/1; rm many/2; chmod 755 many/3; echo more >many/more; rm -r was dir/link
        rm turns; mkdir turns; echo in >turns/in; rm -r turned; ln -s many turned
        rm many/4; mkdir many/4; echo in >many/4/in; ln -sfn elsewhere dangling; mkdir -p n/e/w; echo n >n/e/w/n
        git add -A; git {WHO} commit -qm later"
    );
    world.bare(&script).ok();
    world
}

/// The directories of the cache, layers apart.
fn cached(world: &World) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let entries = fs::read_dir(world.root().join("cache/trees/v1")).expect("the cache");
    let paths = entries.map(|entry| entry.expect("entry").path()).filter(|path| path.is_dir());
    paths.partition(|path| path.to_string_lossy().contains("-on-"))
}

/// Everything a command can see of a tree: names, kinds, bits, times, targets and bytes.
const ALL: &str = r"cd /ref && find . \( -type d -printf '%P d %m %T@\n' -o -type l -printf '%P l %l %T@\n' \
    -o -printf '%P %y %m %s %T@ %n %U\n' \) | LC_ALL=C sort; find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum";

fn shown(world: &World, rev: &str) -> String {
    let options = ["run", "--git", &format!("/ref={rev}")];
    world.run(&options, ALL).ok().to_owned()
}

#[test]
fn commit_later_is_a_layer_that_shows_exactly_the_commit() {
    let world = changed();
    let whole = shown(&world, "HEAD");
    assert_eq!(cached(&world).0.len(), 0, "the first is whole");
    said(&mut world.endow(["cas", "gc", "--max-size", "0"])).ok();
    shown(&world, "HEAD~1");
    assert_eq!(shown(&world, "HEAD"), whole);
    let (layers, bases) = cached(&world);
    assert_eq!((layers.len(), bases.len()), (1, 1));
    // And again, from the cache; what stands in it has its place.
    assert_eq!(shown(&world, "HEAD"), whole);
    let options = ["run", "--git", "/ref=HEAD", "--tmp", "/ref/many/4"];
    assert_eq!(
        world.run(&options, "ls /ref/many/4; cat /ref/many/1; ls /ref").ok().lines().next(),
        Some("new")
    );
    let plan = said(&mut world.endow(["plan", "--git", "/ref=HEAD", "--", "true"]));
    assert!(plan.ok().contains("-on-"), "{plan:?}");
    assert_eq!(cached(&world).0.len(), 1);
}

#[test]
fn commit_with_many_differences_is_whole() {
    let world = changed();
    shown(&world, "HEAD~3");
    shown(&world, "HEAD~1");
    assert_eq!(cached(&world).0.len(), 0);
}

#[test]
fn layer_keeps_what_it_stands_on() {
    let world = changed();
    shown(&world, "HEAD~1");
    let script = "echo in; read go; cat /ref/many/1 /ref/many/5";
    let mut command = world.endow(["run", "--git", "/ref=HEAD", "--", "sh", "-c", script]);
    let mut running = Running::start(command.stdin(std::process::Stdio::piped()));
    running.expect("in");
    said(&mut world.endow(["cas", "gc", "--max-size", "0"])).ok();
    assert_eq!((cached(&world).0.len(), cached(&world).1.len()), (1, 1));
    running.say("\n");
    running.expect("new");
    running.expect("5");
    assert_eq!(running.end(), 0);
    said(&mut world.endow(["cas", "gc", "--max-size", "0"])).ok();
    assert_eq!((cached(&world).0.len(), cached(&world).1.len()), (0, 0));
}

#[test]
fn damage_in_layer_and_base_is_found_and_made_again() {
    let world = changed();
    let whole = (shown(&world, "HEAD~1"), shown(&world, "HEAD"));
    let (layers, bases) = cached(&world);
    for (tree, file) in [(&layers[0], "many/1"), (&bases[0], "many/5"), (&layers[0], "many/2")] {
        fs::set_permissions(tree, PermissionsExt::from_mode(0o700)).expect("open");
        let file = tree.join("root").join(file);
        let was_hiding = file.symlink_metadata().expect("there").file_type().is_char_device();
        fs::remove_file(&file).expect("removed");
        if !was_hiding {
            fs::write(&file, "bad").expect("written");
            fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("bits");
        }
        said(&mut world.endow(["cas", "verify"])).fails(1);
        assert_eq!((shown(&world, "HEAD~1"), shown(&world, "HEAD")), whole);
        said(&mut world.endow(["cas", "verify"])).ok();
        assert_eq!(cached(&world).0.len(), 1, "a layer again");
    }
}

/// A container's own files, where a user can't make a whiteout.
#[test]
fn cache_without_whiteouts_has_whole_trees() {
    let world = changed();
    let whole = shown(&world, "HEAD");
    let Some(unshare) = debian_program("unshare") else { return };
    let script = format!(
        "set -e; mkdir ../o; mount -t tmpfs -o mode=700 none ../o; cd ../o; mkdir l u w m
        mount -t overlay -o lowerdir=l,upperdir=u,workdir=w,userxattr none m; chmod 700 m
        mknod m/x c 0 0 2>/dev/null && exit 9; export ENDOW_CACHE_DIR=$PWD/m; cd ../project
        for rev in HEAD~1 HEAD; do {} run --git /ref=$rev -- sh -c '{}' >../$rev; done
        ls $ENDOW_CACHE_DIR/trees/v1 | grep -c -e -on- || true",
        endow().display(),
        ALL.replace('\'', "'\\''")
    );
    fs::create_dir_all(world.state()).expect("a directory");
    let mut command = world.command(unshare);
    command.args(["--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c", &script]);
    assert_eq!(said(&mut command).ok(), "0\n");
    let inside = fs::read(world.home().join("HEAD")).expect("written");
    assert_eq!(String::from_utf8_lossy(&inside), whole);
}
