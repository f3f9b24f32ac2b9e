//! The caller's terminal: typing into it, and the terminals of others.

use super::attack::{Control::*, Group, PLAIN};

const REFUSED: &[&str] = &["EPERM"];
/// An action has none.
const NO_TERMINAL: &[&str] = &["EPERM", "ENOTTY"];
/// Kernels of 6.2 and later can be set to refuse it to everybody.
const TYPED: super::attack::Control = WhereThere("EIO");
const ABSENT: &[&str] = &["ENOENT", "EPERM", "EACCES", "ENXIO"];

attacks! {
    Group {
        probe: include_str!("probes/tty.py"),
        before: Some(include_str!("probes/on_terminal.py")),
        ..PLAIN
    };
    sti: "typing a byte (TIOCSTI, CVE-2017-5226)", TYPED, REFUSED;
    sti_high: "the same with bit 32 of the request set", TYPED, REFUSED;
    sti_top: "the same with bit 63 set (CVE-2019-10063)", TYPED, REFUSED;
    linux: "pasting on a console (TIOCLINUX, CVE-2023-28100)", WhereThere("ENOTTY"), REFUSED;
    linux_high: "the same with bit 32 set", WhereThere("ENOTTY"), REFUSED;
    discipline: "another line discipline (TIOCSETD)", WhereThere("EINVAL EPERM"), REFUSED;
    exclusive: "the terminal for itself, also after its end (TIOCEXCL)", Succeeds, NO_TERMINAL;
    console: "taking the console's messages (TIOCCONS)", Not("it would take those of the machine"), NO_TERMINAL;
    signal_flag: "signals to the group in front, whoever is in it (O_ASYNC)", Succeeds, REFUSED;
    stopped: "stopping its output (TCOOFF)", Succeeds, NO_TERMINAL;
    keyboard: "turning off a console's keyboard (KDSKBMODE)", WhereThere("ENOTTY EPERM"), REFUSED;
    graphics: "turning off a console's text (KDSETMODE)", WhereThere("ENOTTY EPERM"), REFUSED;
    switched: "switching to another console (VT_ACTIVATE)", WhereThere("ENOTTY EPERM ENXIO"), REFUSED;
    steal: "making it the terminal of its own session by force (TIOCSCTTY)", WhereThere("EPERM"), NO_TERMINAL;
    others_listed: "listing the terminals of the machine", Succeeds, &["absent"];
    virtual_console: "opening a virtual console", WhereThere("ENOENT EACCES EPERM EIO ENXIO"), ABSENT;
}
