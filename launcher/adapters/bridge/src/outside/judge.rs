//! Which URLs are opened.

use core::net::IpAddr;

use endow_policy::{Bridge, HostPattern, HostRule, Nearby, Protocol, special_range};

use super::url::{Host, WebUrl};

/// Ends of names that are given out by local networks and by machines to themselves, not by the
/// internet's registries; below `arpa` are the names of addresses.
const LOCAL_ENDS: &[&str] = &[
    "arpa",
    "corp",
    "dhcp",
    "domain",
    "home",
    "internal",
    "intranet",
    "lan",
    "local",
    "localdomain",
    "localdomain4",
    "localdomain6",
    "localnet",
    "private",
    "test",
    "workgroup",
];

/// Which hosts the user's browser may be sent to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hosts {
    /// Every host of the internet.
    any: bool,
    /// These.
    rules: Vec<HostRule>,
    /// What is this machine, or beside it.
    nearby: Nearby,
}

impl Hosts {
    /// Collects what bridges say of it.
    pub(crate) fn of(open: &[Bridge], nearby: Nearby) -> Self {
        let rules = open.iter().filter_map(|bridge| match bridge {
            Bridge::Browser(Some(rule)) => Some(rule.clone()),
            _ => None,
        });
        let rules: Vec<HostRule> = rules.collect();
        Self { any: open.contains(&Bridge::Browser(None)), rules, nearby }
    }

    /// Takes note of what is near now.
    pub(crate) fn surround(&mut self, nearby: Nearby) {
        self.nearby = nearby;
    }

    /// Returns whether a URL may be opened; otherwise why not.
    pub(crate) fn judge(&self, url: &WebUrl<'_>) -> Result<(), &'static str> {
        if self.rules.iter().any(|rule| self.is_of(rule, url)) {
            return Ok(());
        }
        match &url.host {
            Host::Loopback => {
                Err("the machine's own services are opened by `browser:localhost:PORT` only")
            }
            _ if !self.any => Err("this host is not among those that may be opened"),
            Host::Address(address) if special_range(*address).is_some() => {
                Err("this address is no internet's: it is opened by `browser:ADDRESS:PORT` only")
            }
            Host::Address(address) if self.nearby.special_range(*address).is_some() => {
                Err("this address is the machine's own or its local network's: it is opened by \
                     `browser:ADDRESS:PORT` only")
            }
            Host::Name(name) if is_local(name.as_str()) => {
                Err("this name is a local network's: it is opened by `browser:HOST:PORT` only")
            }
            Host::Address(_) | Host::Name(_) => Ok(()),
        }
    }

    fn is_of(&self, rule: &HostRule, url: &WebUrl<'_>) -> bool {
        let is_host = match &url.host {
            Host::Loopback => rule.host == HostPattern::Loopback,
            Host::Name(name) => rule.host.matches_name(name),
            Host::Address(address) => self.names(rule, *address),
        };
        is_host && rule.is_for(Protocol::Tcp, url.port)
    }

    /// Special addresses are named narrowly, as for a network.
    fn names(&self, rule: &HostRule, address: IpAddr) -> bool {
        match self.nearby.special_range(address) {
            None => rule.host.contains(address),
            Some(special) => rule.host.contains_special(address, &special),
        }
    }
}

fn is_local(name: &str) -> bool {
    let ends = |end: &&str| name.strip_suffix(*end).is_some_and(|it| it.ends_with('.'));
    !name.contains('.') || LOCAL_ENDS.contains(&name) || LOCAL_ENDS.iter().any(ends)
}

#[cfg(test)]
mod tests {
    use endow_policy::AddressRange;

    use super::*;

    fn hosts(open: &[&str], nearby: Nearby) -> Hosts {
        let open: Vec<Bridge> = open.iter().map(|word| Bridge::parse(word).expect(word)).collect();
        Hosts::of(&open, nearby)
    }

    fn judged(open: &[&str], url: &str) -> bool {
        let url = WebUrl::parse(url).expect(url);
        hosts(open, Nearby::default()).judge(&url).is_ok()
    }

