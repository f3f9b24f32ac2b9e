//! The words by which hosts are allowed and ports published.

use endow_policy::{HostRule, PublishedPort, WordError};
use insta::assert_snapshot;

/// Renders how each word is read, or why not and what to write.
fn words<T: ToString>(words: &[&str], read: impl Fn(&str) -> Result<T, WordError>) -> String {
    let line = |word: &&str| match read(word) {
        Ok(rule) => format!("{word:?}: {}", rule.to_string()),
        Err(error) => format!("{word:?}: {error} | {}", error.hint.as_deref().unwrap_or("-")),
    };
    words.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn hosts_have_one_spelling() {
    let accepted = [
        "example.com",
        "Example.COM.",
        "example.com:80",
        "example.com:8443,443,443",
        "example.com:*",
        "*.example.com",
        "*.bücher.example:443",
        "intranet",
        "host:443",
        "registry:5000",
        "localhost:3000",
        "LOCALHOST.:3000,3001",
        "10.0.0.5:22",
        "10.0.0.0/8",
        "0.0.0.0/0:443",
        "[fd00::1]:443",
        "[FD00:0::/8]:22,80",
        "[::ffff:10.0.0.5]:22",
        "169.254.169.254:80",
        "udp:time.example.com:123",
        "udp:*.example.com",
        "udp:localhost:5353",
        "udp:[fd00::1]:53",
        "registry:npm",
        "registry:go",
    ];
    assert_snapshot!(words(&accepted, HostRule::parse), @r#"
    "example.com": example.com:443
    "Example.COM.": example.com:443
    "example.com:80": example.com:80
    "example.com:8443,443,443": example.com:443,8443
    "example.com:*": example.com:*
    "*.example.com": *.example.com:443
    "*.bücher.example:443": *.xn--bcher-kva.example:443
    "intranet": intranet:443
    "host:443": host:443
    "registry:5000": registry:5000
    "localhost:3000": localhost:3000
    "LOCALHOST.:3000,3001": localhost:3000,3001
    "10.0.0.5:22": 10.0.0.5:22
    "10.0.0.0/8": 10.0.0.0/8:443
    "0.0.0.0/0:443": 0.0.0.0/0:443
    "[fd00::1]:443": [fd00::1]:443
    "[FD00:0::/8]:22,80": [fd00::/8]:22,80
    "[::ffff:10.0.0.5]:22": 10.0.0.5:22
    "169.254.169.254:80": 169.254.169.254:80
    "udp:time.example.com:123": udp:time.example.com:123
    "udp:*.example.com": udp:*.example.com:443
    "udp:localhost:5353": udp:localhost:5353
    "udp:[fd00::1]:53": udp:[fd00::1]:53
    "registry:npm": registry:npm
    "registry:go": registry:go
    "#);
}

#[test]
fn words_for_other_things_refused() {
    let refused = [
        "",
        ":443",
        "none",
        "host",
        "hots",
        "locahost",
        "localhost",
        "localhost:*",
        "a.localhost:80",
        "127.0.0.1:80",
        "[::1]:80",
        "[::ffff:127.0.0.1]:80",
        "0.0.0.0:80",
    ];
    assert_snapshot!(words(&refused, HostRule::parse), @r#"
    "": host name is empty | -
    ":443": host name is empty | -
    "none": a host of this name needs its port written | `none` is a mode: `mode = "none"`; the host is `none:443`
    "host": a host of this name needs its port written | `host` is a mode: `mode = "host"`; the host is `host:443`
    "hots": a host of this name needs its port written | did you mean `host`; the host is `hots:443`
    "locahost": a host of this name needs its port written | did you mean `localhost`; the host is `locahost:443`
    "localhost": the host's loopback is allowed port by port | write `localhost:PORT`; inside, the loopback is the sandbox's own
    "localhost:*": the host's loopback is allowed port by port | write `localhost:PORT`; inside, the loopback is the sandbox's own
    "a.localhost:80": the host's loopback is written `localhost` | write `localhost:PORT`; inside, the loopback is the sandbox's own
    "127.0.0.1:80": the host's loopback is written `localhost` | write `localhost:PORT`; inside, the loopback is the sandbox's own
    "[::1]:80": the host's loopback is written `localhost` | write `localhost:PORT`; inside, the loopback is the sandbox's own
    "[::ffff:127.0.0.1]:80": the host's loopback is written `localhost` | write `localhost:PORT`; inside, the loopback is the sandbox's own
    "0.0.0.0:80": no host has this address | -
    "#);
}

#[test]
fn urls_and_ports_refused() {
    let refused = [
        "https://example.com/x",
        "http://example.com",
        "https://user@example.com:8443/x?y#z",
        "git@example.com",
        "user:word@example.com:22",
        "example.com/x",
        "example.com:443/x",
        "example.com:",
        "example.com:0",
        "example.com:65536",
        "example.com:0443",
        "example.com:+443",
        "example.com:https",
        "example.com:80-90",
        "example.com:80,",
        "example.com:*,80",
        "example.com:80:90",
    ];
    assert_snapshot!(words(&refused, HostRule::parse), @r#"
    "https://example.com/x": a host is written, not a URL | write `example.com:443`
    "http://example.com": a host is written, not a URL | write `example.com:80`
    "https://user@example.com:8443/x?y#z": a host is written, not a URL | write `example.com:8443`
    "git@example.com": a host is written without a user | write `example.com:443`
    "user:word@example.com:22": a host is written without a user | write `example.com:22`
    "example.com/x": a host is allowed as a whole, without a path | write `example.com:443`
    "example.com:443/x": a host is allowed as a whole, without a path | write `example.com:443`
    "example.com:": not a port from 1 to 65535 | write `HOST:443`, `HOST:80,443`, or `HOST:*` for any port
    "example.com:0": not a port from 1 to 65535 | write `HOST:443`, `HOST:80,443`, or `HOST:*` for any port
    "example.com:65536": not a port from 1 to 65535 | write `HOST:443`, `HOST:80,443`, or `HOST:*` for any port
    "example.com:0443": not a port from 1 to 65535 | write `HOST:443`, `HOST:80,443`, or `HOST:*` for any port
    "example.com:+443": not a port from 1 to 65535 | write `HOST:443`, `HOST:80,443`, or `HOST:*` for any port
    "example.com:https": not a port from 1 to 65535 | write `HOST:443`, `HOST:80,443`, or `HOST:*` for any port
    "example.com:80-90": ports can't be a range | write `HOST:443`, `HOST:80,443`, or `HOST:*` for any port
    "example.com:80,": not a port from 1 to 65535 | write `HOST:443`, `HOST:80,443`, or `HOST:*` for any port
    "example.com:*,80": not a port from 1 to 65535 | write `HOST:443`, `HOST:80,443`, or `HOST:*` for any port
    "example.com:80:90": not a port from 1 to 65535 | write `HOST:443`, `HOST:80,443`, or `HOST:*` for any port
    "#);
}

#[test]
fn patterns_and_names_refused() {
    let long = format!("{}.example", "a".repeat(64));
    let refused = [
        "*",
        "*:443",
        "*.*.example.com",
        "a.*.example.com",
        "a*.example.com",
        "*.",
        "*.1",
        "*.localhost:1",
        "a\0b.example",
        "a b.example",
        "!example.com",
        "a..example",
        "-a.example",
        &long,
        "xn--a-.example",
    ];
    assert_snapshot!(words(&refused, HostRule::parse), @r#"
    "*": `*` alone would be every host | `--net host` is the whole network, `*.example.com` all below a name
    "*:443": `*` alone would be every host | `--net host` is the whole network, `*.example.com` all below a name
    "*.*.example.com": `*` can only be the first label of a host name | write `*.example.com` for all below a name
    "a.*.example.com": `*` can only be the first label of a host name | write `*.example.com` for all below a name
    "a*.example.com": `*` can only be the first label of a host name | write `*.example.com` for all below a name
    "*.": host name is empty | -
    "*.1": neither a host name nor an address in full | write an address as four decimal numbers, such as `192.0.2.1`
    "*.localhost:1": the host's loopback is written `localhost` | write `localhost:PORT`; inside, the loopback is the sandbox's own
    "a\0b.example": host name has a character that can't be in one: '\0' | -
    "a b.example": host name has a character that can't be in one: ' ' | -
    "!example.com": host name has a character that can't be in one: '!' | `!` takes an entry back in a policy file; `--net none` takes all back
    "a..example": host name has an empty label | -
    "-a.example": host name has a label with a hyphen at an end | -
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example": host name has a label of more than 63 bytes | -
    "xn--a-.example": not an internationalized host name | -
    "#);
}

#[test]
fn addresses_refused() {
    let refused = [
        "2130706433:80",
        "0x7f.1:80",
        "127.1:80",
        "0177.0.0.1:80",
        "1.2.3.4.5",
        "10.0.0.1/8:443",
        "10.0.0.0/33",
        "[fd00::1/8]:443",
        "10.0.0/8",
        "fd00::1",
        "fd00::1:443",
        "fd00::/8:443",
        "[fd00::1",
        "[fd00::1]443",
        "[fd00::]/8:443",
        "[10.0.0.5]:22",
        "[example.com]:443",
        "[fe80::1%eth0]:443",
    ];
    assert_snapshot!(words(&refused, HostRule::parse), @r#"
    "2130706433:80": neither a host name nor an address in full | write an address as four decimal numbers, such as `192.0.2.1`
    "0x7f.1:80": neither a host name nor an address in full | write an address as four decimal numbers, such as `192.0.2.1`
    "127.1:80": neither a host name nor an address in full | write an address as four decimal numbers, such as `192.0.2.1`
    "0177.0.0.1:80": neither a host name nor an address in full | write an address as four decimal numbers, such as `192.0.2.1`
    "1.2.3.4.5": neither a host name nor an address in full | write an address as four decimal numbers, such as `192.0.2.1`
    "10.0.0.1/8:443": the address has bits behind its prefix | write `10.0.0.0/8:443`
    "10.0.0.0/33": not a prefix of 0 to 32 bits | -
    "[fd00::1/8]:443": the address has bits behind its prefix | write `[fd00::/8]:443`
    "10.0.0/8": neither a host name nor an address in full | write an address as four decimal numbers, such as `192.0.2.1`
    "fd00::1": an IPv6 address is written in brackets | write `[fd00::1]:443`
    "fd00::1:443": an IPv6 address is written in brackets | write `[fd00::1]:443` or `[fd00::1:443]:443`
    "fd00::/8:443": an IPv6 address is written in brackets | write `[fd00::/8]:443`
    "[fd00::1": brackets are for an IPv6 address, then `:PORT` | write `[fd00::1]:443` or `[fd00::/8]:443`
    "[fd00::1]443": brackets are for an IPv6 address, then `:PORT` | write `[fd00::1]:443` or `[fd00::/8]:443`
    "[fd00::]/8:443": brackets are for an IPv6 address, then `:PORT` | write `[fd00::/8]:443`
    "[10.0.0.5]:22": brackets are for an IPv6 address, then `:PORT` | write `10.0.0.5:22`
    "[example.com]:443": brackets are for an IPv6 address, then `:PORT` | write `[fd00::1]:443` or `[fd00::/8]:443`
    "[fe80::1%eth0]:443": brackets are for an IPv6 address, then `:PORT` | write `[fd00::1]:443` or `[fd00::/8]:443`
    "#);
}

#[test]
fn registries_refused() {
    let refused = [
        "registry:nmp",
        "registry:",
        "registry:npm:443",
        "udp:registry:npm",
        "udp:",
        "tcp:example.com:80",
    ];
    assert_snapshot!(words(&refused, HostRule::parse), @r#"
    "registry:nmp": no such registry | did you mean `npm`
    "registry:": no such registry | known: npm, cargo, pip, go
    "registry:npm:443": a registry's ports are those of its tool's configuration | write `registry:npm`
    "udp:registry:npm": a registry's ports are those of its tool's configuration | write `registry:npm`
    "udp:": host name is empty | -
    "tcp:example.com:80": not a port from 1 to 65535 | write `HOST:443`, `HOST:80,443`, or `HOST:*` for any port
    "#);
}

#[test]
fn published_ports() {
    let all = [
        "3000",
        "8080:3000",
        "0:3000",
        "0.0.0.0:8080:3000",
        "127.0.0.1:3000:3000",
        "127.0.0.2:0:3000",
        "[::1]:8080:3000",
        "[::ffff:127.0.0.1]:80:80",
        "",
        "0",
        "8080:0",
        "65536",
        "08080",
        "a",
        ":3000",
        "localhost:8080:3000",
        "::1:8080:3000",
        "8080:3000/tcp",
        "3000-3005",
    ];
    assert_snapshot!(words(&all, PublishedPort::parse), @r#"
    "3000": 3000:3000
    "8080:3000": 8080:3000
    "0:3000": 0:3000
    "0.0.0.0:8080:3000": 0.0.0.0:8080:3000
    "127.0.0.1:3000:3000": 3000:3000
    "127.0.0.2:0:3000": 127.0.0.2:0:3000
    "[::1]:8080:3000": [::1]:8080:3000
    "[::ffff:127.0.0.1]:80:80": 80:80
    "": not ports to publish | write `PORT`, `HOST_PORT:PORT` or `ADDRESS:HOST_PORT:PORT`
    "0": not ports to publish | write `PORT`, `HOST_PORT:PORT` or `ADDRESS:HOST_PORT:PORT`
    "8080:0": not ports to publish | write `PORT`, `HOST_PORT:PORT` or `ADDRESS:HOST_PORT:PORT`
    "65536": not ports to publish | write `PORT`, `HOST_PORT:PORT` or `ADDRESS:HOST_PORT:PORT`
    "08080": not ports to publish | write `PORT`, `HOST_PORT:PORT` or `ADDRESS:HOST_PORT:PORT`
    "a": not ports to publish | write `PORT`, `HOST_PORT:PORT` or `ADDRESS:HOST_PORT:PORT`
    ":3000": not ports to publish | write `PORT`, `HOST_PORT:PORT` or `ADDRESS:HOST_PORT:PORT`
    "localhost:8080:3000": ports are published at an address of this machine | write `127.0.0.1:8080:3000`, or `0.0.0.0:8080:3000` for all of them
    "::1:8080:3000": ports are published at an address of this machine | write `127.0.0.1:8080:3000`, or `0.0.0.0:8080:3000` for all of them
    "8080:3000/tcp": not ports to publish | write `PORT`, `HOST_PORT:PORT` or `ADDRESS:HOST_PORT:PORT`
    "3000-3005": not ports to publish | write `PORT`, `HOST_PORT:PORT` or `ADDRESS:HOST_PORT:PORT`
    "#);
}
