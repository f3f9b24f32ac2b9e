//! What programs that endow starts outside get: where they find others, and which variables.

use std::fs;
use std::os::unix::fs::symlink;

use crate::harness::{Said, World, project, said};

/// Runs with a secret that a command writes, which the sandboxed one reads, and with directories in PATH.
fn by_command(world: &World, (more, line): (&str, &str), options: &[&str], path: &str) -> Said {
    let text = format!("version = 1\n{more}\n[secrets]\nT = {{ from = \"cmd:{line}\", fd = 3 }}\n");
    let mut endow = world.endow(["run", "-p"]);
    endow.arg(world.write("policy.toml", &text));
    endow.args(options).args(["--", "cat", "/proc/self/fd/3"]);
    said(endow.env("PATH", format!("{path}:/usr/bin:/bin")))
}

const PATH: &str = "printf %s $PATH";

/// An earlier run may have written there, with another policy.
#[test]
fn directory_of_the_project_is_in_no_path_whatever_is_shown() {
    let world = project();
    let git = "git init -q . && git add . && \
               git -c user.name=a -c user.email=b commit -qm x && mkdir -p bin dir/sub";
    world.bare(git).ok();
    let project = world.project().display().to_string();
    let (bin, tree) = (format!("{project}/bin"), format!("{project}=HEAD"));
    let elsewhere = world.root().join("own").display().to_string();
    let path = format!("{bin}:{project}/dir/sub:{elsewhere}");
    for (more, options) in [
        ("", &[][..]),
        ("", &["--workspace", "none", "--chdir", "/"]),
        ("", &["--git", &tree]),
        ("[workspace]\nroot = \"cwd\"", &["-C", "dir"]),
    ] {
        let told = by_command(&world, (more, PATH), options, &path);
        assert_eq!(told.ok(), format!("{elsewhere}:/usr/bin:/bin"), "{more} {options:?}");
    }
}

/// The next run may find there what this one makes.
#[test]
fn directory_that_is_missing_behind_a_link_into_the_project_is_in_no_path() {
    let world = project();
    let link = world.root().join("link");
    symlink(world.project(), &link).expect("a link");
    let missing = link.join("none/bin").display().to_string();
    let told = by_command(&world, ("", PATH), &[], &missing);
    assert_eq!(told.ok(), "/usr/bin:/bin");
    fs::remove_file(&link).expect("removed");
    symlink("elsewhere", &link).expect("a link");
    let told = by_command(&world, ("", PATH), &[], &missing);
    assert_eq!(told.ok(), format!("{missing}:/usr/bin:/bin"), "control");
}
