//! Attacks that would reach what is not allowed. Each is tried before and after a connection that
//! is, and has a control in which it succeeds.

mod datagrams;
mod families;
mod names;
mod places;
mod settings;

use std::process::Command;

use super::world::NetWorld;
use super::world::places::WEB;
use crate::escape::prober::{Attempts, script};

const COMMON: &str = include_str!("../probes/common.py");

/// What an attack may be allowed: nothing, and one port of one name.
const RULES: [&str; 2] = ["none", "web.example.test:443"];

/// Where an attack succeeds.
#[derive(Clone, Copy)]
enum Control {
    /// In a sandbox that has the network of the machine.
    HostNetwork,
    /// On the machine: a sandbox refuses it whatever its network is.
    Machine,
    /// As root of namespaces of its own: no user of the machine may do it.
    Root,
    /// Nowhere, by the reason that the test gives.
    Nowhere,
}

/// A probe and its arguments.
struct Attack<'a> {
    probe: &'a str,
    about: &'a [&'a str],
    control: Control,
}

impl Attack<'_> {
    /// Shows that it succeeds in its control, and nowhere else.
    fn fails(&self) {
        self.fails_beside(|_| ());
    }

    /// Shows that the attack succeeds in its control, and nowhere else, beside what `held` starts in a world and keeps.
    fn fails_beside<T>(&self, held: impl Fn(&NetWorld) -> T) {
        let Some(world) = NetWorld::start() else { return };
        let _held = held(&world);
        if let Some(mut command) = self.control(&world) {
            Attempts::of(command.args(self.script())).but("allowed").all("ok");
        }
        for rule in RULES {
            let Some(world) = NetWorld::start() else { return };
            let _held = held(&world);
            self.fails_with(rule, &world);
        }
    }

    fn fails_with(&self, rule: &str, world: &NetWorld) {
        let attempts = self.inside(world, rule);
        let allowed = if rule == "none" { "no-resolver" } else { "ok" };
        assert_eq!(attempts.get("allowed"), allowed, "{rule}");
        let attempts = attempts.but("allowed");
        assert!(attempts.words().all(|it| !["ok", "late"].contains(&it)), "{rule}: {attempts:?}");
        assert_only_allowed(world);
    }

    /// Makes it in a sandbox.
    fn inside(&self, world: &NetWorld, rule: &str) -> Attempts {
        let mut command = world.endow(["run", "--workspace", "rw", "--net", rule, "--"]);
        Attempts::of(command.args(self.script()))
    }

    fn control(&self, world: &NetWorld) -> Option<Command> {
        match self.control {
            Control::HostNetwork => {
                Some(world.endow(["run", "--workspace", "rw", "--net", "host", "--"]))
            }
            Control::Machine => Some(world.command("env")),
            Control::Root => {
                let mut command = world.command("unshare");
                command.args(["--user", "--map-root-user", "--net", "--", "sh", "-c"]);
                command.args(["ip link set lo up && exec \"$@\"", "sh"]);
                Some(command)
            }
            Control::Nowhere => None,
        }
    }

    fn script(&self) -> Vec<std::ffi::OsString> {
        script(&format!("{COMMON}\n{}", self.probe), self.about)
    }
}

/// Asserts that nothing came to any server but what a test allows, and that nothing was asked for
/// but its name.
#[track_caller]
fn assert_only_allowed(world: &NetWorld) {
    let [four, six] = WEB;
    let allowed = [format!("{four}:443"), format!("[{six}]:443")];
    let reached = world.reached();
    assert!(reached.iter().all(|place| allowed.contains(place)), "{reached:?}");
    let asked = world.asked();
    assert!(asked.iter().all(|name| name == "web.example.test"), "{asked:?}");
}
