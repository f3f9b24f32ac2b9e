//! What sources make of the network together, and what may be dialled then.

use std::net::IpAddr;

use endow_policy::{
    AddressRange, FileKind, Flags, HostName, HostRule, Nearby, Network, NetworkMode, Origin,
    Protocol, Sources, Stated, compose, judge,
};
use insta::assert_snapshot;

use crate::harness::*;

/// Renders a network: mode, rules, ports.
fn show(network: &Network) -> String {
    let rules = network.allow.iter().map(|rule| format!("{} ({})", rule.value, rule.origin));
    let ports = network.publish.iter().map(|it| format!("publish {} ({})", it.value, it.origin));
    let proxy = network.proxy.iter().map(|it| format!("proxy {} ({})", it.value, it.origin));
    let mode = network.mode.word().to_owned();
    let matched = network.match_server_name.then(|| "match_server_name".to_owned());
    let lines = std::iter::once(mode).chain(rules).chain(ports).chain(proxy).chain(matched);
    lines.collect::<Vec<_>>().join("\n")
}

/// Composes a user file, a project file and `--net` words.
fn merged(user: &str, project: &str, net: &[&str]) -> String {
    let table = |body: &str| format!("[network]\n{body}");
    let flags = Flags { net: net.iter().map(ToString::to_string).collect(), ..Flags::default() };
    let flags = match flags.layer() {
        Ok(layer) => layer,
        Err(error) => return format!("{error} | {}", error.hint.as_deref().unwrap_or("-")),
    };
    let sources = Sources {
        user: Some(text(FileKind::User, &table(user))),
        project: Some(text(FileKind::Project, &table(project))),
        flags: Some(flags),
        ..Sources::default()
    };
    match compose(&sources, &vars()) {
        Ok(_) => match policy(&sources, &vars()) {
            Ok(policy) => show(&policy.network),
            Err(error) => error,
        },
        Err(error) => format!("{error} | {}", error.hints().join("; ")),
    }
}

#[test]
fn nothing_said_is_nothing_reached() {
    assert_eq!(merged("", "", &[]), "none");
    assert_eq!(merged("allow = []", "mode = \"allow\"", &[]), "allow");
}

