//! What is refused, kept, or written back later.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::Settings;
use crate::harness::{Running, World, project, said, soon};

#[test]
fn what_can_not_be_merged_stays_the_hosts_and_ours_is_held() {
    let settings = Settings::new("{\"a\":[1]}\n");
    let script = "cd; exec 3>>.tool.json; echo in; read go; echo '{\"a\":[2]}' >t; mv t .tool.json";
    let mut running = settings.start(&[], script);
    running.expect("in");
    settings.replace("{\"a\":[3]}\n");
    running.say("\n");
    assert_eq!(running.end(), 121);
    assert_eq!(
        (settings.text(), settings.states()),
        ("{\"a\":[3]}\n".into(), vec!["waiting".into()])
    );
    assert!(settings.endow(&["diff"]).contains("+{\"a\":[2]}"));
    settings.endow(&["apply", "--on-conflict", "guest"]);
    assert_eq!(settings.text(), "{\"a\":[2]}\n");
    settings.endow(&["undo"]);
    assert_eq!(settings.text(), "{\"a\":[3]}\n");
}

/// As of two sessions without a sandbox, each of which counts its starts.
#[test]
fn of_one_value_the_last_one_stands() {
    let older = "touch -d 2001-01-01 t";
    let to_come = "touch -d 2099-01-01 t";
    for (aged, value) in [("true", "2"), (older, "3"), (to_come, "3")] {
        let settings = Settings::new("{\"a\":1}\n");
        let script = format!(
            "cd; exec 3>>.tool.json; echo in; read go; sleep 0.05
            echo '{{\"a\":2,\"in\":0}}' >t; {aged}; mv t .tool.json"
        );
        let mut running = settings.start(&[], &script);
        running.expect("in");
        settings.replace("{\"a\":3,\"out\":0}\n");
        running.say("\n");
        assert_eq!(running.end(), 0, "{aged}");
        let expected = format!("{{\"a\":{value},\"out\":0,\"in\":0}}\n");
        assert_eq!((settings.text(), settings.states()), (expected, vec!["applied".into()]));
        settings.endow(&["undo"]);
        assert_eq!(settings.text(), "{\"a\":3,\"out\":0}\n");
    }
}

/// Who wants to look at changes first is asked about each.
#[test]
fn of_one_value_none_stands_where_changes_wait() {
    let settings = Settings::new("{\"a\":1}\n");
    let script = "cd; echo in; read go; echo '{\"a\":2}' >t; mv t .tool.json";
    let mut running = settings.start(&["--sync", "apply-ok"], script);
    running.expect("in");
    settings.replace("{\"a\":3}\n");
    running.say("\n");
    assert_eq!((running.end(), settings.text()), (121, "{\"a\":3}\n".to_owned()));
}

#[test]
fn killed_supervisor_leaves_what_was_published_and_keeps_the_rest() {
    let settings = Settings::new("host\n");
    let script = "cd; echo one >.tool.json; echo in; read go; exec 3>.tool.json; echo two >&3
        echo open; sleep 60";
    let mut running = settings.start(&[], script);
    running.expect("in");
    soon("published", || settings.text() == "one\n");
    running.say("\n");
    running.expect("open");
    running.signal(9);
    running.end();
    assert_eq!(settings.text(), "one\n");
    soon("let go", || settings.endow(&["runs", "--json"]).contains("interrupted"));
    settings.endow(&["apply"]);
    assert_eq!(settings.text(), "two\n");
    settings.endow(&["undo"]);
    assert_eq!(settings.text(), "host\n");
}

#[test]
fn what_was_published_before_the_supervisor_was_killed_is_taken_back() {
    let settings = Settings::new("host\n");
    let mut running = settings.start(&[], "cd; echo one >.tool.json; echo in; sleep 60");
    running.expect("in");
    soon("published", || settings.text() == "one\n");
    running.signal(9);
    running.end();
    soon("let go", || settings.endow(&["runs", "--json"]).contains("interrupted"));
    settings.endow(&["undo"]);
    assert_eq!(settings.text(), "host\n");
}

