//! What a server answered: from bytes to what they say of the name that was asked.
//!
//! Only the records that answer are read, and of these only those of the name that was asked, or of
//! what it is an alias of. What else a server adds was not asked for and is not believed.

use std::net::IpAddr;

use super::super::message::{Header, INTERNET, Reader, Record, code, flag, kind};
use super::super::name::Name;
use super::sent::{Family, Sent};
use super::{ADDRESSES_MAX, Failure};

/// How many aliases are followed, in all the answers about a name.
pub(super) const ALIASES_MAX: u8 = 8;

/// What the answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// It answers something else: the right answer may still come.
    NotOurs,
    /// It did not fit and has to be asked for by a stream.
    Truncated,
    /// The name has these addresses.
    Addresses { addresses: Vec<IpAddr>, seconds: u32 },
    /// The name is an alias of another, of which the answer says no more.
    Alias { target: Name, seconds: u32, followed: u8 },
    /// There is no such name.
    NoSuchName,
    /// There is nothing of this kind.
    NoAddress,
    /// The server can't or won't say.
    Failed(Failure),
}

impl Sent {
    /// Reads a message that came from the server.
    pub(super) fn read(&self, bytes: &[u8]) -> Reading {
        let mut reader = Reader::new(bytes);
        let Some(header) = reader.header() else { return Reading::NotOurs };
        if !self.is_answered_by(header, &mut reader) {
            return Reading::NotOurs;
        }
        if header.flags & flag::TRUNCATED != 0 {
            return Reading::Truncated;
        }
        let [_, answers, _, _] = header.counts;
        match header.flags & code::MASK {
            code::NO_ERROR => self.answers(&mut reader, answers),
            code::NO_SUCH_NAME => Reading::NoSuchName,
            code::REFUSED => Reading::Failed(Failure::Refused),
            _ => Reading::Failed(Failure::Server),
        }
    }

    /// An answer has the number and repeats the question. A server that could not read it, or does
    /// not want to, need not repeat it.
    fn is_answered_by(&self, header: Header, reader: &mut Reader<'_>) -> bool {
        let is_answer = header.flags & (flag::RESPONSE | flag::OPERATION) == flag::RESPONSE;
        if header.id != self.id || !is_answer {
            return false;
        }
        match header.counts {
            [1, ..] => self.is_repeated_by(reader) == Some(true),
            [0, 0, ..] => {
                let code = header.flags & code::MASK;
                code != code::NO_ERROR && code != code::NO_SUCH_NAME
            }
            _ => false,
        }
    }

    fn is_repeated_by(&self, reader: &mut Reader<'_>) -> Option<bool> {
        let name = reader.name()?;
        let (kind, class) = (reader.number()?, reader.number()?);
        Some(name == self.name && kind == self.family.kind() && class == INTERNET)
    }

    fn answers(&self, reader: &mut Reader<'_>, count: u16) -> Reading {
        let records: Option<Vec<Record<'_>>> = (0..count).map(|_| reader.record()).collect();
        let reading = records.and_then(|records| self.follow(&records));
        reading.unwrap_or(Reading::Failed(Failure::Malformed))
    }

    /// Follows the name to its addresses; `None` when a record on the way can't be read.
    fn follow(&self, records: &[Record<'_>]) -> Option<Reading> {
        let mut name = self.name.clone();
        let mut seconds = u32::MAX;
        for followed in 0..=ALIASES_MAX {
            let addresses = self.addresses(records, &name)?;
            if !addresses.is_empty() {
                let seconds = seconds.min(least(records, &name, self.family.kind()));
                return Some(Reading::Addresses { addresses, seconds });
            }
            let Some(alias) = of(records, &name, kind::CNAME).next() else {
                return Some(match followed {
                    0 => Reading::NoAddress,
                    _ => Reading::Alias { target: name, seconds, followed },
                });
            };
            seconds = seconds.min(alias.ttl);
            name = target(alias)?;
        }
        Some(Reading::Failed(Failure::Aliases))
    }

    fn addresses(&self, records: &[Record<'_>], name: &Name) -> Option<Vec<IpAddr>> {
        let found = of(records, name, self.family.kind()).take(ADDRESSES_MAX);
        found.map(|record| self.family.address(record.data)).collect()
    }
}

/// Returns the records of a name and a kind.
fn of<'r, 'm>(
    records: &'r [Record<'m>],
    name: &Name,
    kind: u16,
) -> impl Iterator<Item = &'r Record<'m>> {
    let is_it = move |record: &&Record<'_>| record.kind == kind && record.class == INTERNET;
    records.iter().filter(is_it).filter(move |record| record.owner == *name)
}

/// How long the records of a name live: as long as the first that ends.
fn least(records: &[Record<'_>], name: &Name, kind: u16) -> u32 {
    of(records, name, kind).map(|record| record.ttl).min().unwrap_or_default()
}

fn target(alias: &Record<'_>) -> Option<Name> {
    let mut reader = alias.reader;
    let start = reader.at();
    let name = reader.name()?;
    (reader.at() - start == alias.data.len()).then_some(name)
}

impl Family {
    fn address(self, data: &[u8]) -> Option<IpAddr> {
        match self {
            Self::V4 => <[u8; 4]>::try_from(data).ok().map(IpAddr::from),
            Self::V6 => <[u8; 16]>::try_from(data).ok().map(IpAddr::from),
        }
    }
}
