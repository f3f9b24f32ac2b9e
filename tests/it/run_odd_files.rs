//! Files that endow reads at its start and that a project may have written: one that is a FIFO, a
//! device or huge neither hangs nor exhausts it.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::harness::{Said, World, endow, said};

/// What a name can be, and what is said of it.
const ODD: [(&str, &str); 3] = [
    ("fifo", "cause: it is not a regular file"),
    ("huge", "cause: it has more than 1048576 bytes"),
    ("device", "cause: it is "),
];

fn make(path: &Path, kind: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    match kind {
        "fifo" => mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).expect("made"),
        "huge" => File::create(path).and_then(|file| file.set_len(1 << 40)).expect("made"),
        _ => symlink("/dev/zero", path).expect("a link"),
    }
}

/// Runs with an end, and with little memory.
fn run(world: &World, options: &[&str], script: &str) -> Said {
    let mut command = world.command("timeout");
    let limited = "ulimit -v 4000000; exec \"$@\"";
    command.args(["20", "sh", "-c", limited, "sh"]).arg(endow()).arg("run").args(options);
    said(command.args(["--", "sh", "-c", script]))
}

#[test]
fn odd_policy_file_is_an_error() {
    for (kind, cause) in ODD {
        for (at, options) in [
            ("home/project/endow.toml", &[][..]),
            ("config/policy.toml", &[]),
            ("home/project/named", &["-p", "named"]),
        ] {
            let world = World::new();
            make(&world.root().join(at), kind);
            let refused = run(&world, options, "true");
            let told = refused.fails(120);
            assert!(
                told.contains("can't read the policy file: ") && told.contains(cause),
                "{told}"
            );
        }
    }
}

/// A link could lead to a secret, of which a message about a mistake shows a line.
#[test]
fn policy_file_of_a_project_is_no_link() {
    let world = World::new();
    world.write("secret", "canary");
    symlink(world.root().join("secret"), world.project().join("endow.toml")).expect("a link");
    let refused = run(&world, &[], "true");
    let told = refused.fails(120);
    assert!(told.contains("cause: it is a symbolic link") && !told.contains("canary"), "{told}");
    let control = run(&world, &["-p", "endow.toml", "--workspace", "ro"], "true");
    assert!(control.fails(120).contains("canary"), "{}", control.stderr);
}

#[test]
fn odd_files_of_git_count_for_nothing() {
    for (kind, _) in ODD {
        for at in ["project/.git", "project/.git/index", ".gitconfig", ".config/git/config"] {
            let world = World::new();
            world.write("home/project/.env", "canary\n");
            if at == "project/.git/index" {
                world.write("home/project/.git/HEAD", "ref: refs/heads/main\n");
            }
            make(&world.home().join(at), kind);
            let inside = run(&world, &[], "cat .env; echo started");
            if kind == "huge" && at.contains("config") {
                // What settings lead to is protected, and nobody can tell.
                assert!(inside.fails(125).contains(&format!("{at} have more than")), "{inside:?}");
                continue;
            }
            assert_eq!(inside.ok(), "started\n", "{kind} {at}");
        }
    }
}

/// The files that a linked work tree's `.git` leads to.
#[test]
fn odd_files_of_a_linked_work_tree_count_for_nothing() {
    for (kind, _) in ODD {
        for odd in ["HEAD", "gitdir", "commondir"] {
            let world = World::new();
            let git = world.home().join("git/worktrees/it");
            world.write("home/project/.git", &format!("gitdir: {}\n", git.display()));
            for name in ["HEAD", "gitdir", "commondir"].into_iter().filter(|name| *name != odd) {
                world.write(git.join(name), &format!("{}/.git\n", world.project().display()));
            }
            make(&git.join(odd), kind);
            assert_eq!(run(&world, &[], "echo started").ok(), "started\n", "{kind} {odd}");
        }
    }
}

/// What a command left of a live workspace's repositories, where one of them is a FIFO or the like.
#[test]
fn odd_files_of_repositories_further_down_count_for_nothing() {
    for (kind, _) in ODD {
        for at in
            ["sub/.git", "sub/deep/.git", ".git/worktrees/wt/commondir", ".git/worktrees/wt/HEAD"]
        {
            let world = World::new();
            let script = "git init -q -b main . && git -c user.name=n -c user.email=e commit -q \
                --allow-empty -m one && git worktree add -q wt && mkdir -p sub/deep";
            world.bare(script).ok();
            let odd = world.project().join(at);
            drop(fs::remove_file(&odd));
            make(&odd, kind);
            for options in
                [&["--workspace", "rw"][..], &[], &["--git", "/g=HEAD,cow,sync=branch:b"]]
            {
                let said = run(&world, options, "echo started");
                assert_eq!(said.stdout, "started\n", "{kind} {at} {options:?}: {}", said.stderr);
            }
        }
    }
}

/// Without a home the user's policy is read from a place in which anybody may make names.
#[test]
fn policy_without_a_home_must_be_the_users() {
    let world = World::new();
    let plan = |changes: &str| {
        let own = "/dev/shm/endow-0/.config/endow";
        let script = format!(
            "mount -t tmpfs none /run && mount -t tmpfs -o mode=1777 none /dev/shm && mkdir -m 700 \
             -p /dev/shm/endow-0 {own} && echo 'version = 7' > {own}/policy.toml && {changes} && \
             {} plan -- true",
            endow().display()
        );
        let mut command = world.command("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
        for name in ["ENDOW_STATE_DIR", "ENDOW_CACHE_DIR", "ENDOW_CONFIG_DIR"] {
            command.env_remove(name);
        }
        said(command.env("HOME", "/nonesuch"))
    };
    for (changes, cause) in [
        ("chmod 777 /dev/shm/endow-0", "cause: open to others (mode 0777): /dev/shm/endow-0"),
        (
            "mv /dev/shm/endow-0 /dev/shm/other && ln -s other /dev/shm/endow-0",
            "cause: not a directory: /dev/shm/endow-0",
        ),
    ] {
        let refused = plan(changes);
        let told = refused.fails(125);
        assert!(told.contains(cause) && told.contains("hint: set HOME"), "{changes}: {told}");
    }
    if !rustix::process::geteuid().is_root() {
        let foreign = "mount --bind /usr /dev/shm/endow-0";
        assert!(plan(foreign).fails(125).contains("cause: owned by user "));
    }
    assert!(plan("true").fails(120).contains("version"), "the control");
    plan("rm -r /dev/shm/endow-0").ok();
}
