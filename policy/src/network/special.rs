//! Addresses that are not on the internet: a name leads to them by mistake or by malice.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

use serde::Serialize;

use super::AddressRange;

/// A range of addresses that is not on the internet (RFC 6890), or that only a cloud's machines
/// reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SpecialRange {
    /// What its addresses are, in words.
    pub name: &'static str,
    /// The range itself. One of IPv4 that IPv6 addresses carry is the range of these.
    pub range: AddressRange,
    /// How IPv6 addresses carry it, when they do.
    pub through: Option<&'static str>,
}

impl fmt::Display for SpecialRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.range)?;
        self.through.map_or(Ok(()), |through| write!(f, ", through {through}"))
    }
}

impl SpecialRange {
    /// Returns whether it is the loopback.
    pub fn is_loopback(&self) -> bool {
        self.name == LOOPBACK
    }

    /// Returns whether it is where a cloud's machines find their credentials.
    pub fn is_metadata(&self) -> bool {
        self.name == METADATA
    }

    /// Returns whether its addresses stand for whoever connects to them.
    pub(super) fn is_this_host(&self) -> bool {
        self.name == THIS
    }
}

/// Returns the special range in which an address lies, the narrowest that is known. Ranges for
/// documents are not among them: nothing is there.
pub fn special_range(address: IpAddr) -> Option<SpecialRange> {
    around(&AddressRange::one(address))
}

/// Returns the narrowest special range in which all of a range lies.
pub(super) fn around(range: &AddressRange) -> Option<SpecialRange> {
    around_among(range, Rows::default())
}

/// Rows that a machine adds to those of every machine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rows<'a> {
    /// Those that count before a wider range of every machine.
    pub(super) before: &'a [Row],
    /// Those that count where there is none.
    pub(super) after: &'a [Row],
}

/// Returns the same, with the rows of a machine.
pub(super) fn around_among(range: &AddressRange, rows: Rows<'_>) -> Option<SpecialRange> {
    let IpAddr::V6(first) = range.first() else { return find_among(V4, rows, range) };
    match EMBEDDINGS.iter().find(|it| it.range.covers(range)) {
        Some(embedding) => {
            let own = find(rows.before, range);
            let special = || embedding.special(first, range.prefix(), rows);
            own.or_else(special).or_else(|| find(rows.after, range))
        }
        None => find_among(V6, rows, range),
    }
}

fn find_among(table: &[Row], rows: Rows<'_>, within: &AddressRange) -> Option<SpecialRange> {
    let (known, own) = (find(table, within), find(rows.before, within));
    // Loopbacks and the services of clouds have rules of their own, whosever they are.
    let keeps = |known: &SpecialRange, own: &SpecialRange| {
        known.is_loopback() || known.range.prefix() >= own.range.prefix()
    };
    match (known, own) {
        (Some(known), Some(own)) if keeps(&known, &own) => Some(known),
        (known, own) => own.or(known).or_else(|| find(rows.after, within)),
    }
}

fn find(rows: &[Row], within: &AddressRange) -> Option<SpecialRange> {
    let (name, range) = rows.iter().find(|(_, range)| range.covers(within))?;
    Some(SpecialRange { name, range: *range, through: None })
}

