//! The policies that a run was made of, in a workspace whose changes are buffered: the next run obeys them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::harness::{World, said};

const POLICY: &str = "version = 1\n";
const EVIL: &str = "printf 'version = 1\\n[env]\\nset = { EVIL = \"1\" }\\n'";

/// Runs a script in a copy-on-write workspace, with options.
fn run(world: &World, options: &[&str], script: &str) -> String {
    let words = [&["run", "--workspace", "cow"], options, &["--", "sh", "-c", script]].concat();
    said(&mut world.endow(words)).stderr
}

/// Each of these once had its word in the next run.
#[test]
fn policy_of_the_run_is_held() {
    let ways = [
        "EVIL >ci/pol.toml",
        "rm ci/pol.toml; EVIL >ci/pol.toml",
        "mv ci d; mkdir ci; EVIL >ci/pol.toml",
        "rm -r ci; mkdir d; EVIL >d/pol.toml; ln -s d ci",
        "EVIL >new; ln -sf ../new ci/pol.toml",
    ];
    for way in ways {
        let world = World::new();
        world.write("home/project/ci/pol.toml", POLICY);
        let options = ["-p", "ci/pol.toml"];
        let script = format!("{}; echo fine >own", way.replace("EVIL", EVIL));
        let told = run(&world, &options, &script);
        assert_eq!(world.read("own"), "fine\n", "{way}: {told}");
        let found = world.read("ci/pol.toml");
        assert!(!found.contains("EVIL"), "{way}: {told}");
        assert!(told.contains("held for review"), "{way}: {told}");
    }
}

#[test]
fn policy_that_a_link_leads_to_is_held() {
    let world = World::new();
    world.write("home/project/real.toml", POLICY);
    fs::create_dir(world.project().join("ci")).expect("made");
    symlink("../real.toml", world.project().join("ci/pol.toml")).expect("a link");
    let change = format!("{EVIL} >real.toml; rm ci/pol.toml; {EVIL} >ci/pol.toml");
    run(&world, &["-p", "ci/pol.toml"], &change);
    assert_eq!(world.read("real.toml"), POLICY);
    assert_eq!(world.read("ci/pol.toml"), POLICY);
    let config = world.root().join("config");
    fs::create_dir_all(config.join("profiles")).expect("made");
    world.write("home/project/me.toml", POLICY);
    symlink(world.project().join("me.toml"), config.join("profiles/me.toml")).expect("a link");
    run(&world, &["--profile", "me"], &format!("{EVIL} >me.toml; echo fine >own"));
    assert_eq!((world.read("me.toml").as_str(), world.read("own").as_str()), (POLICY, "fine\n"));
}

/// As who keeps all settings in one repository has them.
#[test]
fn directory_of_ones_own_policies_may_lie_in_the_workspace() {
    for access in ["rw", "cow"] {
        let world = World::new();
        world.write("home/project/endow/policy.toml", POLICY);
        world.write("home/project/endow/profiles/me.toml", POLICY);
        symlink(world.project().join("endow"), world.root().join("config")).expect("a link");
        let script = format!("mv endow x; {EVIL} >endow/policy.toml; ls endow; echo fine >own");
        let words =
            ["run", "--workspace", access, "--profile", "me", "--", "sh", "-c", script.as_str()];
        let told = said(&mut world.endow(words));
        assert_eq!(world.read("own"), "fine\n", "{access}: {told:?}");
        assert_eq!((told.stdout.as_str(), world.read("endow/policy.toml").as_str()), ("", POLICY));
    }
}

#[test]
fn policy_of_no_run_is_a_file_like_others() {
    let world = World::new();
    world.write("home/project/ci/pol.toml", POLICY);
    run(&world, &[], &format!("{EVIL} >ci/pol.toml"));
    assert!(world.read("ci/pol.toml").contains("EVIL"), "the control");
}

/// A directory of the user's policies that a link leads to, or will, when it is made.
#[test]
fn policies_that_links_lead_to_are_made_by_no_command() {
    let attack = "mkdir -p dot/profiles; printf 'version = 1\\n[mounts]\\n\"~/secret\" = \"ro\"\\n' \
                  | tee dot/profiles/sh.toml >dot/policy.toml";
    for (from, to) in [("profiles", "dot/profiles"), ("", "dot"), ("", "made/dot")] {
        for access in ["cow", "rw"] {
            let world = World::new();
            world.write("home/secret", "secret");
            let link = world.root().join("config").join(from);
            let link = Path::new(link.to_str().expect("text").trim_end_matches('/')).to_owned();
            fs::create_dir_all(link.parent().expect("above")).expect("made");
            symlink(world.project().join(to), &link).expect("a link");
            if to == "dot/profiles" {
                fs::create_dir_all(world.project().join(to)).expect("made");
            }
            world.run(
                &["--workspace", access],
                &attack.replace("dot", to.trim_end_matches("/profiles")),
            );
            let next = world.run(&[], "cat ~/secret");
            assert_eq!(next.stdout, "", "{from} {to} {access}: {}", next.stderr);
        }
    }
    let control = World::new();
    control.write("home/secret", "secret");
    control.write("config/profiles/sh.toml", "version = 1\n[mounts]\n\"~/secret\" = \"ro\"\n");
    assert_eq!(control.run(&[], "cat ~/secret").stdout, "secret");
}

/// The current directory has no links in its path, whatever the table's path has.
#[test]
fn tables_of_a_project_hold_behind_a_link() {
    let world = World::new();
    world.write("home/project/.secret", "secret");
    symlink(world.project(), world.root().join("home/link")).expect("a link");
    let table = |path: &str| {
        let text = format!("version = 1\n[project.\"{path}\".deny]\npatterns = [\".secret\"]\n");
        world.write("config/policy.toml", &text);
        world.run(&["run"], "cat .secret")
    };
    assert_eq!(table("~/elsewhere").ok(), "secret", "control");
    table("~/project").fails(1);
    table("~/link").fails(1);
    assert!(table("$HOME/project").fails(120).contains("policy.toml"));
}
