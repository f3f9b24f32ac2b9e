//! A git directory is one unit, whatever the host's git does with its objects meanwhile.

use std::os::fd::AsFd;
use std::path::Path;

use super::super::testing::*;
use super::super::*;
use crate::fs::OsFs;

const TREE: &str = "
    mkdir -p .git/objects/ab .git/objects/pack .git/refs/heads; echo old > .git/objects/ab/old
    echo pack > .git/objects/pack/p.pack; echo 'ref: refs/heads/main' > .git/HEAD
    echo old > .git/refs/heads/main";
const GUEST: &str = "echo new > .git/objects/ab/new; echo new > .git/refs/heads/main";
const COLLECTED: &str = "echo pack > .git/objects/pack/q.pack; rm -r .git/objects/ab";

fn world(guest: &str) -> World {
    world_of(TREE, guest)
}

fn world_of(tree: &str, guest: &str) -> World {
    let world = World::new(Where::Same, tree);
    world.guest(guest);
    world
}

fn united(world: &World) -> ChangeSet {
    let mut set = world.collect();
    let (root, upper) = (world.root_fd(), world.upper_fd());
    let source = Source {
        absent: None,
        closed: crate::sync::Closed::Stay,
        made_like: None,
        upper: upper.as_fd(),
        root: root.as_fd(),
        identity: world.identity,
        stamp: world.stamp,
        clock: world.clock,
        settled: &Settled::default(),
    };
    let moved = unite(&OsFs, &source, &mut set).expect("united");
    assert_eq!(moved, [], "where the repository stands is the run's alone");
    set
}

fn planned(world: &World) -> SyncPlan {
    plan(&united(world), &rules(OnConflict::Host))
}

fn text(world: &World, path: &str) -> Option<String> {
    std::fs::read_to_string(world.root().join(".git").join(path)).ok()
}

#[test]
fn objects_are_written_where_a_collection_took_their_directory() {
    let world = world(GUEST);
    world.host(COLLECTED);
    let plan = planned(&world);
    let report = world.apply(&OsFs, &plan).expect("applied");
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(text(&world, "objects/ab/new").as_deref(), Some("new\n"));
    assert_eq!(text(&world, "refs/heads/main").as_deref(), Some("new\n"));
}

#[test]
fn object_that_the_run_touched_is_kept_and_a_pack_is_not() {
    let world = world("touch .git/objects/ab/old .git/objects/pack/p.pack");
    world.host("rm .git/objects/ab/old .git/objects/pack/p.pack");
    assert_eq!(told(&united(&world)), ["A .git/objects/ab/old"]);
}

#[test]
fn references_stay_where_an_object_stays() {
    let world = world(GUEST);
    let only = |path: &Path| !path.ends_with("new");
    let rules = Rules { only: &only, ..rules(OnConflict::Host) };
    let plan = plan(&united(&world), &rules);
    let reference = ".git/refs/heads/main".into();
    assert!(plan.left_out.contains(&LeftOut::Blocked(reference)), "{plan:?}");
    let report = world.apply(&OsFs, &plan).expect("applied");
    assert_eq!((report.applied, text(&world, "refs/heads/main")), (vec![], Some("old\n".into())));
}

#[test]
fn objects_come_along_with_what_was_asked_for() {
    let world = world(GUEST);
    let only = |path: &Path| path.starts_with(".git/refs");
    let rules = Rules { only: &only, by_name: true, ..rules(OnConflict::Host) };
    let report = world.apply(&OsFs, &plan(&united(&world), &rules)).expect("applied");
    assert_eq!(report.left_out, []);
    assert_eq!(text(&world, "objects/ab/new").as_deref(), Some("new\n"));
    assert_eq!(text(&world, "refs/heads/main").as_deref(), Some("new\n"));
}

