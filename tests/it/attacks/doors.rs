//! System calls by the tables of other architectures, where the numbers mean something else (x86-64).
#![cfg(target_arch = "x86_64")]

use super::attack::{Control::*, Group, PLAIN};

attacks! {
    Group { probe: include_str!("../escape/probes/doors.py"), ..PLAIN };
    int80: "calls of i386, by int 0x80", WhereThere("ENOSYS signal-11"), &["signal-31"];
    socketcall: "sockets by the multiplexer of i386", WhereThere("ENOSYS EFAULT EINVAL signal-11"), &["signal-31"];
    x32: "calls of x32, by bit 30 of the number", WhereThere("ENOSYS"), &["signal-31"];
}
