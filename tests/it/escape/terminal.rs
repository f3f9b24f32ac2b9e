//! The caller's terminal.

use super::prober::{Attempts, script};
use crate::harness::{World, endow};

const TERMINAL: &str = include_str!("probes/terminal.py");

fn on_terminal(world: &World, line: &[&str]) -> Attempts {
    let mut command = world.command("/usr/bin/python3");
    command.args(script(TERMINAL, line).into_iter().skip(1));
    Attempts::of(&mut command)
}

/// Kernels of 6.2 and later can be built or set to refuse TIOCSTI to everybody: EIO then. The
/// other requests need a console, or a line discipline that is there.
#[test]
fn escape_by_typing_into_the_terminal() {
    let world = World::new();
    let control = on_terminal(&world, &["env"]);
    let legacy = std::fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti").unwrap_or_default();
    let expected = if legacy.trim() == "0" { "EIO" } else { "ok" };
    for name in ["sti", "sti-high", "sti-top"] {
        assert_eq!(control.get(name), expected, "{name}");
    }
    let endow = endow().display().to_string();
    on_terminal(&world, &[&endow, "run", "--workspace", "rw", "--"]).all("EPERM");
}
