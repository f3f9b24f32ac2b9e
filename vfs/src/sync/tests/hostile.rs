//! Layers that a command made to do harm, built without an overlay.

use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::super::testing::*;
use super::super::*;
use crate::fs::{At, Fs, OsFs};
use crate::testing::{Scratch, is_root};

fn attribute(path: &Path, name: &str, value: &[u8]) {
    let above = std::fs::File::open(path.parent().expect("a directory")).expect("open");
    let at = At { dir: above.as_fd(), name: path.file_name().expect("a name") };
    OsFs.set_attribute(at, name.as_ref(), value).expect("set");
}

#[test]
fn refused_kinds_are_reported_and_the_rest_is_written() {
    for place in PLACES {
        let world = World::new(place, "echo old > old; mkdir d; ln -s /etc/hostname known");
        shell(
            &world.upper(),
            "
            mkfifo fifo; echo x > suid; chmod 4755 suid; echo x > sgid; chmod 2755 sgid
            mkdir sdir; chmod 4755 sdir; echo x > sdir/in
            ln -s /etc/passwd out; ln -s ../../x up; ln -s ../d/x up2; ln -s ./old inside
            mkdir d; ln -s ../old d/fine; ln -s ../../old d/out
            echo x > forged; echo x > redirect; mkdir white; echo good > good; echo x > .wh.old
            mkdir .endow-r2-stage; echo x > d/.endow-r1-stage
            ln -s /etc/hostname known; touch -h -d '1999-01-01' known",
        );
        let socket = world.upper().join("socket");
        drop(std::os::unix::net::UnixListener::bind(socket).expect("a socket"));
        attribute(&world.upper().join("forged"), "user.overlay.overlay.opaque", b"y");
        attribute(&world.upper().join("redirect"), "user.overlay.redirect", b"/etc");
        attribute(&world.upper().join("white"), "user.overlay.opaque", b"x");
        attribute(&world.upper().join("good"), "user.mine", b"kept\0\xff");
        if is_root() {
            shell(&world.upper(), "mknod null c 1 3; echo x > foreign; chown 12345 foreign");
        }
        let report = world.sync(OnConflict::Host);
        let mut refused: Vec<String> = report
            .refused
            .iter()
            .map(|refused| format!("{} {:?}", refused.path.display(), refused.reason))
            .collect();
        refused.sort();
        let mut expected = vec![
            ".endow-r2-stage Reserved",
            "d/out LinkOut",
            "fifo Fifo",
            "forged OverlayAttribute",
            "out LinkOut",
            "redirect OverlayAttribute",
            "sdir SetId",
            "sdir/in Ancestor",
            "sgid SetId",
            "socket Socket",
            "suid SetId",
            "up LinkOut",
            "up2 LinkOut",
            "white OverlayAttribute",
        ];
        if is_root() {
            expected.extend(["null Device", "foreign ForeignOwner"]);
            expected.sort_unstable();
        }
        assert_eq!(refused, expected, "{place:?}");
        let now = world.snapshot();
        let names: Vec<&str> = now.keys().filter_map(|path| path.to_str()).collect();
        assert_eq!(
            names,
            ["", ".wh.old", "d", "d/.endow-r1-stage", "d/fine", "good", "inside", "known", "old"]
        );
        assert!(now.get(Path::new("good")).is_some_and(|text| text.contains("user.mine")));
        world.assert_clean();
    }
}

/// What is made in such a directory has its group: no program runs by it.
#[test]
fn set_group_id_of_directories_is_written() {
    for place in PLACES {
        let world = World::new(place, "mkdir plain kept; chmod 2755 kept");
        let script =
            "mkdir plain kept new; chmod 2755 plain kept new; mkdir plain/in kept/in new/in";
        shell(&world.upper(), script);
        let report = world.sync(OnConflict::Host);
        assert!(report.refused.is_empty(), "{place:?}: {:?}", report.refused);
        for path in ["plain", "plain/in", "kept", "kept/in", "new", "new/in"] {
            let mode = world.root().join(path).metadata().map(|it| it.permissions().mode());
            assert_eq!(mode.expect("there") & 0o7777, 0o2755, "{path} {place:?}");
        }
    }
}

#[test]
fn very_many_files_are_written_and_undone() {
    let (dirs, files) = (if is_sweep() { 100 } else { 20 }, 1000);
    // In memory: making them takes longer than all the rest.
    let world = World::over(Scratch::new().elsewhere(), Where::Same, "mkdir d");
    let upper = world.upper().join("many");
    for dir in 0..dirs {
        let dir = upper.join(dir.to_string());
        std::fs::create_dir_all(&dir).expect("mkdir");
        for file in 0..files {
            std::fs::File::create(dir.join(file.to_string())).expect("create");
        }
    }
    let report = world.sync(OnConflict::Host);
    assert!(report.is_complete());
    let all = dirs * files + dirs + 1;
    assert_eq!(report.applied.len(), all);
    assert!(world.root().join("many/19/999").exists());
    let undone = world.undo(&OsFs).expect("undone");
    assert_eq!(undone.undone.len(), all);
    assert!(!world.root().join("many").exists());
}

