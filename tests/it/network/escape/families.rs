//! Families, types and protocols by which packets leave that no rule of ports and names is for.

use super::{Attack, Control};

const FAMILIES: &str = include_str!("../probes/families.py");

fn fails(about: [&str; 2], control: Control) {
    Attack { probe: FAMILIES, about: &about, control }.fails();
}

#[test]
fn escape_by_families_that_anybody_may_use() {
    fails(["anybody", "203.0.113.20"], Control::Machine);
}

#[test]
fn escape_by_families_that_root_may_use() {
    fails(["root", "127.0.0.1"], Control::Root);
}

/// No control: few kernels have all of these.
#[test]
fn escape_by_families_that_are_rare() {
    fails(["rare", "203.0.113.20"], Control::Nowhere);
}
