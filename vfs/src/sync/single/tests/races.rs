//! The command acts between two calls that move its file, and the process that moves it is killed
//! there, or goes on.

use super::*;
use crate::fs::faulty::Race::{self, After, Before, Death};

/// Lets the command do something.
fn acts(world: &World, script: &str) -> Box<dyn FnOnce() + Send> {
    let (dir, script) = (world.run.path().join("own"), script.to_owned());
    Box::new(move || super::super::super::testing::shell(&dir, &script))
}

/// Takes the host's version in while others act; then the run ends.
fn raced(host: &str, races: impl FnOnce(&World) -> Vec<Race>) -> (World, SyncReport) {
    let world = world(Where::Same);
    world.host(host);
    let fs = FaultyFs::racing(races(&world));
    drop(take_in(&world, &fs));
    let report = end(&world);
    (world, report)
}

/// Returns whether a file with this text is on the host or in the run.
fn is_kept(world: &World, text: &str) -> bool {
    let mut pending = vec![world.run.path().to_owned(), world.root()];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(std::fs::read_dir(&path).expect("listed").flatten().map(|it| it.path()));
        } else if std::fs::read_to_string(&path).is_ok_and(|found| found == text) {
            return true;
        }
    }
    false
}

const EDIT: &str = "echo outside > f";
const REPLACE: &str = "echo newer > n; mv n f";

#[test]
fn killed_after_the_move_the_newer_version_goes_back() {
    for host in [EDIT, "rm f"] {
        let (world, report) = raced(host, |world| vec![Before(acts(world, REPLACE)), Death]);
        assert_eq!(text(&world, "upper/f"), "newer\n", "{host}");
        assert_eq!(report.conflicts.len(), 1, "{host}");
    }
}

#[test]
fn newer_version_that_loses_its_name_is_kept() {
    let (world, _) =
        raced(EDIT, |world| vec![Before(acts(world, REPLACE)), After(acts(world, "mv f f.bak"))]);
    assert!(is_kept(&world, "newer\n"));
}

#[test]
fn newest_of_many_versions_is_kept() {
    let (world, _) = raced(EDIT, |world| {
        let version = |number| Before(acts(world, &format!("echo {number} > n; mv n f")));
        (0..64).map(version).collect()
    });
    assert!(is_kept(&world, "63\n"));
}

#[test]
fn directory_in_the_place_of_the_file_is_set_down() {
    let swaps = [("mv f bak; mkdir f", "rm f", EDIT), ("mv f bak; mkdir f", "mv bak f", "rm f")];
    for (before, after, host) in swaps {
        let (world, _) =
            raced(host, |world| vec![Before(acts(world, before)), After(acts(world, after))]);
        assert_eq!(take_in(&world, &OsFs).expect("settled"), TakenIn::Nothing, "{host}");
    }
}

#[test]
fn killed_while_a_removal_comes_in_the_restored_file_stays() {
    for at in 0.. {
        let world = world(Where::Same);
        world.host("rm f");
        let fs = FaultyFs::killed(at);
        drop(take_in(&world, &fs));
        world.host("echo host > f; chmod 640 f");
        end(&world);
        assert_eq!(text(&world, "host"), "host\n", "killed at {at}");
        if fs.calls() <= at {
            break;
        }
    }
}

#[test]
fn killed_while_it_comes_in_a_later_edit_of_either_side_is_no_conflict() {
    for at in 0.. {
        let world = world(Where::Same);
        world.host(EDIT);
        let fs = FaultyFs::killed(at);
        drop(take_in(&world, &fs));
        let (name, is_in) = ("host", text(&world, OWN) == "outside\n");
        if is_in && at % 2 == 0 {
            guest(&world, "echo more >> f");
        } else {
            world.host("echo more >> f");
        }
        let report = end(&world);
        assert_eq!(text(&world, name), "outside\nmore\n", "killed at {at}: {report:?}");
        assert!(report.conflicts.is_empty(), "killed at {at}: {report:?}");
        if fs.calls() <= at {
            break;
        }
    }
}

#[test]
fn after_a_fault_both_sides_become_the_same() {
    for more in ["true", "echo later > f"] {
        each_fault(Errno::NOSPC, |fs| {
            let world = world(Where::Same);
            world.host(EDIT);
            let tried = take_in(&world, fs);
            world.host(more);
            let wanted = text(&world, "host");
            publish(&world, &OsFs).expect("looked");
            take_in(&world, &OsFs).expect("taken");
            assert_eq!(sides(&world), [wanted.clone(), wanted], "{more}: {tried:?}");
        });
    }
}

#[test]
fn file_removed_after_a_half_done_write_back_is_removed() {
    let removed = |world: &World, about: &str| {
        guest(world, "rm f");
        gather(world, &OsFs).expect("gathered");
        world.resume(&OsFs).expect("resumed");
        end(world);
        assert_eq!(text(world, "host"), "absent", "{about}");
    };
    for at in 0.. {
        let world = world(Where::Same);
        guest(&world, REPLACE);
        let fs = FaultyFs::killed(at);
        drop(publish(&world, &fs));
        removed(&world, &format!("killed at {at}"));
        if fs.calls() <= at {
            break;
        }
    }
    each_fault(Errno::NOSPC, |fs| {
        let world = world(Where::Same);
        guest(&world, REPLACE);
        let tried = publish(&world, fs);
        removed(&world, &format!("{tried:?}"));
    });
}

