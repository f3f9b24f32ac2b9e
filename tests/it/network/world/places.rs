//! What there is in a world: addresses, names and servers.

use std::path::Path;

use serde_json::{Value, json};

/// The machine on which endow runs, in a private network.
pub(in crate::network) const MACHINE_PRIVATE: &str = "10.88.0.1";
/// The machine on which endow runs, on the link that leads elsewhere.
pub(in crate::network) const MACHINE: [&str; 2] = ["203.0.113.1", "2001:db8::1"];
/// The host that tests allow, `web.example.test`.
pub(in crate::network) const WEB: [&str; 2] = ["203.0.113.10", "2001:db8::10"];
/// A host that tests don't allow, `other.example.test`.
pub(in crate::network) const OTHER: [&str; 2] = ["203.0.113.20", "2001:db8::20"];
/// The DNS server.
pub(in crate::network) const NAMES: &str = "203.0.113.53";
/// A host of the local network, `private.example.test`.
pub(in crate::network) const PRIVATE: [&str; 2] = ["10.77.0.10", "fd77::10"];
/// Where clouds keep the credentials of a machine, `metadata.example.test`.
pub(in crate::network) const METADATA: &str = "169.254.169.254";
/// A host on the machine's own link, at a public address, `neighbour.example.test`.
pub(in crate::network) const NEIGHBOUR: [&str; 2] = ["198.51.100.10", "2001:db8:1::10"];
/// Asked for when all questions before must have been noted.
pub(super) const FENCE: &str = "fence.example.test";

/// Says whether an address with a port is one of [`WEB`].
pub(in crate::network) fn is_web(place: &str) -> bool {
    let [four, six] = WEB;
    let host = place.rsplit_once(':').map_or("", |(host, _)| host);
    host == four || host == format!("[{six}]")
}

/// Says what to make, for `servers/world.py`; its files are below `root`.
pub(super) fn config(root: &Path) -> Value {
    let file = |name: &str| root.join("etc").join(name).display().to_string();
    json!({
        "log": root.join("seen"),
        "files": {
            file("resolv.conf"): "/etc/resolv.conf",
            file("hosts"): "/etc/hosts",
            file("nsswitch.conf"): "/etc/nsswitch.conf",
        },
        "machine": {
            "settings": { "ipv4/ping_group_range": own_group() },
            "network": network("machine0", &MACHINE, &machine_addresses()),
            "servers": machine(root),
        },
        "elsewhere": {
            "settings": { "ipv4/tcp_fastopen": "3" },
            "network": network("elsewhere0", &[], &elsewhere_addresses()),
            "servers": elsewhere(root),
        },
    })
}

/// Who may send echo requests: as on most distributions, everybody.
fn own_group() -> String {
    let group = rustix::process::getgid().as_raw();
    format!("{group} {group}")
}

/// Lines for `ip -batch`; the machine's link is its way to everywhere.
fn network(link: &str, own: &[&str], addresses: &[&str]) -> Vec<String> {
    let mut lines = vec!["link set lo up".to_owned(), format!("link set {link} up")];
    for address in addresses {
        let at_once = if address.contains(':') { " nodad" } else { "" };
        lines.push(format!("addr add {address} dev {link}{at_once}"));
    }
    if !own.is_empty() {
        lines.extend(["default", "::/0"].map(|it| format!("route add {it} dev {link}")));
    }
    lines
}

/// All are on the other side of one link; beside the machine is what it shares a prefix with.
fn machine_addresses() -> [&'static str; 5] {
    ["203.0.113.1/32", "2001:db8::1/128", "10.88.0.1/32", "198.51.100.1/24", "2001:db8:1::1/64"]
}

fn elsewhere_addresses() -> [&'static str; 10] {
    [
        "203.0.113.10/24",
        "2001:db8::10/64",
        "203.0.113.20/24",
        "2001:db8::20/64",
        "203.0.113.53/24",
        "198.51.100.10/24",
        "2001:db8:1::10/64",
        "10.77.0.10/24",
        "fd77::10/64",
        "169.254.169.254/16",
    ]
}

