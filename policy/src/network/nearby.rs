//! What of the internet is this machine itself, or beside it: no list of ranges knows that.

use core::net::IpAddr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::special::{Row, Rows, around_among};
use super::{AddressRange, SpecialRange};

const OWN: &str = "this host's own addresses";
const BESIDE: &str = "this host's local network";
const UNREAD: &str = "whether it is this host or beside it can't be read";

/// The addresses that are special on this machine alone. In JSON they are what they were made of, or
/// `null` where the machine doesn't tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearby(Option<Near>);

/// Rows of what is near, the narrowest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Near {
    own: Vec<Row>,
    beside: Vec<Row>,
}

impl Default for Nearby {
    /// A machine without a network.
    fn default() -> Self {
        Self(Some(Near::default()))
    }
}

impl Nearby {
    /// Returns the addresses near a machine: the ranges that are its own, and those whose hosts it reaches
    /// without a router.
    pub fn new(
        own: impl IntoIterator<Item = AddressRange>,
        beside: impl IntoIterator<Item = AddressRange>,
    ) -> Self {
        let (own, beside) = (rows(OWN, own), rows(BESIDE, beside));
        Self(Some(Near { own, beside }))
    }

    /// Returns the addresses near a machine that does not tell: every address may be one.
    pub const fn unread() -> Self {
        Self(None)
    }

    /// Returns whether the machine didn't tell.
    pub const fn is_unread(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the special range in which an address lies. An address of this machine is that, in
    /// whatever special range it is: who opens a private network does not mean the services of this
    /// machine. What is beside it is so only where no range of every machine has it.
    pub fn special_range(&self, address: IpAddr) -> Option<SpecialRange> {
        let range = AddressRange::one(address);
        match &self.0 {
            Some(Near { own, beside }) => around_among(&range, Rows { before: own, after: beside }),
            None => around_among(&range, Rows { before: &[(UNREAD, range)], after: &[] }),
        }
    }
}

/// Gives ranges a name.
fn rows(name: &'static str, ranges: impl IntoIterator<Item = AddressRange>) -> Vec<Row> {
    let mut rows: Vec<Row> = ranges.into_iter().map(|range| (name, range)).collect();
    rows.sort_by_key(|(_, range)| core::cmp::Reverse(range.prefix()));
    rows.dedup();
    rows
}

/// What is near, as it is told to another process.
#[derive(Serialize, Deserialize)]
struct Told {
    own: Vec<String>,
    beside: Vec<String>,
}

impl Serialize for Nearby {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ranges = |rows: &[Row]| rows.iter().map(|(_, range)| range.to_string()).collect();
        let told = |near: &Near| Told { own: ranges(&near.own), beside: ranges(&near.beside) };
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
