//! What of the internet is this machine itself, or beside it: no list of ranges knows that.

use core::net::IpAddr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::special::{Row, around_or};
use super::{AddressRange, SpecialRange};

const OWN: &str = "this host's own addresses";
const BESIDE: &str = "this host's local network";
const UNREAD: &str = "whether it is this host or beside it can't be read";

/// The addresses that are special on this machine alone. In JSON they are what they were made of, or
/// `null` where the machine doesn't tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearby(Option<Vec<Row>>);

impl Default for Nearby {
    /// A machine without a network.
    fn default() -> Self {
        Self(Some(Vec::new()))
    }
}

impl Nearby {
    /// Returns the addresses near a machine: the ranges that are its own, and those whose hosts it reaches
    /// without a router.
    pub fn new(
        own: impl IntoIterator<Item = AddressRange>,
        beside: impl IntoIterator<Item = AddressRange>,
    ) -> Self {
        let own = own.into_iter().map(|range| (OWN, range));
        let mut rows: Vec<Row> =
            own.chain(beside.into_iter().map(|range| (BESIDE, range))).collect();
        rows.sort_by_key(|(_, range)| core::cmp::Reverse(range.prefix()));
        rows.dedup_by_key(|(_, range)| *range);
        Self(Some(rows))
    }

    /// Returns the addresses near a machine that does not tell: every address may be one.
    pub const fn unread() -> Self {
        Self(None)
    }

    /// Returns whether the machine didn't tell.
    pub const fn is_unread(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the special range in which an address lies, the narrowest that is known: one of those
    /// of every machine, or one of this.
    pub fn special_range(&self, address: IpAddr) -> Option<SpecialRange> {
        let range = AddressRange::one(address);
        match &self.0 {
            Some(rows) => around_or(&range, rows),
            None => around_or(&range, &[(UNREAD, range)]),
        }
    }
}

/// What is near, as it is told to another process.
#[derive(Serialize, Deserialize)]
struct Told {
    own: Vec<String>,
    beside: Vec<String>,
}

impl Serialize for Nearby {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let named = |rows: &[Row], name| {
            let those = rows.iter().filter(|row| row.0 == name);
            those.map(|(_, range)| range.to_string()).collect()
        };
        let told = |rows: &Vec<Row>| Told { own: named(rows, OWN), beside: named(rows, BESIDE) };
        self.0.as_ref().map(told).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Nearby {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(told) = Option::<Told>::deserialize(deserializer)? else {
            return Ok(Self::unread());
        };
        let ranges = |texts: &[String]| {
            let ranges = texts.iter().map(|text| AddressRange::parse(text));
            ranges.collect::<Result<Vec<_>, _>>().map_err(D::Error::custom)
        };
        Ok(Self::new(ranges(&told.own)?, ranges(&told.beside)?))
    }
}
