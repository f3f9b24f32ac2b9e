//! The caller's PATH has directories of the project: what a command leaves there is not started in the place of programs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::harness::{Said, World, said};

/// As `activate` of a virtual environment leaves it.
fn world() -> (World, String) {
    let world = World::new();
    fs::create_dir_all(world.project().join(".venv/bin")).expect("a directory");
    let theirs = world.write("home/project/.venv/bin/ls", "#!/bin/sh\necho theirs\n");
    fs::set_permissions(theirs, fs::Permissions::from_mode(0o755)).expect("a mode");
    let path = format!("{}/.venv/bin:/usr/bin:/bin", world.project().display());
    (world, path)
}

fn run(world: &World, (access, path): (&str, &str), script: &str) -> Said {
    let words = ["run", "--workspace", access, "--", "/bin/sh", "-c", script];
    said(world.endow(words).env("PATH", path))
}

const PROGRAM: &str = "'#!/bin/sh\\necho evil\\n'";

#[test]
fn program_in_the_place_of_another_waits() {
    for access in ["cow", "rw"] {
        let (world, path) = world();
        let script = format!(
            "cd .venv/bin; printf {PROGRAM} >mine; cp mine ls; ln -s mine tail; cp mine cat; sleep 0.3"
        );
        let told = run(&world, (access, &path), &script);
        told.ok();
        let bin = world.project().join(".venv/bin");
        for (name, is_there) in [("cat", false), ("tail", false), ("mine", true), ("ls", true)] {
            assert_eq!(bin.join(name).symlink_metadata().is_ok(), is_there, "{access}: {name}");
        }
        assert!(told.stderr.contains("2 held for review"), "{access}: {}", told.stderr);
        said(world.endow(["apply", "cat"]).current_dir(&bin)).ok();
        assert!(bin.join("cat").exists(), "{access}: it was asked for");
    }
    let (control, path) = world();
    let script =
        format!("printf {PROGRAM} >.venv/bin/cat; chmod +x .venv/bin/cat; cat .venv/bin/ls");
    let told = said(control.command("/bin/sh").args(["-c", &script]).env("PATH", path));
    assert_eq!(told.ok(), "evil\n");
}

/// A link in the place of a directory on the way of PATH leads to other programs: none is left there.
#[test]
fn directory_of_path_is_not_led_elsewhere() {
    for access in ["cow", "rw"] {
        for plant in
            ["mv .venv old; ln -s evil .venv", "rm -r .venv/bin; ln -s ../evil/bin .venv/bin"]
        {
            let (world, path) = world();
            let script =
                format!("mkdir -p evil/bin; printf {PROGRAM} >evil/bin/cat; {plant}; sleep 0.3");
            run(&world, (access, &path), &script);
            let cat = world.project().join(".venv/bin/cat");
            assert!(cat.symlink_metadata().is_err(), "{access}: {plant}");
        }
    }
}

/// A link of the user's on the way of PATH stays, whatever is put in its place.
#[test]
fn link_on_the_way_of_path_stays() {
    for access in ["cow", "rw"] {
        for plant in ["ln -s evil tools", "mv evil tools"] {
            let world = World::new();
            fs::create_dir_all(world.project().join("tools-1/bin")).expect("a directory");
            symlink("tools-1", world.project().join("tools")).expect("a link");
            let path = format!("{}/x/../tools/bin:/usr/bin:/bin", world.project().display());
            fs::create_dir(world.project().join("x")).expect("a directory");
            let script = format!(
                "mkdir -p evil/bin; printf {PROGRAM} >evil/bin/cat; rm tools; {plant}; sleep 0.3"
            );
            run(&world, (access, &path), &script);
            let cat = world.project().join("tools/bin/cat");
            assert!(!cat.exists(), "{access}: {plant}");
        }
    }
}

