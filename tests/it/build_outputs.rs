//! What becomes of outputs: all of one or none, in nobody's place, and nothing else is kept.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::build::files;
use crate::harness::{Project, Said, mark, marked, said, soon};

fn built(project: &Project, output: &str, script: &str) -> Said {
    project.build(&["--output", output, "--", "sh", "-c", script])
}

fn built_anew(project: &Project, output: &str, script: &str) -> Said {
    project.build_anew(&["--output", output, "--", "sh", "-c", script])
}

/// The controls are the same outputs without the one name.
#[test]
fn output_that_no_tree_can_hold_fails_its_action() {
    let project = Project::new("");
    let odd = [
        ("mkfifo out/sub/odd", "FIFO"),
        ("touch \"out/sub/$(printf 'odd\\351')\"", "UTF-8"),
        ("ln -s \"$(printf 'odd\\351')\" out/sub/odd", "UTF-8"),
    ];
    for (make, why) in odd {
        let script = format!("mkdir -p out/sub; echo made >out/sub/file; {make}");
        for check in [&[][..], &["--check"]] {
            let action = ["--output", "out/", "--", "sh", "-c", &script];
            let said = project.build(&[check, &action].concat());
            assert_eq!(said.code, 1, "{make}: {said:?}");
            assert!(said.stderr.contains("command: out/sub/odd"), "{said:?}");
            assert!(
                said.stderr.contains("can't be kept: ") && said.stderr.contains(why),
                "{said:?}"
            );
            assert!(!project.path("out").exists(), "half an output");
        }
    }
    let elsewhere = "mkdir -p out/sub aside; echo made >out/sub/file; mkfifo aside/odd";
    let said = built(&project, "out/", elsewhere);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stderr.contains("dropped: aside, aside/odd"), "{said:?}");
    assert_eq!(project.read("out/sub/file"), "made\n");
}

/// Whether an output is a directory is no part of what a command is known by.
#[test]
fn result_of_another_kind_is_not_taken_from_the_cache() {
    for (kept, asked, script, why) in [
        ("out/", "out", "mkdir out; echo made >out/file", "out is a directory"),
        ("out", "out/", "echo made >out", "out is no directory"),
    ] {
        let project = Project::new("");
        let said = built(&project, asked, script);
        assert!(said.fails(1).contains(why), "control: {said:?}");
        for _ in 0..2 {
            built(&project, kept, script).ok();
            let said = built(&project, asked, script);
            assert!(said.fails(1).contains(why), "{said:?}");
        }
    }
}

#[test]
fn output_that_is_a_link_out_by_way_of_another_fails_its_action() {
    let project = Project::new("");
    project.write("dir/file", "inside\n");
    std::os::unix::fs::symlink("..", project.path("ext")).expect("a link");
    std::os::unix::fs::symlink("dir", project.path("alias")).expect("a link");
    for (target, code) in [("../ext/f", 1), ("../ext", 1), ("../alias/file", 0), ("../dir/file", 0)]
    {
        let said = built_anew(&project, "out/", &format!("mkdir out; ln -s {target} out/link"));
        assert_eq!(said.code, code, "{target}: {said:?}");
        assert_eq!(said.stderr.contains("leads out of the project"), code != 0, "{said:?}");
        assert_eq!(project.path("out/link").is_symlink(), code == 0, "{target}");
    }
}

/// Of what is hidden from builds nothing is known but that it is there.
#[test]
fn what_a_user_keeps_in_an_output_directory_stays() {
    let project = Project::new("");
    let build =
        |text: &str| built_anew(&project, "out/", &format!("mkdir out; echo {text} >out/f"));
    assert_eq!(build("one").code, 0);
    assert_eq!(build("two").code, 0, "a build's own is replaced");
    for kept in ["out/.env", "out/sub/id_rsa", "out/.git/objects/x", "out/plain"] {
        project.write(kept, "mine\n");
        let said = build("three");
        assert_eq!(said.code, 2, "{kept}: {said:?}");
        // What it sees it names by the output.
        let is_seen = ["out/plain", "out/.git/objects/x"].contains(&kept);
        let named = if is_seen { "out" } else { kept };
        let shown =
            format!("no build made what stands there: {named}\ncause: out is an output of ");
        assert!(said.stderr.contains(&shown), "{said:?}");
        assert_eq!((project.read(kept), project.read("out/f")), ("mine\n".into(), "two\n".into()));
        fs::remove_file(project.path(kept)).expect("removed");
    }
    assert_eq!(build("three").code, 0, "directories are nobody's");
    assert_eq!(project.read("out/f"), "three\n");
}