#[test]
fn directories_that_the_command_closed_are_opened() {
    let closed =
        ["rm f; mkdir f; chmod 0 f", "echo new > f; chmod 0 .", "echo new > f; chmod 555 ."];
    for script in closed {
        let world = world(Where::Same);
        guest(&world, script);
        // A user who may do everything shows nothing.
        end(&world);
        let host = if script.starts_with("rm") { "host\n" } else { "new\n" };
        assert_eq!(text(&world, "host"), host, "{script}");
    }
}

/// Lets the command replace its file when that was just exchanged, and somebody waits for that.
struct Meanwhile<'a>(&'a World);

impl Alone for Meanwhile<'_> {
    fn take(&self, _: BorrowedFd<'_>) -> bool {
        true
    }

    fn is_alone_still(&self, _: BorrowedFd<'_>) -> bool {
        guest(self.0, "echo guest > n; mv n f");
        false
    }
}

#[test]
fn killed_anywhere_a_version_of_the_same_moment_is_found() {
    for edit in ["echo outside > f", "rm f"] {
        for at in 0.. {
            let world = world(Where::Same);
            world.host(edit);
            let host = text(&world, "host");
            let fs = FaultyFs::killed(at);
            let single = single(&world, &fs);
            let root = world.root_fd();
            drop(single.and_then(|it| it.take_in(root.as_fd(), &Meanwhile(&world), true)));
            let is_made = [OWN, "entering"].iter().any(|name| text(&world, name) == "guest\n");
            end(&world);
            let is_found = ["upper/f", "host"].iter().any(|name| text(&world, name) == "guest\n");
            assert_eq!(is_found, is_made, "killed at {at}: {edit}");
            // It may have replaced the host's version in its place, which is no conflict.
            world.undo(&OsFs).expect("undone");
            assert_eq!(text(&world, "host"), host, "killed at {at}: {edit}");
            if fs.calls() <= at {
                break;
            }
        }
    }
}

#[test]
fn version_that_the_hosts_took_the_place_of_goes_back() {
    let [newer, same] = ["echo newer > f", "true"];
    for (then, kept, displaced) in [(same, "guest\n", "absent"), (newer, "newer\n", "guest\n")] {
        let world = world(Where::Same);
        world.host("echo outside > f");
        let tree = world.root().join("f");
        // What a publisher leaves that is killed when the command was faster.
        guest(&world, &format!("cp -p {} ../incoming; cp -p ../incoming f", tree.display()));
        guest(&world, &format!("echo guest > ../entering; {then}"));
        end(&world);
        let found = ["upper/f", "displaced.0", "host"].map(|it| text(&world, it));
        assert_eq!(found, [kept, displaced, "outside\n"]);
    }
}

/// Somebody waits for the file that was exchanged, and somebody else writes into what came in.
struct BothWrite<'a>(&'a World);

impl Alone for BothWrite<'_> {
    fn take(&self, _: BorrowedFd<'_>) -> bool {
        true
    }

    fn is_alone_still(&self, _: BorrowedFd<'_>) -> bool {
        guest(self.0, "echo line >> f");
        false
    }
}

#[test]
fn what_is_written_into_the_hosts_version_is_kept() {
    let world = world(Where::Same);
    world.host(EDIT);
    let (single, root) = (single(&world, &OsFs).expect("opened"), world.root_fd());
    let taken = single.take_in(root.as_fd(), &BothWrite(&world), true).expect("tried");
    assert_eq!(taken, TakenIn::Busy);
    // Whoever writes has it open still.
    assert!(!single.catch_up(root.as_fd(), &never).expect("looked"));
    end(&world);
    assert!(is_kept(&world, "outside\nline\n"));
}

#[test]
fn file_that_somebody_waits_for_is_kept_while_it_is_open() {
    let world = world(Where::Same);
    world.host("rm f");
    let (single, root) = (single(&world, &OsFs).expect("opened"), world.root_fd());
    let taken = single.take_in(root.as_fd(), &Meanwhile(&world), true).expect("tried");
    assert_eq!((taken, text(&world, "leaving").as_str()), (TakenIn::Busy, "host\n"));
    assert!(!single.catch_up(root.as_fd(), &never).expect("looked"));
    std::fs::write(world.run.path().join("leaving"), "host\nline\n").expect("written");
    end(&world);
    assert!(is_kept(&world, "host\nline\n") && is_kept(&world, "guest\n"));
}

#[test]
fn original_that_comes_back_after_a_half_done_write_back_is_written() {
    let back = |world: &World, about: &str| {
        guest(world, "mv f.bak f");
        gather(world, &OsFs).expect("gathered");
        world.resume(&OsFs).expect("resumed");
        end(world);
        assert_eq!(text(world, "host"), "host\n", "{about}");
    };
    for at in 0.. {
        let world = world(Where::Same);
        guest(&world, "mv f f.bak; echo new > f");
        let fs = FaultyFs::killed(at);
        drop(publish(&world, &fs));
        back(&world, &format!("killed at {at}"));
        if fs.calls() <= at {
            break;
        }
    }
    each_fault(Errno::IO, |fs| {
        let world = world(Where::Same);
        guest(&world, "mv f f.bak; echo new > f");
        let tried = publish(&world, fs);
        back(&world, &format!("{tried:?}"));
    });
}
