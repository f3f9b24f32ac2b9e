//! Files that a command asked for.

use std::fs;

use super::{all, learn, policy, trust};
use crate::harness::{World, debian_program, said};

/// A program of two files, one of which lies elsewhere.
fn build() -> World {
    let world = World::new();
    world.write("shared/include/number.h", "#define NUMBER 42\n");
    world.write("shared/include/other.h", "#define OTHER 1\n");
    world.write("home/project/main.c", "#include <number.h>\nint main(void) { return NUMBER; }\n");
    let include = world.root().join("shared/include");
    let rule = format!("app: main.c\n\tcc -I{} -o app main.c\n", include.display());
    world.write("home/project/Makefile", &rule);
    world
}

/// The whole way: learnt, read as a patch, accepted, and the same command works without `learn`.
#[test]
fn build_is_learnt_applied_and_works() {
    if debian_program("make").is_none() || debian_program("cc").is_none() {
        return;
    }
    let world = build();
    let (before, shared) = (all(&world.home()), all(&world.root().join("shared")));
    let make = |world: &World| said(&mut world.endow(["--", "make"]));
    make(&world).fails(2);
    let mut learned = String::new();
    for _ in 0..4 {
        let diff = said(&mut world.endow(["learn", "--", "make"]));
        diff.ok().clone_into(&mut learned);
        if learned.is_empty() {
            break;
        }
        let patch = world.write("patch", &learned);
        world.bare(&format!("patch -s -p1 < {}", patch.display())).ok();
        trust(&world);
    }
    assert_eq!(learned, "", "{}", policy(&world));
    let text = policy(&world);
    assert!(text.contains("shared/include") && !text.contains("\"cow\""), "{text}");
    assert!(!world.project().join("app").exists());
    make(&world).ok();
    assert_eq!(said(&mut world.command("./app")).code, 42);
    fs::remove_file(world.project().join("app")).expect("removed");
    fs::remove_file(world.project().join("endow.toml")).expect("removed");
    assert_eq!(all(&world.home()), before);
    assert_eq!(all(&world.root().join("shared")), shared);
}

#[test]
fn resolved_path_is_learnt() {
    let world = World::new();
    let data = world.write("home/data", "there\n").display().to_string();
    let script = format!(
        "python3 -c \"import ctypes; print(ctypes.CDLL(None).realpath(b'{data}', 0))\" >&2"
    );
    let learned = learn(&world, &[], &script);
    assert_eq!(learned.stderr.lines().next(), Some("0"), "absent");
    assert!(learned.stdout.contains("\"~/data\" = \"ro\""), "{learned:?}");
}

#[test]
fn one_file_is_one_line_and_nothing_is_done() {
    let world = World::new();
    let data = world.write("shared/data", "there\n");
    world.write("shared/beside", "not asked for\n");
    world.write("home/project/file", "host\n");
    let before = all(world.root().join("home").as_path());
    let script = format!("cat {}; echo changed > file", data.display());
    let learned = learn(&world, &[], &script);
    let line = format!("\n+\"{}\" = \"ro\"  # read\n", data.display());
    assert!(learned.ok().contains(&line), "{learned:?}");
    assert_eq!(learned.stdout.matches("\n+\"").count(), 1, "{learned:?}");
    assert_eq!(all(world.root().join("home").as_path()), before);
    said(&mut world.endow(["learn", "--write"])).ok();
    trust(&world);
    let got = world.run(&[], &format!("cat {}", data.display()));
    assert_eq!(got.ok(), "there\n");
    world.run(&[], &format!("cat {}", world.root().join("shared/beside").display())).fails(1);
    assert_eq!(learn(&world, &[], &script).ok(), "");
}

#[test]
fn two_commands_are_one_policy() {
    let world = World::new();
    let (one, two) = (world.write("a/one", "1\n"), world.write("b/two", "2\n"));
    learn(&world, &[], &format!("cat {}", one.display())).ok();
    let both = learn(&world, &[], &format!("cat {}", two.display()));
    for path in [&one, &two] {
        assert!(both.ok().contains(&format!("+\"{}\" = \"ro\"", path.display())), "{both:?}");
    }
}

