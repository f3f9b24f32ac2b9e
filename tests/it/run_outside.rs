//! What programs that endow starts outside get: where they find others, and which variables.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::harness::{Said, World, project, said};

/// Returns a run with a secret that a command writes, which the sandboxed one reads.
fn with_secret(world: &World, (more, line): (&str, &str), options: &[&str]) -> Command {
    let text = format!("version = 1\n{more}\n[secrets]\nT = {{ from = \"cmd:{line}\", fd = 3 }}\n");
    let mut endow = world.endow(["run", "-p"]);
    endow.arg(world.write("policy.toml", &text));
    endow.args(options).args(["--", "cat", "/proc/self/fd/3"]);
    endow
}

/// Runs so, with directories in PATH.
fn by_command(world: &World, secret: (&str, &str), options: &[&str], path: &str) -> Said {
    let path = format!("{path}:/usr/bin:/bin");
    said(with_secret(world, secret, options).env("PATH", path))
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

/// Sets variables that lead into the project or a granted directory, and one that does not.
fn led<'a>(world: &World, command: &'a mut Command) -> &'a mut Command {
    let (project, root) = (world.project().display().to_string(), world.root().display());
    let preload = format!("/usr/lib/none.so {project}/lib.so");
    command.env("LD_PRELOAD_X", preload).env("NODE_X", format!("--require={project}/x.js"));
    command.env("PYTHON_X", format!("{root}/link/lib")).env("HOME_X", "~/project/conf");
    command
        .env("GRANTED_X", format!("{root}/granted/x"))
        .env("NONE_X", format!("{root}/link/no/x"));
    command.env("OWN_X", format!("{root}/own:file://{root}/own")).env("URL_X", "https://h/w")
}

/// Each leads to something that an earlier command may have written.
#[test]
fn command_of_a_secret_gets_no_variable_that_leads_into_the_project() {
    let world = project();
    symlink(world.project(), world.root().join("link")).expect("a link");
    fs::create_dir(world.root().join("granted")).expect("a directory");
    let granted = world.root().join("granted").display().to_string();
    for options in [&["--rw", &granted][..], &["--workspace", "ro", "--cow", &granted]] {
        let told = said(led(&world, &mut with_secret(&world, ("", "env"), options)));
        let all: Vec<&str> = told.ok().lines().filter_map(|it| it.split('=').next()).collect();
        let mut given: Vec<&str> = all.iter().copied().filter(|it| it.ends_with("_X")).collect();
        given.sort_unstable();
        assert_eq!(given, ["OWN_X", "URL_X"], "{options:?}");
        assert!(all.contains(&"HOME") && all.contains(&"USER"), "{told:?}");
    }
    let told = said(led(&world, &mut with_secret(&world, ("", "false"), &["--rw", &granted])));
    let without = "(without GRANTED_X, HOME_X, LD_PRELOAD_X, NODE_X, NONE_X, PYTHON_X: ";
    assert!(told.fails(125).contains(without), "{told:?}");
}

/// A plan has names alone.
#[test]
fn plan_names_what_programs_outside_do_not_get() {
    let world = project();
    let text = "version = 1\n[secrets]\nT = { from = \"cmd:env\", fd = 3 }\n";
    let policy = world.write("policy.toml", text);
    let mut plan = world.endow(["plan", "-p"]);
    let told = said(led(&world, plan.arg(&policy).args(["--", "true"])));
    assert!(told.ok().contains("without NODE_X (outside)\n"), "{told:?}");
    assert!(!told.ok().contains("x.js") && !told.ok().contains("without OWN_X"), "{told:?}");
    let mut plan = world.endow(["plan", "--", "true"]);
    assert!(!said(led(&world, &mut plan)).ok().contains("(outside)"), "nothing is started");
}

/// What is never a workspace by itself is no project either: programs of the user's lie there.
#[test]
fn home_is_no_project() {
    let world = project();
    let (home, bin) = (world.home().display().to_string(), world.home().join("bin"));
    fs::create_dir(&bin).expect("a directory");
    let options = ["-C", &home, "--workspace", "none", "--chdir", "/"];
    let path = format!("{}:{home}", bin.display());
    let told = by_command(&world, ("", PATH), &options, &path);
    assert_eq!(told.ok(), format!("{path}:/usr/bin:/bin"));
    let told = by_command(&world, ("", PATH), &[&options[..], &["--rw", &home]].concat(), &path);
    assert_eq!(told.ok(), "/usr/bin:/bin", "it is granted");
}
