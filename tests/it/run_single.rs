//! Single files that are mounted copy-on-write: published as they are closed, and followed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::harness::{Running, World, project, said, soon};

/// A project and a file of settings in the user's home.
struct Settings {
    world: World,
    file: PathBuf,
    at: String,
}

impl Settings {
    fn new(text: &str) -> Self {
        let world = project();
        let file = world.write("home/.tool.json", text);
        let at = file.display().to_string();
        Self { world, file, at }
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.file).unwrap_or_else(|_| "absent".to_owned())
    }

    /// Replaces the file on the host, as an editor does.
    fn replace(&self, text: &str) {
        let new = self.world.write("home/.tool.json.new", text);
        fs::rename(new, &self.file).expect("renamed");
    }

    /// Starts a script with the file; `read go` in it waits for [`Running::say`].
    fn start(&self, options: &[&str], script: &str) -> Running {
        let fixed = ["run", "--cow", &self.at];
        let words = [&fixed, options, &["--", "sh", "-c", script]].concat();
        Running::start(self.world.endow(words).stdin(Stdio::piped()))
    }

    fn run(&self, options: &[&str], script: &str) -> i32 {
        self.start(options, script).end()
    }

    fn endow(&self, words: &[&str]) -> String {
        said(&mut self.world.endow(words)).ok().to_owned()
    }

    fn states(&self) -> Vec<String> {
        let runs = fs::read_dir(self.world.state().join("runs")).into_iter().flatten();
        let records = runs.filter_map(|run| fs::read(run.ok()?.path().join("record.json")).ok());
        let state = |text: Vec<u8>| {
            let record: Value = serde_json::from_slice(&text).expect("json");
            record["state"].as_str().expect("a state").to_owned()
        };
        records.map(state).collect()
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("json")
}

#[test]
fn what_is_closed_or_renamed_is_published_while_the_command_runs() {
    let settings = Settings::new("{\"a\":0}\n");
    let script = "set -e; cd; stat -c '%h %a' .tool.json; echo '{\"a\":1}' >.tool.json; echo one
        read go; echo '{\"a\":2}' >.tool.json.tmp; mv .tool.json.tmp .tool.json; echo two; read go
        ln .tool.json backup; echo '{\"a\":3}' >t; mv t .tool.json; cat backup; read go";
    let mut running = settings.start(&[], script);
    running.expect("1 644");
    for (line, text) in
        [("one", "{\"a\":1}\n"), ("two", "{\"a\":2}\n"), ("{\"a\":2}", "{\"a\":3}\n")]
    {
        running.expect(line);
        soon("published", || settings.text() == text);
        running.say("\n");
    }
    assert_eq!(running.end(), 0);
    assert_eq!(settings.states(), ["applied"]);
    let names = fs::read_dir(settings.world.home()).expect("listed").count();
    assert_eq!(names, 2, "the file, the project, and no name of ours or of the command's");
    settings.endow(&["undo"]);
    assert_eq!(settings.text(), "{\"a\":0}\n");
    assert_eq!(settings.states(), ["undone"]);
}

#[test]
fn what_changes_outside_is_seen_inside() {
    let settings = Settings::new("host\n");
    let script = "cd; echo in; while ! grep -q outside .tool.json; do sleep 0.05; done
        cat .tool.json; echo guest >>.tool.json; echo out; read go";
    let mut running = settings.start(&[], script);
    running.expect("in");
    settings.replace("outside\n");
    running.expect("outside");
    running.expect("out");
    soon("published", || settings.text() == "outside\nguest\n");
    running.say("\n");
    assert_eq!(running.end(), 0);
    settings.endow(&["undo"]);
    assert_eq!(settings.text(), "outside\n", "what stood there before the command's change");
}

#[test]
fn file_that_is_open_inside_follows_when_it_is_closed() {
    let settings = Settings::new("host\n");
    let script = "cd; exec 3<.tool.json; echo in; read go; cat <&3; exec 3<&-
        while ! grep -q outside .tool.json; do sleep 0.05; done; echo out";
    let mut running = settings.start(&[], script);
    running.expect("in");
    settings.replace("outside\n");
    std::thread::sleep(std::time::Duration::from_millis(500));
    running.say("\n");
    running.expect("host");
    running.expect("out");
    assert_eq!(running.end(), 0);
    assert_eq!(settings.states(), Vec::<String>::new(), "nothing was changed inside");
}

