//! The name of a run.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::fs::{Errno, Result};

/// Crockford's digits: no letter that looks like another digit, in the order of their bytes.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const HALF: usize = 8;
/// Steps of a second that ids tell apart.
const STEPS: u64 = 32;

/// Why a text is no run id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a run id")]
pub struct RunIdError;

/// The name of a run: 8 digits of its time, 8 that can't be guessed.
///
/// Ids sort by time (to 1/32 s), so that a unique prefix is short.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RunId(String);

impl TryFrom<String> for RunId {
    type Error = RunIdError;

    fn try_from(text: String) -> std::result::Result<Self, RunIdError> {
        Self::parse(&text)
    }
}

impl RunId {
    /// Makes an id of the current time and the kernel's randomness.
    ///
    /// # Errors
    /// When the kernel has no randomness.
    pub fn generate() -> Result<Self> {
        let mut random = [0; 5];
        let length = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        if length != random.len() {
            return Err(Errno::IO);
        }
        Ok(Self::new(SystemTime::now(), random))
    }

    /// Makes the id of a time and five bytes.
    pub fn new(time: SystemTime, random: [u8; 5]) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let steps =
            since.as_secs() * STEPS + u64::from(since.subsec_nanos()) * STEPS / 1_000_000_000;
        let low = random.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        Self(digits(steps) + &digits(low))
    }

    /// Accepts the text of an id.
    ///
    /// # Errors
    /// Any other text.
    pub fn parse(text: &str) -> std::result::Result<Self, RunIdError> {
        let is_id = text.len() == 2 * HALF && text.bytes().all(|byte| DIGITS.contains(&byte));
        if is_id { Ok(Self(text.to_owned())) } else { Err(RunIdError) }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns when the run was made.
    pub fn time(&self) -> SystemTime {
        let value = |byte| DIGITS.iter().zip(0u64..).find(|(digit, _)| **digit == byte);
        let values = self.0.bytes().take(HALF).filter_map(value);
        let steps = values.fold(0, |sum, (_, value)| sum << 5 | value);
        let nanoseconds = steps % STEPS * (1_000_000_000 / STEPS);
        UNIX_EPOCH + Duration::from_secs(steps / STEPS) + Duration::from_nanos(nanoseconds)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunId({})", self.0)
    }
}

/// Writes the low 40 bits in eight digits.
fn digits(value: u64) -> String {
    (0..HALF)
        .rev()
        .map(|place| char::from(DIGITS[usize::try_from(value >> (5 * place) & 31).unwrap_or(0)]))
        .collect()
}
