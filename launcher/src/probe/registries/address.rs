//! The address of a registry, and the host in it.

use core::net::IpAddr;

use endow_policy::{AddressRange, HostName, HostPattern, HostRule, Ports, Protocol};

use crate::plan::registries::RegistryFault;

/// An address, and where it is configured. The address may hold a password: it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// The file or variable, or the program that reported it.
    pub(super) place: String,
    /// The address, as it is written there.
    pub(super) address: String,
}

/// Something that is no address of a registry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotAnAddress;

impl Named {
    /// Takes an address from a place.
    pub(super) fn new(place: impl ToString, address: impl Into<String>) -> Self {
        Self { place: place.to_string(), address: address.into() }
    }
}

/// Returns the hosts of addresses, each once.
pub(super) fn rules(named: &[Named]) -> Result<Vec<HostRule>, RegistryFault> {
    let mut rules = Vec::new();
    for Named { place, address } in named {
        let no_address = |NotAnAddress| RegistryFault::NoAddress { place: place.clone() };
        let rule = rule(address).map_err(no_address)?;
        rules.extend(rule.filter(|rule| !rules.contains(rule)));
    }
    if rules.is_empty() { Err(RegistryFault::NoHost) } else { Ok(rules) }
}

/// Returns the host and port of an address; `None` for one that lies on this machine's disks.
pub(super) fn rule(address: &str) -> Result<Option<HostRule>, NotAnAddress> {
    // Programs differ in what they make of these, and so in which host they would ask.
    if address.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err(NotAnAddress);
    }
    let Some((scheme, rest)) = address.split_once("://") else { return on_disk(address) };
    let port = match known_scheme(scheme) {
        Some("https") => 443,
        Some("http") => 80,
        Some("ssh") => 22,
        Some("file") => return Ok(None),
        _ => return Err(NotAnAddress),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    place_rule(place, port).map(Some)
}

/// A path has no scheme; `file:` may do without slashes.
fn on_disk(address: &str) -> Result<Option<HostRule>, NotAnAddress> {
    let has_scheme = address.split('/').next().is_some_and(|first| first.contains(':'));
    let is_file = address.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:"));
    if has_scheme && !is_file { Err(NotAnAddress) } else { Ok(None) }
}

/// Takes away what cargo and git put before the scheme, to say how they speak.
fn known_scheme(scheme: &str) -> Option<&'static str> {
    let (_, bare) = scheme.rsplit_once('+').unwrap_or(("", scheme));
    let known = ["https", "http", "ssh", "file"];
    known.into_iter().find(|known| known.eq_ignore_ascii_case(bare))
}

fn place_rule(place: &str, default: u16) -> Result<HostRule, NotAnAddress> {
    let (host, behind) = match place.strip_prefix('[') {
        Some(inside) => inside.split_once(']').ok_or(NotAnAddress)?,
        None => place.split_at(place.find(':').unwrap_or(place.len())),
    };
    let port = match behind.strip_prefix(':') {
        Some("") => default,
        Some(port) => number(port).ok_or(NotAnAddress)?,
        None if behind.is_empty() => default,
        None => return Err(NotAnAddress),
    };
    let host = pattern(host, place.starts_with('['))?;
    Ok(HostRule { protocol: Protocol::Tcp, host, ports: Ports::one(port) })
}

fn number(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port != 0)
}

/// The loopback is the host's, where a mirror may run.
fn pattern(host: &str, is_v6: bool) -> Result<HostPattern, NotAnAddress> {
    if let Ok(address) = host.parse::<IpAddr>() {
        if address.is_ipv6() != is_v6 {
            return Err(NotAnAddress);
        }
        let loopback = address.to_canonical().is_loopback();
        let range = HostPattern::Range(AddressRange::one(address));
        return Ok(if loopback { HostPattern::Loopback } else { range });
    }
    let name = HostName::parse(host).map_err(|_| NotAnAddress)?;
    Ok(if name.is_loopback() { HostPattern::Loopback } else { HostPattern::Name(name) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: &str, expected: &str) {
        let said = match rule(address) {
            Ok(Some(rule)) => rule.to_string(),
            Ok(None) => "on disk".to_owned(),
            Err(NotAnAddress) => "not an address".to_owned(),
        };
        assert_eq!(said, expected, "{address}");
    }

    #[test]
    fn host_and_port_of_an_address() {
        check("https://npm.example.com/", "npm.example.com:443");
        check("http://npm.example.com", "npm.example.com:80");
        check("HTTPS://NPM.Example.COM:8443/a/b?c#d", "npm.example.com:8443");
        check("https://npm.example.com:/x", "npm.example.com:443");
        check("sparse+https://index.example.com/", "index.example.com:443");
        check("ssh://git@index.example.com/index", "index.example.com:22");
        check("git+ssh://index.example.com:2222/index", "index.example.com:2222");
        check("https://bücher.example/", "xn--bcher-kva.example:443");
        check("http://192.0.2.7:4873/", "192.0.2.7:4873");
        check("http://[2001:db8::7]/", "[2001:db8::7]:80");
        check("https://files.example.com?x@evil.example", "files.example.com:443");
    }

    #[test]
    fn own_loopback_is_the_hosts() {
        check("http://localhost:4873/", "localhost:4873");
        check("http://127.0.0.1:4873/", "localhost:4873");
        check("http://[::1]:4873/", "localhost:4873");
        check("http://npm.localhost/", "localhost:80");
    }

    #[test]
    fn user_and_password_are_left_out() {
        check("https://user:pass@npm.example.com/", "npm.example.com:443");
        check("https://user:p@ss@npm.example.com:81/", "npm.example.com:81");
        check("https://npm.example.com@evil.example/", "evil.example:443");
    }

    #[test]
    fn what_lies_on_disk_needs_no_host() {
        for address in ["file:///srv/index", "file:x", "/srv/index", "../index", "index", ""] {
            check(address, "on disk");
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for address in [
            "https://",
            "https:///path",
            "https://npm.example.com:0/",
            "https://npm.example.com:65536/",
            "https://npm.example.com:+1/",
            "https://npm.example.com:80:81/",
            "https://npm.example.com\\@evil.example/",
            "https://npm.exa mple.com/",
            "https://npm.example.com\n.evil.example/",
            "https://npm.example.com\0/",
            "https://%65vil.example/",
            "https://${HOST}/",
            "https://{crate}.example.com/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://[2001:db8::7/",
            "https://[192.0.2.7]/",
            "https://[2001:db8::7]x/",
            "https://2001:db8::7/",
            "https://*.example.com/",
            "https:npm.example.com",
            "gopher://npm.example.com/",
            "user@host:path/x",
        ] {
            check(address, "not an address");
        }
    }

    #[test]
    fn no_host_at_all_is_a_fault() {
        let rules = |addresses: &[&str]| {
            let named: Vec<Named> =
                addresses.iter().map(|address| Named::new("a file", *address)).collect();
            rules(&named).map(|rules| rules.len())
        };
        assert_eq!(rules(&[]), Err(RegistryFault::NoHost));
        assert_eq!(rules(&["/srv/index"]), Err(RegistryFault::NoHost));
        let twice = ["https://a.example/x", "/srv/index", "https://a.example/y"];
        assert_eq!(rules(&twice), Ok(1));
        let fault = RegistryFault::NoAddress { place: "a file".to_owned() };
        assert_eq!(rules(&["https://a.example", "https://secret@"]), Err(fault));
    }
}