/// A bare repository, or one that is mounted alone, and a submodule's.
#[test]
fn references_stay_in_every_kind_of_git_directory() {
    for place in ["", ".git/modules/sub"] {
        let tree = format!("mkdir -p './{place}'; cd './{place}'; {}", TREE.replace(".git/", ""));
        let world = World::new(Where::Same, &format!("{TREE}\n{tree}"));
        world.guest(&format!("cd './{place}'; {}", GUEST.replace(".git/", "")));
        let only = |path: &Path| !path.ends_with("new");
        let rules = Rules { only: &only, ..rules(OnConflict::Host) };
        let set = united(&world);
        let report = world.apply(&OsFs, &plan(&set, &rules)).expect("applied");
        assert_eq!(report.applied, vec![], "{place}");
        world.host(&format!("rm -r './{place}/objects/ab'"));
        let report = world.apply(&OsFs, &plan(&set, &super::rules(OnConflict::Host)));
        assert_eq!(report.expect("applied").applied, vec![], "{place}");
    }
}

#[test]
fn references_stay_where_an_object_can_not_be_placed_any_more() {
    let world = world(GUEST);
    let plan = planned(&world);
    world.host(COLLECTED);
    let report = world.apply(&OsFs, &plan).expect("applied");
    assert_eq!((report.applied, text(&world, "refs/heads/main")), (vec![], Some("old\n".into())));
    let again = world.apply(&OsFs, &planned(&world));
    assert!(again.expect("applied").is_complete());
    assert_eq!(text(&world, "objects/ab/new").as_deref(), Some("new\n"));
    assert_eq!(text(&world, "refs/heads/main").as_deref(), Some("new\n"));
}

/// git takes on trust what it made from objects, and what is said of a pack.
#[test]
fn what_is_made_from_objects_stays_away() {
    let guest = "mkdir -p objects/info objects/pack/multi-pack-index.d; cd objects/pack; touch q.pack q.idx q.rev \
        q.bitmap q.mtimes q.keep p.keep p.promisor multi-pack-index multi-pack-index.d/x ../info/commit-graph";
    let tree = TREE.replace(".git/", "");
    for (place, is_there) in
        [(".git", true), (".git/modules/s", true), ("up.git", true), ("", true), ("new.git", false)]
    {
        let (make, at) = (format!("mkdir -p './{place}'; cd './{place}'"), Path::new(place));
        let tree = if is_there { format!("{make}; {tree}") } else { String::new() };
        let world = World::new(Where::Same, &tree);
        world.guest(&format!("{make}; {guest}"));
        let set = united(&world);
        let has = |name: &str| {
            let path = at.join("objects").join(name);
            set.changes.iter().any(|change| change.path == path)
        };
        for name in ["pack/q.pack", "pack/q.idx", "pack/q.keep"] {
            assert!(has(name), "{place} {name}");
        }
        for name in [
            "pack/q.rev",
            "pack/q.bitmap",
            "pack/q.mtimes",
            "pack/p.keep",
            "pack/p.promisor",
            "pack/multi-pack-index",
            "pack/multi-pack-index.d/x",
            "info/commit-graph",
        ] {
            assert_eq!(has(name), !is_there, "{place} {name}");
        }
    }
}

/// A clone has a `HEAD` beside its remote branches.
#[test]
fn branches_may_be_called_objects() {
    let names = ["refs/remotes/origin/objects/x", "logs/refs/remotes/origin/objects/x"];
    let make = names
        .map(|name| format!("mkdir -p .git/{name}; rmdir .git/{name}; echo old > .git/{name}"));
    let head = "echo 'ref: refs/remotes/origin/main' > .git/refs/remotes/origin/HEAD
        cp .git/refs/remotes/origin/HEAD .git/logs/refs/remotes/origin/HEAD";
    let world = World::new(Where::Same, &format!("{TREE}; {}; {head}", make.join(";")));
    world.guest(&names.map(|name| format!("echo new > .git/{name}")).join(";"));
    let report = world.apply(&OsFs, &planned(&world)).expect("applied");
    assert!(report.is_complete(), "{report:?}");
    for name in names {
        assert_eq!(text(&world, name).as_deref(), Some("new\n"), "{name}");
    }
}