/// What a mount for writing would change is changed in a layer, whatever its policy says.
#[test]
fn live_mounts_are_not_changed() {
    let world = World::new();
    world.write("home/project/file", "host\n");
    let data = world.write("live/data", "host\n");
    let single = world.write("home/.tool.json", "{}\n");
    let (live, copied) = (data.parent().expect("a parent"), single.display().to_string());
    let live = live.display().to_string();
    let before = all(world.root());
    let options = ["--workspace", "rw", "--rw", &live, "--cow", &copied, "--sync", "apply"];
    let script = format!(
        "echo x > file && rm {live}/data && echo x > {live}/new && echo '{{\"a\":1}}' > {copied}"
    );
    let learned = learn(&world, &options, &script);
    assert!(!learned.stderr.contains("the command ended"), "{learned:?}");
    learned.ok();
    let kept = |(name, _): &(String, Vec<u8>)| {
        name.starts_with(&live) || name.starts_with(&world.home().display().to_string())
    };
    let after: Vec<_> = all(world.root()).into_iter().filter(kept).collect();
    assert_eq!(after, before.into_iter().filter(kept).collect::<Vec<_>>());
    // The control: a run changes all of it.
    let mut command = world.endow(["run"]);
    said(command.args(options).args(["--", "sh", "-c", &script])).ok();
    assert!(!data.exists() && fs::read_to_string(&single).expect("read").contains('a'));
}

#[test]
fn read_only_workspace_is_said_to_be_in_the_way() {
    let world = World::new();
    world.write("home/project/endow.toml", "version = 1\n[workspace]\naccess = \"ro\"\n");
    world.write("home/project/file", "host\n");
    let learned = learn(&world, &[], "echo x > file");
    assert!(learned.ok().contains("-access = \"ro\"\n+access = \"cow\"\n"), "{learned:?}");
}

/// A link of the workspace that leads through another one outside names the place that it needs.
#[test]
fn place_that_a_link_names_is_granted() {
    let world = World::new();
    world.write("disk/set/one", "one\n");
    let outside = world.root().join("data");
    std::os::unix::fs::symlink("disk", &outside).expect("a link");
    let link = world.project().join("in");
    for (to, name) in [("data/set/one", ""), ("data/set", "/one"), ("data", "/set/one")] {
        drop(fs::remove_file(&link));
        drop(fs::remove_file(world.project().join("endow.toml")));
        said(&mut world.endow(["learn", "--forget"])).ok();
        std::os::unix::fs::symlink(world.root().join(to), &link).expect("a link");
        let script = format!("cat in{name}");
        learn(&world, &["--write"], &script);
        let line = format!("\n\"{}\" = \"ro\"", outside.join("set/one").display());
        assert!(policy(&world).contains(&line), "{to}: {}", policy(&world));
        trust(&world);
        assert_eq!(world.run(&[], &script).ok(), "one\n", "{to}");
    }
}

/// A link that leads through another one to a secret is none of a plain line's.
#[test]
fn links_through_links_to_secrets_are_comments() {
    let world = World::new();
    world.write("home/.ssh/id", "secret\n");
    std::os::unix::fs::symlink("home/.ssh", world.root().join("data")).expect("a link");
    let link = world.project().join("in");
    std::os::unix::fs::symlink(world.root().join("data"), link).expect("a link");
    learn(&world, &["--write"], "cat in/id");
    let policy = policy(&world);
    assert!(policy.contains("\n#\"") && !policy.contains("\n\""), "{policy}");
}

/// In a private directory another file could be made in its place: that is not what a command means that changes one.
#[test]
fn changed_file_of_a_private_directory_is_learnt() {
    // Some look first, and what they would do then is learnt in the next run.
    for (change, runs) in [
        ("python3 -c 'import os; open(os.environ[\"HOME\"] + \"/foo\", \"r+\")'", 1),
        ("python3 -c 'import os; os.truncate(os.environ[\"HOME\"] + \"/foo\", 1)'", 1),
        ("chmod 600 ~/foo", 2),
    ] {
        let world = World::new();
        world.write("home/foo", "there\n");
        for run in 1..=runs {
            let learned = learn(&world, &[], change);
            let line =
                if run == runs { "+\"~/foo\" = \"cow\"  # " } else { "+\"~/foo\" = \"ro\"  # " };
            assert!(learned.stdout.contains(line), "{change}: {learned:?}");
            said(&mut world.endow(["learn", "--write"])).ok();
            trust(&world);
        }
        assert_eq!(learn(&world, &[], change).ok(), "", "{change}");
    }
    for remove in ["unlink ~/foo", "mv ~/foo ~/bar"] {
        let world = World::new();
        world.write("home/foo", "there\n");
        let learned = learn(&world, &[], remove);
        assert!(learned.stdout.contains("+\"~/foo\" = \"cow\"  # "), "{remove}: {learned:?}");
    }
    // What is made there is the command's own.
    let world = World::new();
    world.write("home/foo", "there\n");
    assert_eq!(learn(&world, &[], "echo x >~/foo; echo y >~/new; rm ~/new").ok(), "");
}
