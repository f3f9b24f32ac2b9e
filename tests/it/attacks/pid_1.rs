//! The first process of the sandbox: whoever can read or trace it has what the command was denied. The
//! control attacks a process of the same user in the same way.

use super::attack::{Control::*, Group, PLAIN, Where};

attacks_on_a_process!(
    Group {
        probe: include_str!("../escape/probes/process.py"),
        about: |scene, at| match at {
            Where::Control | Where::OwnNamespaces => vec![scene.fact("pid")],
            Where::Inside(_) => vec!["1".to_owned()],
        },
        ..PLAIN
    },
    &["EPERM", "EACCES"]
);
