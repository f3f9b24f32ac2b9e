//! Processes that outlive their command.

use super::attack::{Control::*, Group, PLAIN, Proof, Together};

const NOT_LEFT: &[&str] = &["absent"];

attacks! {
    Group {
        probe: include_str!("probes/daemons.py"),
        about: |scene, _| vec![scene.root()],
        proof: Proof::Left,
        together: Together::Nowhere,
        ..PLAIN
    };
    daemon: "a process in a session of its own", Succeeds, NOT_LEFT;
    daemon_twice: "one whose parent has ended too", Succeeds, NOT_LEFT;
    deaf: "one that ignores all signals that can be ignored", Succeeds, NOT_LEFT;
    stopped: "one that is stopped", Succeeds, NOT_LEFT;
    busy: "one that never sleeps", Succeeds, NOT_LEFT;
    thread: "a thread of a process whose first thread has ended", Succeeds, NOT_LEFT;
    many: "a hundred of them", Succeeds, NOT_LEFT;
    late_write: "one that writes into the workspace later", Succeeds, NOT_LEFT;
    chain: "one that starts its successor and ends, over and over", Succeeds, NOT_LEFT;
    traced: "one that another one traces", Succeeds, NOT_LEFT;
}
