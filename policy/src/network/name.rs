//! The name of a host.

use std::borrow::Cow;
use std::fmt;

use idna::AsciiDenyList;
use idna::uts46::{DnsLength, Hyphens, Uts46};
use serde::{Serialize, Serializer};

/// A valid name of a host: lower case, ASCII, labels of 1 to 63 bytes, without a dot at the end. It
/// is never a spelling of an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(Box<str>);

/// Why a text is not the name of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostNameError {
    /// There is none.
    #[error("host name is empty")]
    Empty,
    /// Two dots stand side by side, or one at the start.
    #[error("host name has an empty label")]
    EmptyLabel,
    /// A label is longer than DNS has them.
    #[error("host name has a label of more than 63 bytes")]
    LongLabel,
    /// The name is longer than DNS has them.
    #[error("host name has more than 253 bytes")]
    LongName,
    /// A character is in no host's name.
    #[error("host name has a character that can't be in one: {0:?}")]
    Character(char),
    /// A label begins or ends with a hyphen.
    #[error("host name has a label with a hyphen at an end")]
    Hyphen,
    /// The last label is a number: programs read such a text as an address.
    #[error("neither a host name nor an address in full")]
    Number,
    /// The name is in no script of internationalized ones, or in no form of them.
    #[error("not an internationalized host name")]
    NotIdn,
}

const LABEL_MAX: usize = 63;
const NAME_MAX: usize = 253;

impl HostName {
    /// Reads a name as a person or a query writes it: in either case, in any script, with or
    /// without a dot at the end.
    ///
    /// # Errors
    /// The first thing that no host's name has.
    pub fn parse(text: &str) -> Result<Self, HostNameError> {
        let name = in_ascii(text)?;
        let name = name.strip_suffix('.').unwrap_or(&name);
        if name.is_empty() {
            return Err(HostNameError::Empty);
        }
        name.split('.').try_for_each(check_label)?;
        if name.len() > NAME_MAX {
            return Err(HostNameError::LongName);
        }
        if is_number(name.rsplit('.').next().unwrap_or_default()) {
            return Err(HostNameError::Number);
        }
        Ok(Self(name.into()))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether it is the name of something below `above`, and not `above` itself.
    pub fn is_below(&self, above: &Self) -> bool {
        self.0.strip_suffix(&*above.0).is_some_and(|rest| rest.ends_with('.'))
    }

    /// Returns whether the name is kept for the loopback: `localhost`, and all below.
    pub fn is_loopback(&self) -> bool {
        &*self.0 == "localhost" || self.0.ends_with(".localhost")
    }
}

/// Returns the form that DNS knows: what the script of a label is, `xn--` says in ASCII.
fn in_ascii(text: &str) -> Result<String, HostNameError> {
    let lower = text.to_ascii_lowercase();
    if lower.is_ascii() && !lower.split('.').any(|label| label.starts_with("xn--")) {
        return Ok(lower);
    }
    let (any, length) = (AsciiDenyList::EMPTY, DnsLength::Ignore);
    let name = Uts46::new().to_ascii(lower.as_bytes(), any, Hyphens::Allow, length);
    name.map(Cow::into_owned).map_err(|_| HostNameError::NotIdn)
}

fn check_label(label: &str) -> Result<(), HostNameError> {
    let is_odd = |c: &char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    match label {
        "" => Err(HostNameError::EmptyLabel),
        label if label.len() > LABEL_MAX => Err(HostNameError::LongLabel),
        label if label.starts_with('-') || label.ends_with('-') => Err(HostNameError::Hyphen),
        label => label.chars().find(is_odd).map_or(Ok(()), |c| Err(HostNameError::Character(c))),
    }
}

/// Returns whether inet_aton(3) would read the label as a number: decimal, octal or, after `0x`,
/// hexadecimal.
fn is_number(label: &str) -> bool {
    match label.strip_prefix("0x") {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for HostName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
