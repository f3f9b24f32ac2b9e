//! A range of addresses.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

use serde::{Serialize, Serializer};

/// All addresses that share their first bits. One that IPv6 maps from IPv4 is the IPv4 one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressRange {
    first: IpAddr,
    prefix: u8,
}

/// Why a text is not a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressRangeError {
    /// What stands before `/` is not an address.
    #[error("not an address")]
    NotAnAddress,
    /// What stands after `/` is no number of bits.
    #[error("not a prefix of 0 to {max} bits")]
    Prefix {
        /// The bits that an address has.
        max: u8,
    },
    /// The address has bits behind the prefix.
    #[error("the address has bits behind its prefix")]
    HostBits {
        /// The range as it is written.
        right: AddressRange,
    },
}

impl AddressRange {
    /// Returns the range of one address.
    pub fn one(address: IpAddr) -> Self {
        let first = address.to_canonical();
        Self { first, prefix: bits(first) }
    }

    /// Returns the range in which `address` lies: all that share its first `prefix` bits, or all
    /// of its bits where there are fewer.
    pub fn around(address: IpAddr, prefix: u8) -> Self {
        let prefix = prefix.min(bits(address));
        let first = masked(address, prefix);
        match (first.to_canonical(), prefix.checked_sub(MAPPED)) {
            (mapped @ IpAddr::V4(_), Some(prefix)) if first.is_ipv6() => {
                Self { first: mapped, prefix }
            }
            _ => Self { first, prefix },
        }
    }

    /// Returns the range of the first `prefix` bits of a fixed IPv4 address.
    pub(super) const fn v4(octets: [u8; 4], prefix: u8) -> Self {
        Self { first: IpAddr::V4(Ipv4Addr::from_octets(octets)), prefix }
    }

    /// Returns the range of the first `prefix` bits of a fixed IPv6 address.
    pub(super) const fn v6(segments: [u16; 8], prefix: u8) -> Self {
        Self { first: IpAddr::V6(Ipv6Addr::from_segments(segments)), prefix }
    }

    /// Reads `ADDRESS/BITS`, or an address alone. No other spelling of an address is known:
    /// four decimal numbers, or IPv6.
    ///
    /// # Errors
    /// What is not an address, a prefix that it doesn't have, or bits behind the prefix.
    pub fn parse(text: &str) -> Result<Self, AddressRangeError> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| AddressRangeError::NotAnAddress)?;
        let Some(prefix) = prefix else { return Ok(Self::one(address)) };
        let max = bits(address);
        let prefix = number(prefix).filter(|prefix| *prefix <= max);
        let prefix = prefix.ok_or(AddressRangeError::Prefix { max })?;
        let right = Self::around(address, prefix);
        if masked(address, prefix) == address {
            Ok(right)
        } else {
            Err(AddressRangeError::HostBits { right })
        }
    }

    /// Returns the first address.
    pub fn first(&self) -> IpAddr {
        self.first
    }

    /// Returns how many bits all addresses share.
    pub fn prefix(&self) -> u8 {
        self.prefix
    }

    /// Returns whether the addresses are those of IPv6.
    pub fn is_v6(&self) -> bool {
        self.first.is_ipv6()
    }

    /// Returns whether an address lies in the range.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv6() == self.is_v6() && masked(address, self.prefix) == self.first
    }

    /// Returns whether all of `other` lies in the range.
    pub fn covers(&self, other: &Self) -> bool {
        other.prefix >= self.prefix && self.contains(other.first)
    }

    /// Returns the address, when there is only one.
    pub fn single(&self) -> Option<IpAddr> {
        (self.prefix == bits(self.first)).then_some(self.first)
    }
}

/// The bits before the IPv4 address in one that is mapped.
const MAPPED: u8 = 96;

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Returns the address with all bits behind the prefix zero.
fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    let behind = u32::from(bits(address).saturating_sub(prefix));
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(behind).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(behind).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

/// Reads a number as it is printed: without a sign, and without zeros in front.
fn number(text: &str) -> Option<u8> {
    let number: u8 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.single() {
            Some(address) => address.fmt(f),
            None => write!(f, "{}/{}", self.first, self.prefix),
        }
    }
}

impl Serialize for AddressRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
