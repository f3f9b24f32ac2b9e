//! Names that are like the allowed one, lead to it or come from it; and names as messages.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Attack, Control, RULES};
use crate::escape::prober::Attempts;
use crate::network::modes;
use crate::network::world::NetWorld;
use crate::network::world::places::{METADATA, NAMES, PRIVATE, is_web};

const REACH: &str = include_str!("../probes/reach.py");
const QUESTIONS: &str = include_str!("../probes/questions.py");
const REBOUND: &str = include_str!("../probes/rebound.py");
const ANOTHER: &str = include_str!("../probes/another.py");

#[test]
fn escape_by_names_like_the_allowed_one() {
    let about = [
        "other tls other.example.test 443",
        "parent tls example.test 443",
        "below tls below.web.example.test 443",
        "alias-of-allowed tls to-web.example.test 443",
        "alias-of-other tls to-other.example.test 443",
        "dot tls other.example.test. 443",
        "case tls OTHER.example.TEST 443",
        // The second letter is Cyrillic.
        "homograph tls w\u{435}b.example.test 443",
        "homograph-encoded tls xn--wb-nlc.example.test 443",
        "attacker tls any.attacker.example 443",
    ];
    Attack { probe: REACH, about: &about, control: Control::HostNetwork }.fails();
}

/// No question leaves the sandbox, and of an allowed one nothing but the name.
#[test]
fn escape_by_questions() {
    let attack = Attack { probe: QUESTIONS, about: &[NAMES], control: Control::HostNetwork };
    let Some(world) = NetWorld::start() else { return };
    attack.inside(&world, "host");
    let marks = "a aaaa any below dot https library mx nul null option second srv trailing txt";
    let marks: Vec<&str> = marks.split(' ').chain(["UPPER"]).collect();
    assert_eq!(stolen(&world), marks);
    for rule in RULES {
        let Some(world) = NetWorld::start() else { return };
        attack.inside(&world, rule);
        assert_eq!(stolen(&world), [""; 0], "{rule}");
        super::assert_only_allowed(&world);
    }
}

/// Returns the marks that came to the DNS server, and `UPPER` if letters came as they were asked.
fn stolen(world: &NetWorld) -> Vec<String> {
    let mut marks = BTreeSet::new();
    for seen in world.seen().iter().filter(|it| it["server"] == "dns") {
        let bytes = seen["bytes"].as_str().expect("a packet");
        for (at, sign) in bytes.match_indices("stolen-") {
            let rest = &bytes[at + sign.len()..];
            let end = rest.find(|it: char| !it.is_ascii_lowercase()).unwrap_or(rest.len());
            marks.insert(rest[..end].to_owned());
        }
        let name = seen["name"].as_str().expect("a name");
        if name.contains(|it: char| it.is_ascii_uppercase()) {
            marks.insert("UPPER".to_owned());
        }
    }
    let (upper, mut others): (Vec<String>, Vec<String>) =
        marks.into_iter().partition(|it| it == "UPPER");
    others.extend(upper);
    others
}

/// A name that is allowed and led to an allowed place may later lead to where nothing is.
#[test]
fn escape_by_names_that_are_bound_anew() {
    for (name, target) in [
        ("rebound-loopback.example.test", "127.0.0.1"),
        ("rebound-private.example.test", PRIVATE[0]),
        ("rebound-metadata.example.test", METADATA),
    ] {
        leads_to(name, &[at_443(target)], |attempts| {
            assert_eq!(attempts.get(&format!("{name}/first")), "ok");
        });
    }
}

/// To allow a name does not allow what is at home: that has to be named itself.
#[test]
fn escape_by_allowed_names_of_private_addresses() {
    for (name, targets) in [
        ("private.example.test", PRIVATE.map(at_443)),
        ("to-private.example.test", PRIVATE.map(at_443)),
        ("metadata.example.test", [METADATA; 2].map(at_443)),
        ("loopback.example.test", ["127.0.0.1", "::1"].map(at_443)),
        ("mapped.example.test", ["127.0.0.1"; 2].map(at_443)),
        ("unspecified.example.test", ["127.0.0.1", "::1"].map(at_443)),
    ] {
        leads_to(name, &targets, |attempts| {
            let refused = attempts.words().all(|it| !["ok", "late"].contains(&it));
            assert!(refused, "{name}: {attempts:?}");
        });
    }
}

/// Of the addresses of a name only those count that may be reached. (In the control, libraries take
/// the first.)
#[test]
fn name_of_mixed_addresses_leads_to_the_public_one() {
    leads_to("mixed.example.test", &[at_443(PRIVATE[0])], |attempts| attempts.all("ok"));
}

fn at_443(host: &str) -> String {
    if host.contains(':') { format!("[{host}]:443") } else { format!("{host}:443") }
}

/// Asserts that a name leads to one of `targets` in the control, and nowhere but to the allowed
/// server where it is allowed itself.
fn leads_to(name: &str, targets: &[String], allowed: impl Fn(&Attempts)) {
    for net in modes(name) {
        let Some(world) = NetWorld::start() else { return };
        let attack = Attack { probe: REBOUND, about: &[name], control: Control::HostNetwork };
        let attempts = attack.inside(&world, net);
        let reached = world.reached();
        if net == "host" {
            assert!(reached.iter().any(|place| targets.contains(place)), "{name}: {reached:?}");
        } else {
            assert!(reached.iter().all(|place| is_web(place)), "{name}: {reached:?}");
            allowed(&attempts);
        }
    }
}

/// Names mean the same in any letters, with a dot at their end or without.
#[test]
fn allowed_name_may_be_written_in_any_way() {
    let about = ["dot tls web.example.test. 443", "case tls WEB.Example.TEST 443"];
    for net in modes("web.example.test") {
        let Some(world) = NetWorld::start() else { return };
        let attack = Attack { probe: REACH, about: &about, control: Control::HostNetwork };
        attack.inside(&world, net).all("ok");
    }
}

/// A documented limit: a server that is allowed may serve other names too, and TLS says which.
#[test]
fn allowed_server_is_asked_for_another_name() {
    for net in modes("web.example.test") {
        let Some(world) = NetWorld::start() else { return };
        let attack = Attack { probe: ANOTHER, about: &[], control: Control::HostNetwork };
        attack.inside(&world, net).all("ok");
        let hosts: Vec<Value> = world.requests().iter().map(|it| it["sni"].clone()).collect();
        assert!(hosts.contains(&Value::from("other.example.test")), "{net}: {hosts:?}");
    }
}
