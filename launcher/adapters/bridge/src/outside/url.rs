//! URLs of the web, read as narrowly as they are written by programs. What browsers would forgive is
//! refused: two readers of a URL must never see two hosts in it.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use endow_policy::HostName;

/// The most bytes of a URL; servers rarely take more.
const LENGTH_MAX: usize = 8 << 10;
/// Characters beside letters and digits that a URL may have (RFC 3986), the percent sign with them.
const MARKS: &str = "-._~:/?#[]@!$&'()*+,;=%";
/// The names of the host's own loopback.
const LOOPBACK: &str = "localhost";

/// A URL whose host is certain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebUrl<'a> {
    /// All of it.
    pub(crate) text: &'a str,
    /// Who is asked for it.
    pub(crate) host: Host,
    /// The port, written or not.
    pub(crate) port: u16,
    /// What stands before a question mark or a number sign: it names the place without its details.
    pub(crate) place: &'a str,
}

/// Whose name or address stands in a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// The loopback of the machine on which the browser runs.
    Loopback,
    /// A name.
    Name(HostName),
    /// An address.
    Address(IpAddr),
}

/// Why a text is no such URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UrlFault {
    /// It is too long.
    #[error("the URL is longer than {LENGTH_MAX} bytes")]
    TooLong,
    /// Another scheme, or none.
    #[error("only URLs that begin with https:// or http:// are opened")]
    Scheme,
    /// A character that no URL has.
    #[error("the URL has a character that none has")]
    Character,
    /// A user or a password.
    #[error("the URL has a user's name in it")]
    User,
    /// The host is not written plainly.
    #[error("the URL's host is no plain name or address")]
    Host,
    /// The port is none.
    #[error("the URL's port is none")]
    Port,
}

impl<'a> WebUrl<'a> {
    /// Reads a URL.
    pub(crate) fn parse(text: &'a str) -> Result<Self, UrlFault> {
        if text.len() > LENGTH_MAX {
            return Err(UrlFault::TooLong);
        }
        let (rest, usual) = after_scheme(text)?;
        if !text.chars().all(|it| it.is_ascii_alphanumeric() || MARKS.contains(it)) {
            return Err(UrlFault::Character);
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(UrlFault::User);
        }
        let (host, port) = split(authority)?;
        let port = match port {
            None => usual,
            Some(port) => read_port(port).ok_or(UrlFault::Port)?,
        };
        let place = text.split(['?', '#']).next().unwrap_or_default();
        Ok(Self { text, host, port, place })
    }
}

fn after_scheme(text: &str) -> Result<(&str, u16), UrlFault> {
    if let Some(rest) = text.strip_prefix("https://") {
        return Ok((rest, 443));
    }
    text.strip_prefix("http://").map(|rest| (rest, 80)).ok_or(UrlFault::Scheme)
}

fn split(authority: &str) -> Result<(Host, Option<&str>), UrlFault> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (address, after) = rest.split_once(']').ok_or(UrlFault::Host)?;
        let address: Ipv6Addr = address.parse().map_err(|_| UrlFault::Host)?;
        let port = if after.is_empty() { None } else { after.strip_prefix(':') };
        return match (after.is_empty(), port) {
            (false, None) => Err(UrlFault::Host),
            _ => Ok((of_address(IpAddr::V6(address)), port)),
        };
    }
    let (host, port) =
        authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        return Ok((of_address(IpAddr::V4(address)), port));
    }
    let name = HostName::parse(host).map_err(|_| UrlFault::Host)?;
    Ok((of_name(name), port))
}

fn of_address(address: IpAddr) -> Host {
    let plain = address.to_canonical();
    if plain == Ipv4Addr::LOCALHOST || plain == Ipv6Addr::LOCALHOST {
        Host::Loopback
    } else {
        Host::Address(plain)
    }
}

fn of_name(name: HostName) -> Host {
    let text = name.as_str();
    let below = text.strip_suffix(LOOPBACK).is_some_and(|it| it.is_empty() || it.ends_with('.'));
    if below { Host::Loopback } else { Host::Name(name) }
}

