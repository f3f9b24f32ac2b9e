//! What holds of every word of the network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use endow_policy::{
    AddressRange, HostName, HostPattern, HostRule, Nearby, Network, Origin, Ports, Protocol,
    PublishedPort, Registry, Stated, special_range,
};
use proptest::prelude::*;

use crate::network::allowing;

fn label() -> impl Strategy<Value = String> {
    "[a-z_][a-z0-9_]{0,6}(-[a-z0-9]{1,3})?".prop_filter("not punycode", |it| !it.contains("xn--"))
}

fn host_name() -> impl Strategy<Value = HostName> {
    let labels = prop::collection::vec(label(), 1..5);
    labels.prop_map(|it| it.join(".")).prop_filter_map("a name", |it| {
        HostName::parse(&it).ok().filter(|name| !name.is_loopback())
    })
}

fn any_address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        any::<[u8; 16]>().prop_map(IpAddr::from),
        any::<[u8; 4]>().prop_map(|it| Ipv4Addr::from(it).to_ipv6_mapped().into()),
        (any::<[u8; 4]>(), 0_u8..4).prop_map(|(it, how)| carried(it, how)),
    ]
}

/// An IPv6 address that carries an IPv4 one.
fn carried(octets: [u8; 4], how: u8) -> IpAddr {
    let bits = u128::from(u32::from_be_bytes(octets));
    IpAddr::V6(Ipv6Addr::from_bits(match how {
        0 => bits,
        1 => 0x64_ff9b << 96 | bits,
        2 => 0x2002 << 112 | bits << 80 | 1,
        _ => 0x2001_0000 << 96 | (bits ^ u128::from(u32::MAX)),
    }))
}

fn ports() -> impl Strategy<Value = Ports> {
    let some = prop::collection::btree_set(1_u16.., 1..4);
    prop_oneof![Just(Ports::Any), some.prop_map(Ports::Some)]
}

fn rule() -> impl Strategy<Value = HostRule> {
    let range = (any_address(), 0_u8..=128).prop_map(|(it, bits)| AddressRange::around(it, bits));
    let is_loopback = |range: &AddressRange| {
        let special = special_range(range.first());
        special.is_some_and(|it| {
            it.range.covers(range) && ["the loopback", "this host"].contains(&it.name)
        })
    };
    let range = range.prop_filter("a host", move |range| !is_loopback(range));
    let host = prop_oneof![
        host_name().prop_map(HostPattern::Name),
        host_name().prop_map(HostPattern::Below),
        range.prop_map(HostPattern::Range),
    ];
    let protocol = prop_oneof![Just(Protocol::Tcp), Just(Protocol::Udp)];
    (protocol, host, ports()).prop_map(|(protocol, host, ports)| HostRule { protocol, host, ports })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rendered_rules_come_back(rule in rule()) {
        prop_assert_eq!(HostRule::parse(&rule.to_string()), Ok(rule));
    }

    #[test]
    fn registries_and_loopback_come_back(which in 0_usize..4, port in 1_u16..) {
        let registry = HostPattern::Registry(Registry::ALL[which]);
        let rules = [
            HostRule { protocol: Protocol::Tcp, host: registry, ports: Ports::Any },
            HostRule { protocol: Protocol::Udp, host: HostPattern::Loopback, ports: Ports::one(port) },
        ];
        for rule in rules {
            prop_assert_eq!(HostRule::parse(&rule.to_string()), Ok(rule));
        }
    }

    #[test]
    fn published_ports_come_back(address in any_address(), host_port: u16, port in 1_u16..) {
        let published = PublishedPort { address: address.to_canonical(), host_port, port };
        prop_assert_eq!(PublishedPort::parse(&published.to_string()), Ok(published));
    }

    #[test]
    fn any_word_is_read_or_refused(word in "(udp:|registry:|\\[|\\*\\.)?[a-z0-9:.,/*\\[\\]@!%-]{0,20}") {
        if let Ok(rule) = HostRule::parse(&word) {
            prop_assert_eq!(HostRule::parse(&rule.to_string()), Ok(rule));
        }
        drop(HostRule::parse(&format!("{word}é\0")));
        drop(PublishedPort::parse(&word));
    }

    #[test]
    fn any_text_is_a_name_or_refused(text in ".{0,30}") {
        if let Ok(name) = HostName::parse(&text) {
            let again = HostName::parse(name.as_str());
            prop_assert_eq!(again.as_ref(), Ok(&name));
            prop_assert!(name.as_str().parse::<IpAddr>().is_err());
        }
    }

    #[test]
    fn below_never_matches_its_apex(above in host_name(), label in label()) {
        let below = HostPattern::Below(above.clone());
        prop_assert!(!below.matches_name(&above));
        if let Ok(name) = HostName::parse(&format!("{label}.{above}")) {
            prop_assert!(below.matches_name(&name));
        }
        if let Ok(name) = HostName::parse(&format!("{label}{above}")) {
            prop_assert!(!below.matches_name(&name) || name.is_below(&above));
        }
    }

    #[test]
    fn special_addresses_need_a_range(at in any_address(), port in 1_u16.., name in host_name()) {
        let network = allowing(&["0.0.0.0/0:*", "[::/0]:*", "localhost:1", &format!("{name}:*")]);
        let said = network.may_dial(Protocol::Tcp, at, port, &Nearby::default());
        prop_assert_eq!(said.err(), special_range(at));
        if let Some(special) = special_range(at) {
            prop_assert!(special.range.contains(at));
        }
    }

    #[test]
    fn what_is_covered_dials_no_more(wide in rule(), narrow in rule(), at in any_address()) {
        let of = |rule: &HostRule| {
            let allow = vec![Stated::new(rule.clone(), Origin::Default)];
            Network { allow, ..Network::default() }
        };
        let (mut wide, narrow) = (wide, narrow);
        (wide.protocol, wide.ports) = (narrow.protocol, Ports::Any);
        if let HostPattern::Range(range) = &narrow.host {
            let bits = range.prefix() / 2;
            wide.host = HostPattern::Range(AddressRange::around(range.first(), bits));
        }
        prop_assume!(wide.covers(&narrow));
        let port = match &narrow.ports {
            Ports::Any => 1,
            Ports::Some(ports) => *ports.first().expect("a port"),
        };
        let at = match &narrow.host {
            HostPattern::Range(range) => range.first(),
            _ => at,
        };
        if of(&narrow).may_dial(narrow.protocol, at, port, &Nearby::default()).is_ok() {
            prop_assert!(of(&wide).may_dial(narrow.protocol, at, port, &Nearby::default()).is_ok());
        }
    }
}