/// How each change of a plan is told that would take a repository away, or apart.
fn kept(tree: &str, guest: &str) -> Vec<String> {
    let world = World::new(Where::Same, tree);
    world.guest(guest);
    let set = united(&world);
    let plan = plan(&set, &rules(OnConflict::Host));
    let before = world.root().join("up.git");
    let had = before.join("HEAD").exists();
    world.apply(&OsFs, &plan).expect("applied");
    assert_eq!(before.join("HEAD").is_file(), had, "{guest}");
    let refused = set.changes.iter().filter(|it| it.refused == Some(Refusal::Repository));
    refused.map(|it| it.path.display().to_string()).collect()
}

#[test]
fn what_makes_a_repository_of_the_hosts_one_stays() {
    let bare = "mkdir -p up.git/objects up.git/refs/heads up.git/worktrees/w up.git/refs/remotes/o; cd up.git; echo x > HEAD
        echo x > config; echo x > packed-refs; echo x > refs/heads/a; echo x > worktrees/w/HEAD; echo x > worktrees/w/commondir
        echo x > worktrees/w/index; echo x > refs/remotes/o/HEAD; echo x > refs/remotes/o/main; mkdir ../x; echo x > ../x/HEAD";
    for (guest, expected) in [
        ("rm up.git/HEAD", &["up.git/HEAD"][..]),
        ("rm up.git/HEAD up.git/packed-refs", &["up.git/HEAD", "up.git/packed-refs"]),
        ("rm up.git/HEAD; mkdir up.git/HEAD", &["up.git/HEAD"]),
        ("rm -r up.git", &["up.git"]),
        ("mv up.git other", &["up.git"]),
        ("rm -r up.git/worktrees/w", &["up.git/worktrees/w"]),
        ("rm up.git/worktrees/w/commondir", &["up.git/worktrees/w/commondir"]),
        // What is no part of any, and what git itself removes.
        ("rm up.git/packed-refs up.git/refs/heads/a up.git/refs/remotes/o/HEAD", &[]),
        ("rm -r x up.git/refs/remotes", &[]),
        ("echo y > up.git/HEAD; rm up.git/packed-refs", &[]),
    ] {
        assert_eq!(kept(bare, guest), expected, "{guest}");
    }
    let refs = kept(bare, "rm -r up.git/refs; echo x > up.git/refs");
    assert!(refs.contains(&"up.git/refs".to_owned()), "{refs:?}");
    let taken = "mkdir -p .git/objects .git/refs; echo x > .git/config";
    assert_eq!(kept(taken, "rm -r .git/refs"), [".git/refs"], "of one that was taken apart");
    let root = "mkdir -p objects refs; echo x > HEAD";
    assert_eq!(kept(root, "rm HEAD"), ["HEAD"]);
    assert_eq!(kept("echo x > HEAD; mkdir x", "rm HEAD"), <[&str; 0]>::default());
}

/// A directory of that name is nobody's but the project's, whatever stands beside it.
#[test]
fn objects_of_a_project_are_files_like_any() {
    let guest = "echo new > objects/a.py; rm objects/gone; echo n > objects/new; rm -r objects/sub; echo new > lib/a.py";
    let expected = [
        "M lib/a.py",
        "M objects/a.py",
        "D objects/gone",
        "A objects/new",
        "D objects/sub/",
        "D objects/sub/x",
    ];
    for beside in [
        "mkdir config refs; echo c > config/c; echo x > index",
        "mkdir HEAD config; echo c > config/c",
        "echo '[user]' > config; mkdir index",
        // Git looks at none of these names, even where somebody took a repository apart.
        "echo x > HEAD",
        "echo x > HEAD; mkdir refs",
        "mkdir refs; printf '[core]\n\trepositoryformatversion = 0\n' > config",
    ] {
        for place in [".", "src"] {
            let make = "mkdir -p objects/sub lib; echo old > objects/a.py; echo x > objects/gone; echo x > objects/sub/x; echo old > lib/a.py";
            let world =
                World::new(Where::Same, &format!("mkdir -p {place}; cd {place}; {make}; {beside}"));
            world.guest(&format!("cd {place}; {guest}"));
            let at = |line: &str| line.replace(' ', if place == "." { " " } else { " src/" });
            assert_eq!(told(&united(&world)), expected.map(at), "{beside}");
            assert!(world.apply(&OsFs, &planned(&world)).expect("applied").is_complete());
            let text = std::fs::read_to_string(world.root().join(place).join("objects/a.py"));
            assert_eq!(text.expect("there"), "new\n", "{beside}");
        }
    }
}