/// What no shell starts is no program that was there.
#[test]
fn program_in_the_place_of_something_else_waits() {
    for access in ["cow", "rw"] {
        for (make, plant) in [
            ("mkdir bin/cat", "rmdir bin/cat; printf {} >bin/cat; chmod +x bin/cat"),
            ("echo words >bin/cat", "printf {} >x; chmod +x x; mv x bin/cat"),
        ] {
            let world = World::new();
            world.bare(&format!("mkdir bin; {make}")).ok();
            let path = format!("{}/bin:/usr/bin:/bin:/later\u{e9}", world.project().display());
            let script = format!("{}; sleep 0.3", plant.replace("{}", PROGRAM));
            run(&world, (access, &path), &script);
            let told = world.bare("bin/cat");
            assert_ne!(told.stdout, "evil\n", "{access}: {make}");
        }
    }
}

/// What was there may come back, as where an environment is made anew.
#[test]
fn names_that_were_there_are_no_news() {
    for access in ["cow", "rw"] {
        let (world, path) = world();
        let script = "cp .venv/bin/ls x; rm -r .venv; mkdir -p .venv/bin; mv x .venv/bin/ls";
        let told = run(&world, (access, &path), script);
        assert!(!told.stderr.contains("held"), "{access}: {}", told.stderr);
        assert_eq!(world.read(".venv/bin/ls"), "#!/bin/sh\necho theirs\n", "{access}");
    }
}

/// Its own links lead to programs of the system, and are written back.
#[test]
fn virtual_environment_is_made_inside() {
    let world = World::new();
    let inside = world
        .run(&["run"], "python3 -m venv --without-pip .venv && .venv/bin/python -c 'print(1)'");
    assert_eq!(inside.ok(), "1\n");
    if rustix::process::geteuid().is_root() {
        // To root nothing is out of reach, so links to it wait.
        said(&mut world.endow(["apply", ".venv/bin/python3"])).ok();
        return assert!(world.project().join(".venv/bin/python3").exists());
    }
    assert!(!inside.stderr.contains("held"), "{}", inside.stderr);
    assert_eq!(
        world.bare(".venv/bin/python -c 'import sys; print(sys.prefix)'").ok(),
        format!("{}\n", world.project().join(".venv").display())
    );
}

#[test]
fn links_that_lead_out_wait_and_others_do_not() {
    let world = World::new();
    world.write("home/victim", "mine\n");
    world.write("home/project/d/file", "file\n");
    let script = "ln -s $PWD/d/file whole; ln -s d/../d/file up; ln -s $HOME/victim out; ln -s ../victim over; ln -s /etc/passwd etc";
    let inside = world.run(&["run"], script);
    inside.ok();
    assert!(inside.stderr.contains("3 held for review"), "{}", inside.stderr);
    for (name, is_there) in
        [("whole", true), ("up", true), ("out", false), ("over", false), ("etc", false)]
    {
        assert_eq!(world.project().join(name).is_symlink(), is_there, "{name}");
    }
    assert_eq!(world.read("whole"), "file\n");
    said(&mut world.endow(["apply", "out"])).ok();
    assert_eq!(world.read("out"), "mine\n");
    // A link of the user's is led to another place of the mount.
    world.bare("mkdir e; ln -s $PWD/d current").ok();
    world.run(&["run"], "ln -sfn $PWD/e current").ok();
    assert!(world.project().join("current").canonicalize().is_ok_and(|it| it.ends_with("e")));
    // By a link of the user's it leads elsewhere.
    symlink("..", world.project().join("above")).expect("a link");
    world.run(&["run"], "ln -s $PWD/above/victim through").ok();
    assert!(!world.project().join("through").is_symlink());
}

/// As in live workspaces: nobody runs what the projects of others run.
#[test]
fn other_peoples_code_is_held_for_its_repositories_alone() {
    let world = World::new();
    let script = "mkdir -p node_modules/x/.vscode .vscode; echo x >node_modules/x/.travis.yml; \
        echo x >node_modules/x/.vscode/tasks.json; echo x >.vscode/tasks.json; git init -q node_modules/y; \
        echo x >node_modules/y/.git/hooks/pre-commit";
    let inside = world.run(&["run"], script);
    inside.ok();
    for (name, is_there) in [
        ("node_modules/x/.travis.yml", true),
        ("node_modules/x/.vscode/tasks.json", true),
        (".vscode/tasks.json", false),
        ("node_modules/y/.git/hooks/pre-commit", false),
    ] {
        assert_eq!(world.project().join(name).exists(), is_there, "{name}: {}", inside.stderr);
    }
}