#[test]
fn objects_that_both_sides_changed_are_merged_by_key() {
    for at_the_end in [false, true] {
        let settings = Settings::new("{\n  \"a\": 1,\n  \"o\": {\n    \"x\": 1\n  }\n}\n");
        // While it is open for writing inside, nothing comes in.
        let script = "cd; exec 3>>.tool.json; echo in; read go
            echo '{\"a\":2,\"o\":{\"x\":1,\"g\":1}}' >t; mv t .tool.json; exec 3>&-; echo out; read go";
        let options: &[&str] = if at_the_end { &["--sync", "apply-ok"] } else { &[] };
        let mut running = settings.start(options, script);
        running.expect("in");
        settings.replace("{\n  \"a\": 1,\n  \"o\": {\n    \"x\": 5\n  }\n}\n");
        running.say("\n");
        running.expect("out");
        let merged = "{\n  \"a\": 2,\n  \"o\": {\n    \"x\": 5,\n    \"g\": 1\n  }\n}\n";
        if !at_the_end {
            soon("published", || settings.text() == merged);
        }
        running.say("\n");
        assert_eq!(running.end(), 0, "{at_the_end}");
        assert_eq!(settings.text(), merged, "{at_the_end}");
    }
}

#[test]
fn what_can_not_be_merged_stays_the_hosts_and_ours_is_held() {
    let settings = Settings::new("{\"a\":1}\n");
    let script = "cd; exec 3>>.tool.json; echo in; read go; echo '{\"a\":2}' >t; mv t .tool.json";
    let mut running = settings.start(&[], script);
    running.expect("in");
    settings.replace("{\"a\":3}\n");
    running.say("\n");
    assert_eq!(running.end(), 121);
    assert_eq!(
        (settings.text(), settings.states()),
        ("{\"a\":3}\n".into(), vec!["waiting".into()])
    );
    assert!(settings.endow(&["diff"]).contains("+{\"a\":2}"));
    settings.endow(&["apply", "--on-conflict", "guest"]);
    assert_eq!(settings.text(), "{\"a\":2}\n");
    settings.endow(&["undo"]);
    assert_eq!(settings.text(), "{\"a\":3}\n");
}

#[test]
fn edit_outside_of_a_file_that_stayed_inside_is_no_conflict() {
    let settings = Settings::new("host\n");
    let mut running = settings.start(&["--sync", "apply-ok"], "echo in; read go; cat ~/.tool.json");
    running.expect("in");
    settings.replace("outside\n");
    running.say("\n");
    running.expect("host");
    assert_eq!(running.end(), 0);
    assert_eq!((settings.text(), settings.states()), ("outside\n".into(), vec![]));
}

#[test]
fn removal_is_written_back_at_the_end() {
    let settings = Settings::new("host\n");
    let mut running = settings.start(&[], "rm ~/.tool.json; echo in; read go");
    running.expect("in");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(settings.text(), "host\n", "many programs remove what they write anew");
    running.say("\n");
    assert_eq!(running.end(), 0);
    assert_eq!(settings.text(), "absent");
    settings.endow(&["undo"]);
    assert_eq!(settings.text(), "host\n");
}

#[test]
fn other_modes_publish_nothing_before_the_end() {
    let rows = [
        (&["--sync", "review"][..], "host\n", "waiting"),
        (&["--sync", "apply-ok"], "guest\n", "applied"),
        (&["--on-conflict", "abort"], "guest\n", "applied"),
        (&["--sync", "discard"], "host\n", ""),
    ];
    for (options, text, state) in rows {
        let settings = Settings::new("host\n");
        let mut running = settings.start(options, "echo guest >~/.tool.json; echo in; read go");
        running.expect("in");
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert_eq!(settings.text(), "host\n", "{options:?}");
        running.say("\n");
        assert_eq!(running.end(), 0, "{options:?}");
        assert_eq!(settings.text(), text, "{options:?}");
        assert_eq!(settings.states().concat(), state, "{options:?}");
    }
}