    /// A machine at 9.9.9.2 and 2a01:db8::2, each in a network of its own.
    fn machine() -> Nearby {
        let ranges = |texts: [&str; 2]| texts.map(|it| AddressRange::parse(it).expect("a range"));
        Nearby::new(ranges(["9.9.9.2", "2a01:db8::2"]), ranges(["9.9.9.0/24", "2a01:db8::/64"]))
    }

    #[test]
    fn any_host_is_one_of_the_internet() {
        for url in [
            "https://a.example",
            "http://a.example:8080/",
            "http://8.8.8.8",
            "https://x.localhost.example",
        ] {
            assert!(judged(&["browser"], url), "{url}");
        }
        for url in [
            "http://localhost:3000",
            "http://x.localhost",
            "http://127.0.0.1",
            "http://[::1]",
            "http://127.0.0.2",
            "http://0.0.0.0",
            "http://10.0.0.1",
            "http://192.168.1.1/",
            "http://169.254.169.254/latest",
            "http://[fe80::1]",
            "http://[fd00::1]",
            "http://[::ffff:10.0.0.1]",
            "http://router",
            "http://nas.local",
            "http://wiki.corp",
            "http://metadata.google.internal",
            "http://localhost.localdomain:8080",
            "http://localhost4.localdomain4",
            "http://localhost6.localdomain6",
            "http://LOCALHOST.LocalDomain.",
            "http://localdomain",
            "http://x.y.localdomain",
            "http://printer.home.arpa",
            "http://1.0.0.127.in-addr.arpa",
            "http://ip6-localhost",
            "http://wiki.private",
            "http://site.test",
        ] {
            assert!(!judged(&["browser"], url), "{url}");
        }
    }

    #[test]
    fn what_is_near_is_not_of_the_internet() {
        let at = |open: &[&str], nearby: Nearby, url| {
            hosts(open, nearby).judge(&WebUrl::parse(url).expect(url)).is_ok()
        };
        for url in [
            "http://9.9.9.2:8080/",
            "http://9.9.9.1/",
            "http://[::ffff:9.9.9.2]/",
            "http://[64:ff9b::909:902]/",
            "http://[2a01:db8::2]/",
            "http://[2a01:db8::7]/",
        ] {
            assert!(!at(&["browser"], machine(), url), "{url}");
            assert!(!at(&["browser", "browser:0.0.0.0/0:*", "browser:[::/0]:*"], machine(), url));
        }
        assert!(at(&["browser"], machine(), "http://9.9.8.1"));
        assert!(at(&["browser:9.9.9.2:8080"], machine(), "http://9.9.9.2:8080/"));
        assert!(at(&["browser:9.9.9.0/24:80"], machine(), "http://9.9.9.1/"));
        assert!(!at(&["browser"], Nearby::unread(), "http://9.9.8.1"), "nobody knows");
        assert!(at(&["browser"], Nearby::unread(), "https://a.example"));
        let mut moved = hosts(&["browser"], Nearby::default());
        let url = WebUrl::parse("http://9.9.9.2").expect("a URL");
        assert!(moved.judge(&url).is_ok());
        moved.surround(machine());
        assert!(moved.judge(&url).is_err());
    }

    #[test]
    fn wide_range_is_of_the_internet() {
        let open = ["browser:0.0.0.0/0:*"];
        assert!(judged(&open, "http://8.8.8.8"));
        assert!(!judged(&open, "http://10.0.0.1"));
        assert!(judged(&["browser:10.0.0.0/8:*"], "http://10.0.0.1"));
    }

    #[test]
    fn hosts_that_are_named_are_all() {
        let open = [
            "browser:a.example",
            "browser:*.b.example:*",
            "browser:localhost:3000",
            "browser:10.0.0.1:80",
        ];
        for url in [
            "https://a.example/x",
            "http://x.b.example",
            "http://localhost:3000",
            "http://10.0.0.1/",
        ] {
            assert!(judged(&open, url), "{url}");
        }
        for url in
            ["http://a.example", "https://b.example", "https://c.example", "http://localhost:3001"]
        {
            assert!(!judged(&open, url), "{url}");
        }
        assert!(judged(&["browser", "browser:localhost:3000"], "http://127.0.0.1:3000"));
        assert!(judged(&["browser", "browser:localhost:3000"], "https://c.example"));
        assert!(!judged(&["notify"], "https://a.example"));
    }
}