fn read_port(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port != 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(text: &str) -> Host {
        Host::Name(HostName::parse(text).expect("a name"))
    }

    #[test]
    fn plain_urls_are_read() {
        let address = |text: &str| Host::Address(text.parse().expect("an address"));
        for (text, host, port) in [
            ("https://a.example", name("a.example"), 443),
            ("http://a.example/x?y#z", name("a.example"), 80),
            ("https://a.example:8443/", name("a.example"), 8443),
            ("https://A.example?x=@", name("a.example"), 443),
            ("https://xn--bcher-kva.example/", name("xn--bcher-kva.example"), 443),
            ("http://192.0.2.1:80", address("192.0.2.1"), 80),
            ("http://[2001:db8::1]:80/", address("2001:db8::1"), 80),
            ("http://[::ffff:192.0.2.1]", address("192.0.2.1"), 80),
            ("http://localhost:3000/x", Host::Loopback, 3000),
            ("http://x.localhost", Host::Loopback, 80),
            ("http://LOCALHOST.", Host::Loopback, 80),
            ("http://127.0.0.1", Host::Loopback, 80),
            ("http://[::1]:1", Host::Loopback, 1),
            ("http://[::ffff:127.0.0.1]", Host::Loopback, 80),
        ] {
            let url = WebUrl::parse(text).expect(text);
            assert_eq!((&url.host, url.port), (&host, port), "{text}");
        }
    }

    /// What one program reads as one host and a browser as another.
    #[test]
    fn what_browsers_forgive_is_refused() {
        for (text, fault) in [
            ("", UrlFault::Scheme),
            ("-a", UrlFault::Scheme),
            ("a.example", UrlFault::Scheme),
            ("//a.example", UrlFault::Scheme),
            ("file:///etc/passwd", UrlFault::Scheme),
            ("javascript:alert(1)", UrlFault::Scheme),
            ("HTTPS://a.example", UrlFault::Scheme),
            (" https://a.example", UrlFault::Scheme),
            ("https:/a.example", UrlFault::Scheme),
            ("https:\\\\a.example", UrlFault::Scheme),
            ("https://a.example\\@b.example", UrlFault::Character),
            ("https://a.example/\n--flag", UrlFault::Character),
            ("https://a.example/ x", UrlFault::Character),
            ("https://a.example/`id`", UrlFault::Character),
            ("https://a.example/\u{202e}", UrlFault::Character),
            ("https://b\u{fc}cher.example", UrlFault::Character),
            ("https://a.example@b.example", UrlFault::User),
            ("https://a:b@c.example", UrlFault::User),
            ("https://", UrlFault::Host),
            ("https:///etc/passwd", UrlFault::Host),
            ("https://?x", UrlFault::Host),
            ("https://127.1", UrlFault::Host),
            ("https://0x7f.1", UrlFault::Host),
            ("https://2130706433", UrlFault::Host),
            ("https://127.0.0.1.", UrlFault::Host),
            ("https://%6cocalhost", UrlFault::Host),
            ("https://a..example", UrlFault::Host),
            ("https://[::1", UrlFault::Host),
            ("https://[::1]x", UrlFault::Host),
            ("https://[fe80::1%25eth0]", UrlFault::Host),
            ("https://a.example:", UrlFault::Port),
            ("https://a.example:0", UrlFault::Port),
            ("https://a.example:+80", UrlFault::Port),
            ("https://a.example:65536", UrlFault::Port),
            ("https://a.example:80:80", UrlFault::Port),
        ] {
            assert_eq!(WebUrl::parse(text).expect_err(text), fault, "{text}");
        }
        let long = format!("https://a.example/{}", "x".repeat(LENGTH_MAX));
        assert_eq!(WebUrl::parse(&long), Err(UrlFault::TooLong));
    }

    #[test]
    fn details_are_no_part_of_the_place() {
        let url = WebUrl::parse("https://a.example/x?token=1#y").expect("a URL");
        assert_eq!(url.place, "https://a.example/x");
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(?s).{0,80}") {
            drop(WebUrl::parse(&text));
        }

        /// Whatever stands behind the host, it stays the host.
        #[test]
        fn host_is_what_stands_before_the_path(rest in "[!-~]{0,40}") {
            let text = format!("https://a.example/{rest}");
            if let Ok(url) = WebUrl::parse(&text) {
                prop_assert_eq!(url.host, name("a.example"));
                prop_assert!(!url.text.contains(['\\', '"', '`', '<', '>', ' ']));
            }
        }

        #[test]
        fn text_that_is_read_begins_with_its_host(text in "https?://[a-z0-9.:@\\[\\]/?#%-]{1,40}") {
            if let Ok(url) = WebUrl::parse(&text) {
                let after = text.split_once("://").expect("a scheme").1;
                match url.host {
                    Host::Name(name) => prop_assert!(after.starts_with(name.as_str())),
                    Host::Address(_) | Host::Loopback => {}
                }
            }
        }
    }
}
