//! The values of secrets.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::os::unix::ffi::OsStringExt;
use std::process::{Command, ExitStatus, Stdio};

use endow_policy::SecretSource;
use zeroize::Zeroizing;

use super::environment::Given;

/// The most bytes of a value, less than a pipe holds.
const BYTES_MAX: usize = 32 << 10;

/// Why a value can't be read. None of them has a part of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretError {
    /// The variable is not there.
    #[error("variable is not set: {0}")]
    NotSet(String),
    /// The file or the output can't be read.
    #[error("can't read {what}")]
    Read { what: String, source: io::Error },
    /// The command failed.
    #[error("its command failed: {status}{}", without(withheld))]
    Failed { status: ExitStatus, withheld: Vec<String> },
    /// There is no value.
    #[error("it is empty{}", without(.0))]
    Empty(Vec<String>),
    /// It is longer than a secret.
    #[error("it has more than {BYTES_MAX} bytes")]
    Long,
    /// It has bytes that a header can't have.
    #[error("it has a character that can't be in a header")]
    Character,
}

/// Names the variables that a command did not get.
fn without(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    format!(" (without {}: a command of the sandbox could write there)", names.join(", "))
}

/// What a value is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A header: one line of visible characters.
    Header,
    /// A program reads it: any bytes.
    Bytes,
}

/// A value, wiped when it is dropped.
pub(super) struct Value(Zeroizing<Vec<u8>>);

impl Value {
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the text of a value for a header, which is one.
    pub(super) fn as_text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Reads a value. Line ends behind it don't count. A command gets what is `given`.
pub(super) fn read(
    from: &SecretSource,
    kind: Kind,
    given: Given<'_>,
) -> Result<Value, SecretError> {
    let mut value = match from {
        SecretSource::Variable(name) => {
            let value = std::env::var_os(name).ok_or_else(|| SecretError::NotSet(name.clone()))?;
            Zeroizing::new(value.into_vec())
        }
        SecretSource::File(path) => {
            let what = || path.to_string();
            let file = File::open(path.as_path());
            read_all(file.map_err(|source| SecretError::Read { what: what(), source })?, what)?
        }
        SecretSource::Command(command) => written_by(command, given)?,
    };
    while matches!(value.last(), Some(b'\n' | b'\r')) {
        value.pop();
    }
    match value.as_slice() {
        [] if !matches!(from, SecretSource::Command(_)) => Err(SecretError::Empty(Vec::new())),
        [] => Err(SecretError::Empty(given.withheld.to_vec())),
        long if long.len() > BYTES_MAX => Err(SecretError::Long),
        value if kind == Kind::Header && !value.iter().all(|byte| is_visible(*byte)) => {
            Err(SecretError::Character)
        }
        _ => Ok(Value(value)),
    }
}

fn is_visible(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// Returns the value that a command of the user's writes, run by the shell. The command may ask at the terminal;
/// what else there is to read is for whom endow runs.
/// It runs in `/`: what lies in the project, which earlier commands have written, is no part of it.
fn written_by(command: &str, given: Given<'_>) -> Result<Zeroizing<Vec<u8>>, SecretError> {
    let what = || "what its command writes".to_owned();
    let failed = |source| SecretError::Read { what: what(), source };
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).stdout(Stdio::piped());
    if !io::stdin().is_terminal() {
        shell.stdin(Stdio::null());
    }
    given.give(&mut shell);
    let mut child = shell.spawn().map_err(failed)?;
    let value = child.stdout.take().map(|out| read_all(out, what)).transpose();
    let status = child.wait().map_err(failed)?;
    let value = value?.unwrap_or_default();
    if status.success() {
        return Ok(value);
    }
    Err(SecretError::Failed { status, withheld: given.withheld.to_vec() })
}

/// Reads to the end, or a byte more than a value may have; never into memory that grows, which
/// would leave copies.
fn read_all(
    mut from: impl Read,
    what: impl Fn() -> String,
) -> Result<Zeroizing<Vec<u8>>, SecretError> {
    let mut value = Zeroizing::new(vec![0; BYTES_MAX + 3]);
    let mut length = 0;
    while let Some(room) = value.get_mut(length..).filter(|room| !room.is_empty()) {
        match from.read(room) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(SecretError::Read { what: what(), source }),
        }
    }
    value.truncate(length);
    Ok(value)
}
