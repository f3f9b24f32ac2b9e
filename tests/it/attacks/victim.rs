//! A process outside, by the number that it has there.

use super::attack::{Control::*, Group, PLAIN};

attacks_on_a_process!(
    Group {
        probe: include_str!("../escape/probes/process.py"),
        about: |scene, _| vec![scene.fact("pid")],
        ..PLAIN
    },
    &["ENOENT", "ESRCH"]
);
