//! Namespaces that the command makes by itself, with `--allow userns`.

use crate::harness::{Said, World, endow, project, said};

const SECRET: &str = "SECRET=canary";
const LIVE: [&str; 4] = ["--workspace", "rw", "--allow", "userns"];

/// Root is refused the word.
fn world() -> Option<World> {
    (!rustix::process::geteuid().is_root()).then(World::new)
}

#[track_caller]
fn refused(world: &World, word: &str) {
    let told = world.run(&[&["run"], &LIVE[..]].concat(), "echo started");
    let error = told.fails(122);
    assert!(error.contains(&format!("--best-effort {word}")), "{error}");
    assert!(error.contains("--workspace cow"), "{error}");
    assert_eq!(told.stdout, "");
}

/// The host replaces a hidden file, and the command reads it in a namespace of its own.
fn replaced(world: &World, options: &[&str]) -> Said {
    world.write("home/project/.env", SECRET);
    world.write("home/new", SECRET);
    let script = format!(
        "(until [ -e ready ]; do sleep 0.01; done; mv ../new .env) & \
         {endow} run {} -- unshare -Urm sh -c 'touch ready; sleep 0.5; cat .env'; \
         code=$?; kill $!; exit $code",
        options.join(" "),
        endow = endow().display(),
    );
    said(world.command("bash").args(["-c", &script]).current_dir(world.project()))
}

#[test]
fn names_that_are_covered_again_need_the_command_in_the_runs_namespace() {
    let Some(world) = world() else { return };
    let live = [&["run"], &LIVE[..]].concat();
    assert_eq!(world.run(&live, "echo started").ok(), "started\n", "nothing is covered");
    let accepted = replaced(&world, &[&LIVE[..], &["--best-effort", "deny"]].concat());
    assert_eq!(accepted.ok(), SECRET, "control: nothing covers it there");
    refused(&world, "deny");
    let buffered = world.run(&["run", "--allow", "userns"], "unshare -Urm cat .env");
    assert!(!buffered.stdout.contains(SECRET) && buffered.code == 1, "{buffered:?}");
}

#[test]
fn settings_of_a_live_repository_need_it_too() {
    let Some(world) = world() else { return };
    said(world.command("git").args(["init", "-q"]).current_dir(world.project())).ok();
    refused(&world, "protect");
    let accepted = [&["run"], &LIVE[..], &["--best-effort", "protect"]].concat();
    assert_eq!(world.run(&accepted, "echo started").ok(), "started\n");
}

/// What the outer run's overlay copies up has another inode from then on.
#[test]
fn changes_of_a_run_inside_a_run_are_written_back() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let world = project();
    let program = endow().canonicalize().expect("a path");
    let directory = program.parent().expect("a parent").display().to_string();
    world.bare("i=0; while [ $i -lt 400 ]; do : >dir/a-name-of-some-length-$i; i=$((i+1)); done; chmod 4755 link").ok();
    let inner = "rm dir/a-name-of*; echo more >>file; echo new >new; rm dir/inner; chmod 700 dir/sub; ln -sfn dir link
        echo deeper >dir/sub/deep; mkdir -p made/deep; echo made >made/deep/file";
    let look =
        "cat file new dir/sub/deep made/deep/file; readlink link; ls dir; stat -c %a dir/sub";
    let script = format!("{} run -- sh -c '{inner}'; echo $?; {look}", program.display());
    let options = ["run", "--ro", &directory, "--allow", "userns"];
    let expected = "host\nmore\nnew\ndeeper\nmade\ndir\nsub\n700\n";
    let said = world.run(&options, &script);
    assert_eq!(said.stdout, format!("0\n{expected}"), "{said:?}");
    assert_eq!(world.bare(look).ok(), expected);
}
