//! Where the value of a secret comes from.

use std::fmt;

use serde::{Serialize, Serializer};

use super::{WrittenSource, is_variable};
use crate::HostPath;

/// Where the value comes from. It is read when a run starts, and never kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// A variable of endow's own environment, which is not passed on.
    Variable(String),
    /// A file of the host.
    File(HostPath),
    /// What a command of the host's shell writes.
    Command(String),
}

/// Why a text is no source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// It begins with none of the known words.
    #[error("not `env:NAME`, `file:PATH` or `cmd:COMMAND`")]
    Kind,
    /// Nothing follows the word.
    #[error("nothing is named behind the colon")]
    Empty,
    /// What follows `env:` is no variable's name.
    #[error("not a variable's name")]
    Variable,
    /// A NUL byte can be in no path and no command.
    #[error("it has a NUL byte")]
    Nul,
}

impl WrittenSource {
    /// Reads a source as it is written.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let (kind, rest) = text.split_once(':').ok_or(SourceError::Kind)?;
        if !matches!(kind, "env" | "file" | "cmd") {
            return Err(SourceError::Kind);
        }
        match (kind, rest) {
            (_, rest) if rest.trim().is_empty() => Err(SourceError::Empty),
            (_, rest) if rest.contains('\0') => Err(SourceError::Nul),
            ("env", name) if !is_variable(name) => Err(SourceError::Variable),
            ("env", name) => Ok(Self::Variable(name.to_owned())),
            ("file", path) => Ok(Self::File(path.into())),
            (_, command) => Ok(Self::Command(command.to_owned())),
        }
    }
}

impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{path}"),
            Self::Command(command) => write!(f, "cmd:{command}"),
        }
    }
}

impl Serialize for SecretSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
