//! Many write-backs of one file are one to an undo.

use std::io::Write;

use super::*;

/// How many originals are kept.
fn kept(world: &World) -> usize {
    std::fs::read_dir(world.run.path().join("undo/m001")).expect("originals").count()
}

fn published(world: &World, script: &str) {
    guest(world, script);
    publish(world, &OsFs).expect("published");
}

#[test]
fn undo_after_bits_or_times_were_set_brings_the_first_back() {
    for place in PLACES {
        for script in ["chmod 600 f", "touch f", "sleep 0.02; echo one > f"] {
            for more in ["true", "echo two > f"] {
                let world = world(place);
                published(&world, "echo one > f");
                published(&world, script);
                published(&world, more);
                end(&world);
                let undone = world.undo(&OsFs).expect("undone");
                let about = format!("{place:?} {script} {more}: {undone:?}");
                assert_eq!(text(&world, "host"), "host\n", "{about}");
                assert!(undone.changed_since.is_empty(), "{about}");
                let ledger = Ledger::read(&OsFs, world.run.fd()).expect("read");
                assert_eq!(ledger.applied(MOUNT).count(), 0, "{about}");
            }
        }
    }
}

#[test]
fn one_original_is_kept_of_contents_and_times_in_turn() {
    let world = world(Where::Same);
    for number in 0..10 {
        published(&world, &format!("echo {number} > n; mv n f"));
        published(&world, "touch f");
    }
    assert_eq!(kept(&world), 1);
}

#[test]
fn what_a_program_of_the_host_has_open_is_kept() {
    for is_closed in [false, true] {
        let world = world(Where::Same);
        published(&world, "echo one > n; mv n f");
        let opened = std::fs::OpenOptions::new().append(true).open(world.root().join("f"));
        let mut file = opened.expect("opened");
        guest(&world, "echo two > n; mv n f");
        write_out(&world);
        if is_closed {
            file.write_all(b"line\n").expect("written");
        }
        single(&world, &OsFs).and_then(|it| it.fold(&Says(is_closed, true))).expect("joined");
        if !is_closed {
            file.write_all(b"line\n").expect("written");
        }
        end(&world);
        let found = std::fs::read_dir(world.run.path().join("undo/m001")).expect("originals");
        let texts = found.flatten().map(|it| std::fs::read_to_string(it.path()).expect("text"));
        assert!(texts.into_iter().any(|text| text == "one\nline\n"), "closed: {is_closed}");
    }
}

/// Publishes without joining.
fn write_out(world: &World) {
    let (single, root) = (single(world, &OsFs).expect("opened"), world.root_fd());
    assert_eq!(single.snapshot(&always).expect("copied"), Ours::Changed);
    world.apply(&OsFs, &planned(world)).expect("applied");
    single.end_snapshot(root.as_fd(), true).expect("ended");
}

#[test]
fn killed_anywhere_no_original_is_left_over() {
    for at in 0.. {
        let world = world(Where::Same);
        published(&world, "echo one > n; mv n f");
        guest(&world, "echo two > n; mv n f");
        let fs = FaultyFs::killed(at);
        drop(publish(&world, &fs));
        world.resume(&OsFs).expect("resumed");
        published(&world, "echo three > n; mv n f");
        end(&world);
        let ledger = Ledger::read(&OsFs, world.run.fd()).expect("read");
        let known = ledger.steps(MOUNT).filter(|it| it.change.is_some()).count();
        assert_eq!(kept(&world), known, "killed at {at}");
        if fs.calls() <= at {
            break;
        }
    }
}

#[test]
fn same_bytes_again_are_no_conflict() {
    for place in PLACES {
        let world = world(place);
        world.host("echo outside > f");
        guest(&world, "echo host > f");
        let report = end(&world);
        assert!(report.conflicts.is_empty(), "{report:?}");
        assert_eq!(text(&world, "host"), "outside\n");
    }
}
