//! What to write in place of a word that can't be used.

use core::net::Ipv6Addr;

use super::ports::HTTPS;
use super::word::{nearest_mode, read};
use super::{AddressRange, AddressRangeError, HostNameError, HostPattern, Registry, WordFault};
use crate::nearest::did_you_mean;
use crate::port::port;

/// Says what to write in place of a word.
pub(super) fn hint(word: &str, fault: WordFault) -> Option<String> {
    match fault {
        WordFault::LikeMode => Some(like_mode(word)),
        WordFault::Url | WordFault::Path | WordFault::User => Some(bare_host(word)),
        WordFault::Port | WordFault::PortRange => {
            Some("write `HOST:443`, `HOST:80,443`, or `HOST:*` for any port".to_owned())
        }
        WordFault::AnyHost => {
            Some("`--net host` is the whole network, `*.example.com` all below a name".to_owned())
        }
        WordFault::Star => Some("write `*.example.com` for all below a name".to_owned()),
        WordFault::BareV6 => bare_v6(word.strip_prefix("udp:").unwrap_or(word)),
        WordFault::Brackets => Some(brackets(word)),
        WordFault::LoopbackPorts | WordFault::LoopbackAddress => {
            Some("write `localhost:PORT`; inside, the loopback is the sandbox's own".to_owned())
        }
        WordFault::Registry => Some(registry(word)),
        WordFault::RegistryPorts => Some("write `registry:npm`".to_owned()),
        WordFault::Publish => {
            Some("write `PORT`, `HOST_PORT:PORT` or `ADDRESS:HOST_PORT:PORT`".to_owned())
        }
        WordFault::PublishAddress => {
            Some("write `127.0.0.1:8080:3000`, or `0.0.0.0:8080:3000` for all of them".to_owned())
        }
        WordFault::Range(AddressRangeError::HostBits { right }) => Some(host_bits(word, right)),
        WordFault::Name(HostNameError::Number) => {
            Some("write an address as four decimal numbers, such as `192.0.2.1`".to_owned())
        }
        WordFault::Name(HostNameError::Character('!')) => {
            Some("`!` takes an entry back in a policy file; `--net none` takes all back".to_owned())
        }
        WordFault::ThisHost | WordFault::Range(_) | WordFault::Name(_) => None,
    }
}

fn like_mode(word: &str) -> String {
    match nearest_mode(word) {
        Some(mode) if mode == word => {
            format!("`{word}` is a mode: `mode = \"{word}\"`; the host is `{word}:{HTTPS}`")
        }
        mode => {
            format!("did you mean `{}`; the host is `{word}:{HTTPS}`", mode.unwrap_or_default())
        }
    }
}

/// Takes scheme, user and path away.
fn bare_host(word: &str) -> String {
    let word = word.strip_prefix("udp:").unwrap_or(word);
    let (scheme, rest) = word.split_once("://").unwrap_or(("", word));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    match read(host) {
        Ok(_) if scheme == "http" && !host.contains(':') => format!("write `{host}:80`"),
        Ok(rule) => format!("write `{rule}`"),
        Err(_) => "write HOST[:PORT]".to_owned(),
    }
}

/// Returns what to write for an IPv6 address without brackets; `None` when there is none. `a::b:1`
/// is an address, and one with a port.
pub(super) fn bare_v6(word: &str) -> Option<String> {
    let (address, rest) = word.split_once('/').map_or((word, None), |(a, rest)| (a, Some(rest)));
    let is_v6 = |text: &str| text.parse::<Ipv6Addr>().is_ok();
    if let Some(rest) = rest.filter(|_| is_v6(address)) {
        let (prefix, ports) = rest.split_once(':').unwrap_or((rest, "443"));
        return Some(format!("write `[{address}/{prefix}]:{ports}`"));
    }
    let split = word.rsplit_once(':').filter(|(host, _)| is_v6(host));
    let with_port = split.map(|(host, ports)| format!("`[{host}]:{ports}`"));
    let alone = is_v6(word).then(|| format!("`[{word}]:{HTTPS}`"));
    let right = [with_port, alone].into_iter().flatten().collect::<Vec<_>>();
    (!right.is_empty()).then(|| format!("write {}", right.join(" or ")))
}

/// Takes brackets away from what needs none, and draws a prefix into them.
fn brackets(word: &str) -> String {
    let known = || {
        let (inside, behind) = word.strip_prefix('[')?.split_once(']')?;
        let (prefix, ports) = behind.split_once(':').unwrap_or((behind, "443"));
        let prefix = Some(prefix).filter(|it| it.is_empty() || it.starts_with('/'))?;
        let range = AddressRange::parse(&format!("{inside}{prefix}")).ok()?;
        let all = ports.split(',').all(|it| port(it).is_some());
        all.then(|| format!("write `{}:{ports}`", HostPattern::Range(range)))
    };
    known().unwrap_or_else(|| "write `[fd00::1]:443` or `[fd00::/8]:443`".to_owned())
}

fn registry(word: &str) -> String {
    let name = word.rsplit(':').next().unwrap_or_default();
    let known: Vec<&str> = Registry::ALL.iter().map(|registry| registry.word()).collect();
    did_you_mean(name, &known)
}

fn host_bits(word: &str, right: AddressRange) -> String {
    let udp = if word.starts_with("udp:") { "udp:" } else { "" };
    let behind = word.rsplit_once(']').map_or(word, |(_, behind)| behind);
    let ports = behind.strip_prefix(udp).unwrap_or(behind).split_once(':');
    let ports = ports.map_or("443", |(_, ports)| ports);
    format!("write `{udp}{}:{ports}`", HostPattern::Range(right))
}