/// The control is the build before, which replaces what is the build's own.
#[test]
fn edit_while_the_build_goes_on_is_not_lost() {
    let project = Project::new("");
    let mark = mark();
    let script =
        |text: &str| format!("sleep {mark}0 & sleep 1; mkdir -p d; echo {text} | tee d/f >one");
    for (output, file) in [("one", "one"), ("d/", "d/f")] {
        assert_eq!(built_anew(&project, output, &script("first")).code, 0);
        assert_eq!(built_anew(&project, output, &script("second")).code, 0);
        assert_eq!(project.read(file), "second\n");
        let said = std::thread::scope(|scope| {
            let building = scope.spawn(|| built_anew(&project, output, &script("third")));
            soon("the action runs", || !marked(&format!("{mark}0")).is_empty());
            project.write(file, "edited\n");
            building.join().expect("a build")
        });
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.stderr.contains("while the build went on"), "{said:?}");
        assert_eq!(project.read(file), "edited\n");
    }
}

/// The action makes what stood there when the build began.
#[test]
fn output_that_is_changed_while_the_build_goes_on_is_not_told_to_be_there() {
    let project = Project::new("");
    let mark = mark();
    let script = format!("sleep {mark}0 & sleep 1; mkdir -p d; echo made | tee d/f >one");
    for (output, file) in [("one", "one"), ("d/", "d/f")] {
        let build = |options: &[&str]| {
            let action = ["--no-cache", "--output", output, "--", "sh", "-c", &script];
            project.build(&[options, &action].concat())
        };
        build(&[]).ok();
        let meanwhile = |options: &[&str], change: &dyn Fn()| {
            std::thread::scope(|scope| {
                let building = scope.spawn(|| build(options));
                soon("the action runs", || !marked(&format!("{mark}0")).is_empty());
                change();
                building.join().expect("a build")
            })
        };
        meanwhile(&[], &|| fs::remove_file(project.path(file)).expect("removed")).ok();
        assert_eq!(project.read(file), "made\n");
        let (place, kept) = (project.path(file), project.path("kept"));
        let before = fs::metadata(&place).expect("made").ino();
        meanwhile(&[], &|| fs::hard_link(&place, &kept).expect("linked")).ok();
        assert_eq!(fs::metadata(&place).expect("there").ino(), before, "it is as it was made");
        fs::remove_file(&kept).expect("removed");
        let edit = || project.write(file, "edited\n");
        let said = meanwhile(&[], &edit);
        assert!(said.fails(1).contains("while the build went on"), "{said:?}");
        assert_eq!(project.read(file), "edited\n");
        project.write(file, "made\n");
        meanwhile(&["--force"], &edit).ok();
        assert_eq!(project.read(file), "made\n");
    }
}

/// What the build put in place before it had to execute the action all the same is its own.
#[test]
fn outputs_are_put_again_where_one_of_them_was_damaged() {
    let project = Project::new("");
    let action = ["--output", "a", "--output", "b", "--", "sh", "-c", "echo one >a; echo two >b"];
    assert_eq!(project.build(&action).code, 0);
    for object in files(&project.world.root().join("cache/cas/objects")) {
        if fs::read(&object).expect("read") == b"two\n" {
            fs::set_permissions(&object, fs::Permissions::from_mode(0o644)).expect("writable");
            fs::write(&object, b"TWO\n").expect("changed");
        }
    }
    for name in ["a", "b"] {
        fs::remove_file(project.path(name)).expect("removed");
    }
    let said = project.build(&action);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!((project.read("a"), project.read("b")), ("one\n".into(), "two\n".into()));
    assert!(said.stderr.contains("1 executed"), "{said:?}");
}

#[test]
fn directory_without_files_is_an_output_like_others() {
    let project = Project::new("");
    for script in ["mkdir logs", "mkdir -p logs/a/b", "mkdir logs; echo x >logs/file", "mkdir logs"]
    {
        for _ in 0..2 {
            let said = built(&project, "logs/", script);
            assert_eq!(said.code, 0, "{script}: {said:?}");
        }
        assert!(project.path("logs").is_dir());
    }
    assert!(!project.path("logs/file").exists());
}

#[test]
fn directory_in_an_output_is_a_part_of_it_also_when_it_is_empty() {
    let project = Project::new("");
    let build = |make: &str| {
        built(&project, "d/", &format!("mkdir d; echo same >d/f; {make}")).ok();
    };
    let is_there = || project.path("d/empty/deep").is_dir();
    build("true");
    build("mkdir -p d/empty/deep");
    assert!(is_there());
    fs::remove_dir_all(project.path("d/empty")).expect("removed");
    build("mkdir -p d/empty/deep");
    assert!(is_there());
    build("true");
    assert!(!project.path("d/empty").exists());
}

