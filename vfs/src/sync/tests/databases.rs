//! What stands beside a database of SQLite comes with it, or not at all.

use super::super::testing::*;
use super::super::*;

const TREE: &str = "echo base > a.db; echo base > b.db; touch -d '2001-02-03 04:05:06' a.db b.db .";

/// Returns what is written back, and whether all is.
fn left(guest: &str, host: &str, on_conflict: OnConflict) -> (String, bool) {
    let world = World::new(Where::Same, TREE);
    world.guest(guest);
    world.host(host);
    let is_complete = world.sync(on_conflict).is_complete();
    let names: Vec<String> =
        world.snapshot().keys().map(|path| path.display().to_string()).collect();
    (names.join(" ").trim().to_owned(), is_complete)
}

#[test]
fn journal_is_not_put_beside_a_database_that_the_host_changed() {
    let beside =
        "echo run > a.db-wal; echo run > a.db-shm; echo run > b.db-journal; echo x > x-wal";
    for (guest, host, names) in [
        (beside, "true", "a.db a.db-shm a.db-wal b.db b.db-journal x-wal"),
        (beside, "echo host > a.db", "a.db b.db b.db-journal x-wal"),
        (beside, "rm a.db; echo host > a.db", "a.db b.db b.db-journal x-wal"),
        ("echo run > a.db; echo run > a.db-wal", "echo host > a.db", "a.db b.db"),
        ("echo run > a.db; echo run > a.db-wal", "echo host > a.db-wal", "a.db a.db-wal b.db"),
        ("echo run > a.db-shm", "echo host > a.db-wal", "a.db a.db-wal b.db"),
        ("rm a.db", "echo host > a.db-wal", "a.db a.db-wal b.db"),
        ("mv a.db c.db", "echo host > a.db-wal", "a.db a.db-wal b.db c.db"),
    ] {
        let is_all = host == "true";
        assert_eq!(
            left(guest, host, OnConflict::Host),
            (names.to_owned(), is_all),
            "{guest}; {host}"
        );
    }
    let all = left(beside, "echo host > a.db", OnConflict::Guest);
    assert_eq!(all.0, "a.db a.db-shm a.db-wal b.db b.db-journal x-wal");
}

/// The database has its old content, too, where the host has a journal for it by now.
#[test]
fn database_waits_where_the_host_has_a_journal() {
    let world = World::new(Where::Same, TREE);
    world.guest("echo run > a.db; echo run > b.db");
    world.host("echo host > a.db-wal");
    let report = world.sync(OnConflict::Host);
    let lost: Vec<_> = report.conflicts.iter().map(|it| (it.path.clone(), it.conflict)).collect();
    assert_eq!(lost, [("a.db".into(), Conflict::Database)], "{report:?}");
}
