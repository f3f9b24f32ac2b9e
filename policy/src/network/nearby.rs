//! What of the internet is this machine itself, or beside it: no list of ranges knows that.

use core::net::IpAddr;

use super::special::{Row, around_or};
use super::{AddressRange, SpecialRange};

const OWN: &str = "this host's own addresses";
const BESIDE: &str = "this host's local network";
const UNREAD: &str = "whether it is this host or beside it can't be read";

/// The addresses that are special on this machine alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearby(Option<Vec<Row>>);

impl Default for Nearby {
    /// A machine without a network.
    fn default() -> Self {
        Self(Some(Vec::new()))
    }
}

impl Nearby {
    /// Returns those of a machine by the ranges that are its own, and those whose hosts it reaches
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

    /// Returns those of a machine that does not tell: every address may be one.
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
