//! Routes, addresses, devices and namespaces: making a way, or choosing one.

use super::{Attack, Control};
use crate::harness::debian_program;

const SETTINGS: &str = include_str!("../probes/settings.py");
const BOUND: &str = include_str!("../probes/bound.py");

#[test]
fn escape_by_settings_of_the_network() {
    let Some(ip) = debian_program("ip") else { return };
    let about = [ip.to_str().expect("a path")];
    Attack { probe: SETTINGS, about: &about, control: Control::Root }.fails();
}

#[test]
fn escape_by_the_choice_of_a_device() {
    let about = ["machine0", "203.0.113.1", "203.0.113.20"];
    Attack { probe: BOUND, about: &about, control: Control::HostNetwork }.fails();
}
