//! The end of a run, whatever the command left and whoever is at work elsewhere.

use std::fs::{self, DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::time::Duration;

use super::Settings;
use crate::harness::{mark, marked, soon, within};

#[test]
fn undo_takes_what_was_set_after_the_content_back_too() {
    let settings = Settings::new("host\n");
    fs::set_permissions(&settings.file, Permissions::from_mode(0o644)).expect("set");
    settings.world.write("project/a", "old\n");
    let script = "cd; echo one >.tool.json; echo in; read go; chmod 600 .tool.json
        echo new >project/a";
    let mut running = settings.start(&["--workspace", "cow"], script);
    running.expect("in");
    soon("published", || settings.text() == "one\n");
    running.say("\n");
    assert_eq!(running.end(), 0);
    let mode = || settings.file.metadata().expect("there").mode() & 0o777;
    assert_eq!(mode(), 0o600);
    settings.endow(&["undo"]);
    assert_eq!((settings.text(), mode()), ("host\n".into(), 0o644));
    assert_eq!(settings.states(), ["undone"]);
}

#[test]
fn what_the_command_closed_keeps_nothing_from_being_written_back() {
    let refused = "rm .tool.json; mkdir .tool.json; chmod 0 .tool.json";
    let rows = [
        (refused, 121, "host\n"),
        ("echo guest >.tool.json; chmod 0 .", 0, "guest\n"),
        ("echo guest >.tool.json; chmod 555 .", 0, "guest\n"),
    ];
    for (script, code, text) in rows {
        let settings = Settings::new("host\n");
        settings.world.write("project/a", "old\n");
        let script = format!("echo new >a; cd; {script}");
        // What is published at once shows nothing.
        let options = ["--workspace", "cow", "--sync", "apply-ok"];
        assert_eq!(settings.run(&options, &script), code, "{script}");
        let other = fs::read_to_string(settings.world.project().join("a")).expect("there");
        assert_eq!((settings.text().as_str(), other.as_str()), (text, "new\n"), "{script}");
        if code == 121 {
            settings.endow(&["discard"]);
            assert_eq!(settings.states(), ["applied"], "{script}");
        }
    }
}

#[test]
fn timeout_ends_the_command_while_another_write_back_is_at_work() {
    let settings = Settings::new("host\n");
    let home = settings.file.parent().and_then(|it| it.metadata().ok()).expect("a home");
    let locks = settings.world.state().join("locks");
    DirBuilder::new().recursive(true).mode(0o700).create(&locks).expect("made");
    let lock = locks.join(format!("{}-{}", home.dev(), home.ino()));
    let lock = File::create(lock).expect("made");
    lock.lock().expect("locked");
    let mark = mark();
    let script = format!("trap '' TERM; cd; echo guest >.tool.json; echo in; exec sleep {mark}");
    let mut running = settings.start(&["--timeout", "1s", "--grace", "200ms"], &script);
    running.expect("in");
    soon("it sleeps", || !marked(&mark).is_empty());
    within(Duration::from_secs(8), "it is ended", || marked(&mark).is_empty());
    lock.unlock().expect("unlocked");
    assert_eq!(running.end(), 124);
    assert_eq!(settings.text(), "guest\n");
}