/// The store may have lost a part of a result that stands in the project: what needs it has it from there.
#[test]
fn output_of_which_a_content_is_gone_is_seen_as_it_stands() {
    let actions = r#"
[[action]]
name = "made"
command = ["sh", "-c", "mkdir d; echo one >d/a; echo two >d/b"]
outputs = ["d/"]

[[action]]
name = "all"
command = ["sh", "-c", "cat in d/a d/b >all"]
inputs = ["in"]
needs = ["made"]
outputs = ["all"]
"#;
    let project = Project::new(actions);
    let lose = || {
        let objects = files(&project.world.root().join("cache/cas/objects"));
        let lost = objects.iter().find(|it| fs::read(it).expect("read") == b"two\n");
        fs::remove_file(lost.expect("a content")).expect("removed");
    };
    project.write("in", "zero\n");
    assert_eq!(project.states(&[]), ["made executed", "all executed"]);
    lose();
    project.write("in", "none\n");
    assert_eq!(project.states(&[]), ["made cached", "all executed"]);
    assert_eq!(project.read("all"), "none\none\ntwo\n");
    lose();
    fs::remove_dir_all(project.path("d")).expect("removed");
    assert_eq!(project.states(&[]), ["made executed", "all cached"]);
}

/// Neither is it read: a hole of 100 GB would take a minute, and as much of the disk.
#[test]
fn what_is_no_output_is_not_kept() {
    let project = Project::new("");
    let script =
        "truncate -s 100G hole; head -c 20M /dev/urandom >aside; echo made >out; chmod 0 aside";
    let said = project.build(&["--output", "out", "--timeout", "20s", "--", "sh", "-c", script]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stderr.contains("not among its outputs, and dropped: aside, hole"), "{said:?}");
    let cache = project.world.root().join("cache");
    let kept = said_size(&cache.display().to_string());
    assert!(kept < 10, "{kept} MB");
}

/// As on a CI machine that keeps the work tree and not the cache.
#[test]
fn outputs_are_a_builds_own_without_its_cache() {
    let project = Project::new("");
    assert_eq!(built(&project, "out", "echo made >out").code, 0);
    let cache = project.world.root().join("cache");
    project.world.bare(&format!("chmod -R u+rwx {0}; rm -rf {0}/*", cache.display())).ok();
    let said = built(&project, "out", "echo other >out");
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(project.read("out"), "other\n");
}

fn said_size(directory: &str) -> u64 {
    let told = said(Command::new("du").args(["-sm", directory]));
    told.stdout.split_whitespace().next().and_then(|it| it.parse().ok()).expect("a number")
}

/// What was built before counts however long ago: the note of it is written anew from time to time.
#[test]
fn output_is_known_whatever_was_built_there_before() {
    let project = Project::new("");
    for content in ["1", "2", "3", "4", "5", "2", "6", "2", "2", "6"] {
        project.write("in", content);
        let said =
            project.build(&["--input", "in", "--output", "o", "--", "sh", "-c", "cat in >o"]);
        assert_eq!(said.code, 0, "{content}: {said:?}");
        assert_eq!(project.read("o"), content);
    }
}

/// A note that is damaged is none; the other notes count.
#[test]
fn damaged_note_ends_no_build() {
    let project = Project::new("");
    let build = |output: &str| {
        project.write("in", output);
        let said = built(&project, output, &format!("date +%N >{output}"));
        assert_eq!(said.code, 0, "{said:?}");
    };
    build("one");
    let notes = project.world.root().join("state/outputs");
    let note = fs::read_dir(&notes).expect("listed").next().expect("a note").expect("a name");
    let mut bytes = fs::read(note.path()).expect("read");
    bytes.extend(b"sha256:00\xff/1 \"two\"\n");
    fs::write(note.path(), bytes).expect("damaged");
    build("two");
    build("one");
    build("one");
}

/// Programs like make tell by the times what changed.
#[test]
fn what_is_new_in_a_directory_has_a_new_time() {
    let project = Project::new("");
    let build = |content: &str| {
        let script = format!(
            "mkdir -p out/sub; echo {content} >out/changed; echo {content} >out/sub/changed; \
             echo same >out/same; echo same >out/sub/same; ln -s {content} out/link"
        );
        built(&project, "out/", &script).ok();
    };
    let time = |path: &str| {
        let found = fs::symlink_metadata(project.path(path)).expect("there");
        found.modified().expect("a time")
    };
    let begun = SystemTime::now() - Duration::from_secs(2);
    build("first");
    let paths = ["changed", "sub/changed", "link", "same", "sub/same", "sub", ""];
    let paths = paths.map(|path| format!("out/{path}"));
    let before = paths.each_ref().map(|path| time(path));
    assert!(before.iter().all(|time| *time > begun), "{before:?}");
    project.write("target", "");
    build("second");
    let is_new: Vec<bool> = paths.iter().zip(before).map(|(path, old)| time(path) > old).collect();
    assert_eq!(is_new, [true, true, true, false, false, true, true]);
    let make = project.world.bare("test out/changed -nt target && echo newer");
    assert_eq!(make.ok(), "newer\n");
}
