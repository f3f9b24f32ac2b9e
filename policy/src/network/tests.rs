//! Names, ranges and special addresses.

use core::net::IpAddr;

use super::{AddressRange, HostName, HostNameError, special_range};

fn name(text: &str) -> HostName {
    HostName::parse(text).expect("a good name")
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn names_have_one_spelling() {
    let long = format!("{}.example", "a".repeat(63));
    for (text, expected) in [
        ("example.com", "example.com"),
        ("EXAMPLE.Com", "example.com"),
        ("example.com.", "example.com"),
        ("intranet", "intranet"),
        ("_sip._tcp.example.com", "_sip._tcp.example.com"),
        ("a--b.example", "a--b.example"),
        ("1.example", "1.example"),
        ("0x.example", "0x.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BU\u{308}CHER\u{3002}example\u{ff0e}", "xn--bcher-kva.example"),
        ("exam\u{ad}ple.com", "example.com"),
        ("r3---a.example", "r3---a.example"),
        (&long, &long),
    ] {
        assert_eq!(HostName::parse(text).as_ref().map(HostName::as_str), Ok(expected), "{text}");
    }
}

#[test]
fn names_refused() {
    use HostNameError::{
        Character, Empty, EmptyLabel, Hyphen, LongLabel, LongName, NotIdn, Number,
    };
    let label = format!("{}.example", "a".repeat(64));
    let long = ["a"; 128].join(".");
    for (text, expected) in [
        ("", Empty),
        (".", Empty),
        ("..", EmptyLabel),
        ("a..b", EmptyLabel),
        (".a", EmptyLabel),
        ("a..", EmptyLabel),
        (&label, LongLabel),
        (&long, LongName),
        ("-a.example", Hyphen),
        ("a-.example", Hyphen),
        ("a b.example", Character(' ')),
        ("a\0.example", Character('\0')),
        ("a/b", Character('/')),
        ("*.example", Character('*')),
        ("a:1", Character(':')),
        ("2130706433", Number),
        ("0x7f.1", Number),
        ("127.1", Number),
        ("0177.0.0.1", Number),
        ("example.0x7f", Number),
        ("example.0X", Number),
        ("1.2.3.4", Number),
        ("1.2.3.4.5", Number),
        ("\u{ff11}\u{ff12}\u{ff17}.\u{ff11}", Number),
        ("a\u{ff0f}b.example", Character('/')),
        ("\u{3002}example", EmptyLabel),
        ("xn--a-.example", NotIdn),
        ("xn--.example", NotIdn),
        ("xn--example.com", NotIdn),
        ("a\u{200b}b\u{fffd}.example", NotIdn),
    ] {
        assert_eq!(HostName::parse(text), Err(expected), "{text:?}");
    }
}

#[test]
fn below_is_not_itself() {
    let above = name("example.com");
    for below in ["a.example.com", "a.b.example.com", "x.EXAMPLE.com."] {
        assert!(name(below).is_below(&above), "{below}");
    }
    for other in ["example.com", "badexample.com", "com", "example.com.example.org"] {
        assert!(!name(other).is_below(&above), "{other}");
    }
}

#[test]
fn ranges_have_one_spelling() {
    for (text, expected) in [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.0.0.5", "10.0.0.5"),
        ("10.0.0.5/32", "10.0.0.5"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("fd00::/8", "fd00::/8"),
        ("FD00::0001/128", "fd00::1"),
        ("::/0", "::/0"),
        ("::ffff:10.0.0.5", "10.0.0.5"),
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
    ] {
        let range = AddressRange::parse(text).map(|range| range.to_string());
        assert_eq!(range.as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn ranges_refused() {
    for (text, expected) in [
        ("10.0.0.0/33", "not a prefix of 0 to 32 bits"),
        ("10.0.0.0/08", "not a prefix of 0 to 32 bits"),
        ("10.0.0.0/+8", "not a prefix of 0 to 32 bits"),
        ("10.0.0.0/", "not a prefix of 0 to 32 bits"),
        ("::/129", "not a prefix of 0 to 128 bits"),
        ("10.0.0.1/8", "the address has bits behind its prefix"),
        ("fd00::1/8", "the address has bits behind its prefix"),
        ("10.0.0/8", "not an address"),
        ("010.0.0.1", "not an address"),
        ("fe80::1%eth0", "not an address"),
        ("/8", "not an address"),
    ] {
        let error = AddressRange::parse(text).map_err(|error| error.to_string());
        assert_eq!(error, Err(expected.to_owned()), "{text}");
    }
}

#[test]
fn mapped_addresses_are_the_mapped() {
    let range = AddressRange::parse("10.0.0.0/8").expect("a range");
    assert!(range.contains(address("::ffff:10.1.2.3")) && range.contains(address("10.1.2.3")));
    assert!(!range.contains(address("::10.1.2.3")) && !range.contains(address("11.0.0.0")));
    let all = AddressRange::parse("::/0").expect("a range");
    assert!(all.contains(address("2001:db8::1")) && !all.contains(address("::ffff:10.1.2.3")));
}

/// Renders the special range of an address.
fn special(text: &str) -> String {
    special_range(address(text)).map_or_else(|| "-".to_owned(), |range| range.to_string())
}

#[test]
fn special_ranges_by_name() {
    for (text, expected) in [
        ("0.0.0.0", "this host: 0.0.0.0/8"),
        ("10.1.2.3", "private addresses: 10.0.0.0/8"),
        ("172.31.255.255", "private addresses: 172.16.0.0/12"),
        ("192.168.0.1", "private addresses: 192.168.0.0/16"),
        ("100.64.0.1", "addresses of a carrier's network: 100.64.0.0/10"),
        ("127.0.0.1", "the loopback: 127.0.0.0/8"),
        ("169.254.1.1", "link-local addresses: 169.254.0.0/16"),
        ("169.254.169.254", "a cloud's metadata service: 169.254.169.254"),
        ("100.100.100.200", "a cloud's metadata service: 100.100.100.200"),
        ("198.18.0.1", "addresses for benchmarks: 198.18.0.0/15"),
        ("198.19.255.255", "addresses for benchmarks: 198.18.0.0/15"),
        ("224.0.0.251", "multicast: 224.0.0.0/4"),
        ("255.255.255.255", "broadcast: 255.255.255.255"),
        ("250.0.0.1", "reserved addresses: 240.0.0.0/4"),
        ("::", "this host: ::"),
        ("::1", "the loopback: ::1"),
        ("::7f00:1", "reserved addresses: ::/3"),
        ("::ffff:127.0.0.1", "the loopback: 127.0.0.0/8"),
        ("fe80::1", "link-local addresses: fe80::/10"),
        ("fd12::1", "private addresses: fc00::/7"),
        ("fd00:ec2::254", "a cloud's metadata service: fd00:ec2::254"),
        ("ff02::1", "multicast: ff00::/8"),
        ("4000::1", "reserved addresses: 4000::/2"),
        ("64:ff9b::10.0.0.5", "private addresses: 64:ff9b::a00:0/104, through NAT64"),
        ("64:ff9b:1::1", "the network's own NAT64: 64:ff9b:1::/48"),
        ("2002:7f00:1::1", "the loopback: 2002:7f00::/24, through 6to4"),
        (
            "2001:0:1234:5678:0:0:5601:5601",
            "a cloud's metadata service: 2001:0:1234:5678::5601:5601, through Teredo",
        ),
        ("8.8.8.8", "-"),
        ("172.32.0.0", "-"),
        ("100.128.0.0", "-"),
        ("198.20.0.0", "-"),
        ("203.0.113.1", "-"),
        ("2001:db8::1", "-"),
        ("2606::1", "-"),
        ("64:ff9b::8.8.8.8", "-"),
        ("2002:808:808::1", "-"),
    ] {
        assert_eq!(special(text), expected, "{text}");
    }
}
