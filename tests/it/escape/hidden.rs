//! Denied names, by every route; and what decides about the next run.

use std::path::PathBuf;

use super::prober::{Attempts, inside, outside};
use crate::harness::World;

const HIDDEN: &str = include_str!("probes/hidden.py");

fn tree(world: &World, name: &str) -> PathBuf {
    for file in [".env", "sub/deep/id_rsa", ".ssh/config"] {
        world.write(format!("home/{name}/{file}"), "canary\n");
    }
    world.home().join(name)
}

fn has_leaked(attempts: &Attempts) -> bool {
    attempts.words().any(|word| word == "secret" || word == "ok")
}

#[test]
fn escape_to_denied_names_of_a_live_grant() {
    let world = World::new();
    let control = tree(&world, "control");
    let control = outside(&world, HIDDEN, &[control.to_str().expect("a name")]);
    for name in ["direct", "deep", "handle", "hard-link", "rename-parent", "in-directory"] {
        assert_eq!(control.get(name), "secret", "{name}");
    }
    let granted = tree(&world, "granted").display().to_string();
    let attempts = inside(
        &world,
        &["--workspace", "none", "--chdir", "/", "--rw", &granted],
        HIDDEN,
        &[&granted],
    );
    assert!(!has_leaked(&attempts), "{attempts:?}");
    assert_eq!((attempts.get("direct"), attempts.get("rename-parent")), ("EACCES", "EACCES"));
    for file in [".env", "sub/deep/id_rsa", ".ssh/config"] {
        let content = std::fs::read_to_string(world.home().join("granted").join(file));
        assert_eq!(content.expect(file), "canary\n", "{file} on the host");
    }
}

#[test]
fn escape_to_denied_names_of_a_read_only_grant() {
    let world = World::new();
    let granted = tree(&world, "granted").display().to_string();
    let options = ["--workspace", "none", "--chdir", "/", "--ro", &granted];
    let attempts = inside(&world, &options, HIDDEN, &[&granted]);
    assert!(!has_leaked(&attempts), "{attempts:?}");
    assert_eq!((attempts.get("direct"), attempts.get("in-directory")), ("ENOENT", "ENOENT"));
}

/// The host replaces a hidden file while the command looks, as editors do.
#[test]
fn escape_to_a_denied_name_that_the_host_replaces() {
    let world = World::new();
    let granted = tree(&world, "granted");
    let name = granted.display().to_string();
    let script = "touch ready; until test -e go; do sleep 0.01; done; cat .env; true";
    for access in ["--ro", "--rw"] {
        for file in ["ready", "go"] {
            drop(std::fs::remove_file(world.project().join(file)));
        }
        let replace = || {
            let ready = world.project().join("ready");
            while !ready.exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            std::fs::write(granted.join("new"), "canary of the editor\n").expect("written");
            std::fs::rename(granted.join("new"), granted.join(".env")).expect("renamed");
            // The window that is documented: the supervisor needs a moment.
            std::thread::sleep(std::time::Duration::from_millis(500));
            std::fs::write(world.project().join("go"), "").expect("written");
        };
        let script = format!("{script}; cat {name}/.env; true");
        let said = std::thread::scope(|scope| {
            scope.spawn(replace);
            world.run(&["--workspace", "rw", access, &name], &script)
        });
        assert_eq!(said.stdout, "", "{access}");
    }
}

/// The home is granted and holds the user's policy: it decides about the next run.
#[test]
fn escape_by_writing_a_policy_for_the_next_run() {
    let world = World::new();
    let home = world.home().display().to_string();
    let policy = "version = 1\n[mounts]\n\"/etc/shadow\" = \"ro\"\n";
    let own = world.home().join(".config/endow/policy.toml");
    let steps = [
        "mkdir -p ~/.config/endow",
        "rmdir ~/.config/endow",
        "mv ~/.config/endow ~/away",
        "mv ~/.config ~/elsewhere; mkdir -p ~/.config/endow",
        "mv ~/.local ~/elsewhere; mkdir -p ~/.local/state/endow/runs",
        "ln -s /tmp ~/.config/endow",
        "chmod 777 ~/.config/endow",
        "printf '%s' \"$POLICY\" > ~/.config/endow/policy.toml",
        "touch ~/.local/state/endow/planted ~/.cache/endow/planted",
    ];
    let script = format!("{}; true", steps.join("; "));
    // The first run finds none of endow's directories, the second all of them.
    for round in ["first", "second"] {
        let mut command = world.endow(["run", "--rw", &home, "--workspace", "none"]);
        command.env_remove("ENDOW_STATE_DIR").env_remove("ENDOW_CACHE_DIR");
        command.env_remove("ENDOW_CONFIG_DIR");
        command.args(["--env", &format!("POLICY={policy}"), "--", "sh", "-c", &script]);
        crate::harness::said(&mut command).ok();
        assert!(!own.exists(), "{round} run");
        for name in [".local/state/endow/planted", ".cache/endow/planted", "elsewhere/endow"] {
            assert!(!world.home().join(name).exists(), "{name} of the {round} run");
        }
    }
    world.bare("mv ~/.config ~/elsewhere && mkdir -p ~/.config/endow && touch ~/.config/endow/policy.toml").ok();
    assert!(own.exists(), "the control");
}
