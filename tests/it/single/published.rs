//! What is closed is published while the command runs, and what changes outside follows.

use std::fs;

use serde_json::Value;

use super::Settings;
use crate::harness::{said, soon};

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
    soon("all keys", || keys(&settings.text()) == 41);
    for running in &mut runs {
        running.say("\n");
        assert_eq!(running.end(), 0);
    }
    assert_eq!(keys(&settings.text()), 41, "{}", settings.text());
}

/// Adds keys to the file. What came in between reading and writing is in the file that is exchanged
/// for the new one, and is written again: a plain rename would undo it, as without endow.
const ADD: &str = "
import ctypes, json, sys, time
exchange = ctypes.CDLL(None, use_errno=True).renameat2
for added in range(20):
    value = json.load(open('.tool.json'))
    value[sys.argv[1] + str(added)] = added
    was = {}
    while was.keys() - value.keys() or not was:
        value.update(was)
        with open('t', 'w') as file:
            json.dump(value, file)
        if exchange(-100, b't', -100, b'.tool.json', 2):
            sys.exit(ctypes.get_errno())
        was = json.load(open('t'))
    time.sleep(0.02)
";

#[test]
fn undo_brings_back_what_was_written_outside_in_between() {
    let settings = Settings::new("host\n");
    let script =
        "cd; echo one >.tool.json; echo in; while ! grep -q edit .tool.json; do sleep 0.05; done
        echo two >.tool.json; read go";
    let mut running = settings.start(&[], script);
    running.expect("in");
    soon("published", || settings.text() == "one\n");
    settings.replace("edit\n");
    soon("published", || settings.text() == "two\n");
    running.say("\n");
    assert_eq!(running.end(), 0);
    settings.endow(&["undo"]);
    assert_eq!((settings.text(), settings.states()), ("edit\n".into(), vec!["undone".into()]));
}

#[test]
fn command_that_opens_the_file_all_the_time_loses_nothing() {
    let settings = Settings::new("start\n");
    let script = "cd; cat >s.py <<'S'
import sys, time
for number in range(200):
    with open('.tool.json', 'a') as file:
        file.write('line %d\\n' % number)
    time.sleep(0.002)
S
echo in; python3 s.py; echo done; read go";
    let mut running = settings.start(&["--sync", "apply"], script);
    // A file that is replaced before it stands ends the start.
    running.expect("in");
    for number in 0..6 {
        std::thread::sleep(std::time::Duration::from_millis(60));
        let text = settings.text();
        settings.replace(&format!("{text}outside {number}\n"));
    }
    running.expect("done");
    running.say("\n");
    let code = running.end();
    // Whatever came in between: either all lines are on the host, or they are held.
    let held = said(&mut settings.world.endow(["diff"])).stdout;
    let all = settings.text() + &held;
    assert!(all.contains("line 199"), "{code}: {all}");
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
