//! Processes of endow's own beside a run: where they start, and which variables they have.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::build_shared::{Builder, SCRIPT};
use crate::harness::{World, copy_of_endow, project, said};

/// Stands for one of them: it notes where it is and what it has, and ends.
const NOTES: &str = "#!/bin/sh\n{ pwd; tr '\\0' '\\n' </proc/$$/environ; } >NOTE\n";

/// Puts a program that notes beside a copy of endow. Returns the copy.
fn installed(world: &World, helper: &str) -> std::path::PathBuf {
    let directory = world.root().join("installed");
    fs::create_dir_all(&directory).expect("a directory");
    let note = world.root().join("note").display().to_string();
    let helper = world.write(format!("installed/{helper}"), &NOTES.replace("NOTE", &note));
    fs::set_permissions(helper, PermissionsExt::from_mode(0o755)).expect("executable");
    copy_of_endow(&directory)
}

/// Sets variables that lead into the project, or steer what the C library loads.
fn led(world: &World, command: &mut Command) {
    command.env("LD_LIBRARY_PATH", ":lib").env("OTHER", "1").env("RES_OPTIONS", "ndots:2");
    command.env("SSL_CERT_FILE", world.root().join("ca")).env("SSL_CERT_DIR", "/etc/ssl:certs");
    command.env("PWD", world.project()).env("LED", world.project().join("lib"));
}

/// Returns the directory in which a helper was started, and its environment in order.
#[track_caller]
fn noted(world: &World) -> (String, Vec<String>) {
    let note = fs::read_to_string(world.root().join("note")).expect("it was started");
    let mut lines = note.lines().map(str::to_owned);
    let directory = lines.next().expect("a directory");
    let mut environment: Vec<String> = lines.collect();
    environment.sort();
    (directory, environment)
}

/// One whose broker and whose process of a remote cache note what they have.
fn networked(change: &dyn Fn(&World, &mut Command), check: &dyn Fn(&World)) {
    let world = project();
    let endow = installed(&world, "endow-broker");
    let policy = "version = 1\n[secrets]\nT = { from = \"cmd:echo x\", for = \"a.example\", header = \"A: {}\" }\n";
    let mut run = world.command(endow);
    run.args(["run", "-p"]).arg(world.write("policy.toml", policy)).args(["--", "true"]);
    led(&world, &mut run);
    change(&world, &mut run);
    let told = said(&mut run);
    assert!(told.fails(125).contains("can't start the broker"), "{told:?}");
    check(&world);

    let builder = Builder::at("");
    let world = &builder.project.world;
    let endow = installed(world, "endow-reapi");
    let policy = "version = 1\n[remote]\nurl = \"grpcs://localhost:1\"\n";
    let policy = world.write("policy.toml", policy);
    let mut build = world.command(endow);
    led(world, &mut build);
    change(world, &mut build);
    builder.build_by(build, &["-p", policy.to_str().expect("text")], SCRIPT);
    check(world);
}

#[track_caller]
fn check_bare(world: &World) {
    let (directory, environment) = noted(world);
    let ca = format!("SSL_CERT_FILE={}", world.root().join("ca").display());
    assert_eq!(directory, "/");
    assert_eq!(environment, ["RES_OPTIONS=ndots:2".to_owned(), ca]);
}

/// They look names up and speak TLS: the C library loads modules for that from where it is told to.
#[test]
fn those_on_the_network_get_hardly_a_variable() {
    networked(&|_, _| {}, &check_bare);
}

/// Who wrote it would be believed to be any server.
#[test]
fn authority_in_the_project_is_not_believed() {
    let change = |world: &World, command: &mut Command| {
        command.env("SSL_CERT_FILE", world.project().join("ca"));
    };
    networked(&change, &|world| assert_eq!(noted(world).1, ["RES_OPTIONS=ndots:2"]));
}

#[test]
fn those_that_start_programs_start_away_from_the_project() {
    for (helper, option) in [("endow-bridge", "browser"), ("endow-ssh-agent", "ssh-agent:*")] {
        let world = project();
        let mut run = world.command(installed(&world, helper));
        run.args(["run", "--bridge", option, "--", "true"]);
        led(&world, &mut run);
        said(run.env("OLDPWD", world.project()).env("SSH_AUTH_SOCK", "/none")).fails(125);
        let (directory, environment) = noted(&world);
        assert_eq!(directory, "/", "{helper}");
        let has = |line: &str| environment.iter().any(|it| it.starts_with(line));
        assert!(has("PWD=/") && !has("OLDPWD") && has("OTHER=1"), "{helper}: {environment:?}");
        assert!(!has("PWD=/home") && !has("PWD=/tmp"), "{helper}: {environment:?}");
        assert!(!has("LED="), "{helper}: {environment:?}");
    }
}