#[test]
fn a_journal_of_a_newer_version_is_left_alone() {
    let world = World::new(Where::Same, "echo a > a");
    world.guest("echo b > b");
    let journal = world.run.path().join("journal");
    for (text, is_newer) in
        [("{\"version\": 2, \"new\": 1}", true), ("{\"version\": 1}", false), ("", false)]
    {
        std::fs::write(&journal, text).expect("write");
        let error = world.resume(&OsFs).expect_err("refused");
        assert_eq!(matches!(error, SyncError::Newer { version: 2, .. }), is_newer, "{error}");
        let plan = plan(&world.collect(), &rules(OnConflict::Host));
        assert!(matches!(world.apply(&OsFs, &plan), Err(SyncError::Unfinished)));
        assert!(matches!(world.undo(&OsFs), Err(SyncError::Unfinished)));
        assert_eq!(std::fs::read_to_string(&journal).expect("there"), text);
    }
    assert!(!world.root().join("b").exists());
}

/// The paths of a chain of directories are together as long as its length squared.
#[test]
fn long_path_counts_as_several_names() {
    let world = World::new(Where::Same, "true");
    let most = |most: usize| {
        world.with_source(|source| collect_most(&OsFs, source, most).map(|set| told(&set).len()))
    };
    let name = "n".repeat(250);
    shell(
        world.run.path(),
        &format!("cd upper; for i in 1 2 3 4; do mkdir {name}; cd {name}; done"),
    );
    // One each for the first two, two for the third, three for the last.
    assert!(matches!(most(7), Ok(4)), "{:?}", most(7));
    assert!(matches!(most(6), Err(SyncError::TooMany { .. })), "{:?}", most(6));
}

/// Those of each file are kept until the write-back is over.
#[test]
fn long_attributes_count_as_several_names() {
    let world = World::new(Where::Same, "true");
    shell(world.run.path(), "touch upper/f");
    let upper = world.upper_fd();
    let at = At { dir: upper.as_fd(), name: "f".as_ref() };
    OsFs.set_attribute(at, "user.a".as_ref(), &[b'a'; 1024]).expect("set");
    let most = |most: usize| world.with_source(|source| collect_most(&OsFs, source, most).is_ok());
    assert_eq!([most(5), most(4)], [true, false]);
    let kept = OsFs.attributes(at).expect("read");
    assert!(kept.iter().all(|(_, value)| value.capacity() < 2048), "no more than they take");
}

#[test]
fn more_names_than_are_kept_in_memory_are_refused() {
    let world = World::new(Where::Same, "mkdir d; touch d/1 d/2 d/3");
    let most = |most: usize| {
        let told = |set: ChangeSet| told(&set).len();
        world.with_source(|source| collect_most(&OsFs, source, most).map(told))
    };
    for (script, names, changes) in [
        ("mkdir upper/e; touch upper/e/1 upper/e/2 upper/e/3", 4, 4),
        // Over more than one directory, and with what the run removed of the host's.
        ("cd upper; mkdir e/f; touch e/f/1", 6, 6),
    ] {
        shell(world.run.path(), script);
        assert!(
            matches!(most(names), Ok(found) if found == changes),
            "{script}: {:?}",
            most(names)
        );
        let refused = most(names - 1);
        assert!(matches!(refused, Err(SyncError::TooMany { .. })), "{script}: {refused:?}");
    }
    world.guest("rm -r d e");
    assert!(matches!(most(3), Err(SyncError::TooMany { .. })), "{:?}", most(3));
    assert!(matches!(most(4), Ok(4)), "{:?}", most(4));
}

#[test]
fn closed_directory_of_the_host_below_one_that_was_made_again_is_named() {
    if is_root() {
        return;
    }
    let world = World::new(Where::Same, "mkdir -p d/tmp; echo x > d/tmp/x; echo y > y");
    world.guest("rm -r d/tmp; mkdir d/tmp; echo n > d/tmp/n; echo run > y");
    world.host("chmod 0 d/tmp");
    let report = world.sync(OnConflict::Host);
    world.host("chmod 755 d/tmp");
    let refused = report.refused.iter().map(|it| (it.path.as_path(), it.reason));
    let refused: Vec<_> = refused.collect();
    assert!(refused.contains(&(Path::new("d/tmp"), Refusal::Unreadable)), "{refused:?}");
    let text = |name| std::fs::read_to_string(world.root().join(name)).expect("a text");
    assert_eq!([text("y"), text("d/tmp/x")], ["run\n", "x\n"], "the rest is written back");
}
