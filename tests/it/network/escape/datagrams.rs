//! Datagrams, and streams whose first data comes before the connection.

use super::{Attack, Control};

const DATAGRAMS: &str = include_str!("../probes/datagrams.py");

#[test]
fn escape_by_datagrams() {
    let about = [
        "web.example.test 443",
        "203.0.113.10 443",
        "203.0.113.10 7",
        "203.0.113.20 7",
        "2001:db8::20 7",
        "10.77.0.10 7",
        "169.254.169.254 7",
    ];
    Attack { probe: DATAGRAMS, about: &about, control: Control::HostNetwork }.fails();
}