#[test]
fn given_up_run_keeps_what_is_not_published() {
    let settings = Settings::new("host\n");
    let script = "cd; trap '' INT; echo one >.tool.json; echo in; read go; exec 3>.tool.json
        echo two >&3; echo open; sleep 60";
    let mut running = settings.start(&[], script);
    running.expect("in");
    soon("published", || settings.text() == "one\n");
    running.say("\n");
    running.expect("open");
    running.signal(2);
    std::thread::sleep(std::time::Duration::from_millis(200));
    running.signal(2);
    running.end();
    assert_eq!((settings.text(), settings.states()), ("one\n".into(), vec!["waiting".into()]));
    settings.endow(&["discard"]);
    assert_eq!(settings.states(), ["applied"], "what was published can be taken back");
    settings.endow(&["undo"]);
    assert_eq!(settings.text(), "host\n");
}

/// A directory of the host with a file and another.
fn data() -> (World, PathBuf, String) {
    let world = project();
    let file = world.write("data/file", "host\n");
    world.write("data/other", "other\n");
    let at = file.display().to_string();
    (world, file, at)
}

#[test]
fn file_alone_in_its_directory_is_replaced_and_its_neighbours_are_absent() {
    let (world, file, at) = data();
    // Without the memory that the base has there, nothing of the view is in the directory.
    let policy = world.write("policy.toml", "version = 1\n[mounts]\n\"/tmp\" = false\n");
    let policy = policy.display().to_string();
    let directory = file.parent().expect("above");
    let script = format!(
        "cd {}; ls; echo guest >file.tmp; mv file.tmp file; touch rest; ls",
        directory.display()
    );
    let said = world.run(&["run", "-p", &policy, "--cow", &at], &script);
    assert_eq!(said.ok(), "file\nfile\nrest\n");
    assert_eq!(fs::read_to_string(&file).expect("there"), "guest\n");
    assert_eq!(fs::read_dir(directory).expect("listed").count(), 2);
}

#[test]
fn file_in_another_mount_is_written_in_place() {
    let (world, file, at) = data();
    let directory = Path::new(&at).parent().expect("above").display().to_string();
    let script = format!(
        "cd {directory}; echo guest >file; cat file other; echo new >tmp; mv -T tmp file 2>&1; rm -f tmp"
    );
    let said = world.run(&["run", "--rw", &directory, "--cow", &at], &script);
    assert!(said.stdout.starts_with("guest\nother\n"), "{said:?}");
    assert!(said.stdout.contains("Device or resource busy"), "{said:?}");
    assert_eq!(fs::read_to_string(&file).expect("there"), "guest\n");
}

/// Without a sandbox the link stands, and whoever reads the file next reads what it leads to.
#[test]
fn control_link_in_the_place_of_the_file_is_followed() {
    let settings = Settings::new("host\n");
    settings.world.write("home/.ssh/id", "secret\n");
    settings.world.bare("cd; ln -sf .ssh/id .tool.json").ok();
    assert_eq!(settings.text(), "secret\n");
}

#[test]
fn what_is_no_file_any_more_is_told_and_does_not_leave() {
    for script in [
        "rm .tool.json; ln -s ../../etc/passwd .tool.json",
        "ln -sf .ssh/id .tool.json",
        "rm .tool.json; mkfifo .tool.json",
        "rm .tool.json; mkdir .tool.json; ln -s ../.ssh .tool.json/x",
    ] {
        let settings = Settings::new("host\n");
        settings.world.write("home/.ssh/id", "secret\n");
        assert_eq!(settings.run(&[], &format!("cd; {script}")), 121, "{script}");
        assert_eq!(settings.text(), "host\n", "{script}");
        assert!(settings.file.symlink_metadata().expect("there").is_file(), "{script}");
        assert_eq!(settings.states(), ["waiting"], "{script}");
        let forced = said(&mut settings.world.endow(["apply", "--on-conflict", "guest"]));
        assert_eq!((forced.code, settings.text()), (121, "host\n".to_owned()), "{script}");
        let next = settings.world.run(&["run", "--cow", &settings.at], "cat ~/.tool.json");
        assert_eq!(next.ok(), "host\n", "{script}");
        settings.endow(&["discard"]);
    }
}