#[test]
fn waiting_change_is_applied_later_and_a_run_goes_on_from_it() {
    let settings = Settings::new("host\n");
    settings.run(&["--sync", "review", "--name", "first"], "echo one >>~/.tool.json");
    assert_eq!(
        settings.run(&["--sync", "review", "--from", "first"], "echo two >>~/.tool.json"),
        0
    );
    assert_eq!(settings.text(), "host\n");
    settings.endow(&["apply"]);
    assert_eq!(settings.text(), "host\none\ntwo\n");
    settings.run(&["--sync", "review", "--name", "gone"], "rm ~/.tool.json");
    let script = "test ! -e ~/.tool.json && echo new >~/.tool.json";
    assert_eq!(settings.run(&["--from", "gone"], script), 0);
    assert_eq!(settings.text(), "new\n");
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
    assert_eq!((read(&moved.join("one")), read(&other)), ("host\n".into(), "host\n".into()));
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
fn host_that_removes_and_writes_anew_is_followed() {
    let settings = Settings::new("host\n");
    let script = "cd; echo in; while ! grep -qs again .tool.json; do sleep 0.05; done; echo again
        while test -e .tool.json; do sleep 0.05; done; echo gone
        while ! grep -qs back .tool.json; do sleep 0.05; done; echo guest >>.tool.json; read go";
    let mut running = settings.start(&[], script);
    running.expect("in");
    fs::remove_file(&settings.file).expect("removed");
    settings.world.write("home/.tool.json", "again\n");
    running.expect("again");
    fs::remove_file(&settings.file).expect("removed");
    running.expect("gone");
    settings.world.write("home/.tool.json", "back\n");
    soon("published", || settings.text() == "back\nguest\n");
    running.say("\n");
    assert_eq!(running.end(), 0);
}

#[test]
fn two_runs_on_one_file_lose_no_key() {
    let settings = Settings::new("{\"first\": 1}\n");
    let script = |key: &str| {
        format!("cd; cat >s.py <<'S'\n{ADD}S\npython3 s.py {key} && echo done && read go")
    };
    let mut runs = ["one", "two"].map(|key| settings.start(&[], &script(key)));
    for running in &mut runs {
        running.expect("done");
    }
    let keys = |text: &str| json(text).as_object().expect("an object").len();
    // One that reads just before and writes just after what came in undoes that, as without endow.
    soon("all keys", || keys(&settings.text()) >= 40);
    for running in &mut runs {
        running.say("\n");
        assert_eq!(running.end(), 0);
    }
    assert!(keys(&settings.text()) >= 40, "{}", settings.text());
}

/// Adds keys to the file, each to what is there when it has read it and it did not change since.
const ADD: &str = "
import json, os, sys, time
def stamp(): return os.stat('.tool.json').st_ino
added = 0
while added < 20:
    before = stamp()
    value = json.load(open('.tool.json'))
    value[sys.argv[1] + str(added)] = added
    with open('t', 'w') as file:
        json.dump(value, file)
    if stamp() != before:
        continue
    os.rename('t', '.tool.json')
    added += 1
    time.sleep(0.02)
";

#[test]
fn file_of_another_owner_is_refused_at_the_start() {
    let settings = Settings::new("host\n");
    if std::os::unix::fs::chown(&settings.file, Some(12345), None).is_err() {
        return;
    }
    let refused = settings.world.run(&["run", "--cow", &settings.at], "true");
    assert!(refused.fails(125).contains("owner"), "{refused:?}");
}

/// Writes the file anew, many times.
const REWRITE: &str = "
import json, os, sys, time
for number in range(300):
    value = json.load(open('.tool.json'))
    value['guest'] = number
    with open('t', 'w') as file:
        json.dump(dict(value, pad='x' * 20000), file)
    os.rename('t', '.tool.json')
    time.sleep(0.003)
print('done', flush=True)
sys.stdin.readline()
";

#[test]
fn host_never_sees_half_a_file() {
    let settings = Settings::new("{\"host\":0,\"guest\":0}\n");
    let script = format!("cat >~/script.py <<'S'\n{REWRITE}S\ncd; echo in; python3 script.py");
    let mut running = settings.start(&[], &script);
    running.expect("in");
    let mut seen = 0;
    for _ in 0..200 {
        let value = json(&settings.text());
        seen = seen.max(value["guest"].as_i64().expect("a number"));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    running.expect("done");
    running.say("\n");
    assert_eq!(running.end(), 0);
    assert_eq!(json(&settings.text())["guest"], 299);
    assert!(seen > 0, "some were seen on the way");
}
