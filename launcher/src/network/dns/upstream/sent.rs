//! A question to a server.

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use super::super::message::{INTERNET, UDP_PAYLOAD, flag, kind};
use super::super::name::Name;
use super::resolv_conf::Extension;

/// What was asked, by which its answer is known.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) id: u16,
    pub(super) name: Name,
    pub(super) family: Family,
    extension: Extension,
}

/// Addresses of which kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Sent {
    /// Makes a question of a number that nobody can guess.
    pub(super) fn new(name: Name, family: Family, extension: Extension) -> Result<Self, Errno> {
        let mut id = [0; 2];
        getrandom(&mut id, GetRandomFlags::empty())?;
        Ok(Self { id: u16::from_ne_bytes(id), name, family, extension })
    }

    /// Returns the bytes of the message.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let additional = u16::from(self.extension == Extension::Edns);
        let header = [self.id, flag::RECURSION_DESIRED, 1, 0, 0, additional];
        let mut bytes: Vec<u8> = header.into_iter().flat_map(u16::to_be_bytes).collect();
        bytes.extend(self.name.wire());
        bytes.extend([self.family.kind(), INTERNET].into_iter().flat_map(u16::to_be_bytes));
        if self.extension == Extension::Edns {
            // The name of the root, the size, then code, version, flags and length: all none.
            bytes.push(0);
            bytes.extend([kind::OPT, UDP_PAYLOAD, 0, 0, 0].into_iter().flat_map(u16::to_be_bytes));
        }
        bytes
    }
}

impl Family {
    /// The number of its records.
    pub(super) fn kind(self) -> u16 {
        match self {
            Self::V4 => kind::A,
            Self::V6 => kind::AAAA,
        }
    }
}