#[test]
fn lists_add_up() {
    let user =
        "allow = [\"example.com\", \"*.example.org:80\"]\npublish = [\"3000\"]\nproxy = 3128";
    let project = "allow = [\"example.com:443\", \"localhost:5432\"]\nmatch_server_name = true";
    assert_snapshot!(merged(user, project, &["10.0.0.0/8:22"]), @r"
    allow
    example.com:443 (~/.config/endow/policy.toml:3)
    *.example.org:80 (~/.config/endow/policy.toml:3)
    localhost:5432 (endow.toml:3)
    10.0.0.0/8:22 (--net 10.0.0.0/8:22)
    publish 3000:3000 (~/.config/endow/policy.toml:4)
    proxy 3128 (~/.config/endow/policy.toml:5)
    match_server_name
    ");
}

#[test]
fn modes_replace() {
    let user = "allow = [\"example.com\"]\nproxy = 3128\npublish = [\"3000\"]";
    assert_snapshot!(merged(user, "mode = \"none\"", &[]), @r"
    none
    publish 3000:3000 (~/.config/endow/policy.toml:5)
    proxy 3128 (~/.config/endow/policy.toml:4)
    ");
    assert_snapshot!(merged(user, "mode = \"none\"", &["example.org"]), @r"
    allow
    example.org:443 (--net example.org)
    publish 3000:3000 (~/.config/endow/policy.toml:5)
    proxy 3128 (~/.config/endow/policy.toml:4)
    ");
    assert_snapshot!(merged(user, "mode = \"host\"", &[]), @"host");
    assert_snapshot!(merged("mode = \"host\"", "allow = [\"example.com\"]", &[]), @r"
    allow
    example.com:443 (endow.toml:3)
    ");
    assert_snapshot!(merged("mode = \"host\"", "publish = [\"3000\"]", &[]), @"the network is the host's: --publish 3000:3000");
    assert_snapshot!(merged("mode = \"host\"", "proxy = 3128", &[]), @"the network is the host's: --proxy 3128");
    assert_snapshot!(merged("mode = \"host\"", "proxy = 3128", &["none"]), @r"
    none
    proxy 3128 (endow.toml:3)
    ");
}

#[test]
fn flags_are_read_in_order() {
    let user = "allow = [\"example.com\"]";
    assert_snapshot!(merged(user, "", &["none"]), @"none");
    assert_snapshot!(merged(user, "", &["none", "example.org"]), @r"
    allow
    example.org:443 (--net example.org)
    ");
    assert_snapshot!(merged(user, "", &["example.org", "none"]), @"none");
    assert_snapshot!(merged(user, "", &["example.org", "host"]), @"host");
    assert_snapshot!(merged(user, "", &["host", "none"]), @"none");
    assert_snapshot!(merged(user, "", &["host", "example.org"]), @"`--net host` allows every host: --net example.org | leave out `--net host` to allow this alone");
}

#[test]
fn entries_are_taken_back() {
    let user =
        "allow = [\"example.com:80,443\", \"*.example.com\", \"10.0.0.0/8:22\", \"example.org:*\"]";
    assert_snapshot!(merged(user, "allow = [\"!Example.com:80\"]", &[]), @r"
    allow
    example.com:443 (~/.config/endow/policy.toml:3)
    *.example.com:443 (~/.config/endow/policy.toml:3)
    10.0.0.0/8:22 (~/.config/endow/policy.toml:3)
    example.org:* (~/.config/endow/policy.toml:3)
    ");
    assert_snapshot!(merged(user, "allow = [\"!example.com:*\", \"!example.org\"]", &[]), @r"
    allow
    *.example.com:443 (~/.config/endow/policy.toml:3)
    10.0.0.0/8:22 (~/.config/endow/policy.toml:3)
    ");
    assert_snapshot!(merged(user, "allow = [\"!*.example.com\", \"!udp:example.com\"]", &[]), @r"
    allow
    example.com:80,443 (~/.config/endow/policy.toml:3)
    10.0.0.0/8:22 (~/.config/endow/policy.toml:3)
    example.org:* (~/.config/endow/policy.toml:3)
    ");
    assert_snapshot!(merged(user, "allow = [\"!a.example.com\"]", &[]), @"still allowed: a.example.com:443 | `*.example.com:443` (~/.config/endow/policy.toml:3) allows it: take that back");
    assert_snapshot!(merged(user, "allow = [\"!10.1.0.0/16:*\"]", &[]), @"still allowed: 10.1.0.0/16:* | `10.0.0.0/8:22` (~/.config/endow/policy.toml:3) allows it: take that back");
    assert_snapshot!(merged("publish = [\"3000\"]", "publish = [\"!3000\", \"80:80\"]", &[]), @r"
    none
    publish 80:80 (endow.toml:3)
    ");
}

#[test]
fn a_port_is_published_once() {
    let user = "publish = [\"8080:3000\", \"0:1\", \"0:2\"]";
    assert_snapshot!(merged(user, "publish = [\"8080:3000\", \"0:1\"]", &[]), @r"
    none
    publish 8080:3000 (~/.config/endow/policy.toml:3)
    publish 0:1 (~/.config/endow/policy.toml:3)
    publish 0:2 (~/.config/endow/policy.toml:3)
    ");
    assert_snapshot!(merged(user, "publish = [\"8080:4000\"]", &[]), @"published twice: 127.0.0.1:8080");
    assert_snapshot!(merged(user, "publish = [\"127.0.0.2:8080:4000\"]", &[]), @r"
    none
    publish 8080:3000 (~/.config/endow/policy.toml:3)
    publish 0:1 (~/.config/endow/policy.toml:3)
    publish 0:2 (~/.config/endow/policy.toml:3)
    publish 127.0.0.2:8080:4000 (endow.toml:3)
    ");
}

#[test]
fn proxy_stands_in_the_place_of_no_port_of_the_host() {
    let proxy = "proxy = 8080";
    assert_snapshot!(merged("allow = [\"localhost:8080\"]", proxy, &[]), @"taken already: port 8080");
    assert!(!merged("allow = [\"localhost:8081\"]", proxy, &[]).contains("taken"), "control");
}

/// Judges the `[network]` of a project file above that of a user file: `+` gives more.
fn judged(user: &str, project: &str) -> String {
    let sources = Sources {
        user: Some(text(FileKind::User, &format!("[network]\n{user}"))),
        ..Sources::default()
    };
    let weaker = compose(&sources, &vars()).expect("composes");
    let file = text(FileKind::Project, &format!("[network]\n{project}"));
    let view = endow_policy::View::of(&weaker, &vars());
    let judgement = judge(&file, &weaker, &view, &vars());
    let lines = judgement.narrowing.iter().map(|it| format!("- {} {}", it.origin, it.what));
    let grants = judgement.grants.iter().map(|it| format!("+ {} {}", it.origin, it.what));
    lines.chain(grants).collect::<Vec<_>>().join("\n")
}

#[test]
fn untrusted_files_take_away() {
    let user = "allow = [\"*.example.com:*\", \"10.0.0.0/8:22\", \"0.0.0.0/0:80\"]\npublish = [\"3000\"]\nproxy = 3128\nmatch_server_name = true";
    assert_snapshot!(judged(user, "mode = \"none\""), @r#"- endow.toml:3 network.mode = "none""#);
    let narrowing = "mode = \"allow\"\nallow = [\n\"!*.example.com:*\",\n\"a.example.com:22\",\n\"10.1.0.0/16:22\",\n\"203.0.113.0/24:80\"]\npublish = [\"3000\"]\nproxy = 3128\nmatch_server_name = true";
    assert_snapshot!(judged(user, narrowing), @r#"
    - endow.toml:3 network.mode = "allow"
    - endow.toml:5 network.allow = "!*.example.com:*"
    - endow.toml:6 network.allow = "a.example.com:22"
    - endow.toml:7 network.allow = "10.1.0.0/16:22"
    - endow.toml:8 network.allow = "203.0.113.0/24:80"
    - endow.toml:9 network.publish = "3000:3000"
    - endow.toml:10 network.proxy = 3128
    - endow.toml:11 network.match_server_name = true
    "#);
    let grants = "allow = [\n\"example.com\",\n\"udp:a.example.com\",\n\"10.0.0.0/8:23\",\n\"172.16.0.0/12:80\",\n\"169.254.170.2/31:80\",\n\"localhost:1\",\n\"registry:npm\"]\npublish = [\"3001\"]\nproxy = 3129\nmatch_server_name = false";
    assert_snapshot!(judged(user, grants), @r#"
    + endow.toml:4 network.allow = "example.com:443"
    + endow.toml:5 network.allow = "udp:a.example.com:443"
    + endow.toml:6 network.allow = "10.0.0.0/8:23"
    + endow.toml:7 network.allow = "172.16.0.0/12:80"
    + endow.toml:8 network.allow = "169.254.170.2/31:80"
    + endow.toml:9 network.allow = "localhost:1"
    + endow.toml:10 network.allow = "registry:npm"
    + endow.toml:11 network.publish = "3001:3001"
    + endow.toml:12 network.proxy = 3129
    + endow.toml:13 network.match_server_name = false
    "#);
    assert_snapshot!(judged("mode = \"host\"", "allow = [\"example.com\"]"), @r#"- endow.toml:3 network.allow = "example.com:443""#);
    assert_snapshot!(judged("", "mode = \"allow\""), @r#"+ endow.toml:3 network.mode = "allow""#);
    assert_snapshot!(judged("", "mode = \"host\""), @r#"+ endow.toml:3 network.mode = "host""#);
}

/// A network with these rules.
pub(crate) fn allowing(rules: &[&str]) -> Network {
    let rule = |word: &&str| Stated::new(HostRule::parse(word).expect("a rule"), Origin::Default);
    let allow = rules.iter().map(rule).collect();
    Network { mode: NetworkMode::Allow, allow, ..Network::default() }
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn names_find_their_rules() {
    let network = allowing(&["example.com", "*.example.com:80", "*.b.example.com", "localhost:1"]);
    let rules = |name: &str| {
        let name = HostName::parse(name).expect("a name");
        network.rules_for(&name).map(|rule| rule.value.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(rules("example.com"), "example.com:443");
    assert_eq!(rules("A.Example.com."), "*.example.com:80");
    assert_eq!(rules("a.b.example.com"), "*.example.com:80 *.b.example.com:443");
    assert_eq!(rules("b.example.com"), "*.example.com:80");
    assert_eq!(rules("badexample.com"), "");
    assert_eq!(rules("localhost"), "");
}

#[test]
fn rules_that_add_nothing_or_open_what_is_special() {
    let network = allowing(&[
        "a.example.com:80",
        "*.example.com:*",
        "10.0.0.0/8:22",
        "0.0.0.0/0:22",
        "10.1.0.0/16:22",
        "169.254.169.254:80",
        "203.0.113.1:22",
    ]);
    let needless = network.needless();
    let needless: Vec<_> =
        needless.iter().map(|(rule, by)| format!("{} < {}", rule.value, by.value)).collect();
    assert_snapshot!(needless.join("\n"), @r"
    a.example.com:80 < *.example.com:*
    10.1.0.0/16:22 < 10.0.0.0/8:22
    ");
    let special = network.special();
    let special: Vec<_> =
        special.iter().map(|(rule, range)| format!("{}: {range}", rule.value)).collect();
    assert_snapshot!(special.join("\n"), @r"
    10.0.0.0/8:22: private addresses: 10.0.0.0/8
    10.1.0.0/16:22: private addresses: 10.0.0.0/8
    169.254.169.254:80: a cloud's metadata service: 169.254.169.254
    ");
}

#[test]
fn special_addresses_are_dialled_when_named() {
    let network = allowing(&[
        "api.example.com:*",
        "10.0.0.0/8:22",
        "0.0.0.0/0:443",
        "169.254.0.0/16:80",
        "100.100.100.200:80",
        "udp:192.168.0.1:53",
        "[64:ff9b::a00:0/104]:22",
        "localhost:3000",
    ]);
    let dial = |protocol, text: &str, port| {
        let said = network.may_dial(protocol, address(text), port, &Nearby::default());
        said.map_err(|special| special.to_string())
    };
    for (text, port) in [
        ("203.0.113.1", 1),
        ("10.1.2.3", 22),
        ("::ffff:10.1.2.3", 22),
        ("64:ff9b::10.1.2.3", 22),
        ("169.254.1.1", 80),
        ("100.100.100.200", 80),
    ] {
        assert_eq!(dial(Protocol::Tcp, text, port), Ok(()), "{text}:{port}");
    }
    assert_eq!(dial(Protocol::Udp, "192.168.0.1", 53), Ok(()));
    for (text, port) in [
        ("10.1.2.3", 443),
        ("192.168.0.1", 53),
        ("169.254.169.254", 80),
        ("100.100.100.201", 80),
        ("127.0.0.1", 3000),
        ("::1", 443),
        ("64:ff9b::192.168.0.1", 22),
        ("2002:a00:1::1", 22),
    ] {
        assert!(dial(Protocol::Tcp, text, port).is_err(), "{text}:{port}");
    }
}

/// The machine is `203.0.113.5/24` and `2001:db8::5/64`.
#[test]
fn this_machine_and_what_is_beside_it_are_dialled_when_named() {
    let range = |text: &&str| AddressRange::parse(text).expect("a range");
    let own = ["203.0.113.5", "2001:db8::5", "10.0.0.5"];
    let beside = ["203.0.113.0/24", "2001:db8::/64", "10.0.0.0/24"];
    let nearby = Nearby::new(own.iter().map(range), beside.iter().map(range));
    let network = allowing(&[
        "api.example.com:*",
        "0.0.0.0/0:*",
        "[::/0]:*",
        "203.0.113.0/28:22",
        "203.0.0.0/16:23",
        "203.0.113.5:80",
        "10.0.0.0/8:22",
        "10.0.0.5:80",
        "[2001:db8::/64]:22",
        "[2001:db8::5]:80",
    ]);
    let dial = |nearby: &Nearby, text: &str, port| {
        let said = network.may_dial(Protocol::Tcp, address(text), port, nearby);
        said.map_or_else(|special| special.to_string(), |()| "dialled".to_owned())
    };
    let own = ["203.0.113.5", "2001:db8::5", "10.0.0.5"]
        .map(|it| format!("this host's own addresses: {it}"));
    let beside =
        ["203.0.113.0/24", "2001:db8::/64"].map(|it| format!("this host's local network: {it}"));
    for (text, port, said) in [
        ("203.0.114.1", 443, "dialled"),
        ("2001:db8:0:1::1", 443, "dialled"),
        ("203.0.113.7", 443, &beside[0]),
        ("203.0.113.7", 22, "dialled"),
        ("203.0.113.16", 22, &beside[0]),
        ("203.0.113.7", 23, &beside[0]),
        ("203.0.113.5", 22, &own[0]),
        ("203.0.113.5", 80, "dialled"),
        ("::ffff:203.0.113.7", 443, &beside[0]),
        ("2001:db8::7", 443, &beside[1]),
        ("2001:db8::7", 22, "dialled"),
        ("2001:db8::5", 22, &own[1]),
        ("2001:db8::5", 80, "dialled"),
        ("10.0.0.5", 443, &own[2]),
        ("10.0.0.5", 22, &own[2]),
        ("10.0.0.5", 80, "dialled"),
        ("10.0.0.6", 22, "dialled"),
        ("10.0.0.6", 80, "private addresses: 10.0.0.0/8"),
        ("64:ff9b::10.0.0.5", 22, "this host's own addresses: 64:ff9b::a00:5, through NAT64"),
        (
            "64:ff9b::203.0.113.7",
            443,
            "this host's local network: 64:ff9b::cb00:7100/120, through NAT64",
        ),
    ] {
        assert_eq!(dial(&nearby, text, port), said, "{text}:{port}");
    }
    let unread = Nearby::unread();
    for (text, port) in [("198.51.100.1", 443), ("10.0.0.6", 22)] {
        assert!(dial(&unread, text, port).ends_with(&format!("can't be read: {text}")), "{text}");
    }
    assert_eq!(dial(&unread, "203.0.113.5", 80), "dialled");
}

/// What has rules of its own on every machine keeps them on one that has it.
#[test]
fn loopback_and_metadata_are_these_on_a_machine_that_has_them() {
    let own = ["127.0.0.0/8", "127.0.0.1", "::1", "169.254.169.254", "8.0.0.0/6"];
    let own = own.map(|text| AddressRange::parse(text).expect("a range"));
    let nearby = Nearby::new(own, []);
    let special = |text| nearby.special_range(address(text)).expect("a special range");
    assert!(["127.0.0.1", "127.1.2.3", "::1"].into_iter().all(|it| special(it).is_loopback()));
    assert!(special("169.254.169.254").is_metadata());
    assert_eq!(special("10.0.0.1").to_string(), "private addresses: 10.0.0.0/8");
}
