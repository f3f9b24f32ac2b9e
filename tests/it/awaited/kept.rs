//! What a first session makes is on the host when it is over, exactly, and can be taken back.

use std::os::unix::fs::MetadataExt;

use super::First;
use crate::harness::{World, said, soon};

/// What a login makes: a directory that is closed to others, links, times, a file of settings.
const LOGIN: &str = r#"umask 077; test ! -e ~/.claude && test ! -e ~/.claude.json || exit 9
    mkdir -p ~/.claude/projects/a; echo token >~/.claude/.credentials.json
    ln ~/.claude/.credentials.json ~/.claude/again; ln -s projects/a ~/.claude/near
    ln -s ~/.claude/projects ~/.claude/whole; touch -d @1000000000.5 ~/.claude/projects/a
    chmod 500 ~/.claude/projects; echo '{"a":1}' >~/.claude.json.tmp; mv ~/.claude.json.tmp ~/.claude.json"#;

const FOUND: [&str; 8] = [
    ".claude",
    ".claude.json",
    ".claude/.credentials.json",
    ".claude/again",
    ".claude/near",
    ".claude/projects",
    ".claude/projects/a",
    ".claude/whole",
];

fn check_login(first: &First) {
    assert_eq!(first.names(), FOUND);
    assert_eq!(first.text(".claude/.credentials.json"), "token\n");
    assert_eq!(first.text(".claude.json"), "{\"a\":1}\n");
    let of = |path: &str| first.home(path).symlink_metadata().expect("there");
    assert_eq!(of(".claude").mode() & 0o777, 0o700);
    assert_eq!(of(".claude/projects").mode() & 0o777, 0o500);
    let time = of(".claude/projects/a");
    assert_eq!((time.mtime(), time.mtime_nsec()), (1_000_000_000, 500_000_000));
    assert_eq!(of(".claude/again").ino(), of(".claude/.credentials.json").ino());
}

#[test]
fn first_login_is_kept_and_can_be_taken_back() {
    let first = First::new(LOGIN);
    first.run(&[]).ok();
    check_login(&first);
    assert_eq!(first.world.states(), ["applied"]);
    // The next session finds it, live.
    first
        .program("claude", "cat ~/.claude/.credentials.json ~/.claude.json; echo 2 >~/.claude/two");
    assert_eq!(first.run(&[]).ok(), "token\n{\"a\":1}\n");
    assert_eq!(first.text(".claude/two"), "2\n");
    let undone = first.endow(&["undo"]);
    assert!(!first.home(".claude.json").exists(), "{undone:?}");
    // What came since stays, with what leads there.
    assert_eq!(first.names(), [".claude", ".claude/two"], "{undone:?}");
}

#[test]
fn state_on_another_file_system_is_kept_as_well() {
    let first = First::new(LOGIN);
    let elsewhere = World::in_memory();
    let mut command = first.command(&[], "claude");
    said(command.env("ENDOW_STATE_DIR", elsewhere.state())).ok();
    check_login(&first);
    let mut undo = first.world.endow(["undo"]);
    said(undo.env("ENDOW_STATE_DIR", elsewhere.state())).ok();
    assert_eq!(first.names(), [""; 0]);
}

#[test]
fn session_that_makes_nothing_leaves_nothing() {
    let first = First::new("echo x >~/.other; mkdir ~/.cache; ls -A ~/.claude 2>&1; :");
    let said = first.run(&[]);
    assert!(said.ok().contains("No such file"), "{said:?}");
    assert_eq!(first.names(), [""; 0]);
    first.world.assert_no_run_left();
}

#[test]
fn directories_that_lead_there_are_made_when_they_are_missing() {
    let script =
        "umask 022; mkdir -p ~/.local/share/opencode/log ~/.local/share/other ~/.local/state
        echo x >~/.local/share/opencode/log/a; echo y >~/.local/y";
    let first = First::of("opencode", script);
    said(&mut first.command(&[], "opencode")).ok();
    let log = ".local/share/opencode/log";
    let made = [".local", ".local/share", ".local/share/opencode", log, &format!("{log}/a")];
    assert_eq!(first.names(), made);
    first.endow(&["undo"]).ok();
    assert_eq!(first.names(), [""; 0]);
}

#[test]
fn database_in_the_state_is_whole() {
    let open = "import os, sqlite3, sys; os.makedirs(os.path.expanduser('~/.claude'), exist_ok=True)
db = sqlite3.connect(os.path.expanduser('~/.claude/db.sqlite')); db.execute('pragma journal_mode=wal')";
    let script = format!(
        "exec python3 -c \"{open}\ndb.execute('create table t(x)')\nfor i in range(100):\n    \
         db.execute('insert into t values (?)', (i,)); db.commit()\nos._exit(0)\""
    );
    let first = First::new(&script);
    first.run(&[]).ok();
    assert!(first.names().iter().any(|name| name.ends_with("-wal")), "{:?}", first.names());
    let count = format!("{open}\nprint(db.execute('select count(*), sum(x) from t').fetchone())");
    let counted = said(first.world.command("python3").args(["-c", &count]));
    assert_eq!(counted.ok(), "(100, 4950)\n");
}

#[test]
fn file_of_settings_is_published_while_the_session_goes_on() {
    let first = First::new(
        "read go; echo '{\"a\":1}' >~/t; mv ~/t ~/.claude.json; echo one; read go
         while ! grep -q outside ~/.claude.json; do sleep 0.05; done; echo two",
    );
    let mut running = first.start(&[]);
    running.say("\n");
    running.expect("one");
    soon("published", || first.text(".claude.json") == "{\"a\":1}\n");
    first.world.write("home/.new", "{\"a\":1,\"outside\":2}\n");
    std::fs::rename(first.home(".new"), first.home(".claude.json")).expect("renamed");
    running.say("\n");
    running.expect("two");
    assert_eq!(running.end(), 0);
    assert_eq!(first.text(".claude.json"), "{\"a\":1,\"outside\":2}\n");
}

#[test]
fn review_waits_and_another_run_goes_on_from_it() {
    let first = First::new("mkdir ~/.claude; echo 1 >~/.claude/one; echo '{}' >~/.claude.json");
    first.run(&["--workspace", "rw", "--sync", "review", "--name", "try"]).ok();
    assert_eq!(first.names(), [""; 0]);
    let shown = first.endow(&["diff", "try"]);
    assert!(shown.ok().contains(".claude/one"), "{shown:?}");
    first.program("claude", "cat ~/.claude/one ~/.claude.json; echo 2 >~/.claude/two");
    let further =
        first.run(&["--from", "try", "--workspace", "rw", "--sync", "review", "--name", "further"]);
    assert_eq!(further.ok(), "1\n{}\n");
    first.endow(&["apply", "further"]).ok();
    assert_eq!(first.names(), [".claude", ".claude.json", ".claude/one", ".claude/two"]);
    first.endow(&["discard", "try"]).ok();
    let dropped = First::new("mkdir ~/.claude; echo 1 >~/.claude/one");
    dropped.run(&["--workspace", "rw", "--sync", "discard"]).ok();
    assert_eq!(dropped.names(), [""; 0]);
}
