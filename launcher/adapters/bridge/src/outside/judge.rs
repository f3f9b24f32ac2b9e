//! Which URLs are opened.

use endow_policy::{Bridge, HostPattern, HostRule, Protocol, special_range};

use super::url::{Host, WebUrl};

/// Ends of names that are given out by local networks, not by the internet's registries.
const LOCAL_ENDS: &[&str] = &["local", "internal", "intranet", "lan", "home", "corp", "home.arpa"];

/// Which hosts the user's browser may be sent to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hosts {
    /// Every host of the internet.
    any: bool,
    /// These.
    rules: Vec<HostRule>,
}

impl Hosts {
    /// Collects what bridges say of it.
    pub(crate) fn of(open: &[Bridge]) -> Self {
        let rules = open.iter().filter_map(|bridge| match bridge {
            Bridge::Browser(Some(rule)) => Some(rule.clone()),
            _ => None,
        });
        let rules: Vec<HostRule> = rules.collect();
        Self { any: open.contains(&Bridge::Browser(None)), rules }
    }

    /// Returns whether a URL may be opened; otherwise why not.
    pub(crate) fn judge(&self, url: &WebUrl<'_>) -> Result<(), &'static str> {
        if self.rules.iter().any(|rule| is_of(rule, url)) {
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
            Host::Name(name) if is_local(name.as_str()) => {
                Err("this name is a local network's: it is opened by `browser:HOST:PORT` only")
            }
            Host::Address(_) | Host::Name(_) => Ok(()),
        }
    }
}

fn is_of(rule: &HostRule, url: &WebUrl<'_>) -> bool {
    let is_host = match &url.host {
        Host::Loopback => rule.host == HostPattern::Loopback,
        Host::Name(name) => rule.host.matches_name(name),
        Host::Address(address) => rule.host.contains(*address),
    };
    is_host && rule.is_for(Protocol::Tcp, url.port)
}

fn is_local(name: &str) -> bool {
    let ends = |end: &&str| name.strip_suffix(*end).is_some_and(|it| it.ends_with('.'));
    !name.contains('.') || LOCAL_ENDS.contains(&name) || LOCAL_ENDS.iter().any(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(open: &[&str], url: &str) -> bool {
        let open: Vec<Bridge> = open.iter().map(|word| Bridge::parse(word).expect(word)).collect();
        Hosts::of(&open).judge(&WebUrl::parse(url).expect(url)).is_ok()
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
        ] {
            assert!(!judged(&["browser"], url), "{url}");
        }
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