/// A name and its range.
pub(super) type Row = (&'static str, AddressRange);

const METADATA: &str = "a cloud's metadata service";
const THIS: &str = "this host";
const PRIVATE: &str = "private addresses";
const LINK: &str = "link-local addresses";
const LOOPBACK: &str = "the loopback";
const PROTOCOLS: &str = "addresses of protocols";
const BENCHMARKS: &str = "addresses for benchmarks";
const MULTICAST: &str = "multicast";
const RESERVED: &str = "reserved addresses";

/// The narrowest first. The services of clouds are as their documents give them.
const V4: &[Row] = &[
    (METADATA, AddressRange::v4([169, 254, 169, 254], 32)),
    (METADATA, AddressRange::v4([169, 254, 170, 2], 32)),
    (METADATA, AddressRange::v4([169, 254, 170, 23], 32)),
    (METADATA, AddressRange::v4([169, 254, 0, 23], 32)),
    (METADATA, AddressRange::v4([169, 254, 42, 42], 32)),
    (METADATA, AddressRange::v4([100, 100, 100, 200], 32)),
    (METADATA, AddressRange::v4([168, 63, 129, 16], 32)),
    (METADATA, AddressRange::v4([192, 0, 0, 192], 32)),
    ("broadcast", AddressRange::v4([255, 255, 255, 255], 32)),
    (PROTOCOLS, AddressRange::v4([192, 0, 0, 0], 24)),
    ("6to4 relays", AddressRange::v4([192, 88, 99, 0], 24)),
    (LINK, AddressRange::v4([169, 254, 0, 0], 16)),
    (PRIVATE, AddressRange::v4([192, 168, 0, 0], 16)),
    (BENCHMARKS, AddressRange::v4([198, 18, 0, 0], 15)),
    (PRIVATE, AddressRange::v4([172, 16, 0, 0], 12)),
    ("addresses of a carrier's network", AddressRange::v4([100, 64, 0, 0], 10)),
    (THIS, AddressRange::v4([0, 0, 0, 0], 8)),
    (PRIVATE, AddressRange::v4([10, 0, 0, 0], 8)),
    (LOOPBACK, AddressRange::v4([127, 0, 0, 0], 8)),
    (MULTICAST, AddressRange::v4([224, 0, 0, 0], 4)),
    (RESERVED, AddressRange::v4([240, 0, 0, 0], 4)),
];

/// The narrowest first; of the rest only 2000::/3 is given out.
const V6: &[Row] = &[
    (THIS, AddressRange::v6([0; 8], 128)),
    (LOOPBACK, AddressRange::v6([0, 0, 0, 0, 0, 0, 0, 1], 128)),
    (METADATA, AddressRange::v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128)),
    (METADATA, AddressRange::v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23], 128)),
    (METADATA, AddressRange::v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128)),
    (METADATA, AddressRange::v6([0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42], 128)),
    ("the network's own NAT64", AddressRange::v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48)),
    ("addresses without a use", AddressRange::v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64)),
    (BENCHMARKS, AddressRange::v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48)),
    (PROTOCOLS, AddressRange::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23)),
    ("segment routing", AddressRange::v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16)),
    (LINK, AddressRange::v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10)),
    ("site-local addresses", AddressRange::v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10)),
    (MULTICAST, AddressRange::v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8)),
    (PRIVATE, AddressRange::v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7)),
    (RESERVED, AddressRange::v6([0, 0, 0, 0, 0, 0, 0, 0], 3)),
    (RESERVED, AddressRange::v6([0x4000, 0, 0, 0, 0, 0, 0, 0], 2)),
    (RESERVED, AddressRange::v6([0x8000, 0, 0, 0, 0, 0, 0, 0], 1)),
];

/// IPv6 addresses that lead on to an IPv4 one.
struct Embedding {
    range: AddressRange,
    name: &'static str,
    /// How many bits stand before the IPv4 address.
    before: u8,
    /// What its bits are turned by.
    turned: u32,
}

/// `::ffff:0:0/96` is none: that *is* IPv4, and made so before.
const EMBEDDINGS: &[Embedding] = &[
    Embedding {
        range: AddressRange::v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96),
        name: "NAT64",
        before: 96,
        turned: 0,
    },
    Embedding {
        range: AddressRange::v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16),
        name: "6to4",
        before: 16,
        turned: 0,
    },
    Embedding {
        range: AddressRange::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32),
        name: "Teredo",
        before: 96,
        turned: u32::MAX,
    },
];

impl Embedding {
    /// Returns the special range of the IPv4 addresses, in the words of IPv6.
    fn special(&self, first: Ipv6Addr, prefix: u8, rows: Rows<'_>) -> Option<SpecialRange> {
        let behind = u32::from(96 - self.before);
        let carried = u32::try_from((first.to_bits() >> behind) & u128::from(u32::MAX));
        let carried = Ipv4Addr::from_bits(carried.unwrap_or_default() ^ self.turned);
        let carried = AddressRange::around(carried.into(), prefix.checked_sub(self.before)?);
        let special = around_among(&carried, rows)?;
        let range = AddressRange::around(first.into(), self.before + special.range.prefix());
        Some(SpecialRange { range, through: Some(self.name), ..special })
    }
}