/// Of what may have been one it is told that it stays.
#[test]
fn what_a_part_of_a_repository_does_not_get_is_told() {
    let settings = "printf '[core]\n\trepositoryformatversion = 0\n' > config";
    for beside in ["echo x > HEAD", "mkdir refs", settings] {
        let tree = format!("mkdir -p objects/ab objects/info; echo old > objects/ab/x; {beside}");
        let world = World::new(Where::Same, &tree);
        world.guest("echo new > objects/ab/x; echo x > objects/info/commit-graph");
        let expected = ["M objects/ab/x -Repository", "A objects/info/commit-graph -Repository"];
        assert_eq!(told(&united(&world)), expected, "{beside}");
        let report = world.apply(&OsFs, &planned(&world)).expect("applied");
        assert_eq!((report.refused.len(), report.applied.len()), (2, 0), "{beside}");
    }
}

/// A commit on a detached `HEAD` writes nothing below `refs`.
#[test]
fn references_that_are_set_aside_change_no_directory_of_the_hosts() {
    let id = "0123456789abcdef0123456789abcdef01234567";
    for mode in ["2775", "700", "1777"] {
        let tree = format!("{TREE}; chmod {mode} .git/refs; touch -d 2001-02-03 .git/refs");
        let world = world_of(&tree, &format!("echo {id} > .git/HEAD"));
        world.host("echo 'ref: refs/heads/other' > .git/HEAD");
        let set = world.with_source(|source| {
            let mut set = world.collect();
            let moved = unite(&OsFs, source, &mut set).expect("united");
            for one in &moved {
                set_aside(&OsFs, (source.root, source.upper), one, RUN).expect("set aside");
            }
            world.collect()
        });
        let expected = [
            "M .git/HEAD !Changed",
            "A .git/refs/endow/",
            "A .git/refs/endow/r1/",
            "A .git/refs/endow/r1/HEAD",
        ];
        assert_eq!(told(&set), expected, "{mode}");
    }
}

/// As git makes them with another umask, or in a repository that is shared.
#[test]
fn references_of_a_run_have_the_bits_of_the_repository() {
    let id = "0123456789abcdef0123456789abcdef01234567";
    for (head, refs, expected) in [
        ("600", "700", (0o600, 0o700)),
        ("664", "2775", (0o664, 0o775)),
        ("444", "755", (0o644, 0o755)),
    ] {
        let tree = format!("{TREE}; chmod {refs} .git/refs; chmod {head} .git/HEAD");
        let world = world_of(&tree, &format!("chmod u+w .git/HEAD; echo {id} > .git/HEAD"));
        world.host("chmod u+w .git/HEAD; echo 'ref: refs/heads/other' > .git/HEAD");
        world.with_source(|source| {
            let moved = unite(&OsFs, source, &mut world.collect()).expect("united");
            for one in moved {
                set_aside(&OsFs, (source.root, source.upper), &one, RUN).expect("set aside");
                let standing = |root| standing_references(&OsFs, root, one.clone(), RUN);
                assert!(standing(source.root).references.is_empty(), "not written yet");
                assert_eq!(standing(source.upper), one);
            }
        });
        let mode = |path: &str| {
            let found = world.upper().join(path).metadata().expect("there");
            std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o7777
        };
        let own = ".git/refs/endow/r1";
        assert_eq!((mode(&format!("{own}/HEAD")), mode(own)), expected, "{head} {refs}");
    }
}
