//! Names that are denied below other people's code and in what git keeps: what the user wrote counts there.

use crate::harness::{World, said};

const SECRET: &str = "s3cr3t-content\n";

/// Makes a project with names that the built-in list has, and others, in directories of both kinds.
fn project(world: &World) {
    for name in ["vendor/.env", "vendor/a/x.sqlite", "node_modules/b/secrets/s", "vendor/b", ".env"]
    {
        world.write(format!("home/project/{name}"), SECRET);
    }
    let git = "git init -q && git init -q vendor/r && git init -q sub";
    world.bare(git).ok();
    for name in [".git/x", ".git/d/e", ".git/d/.env", "vendor/r/.git/x", "sub/.git/x"] {
        world.write(format!("home/project/{name}"), SECRET);
    }
}

/// Returns which files a command can read.
fn read(world: &World, options: &[&str]) -> Vec<String> {
    let script = "for f in $(find . -name objects -prune -o -type f -print); do \
        grep -l s3cr3t $f 2>/dev/null; done | sort";
    let inside = world.run(&[&["run"], options].concat(), script);
    assert_eq!(inside.code, 0, "{}", inside.stderr);
    inside.stdout.lines().map(|line| line.trim_start_matches("./").to_owned()).collect()
}

/// What is read in a mount of any kind when nothing is denied but by the built-in list.
const SHOWN: [&str; 9] = [
    ".git/d/.env",
    ".git/d/e",
    ".git/x",
    "node_modules/b/secrets/s",
    "sub/.git/x",
    "vendor/.env",
    "vendor/a/x.sqlite",
    "vendor/b",
    "vendor/r/.git/x",
];

#[test]
fn patterns_of_the_user_count_in_what_is_not_the_projects_own() {
    let world = World::new();
    project(&world);
    for (denied, hidden) in [
        (&[][..], &[][..]),
        (&["*.sqlite"], &["vendor/a/x.sqlite"]),
        (&["**/secrets/**"], &["node_modules/b/secrets/s"]),
        (&["vendor/.env"], &["vendor/.env"]),
        (&["vendor/b", "!vendor/b"], &[]),
        (&[".env"], &["vendor/.env"]),
        (&["vendor/**"], &["vendor/.env", "vendor/a/x.sqlite", "vendor/b", "vendor/r/.git/x"]),
        (&[".git/x"], &[".git/x"]),
        (&["sub/.git/x", ".git/d/*"], &[".git/d/.env", ".git/d/e", "sub/.git/x"]),
        (&["**/.git/x"], &[".git/x", "sub/.git/x", "vendor/r/.git/x"]),
    ] {
        let flags: Vec<&str> = denied.iter().flat_map(|it| ["--deny", it]).collect();
        let expected: Vec<&str> = SHOWN.into_iter().filter(|name| !hidden.contains(name)).collect();
        for access in ["ro", "cow", "rw"] {
            let options = [&["--workspace", access], &flags[..]].concat();
            assert_eq!(read(&world, &options), expected, "{access} {denied:?}");
        }
    }
}

#[test]
fn patterns_of_a_project_count_there() {
    let world = World::new();
    project(&world);
    let text = "version = 1\n[deny]\npatterns = [\"*.sqlite\", \"vendor/b\"]\n";
    world.write("home/project/endow.toml", text);
    let hidden = ["vendor/a/x.sqlite", "vendor/b"];
    let expected: Vec<&str> = SHOWN.into_iter().filter(|name| !hidden.contains(name)).collect();
    assert_eq!(read(&world, &[]), expected);
}

/// The name alone makes no directory git's: what a run moved into one stays hidden from the next.
#[test]
fn directory_that_is_only_called_git_hides_what_others_do() {
    let world = World::new();
    for name in ["foo/.git/conf/.env", "bar/.git/conf/.env"] {
        world.write(format!("home/project/{name}"), SECRET);
    }
    world.bare("git init -q bar").ok();
    for access in ["ro", "cow", "rw"] {
        assert_eq!(read(&world, &["--workspace", access]), ["bar/.git/conf/.env"], "{access}");
    }
}

#[test]
fn advice_to_deny_a_name_there_holds() {
    let world = World::new();
    project(&world);
    for name in ["vendor/.env", ".git/x"] {
        let why =
            |options: &[&str]| said(&mut world.endow([&["why"], options, &[name]].concat())).stdout;
        let advice = format!("--deny /{name}\n");
        assert!(why(&[]).contains(&advice), "{}", why(&[]));
        let denied = why(&["--deny", &format!("/{name}")]);
        assert!(denied.starts_with("absent: read"), "{denied}");
        assert!(denied.contains(&format!("deny /{name} (--deny /{name})")), "{denied}");
    }
}