/// Services of the machine itself; on 443 what a name could be bound to later.
fn machine(root: &Path) -> Vec<Value> {
    let [four, six] = MACHINE;
    let hosts = ["127.0.0.1", "::1", four, six, MACHINE_PRIVATE];
    let plain = hosts.map(|host| server("http", host, 8080));
    let secured = ["127.0.0.1", "::1"].map(|host| https(host, 443, root));
    plain.into_iter().chain(secured).collect()
}

fn elsewhere(root: &Path) -> Vec<Value> {
    let mut servers = vec![json!({ "kind": "dns", "host": NAMES, "port": 53, "zone": zone() })];
    servers.extend(WEB.iter().flat_map(|host| web(host, root)));
    for host in OTHER.iter().chain(&PRIVATE).chain(&NEIGHBOUR).chain([&METADATA]) {
        servers.extend([https(host, 443, root), server("http", host, 80)]);
        servers.extend([server("echo", host, 7), server("datagrams", host, 7)]);
    }
    servers
}

fn web(host: &str, root: &Path) -> Vec<Value> {
    let plain = [
        ("http", 80),
        ("echo", 7),
        ("digest", 9),
        ("source", 19),
        ("hold", 4),
        ("dies", 5),
        ("once", 6),
    ];
    let mut servers: Vec<Value> = plain.map(|(kind, port)| server(kind, host, port)).into();
    servers.extend([443, 8443].map(|port| https(host, port, root)));
    servers.extend([7, 443].map(|port| server("datagrams", host, port)));
    for (port, pause) in [(8, 0.0), (10, 0.001)] {
        servers.push(json!({ "kind": "counted", "host": host, "port": port, "pause": pause }));
    }
    let config = root.join("ssh/sshd_config");
    servers.push(json!({ "kind": "ssh", "host": host, "port": 2222, "config": config }));
    servers
}

fn server(kind: &str, host: &str, port: u16) -> Value {
    json!({ "kind": kind, "host": host, "port": port })
}

fn https(host: &str, port: u16, root: &Path) -> Value {
    let (keys, git) = (root.join("keys"), root.join("git"));
    json!({ "kind": "http", "host": host, "port": port, "keys": keys, "git": git })
}

/// What the DNS server answers; a list of lists is one list a query.
fn zone() -> Value {
    let [web, web_6] = WEB;
    json!({
        "example.test": { "A": [web] },
        "web.example.test": { "A": [web], "AAAA": [web_6] },
        "four.example.test": { "A": [web] },
        "six.example.test": { "AAAA": [web_6] },
        "below.web.example.test": { "A": [web] },
        "other.example.test": { "A": [OTHER[0]], "AAAA": [OTHER[1]] },
        "to-web.example.test": { "CNAME": "web.example.test" },
        "to-other.example.test": { "CNAME": "other.example.test" },
        "to-private.example.test": { "CNAME": "private.example.test" },
        // The first letter after `w` is Cyrillic: w\u{435}b.
        "xn--wb-nlc.example.test": { "A": [OTHER[0]] },
        "private.example.test": { "A": [PRIVATE[0]], "AAAA": [PRIVATE[1]] },
        "neighbour.example.test": { "A": [NEIGHBOUR[0]], "AAAA": [NEIGHBOUR[1]] },
        "machine.example.test": { "A": [MACHINE[0]], "AAAA": [MACHINE[1]] },
        "metadata.example.test": { "A": [METADATA] },
        "loopback.example.test": { "A": ["127.0.0.1"], "AAAA": ["::1"] },
        "mapped.example.test": { "AAAA": ["::ffff:127.0.0.1"] },
        "unspecified.example.test": { "A": ["0.0.0.0"], "AAAA": ["::"] },
        "rebound-loopback.example.test": { "A": [[web], ["127.0.0.1"]] },
        "rebound-private.example.test": { "A": [[web], [PRIVATE[0]]] },
        "rebound-metadata.example.test": { "A": [[web], [METADATA]] },
        "mixed.example.test": { "A": [PRIVATE[0], web] },
        "nothing.example.test": {},
        "gone.example.test": { "A": ["203.0.113.99"] },
        "broken.example.test": { "rcode": 2 },
        "slow.example.test": { "A": [web], "delay": 0.5 },
        "long.example.test": { "A": [web], "truncated": true },
        FENCE: { "A": [web] },
        "*.attacker.example": { "A": [OTHER[0]], "TXT": ["orders"] },
    })
}