#[test]
fn directory_that_moves_on_the_host_loses_nothing() {
    let world = project();
    let (file, other) = (world.write("home/a/one", "host\n"), world.write("home/b/two", "host\n"));
    let [one, two] = [&file, &other].map(|it| it.display().to_string());
    let script = "echo in; read go; echo work >~/a/one; echo work >~/b/two";
    let words =
        ["run", "--sync", "apply-ok", "--cow", &one, "--cow", &two, "--", "sh", "-c", script];
    let mut command = world.endow(words);
    let mut running = Running::start(command.stdin(Stdio::piped()));
    running.expect("in");
    let (a, moved) = (world.home().join("a"), world.home().join("moved"));
    fs::rename(&a, &moved).expect("renamed");
    running.say("\n");
    assert_eq!(running.end(), 121);
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_else(|_| "absent".to_owned());
    assert_eq!((read(&moved.join("one")), read(&other)), ("host\n".into(), "work\n".into()));
    fs::rename(&moved, &a).expect("renamed");
    said(&mut world.endow(["apply"])).ok();
    assert_eq!((read(&file), read(&other)), ("work\n".into(), "work\n".into()));
}

#[test]
fn directory_that_moves_inside_is_refused_and_loses_nothing() {
    let world = project();
    let file = world.write("home/.config/tool/x", "host\n");
    let at = file.display().to_string();
    let script = "cd ~/.config; mv tool real; ln -s real tool; echo work >tool/x";
    let words = ["run", "--cow", &at, "--", "sh", "-c", script];
    assert_eq!(said(&mut world.endow(words)).code, 121);
    assert_eq!(fs::read_to_string(&file).expect("there"), "host\n");
    let search = format!("grep -rs work {}/runs", world.state().display());
    assert!(world.bare(&search).stdout.contains("real/x"), "what it wrote is kept");
    said(&mut world.endow(["discard"])).ok();
    assert!(!world.bare(&search).stdout.contains("real/x"));
}

#[test]
fn file_of_a_buffered_directory_does_not_disturb_the_rest() {
    let world = project();
    let file = world.write("home/project/conf", "host\n");
    let at = file.display().to_string();
    let script = "echo guest >conf; sleep 0.2; echo more >>file; mv file moved; ls";
    let said = world.run(&["run", "--cow", &at], script);
    assert_eq!(said.ok(), "conf\ndir\nlink\nmoved\n");
    let read = |name: &str| fs::read_to_string(world.project().join(name)).expect("there");
    assert_eq!((read("conf"), read("moved")), ("guest\n".into(), "host\nmore\n".into()));
    assert!(!world.project().join("file").exists());
}

#[test]
fn file_of_another_owner_is_refused_at_the_start() {
    let settings = Settings::new("host\n");
    if std::os::unix::fs::chown(&settings.file, Some(12345), None).is_err() {
        return;
    }
    let refused = settings.world.run(&["run", "--cow", &settings.at], "true");
    assert!(refused.fails(125).contains("owner"), "{refused:?}");
}

#[test]
fn two_files_of_one_directory_and_a_state_elsewhere() {
    let world = project();
    let elsewhere = World::in_memory();
    let [a, b] = ["home/a", "home/b"].map(|name| world.write(name, "host\n"));
    let [at, bt] = [&a, &b].map(|it| it.display().to_string());
    let script = "echo one >~/a; echo two >~/b; sleep 0.3; rm ~/a; exec 3>~/b; echo three >&3";
    let words = ["run", "--cow", &at, "--cow", &bt, "--", "sh", "-c", script];
    let mut command = world.endow(words);
    command.env("ENDOW_STATE_DIR", elsewhere.state());
    said(&mut command).ok();
    assert_eq!((a.exists(), fs::read_to_string(&b).expect("there")), (false, "three\n".to_owned()));
    let mut undo = world.endow(["undo"]);
    said(undo.env("ENDOW_STATE_DIR", elsewhere.state())).ok();
    let read = |path: &Path| fs::read_to_string(path).expect("there");
    assert_eq!((read(&a), read(&b)), ("host\n".to_owned(), "host\n".to_owned()));
    assert_eq!(fs::read_dir(world.home()).expect("listed").count(), 3, "no stage is left");
}
