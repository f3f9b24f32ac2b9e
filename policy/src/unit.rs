//! Sizes and durations as people write them.

use std::time::Duration;

/// Why a size or a duration can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitError {
    /// There is no number at the start.
    #[error("no number")]
    NoNumber,
    /// The number is negative.
    #[error("less than zero")]
    Negative,
    /// The number has a fraction.
    #[error("not a whole number; a smaller unit may do")]
    Fraction,
    /// The unit is not a known one for a size.
    #[error("unknown unit of size, known: K, M, G, T")]
    SizeUnit,
    /// The unit is not a known one for a duration.
    #[error("unknown unit of time, known: ms, s, m, h, d")]
    TimeUnit,
    /// The number doesn't fit.
    #[error("number too large")]
    TooLarge,
}

/// Reads a size in bytes: `4096`, `256M`, `4G`; K, M, G and T are powers of 1024.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = split(text)?;
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(UnitError::SizeUnit),
    };
    number.checked_mul(1 << shift).ok_or(UnitError::TooLarge)
}

/// Reads a duration: `500ms`, `30s`, `10m`, `1h`, `2d`; a plain number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let (number, unit) = split(text)?;
    let seconds = match unit {
        "ms" => return Ok(Duration::from_millis(number)),
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86400,
        _ => return Err(UnitError::TimeUnit),
    };
    number.checked_mul(seconds).map(Duration::from_secs).ok_or(UnitError::TooLarge)
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_digit())
}

fn split(text: &str) -> Result<(u64, &str), UnitError> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if number.is_empty() && unit.strip_prefix('-').is_some_and(starts_with_digit) {
        return Err(UnitError::Negative);
    }
    if number.is_empty() {
        return Err(UnitError::NoNumber);
    }
    if unit.starts_with(['.', ',']) {
        return Err(UnitError::Fraction);
    }
    let number = number.parse().map_err(|_| UnitError::TooLarge)?;
    Ok((number, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("0", Ok(0)),
            ("4096", Ok(4096)),
            ("1K", Ok(1024)),
            ("256M", Ok(256 << 20)),
            ("4G", Ok(4 << 30)),
            ("2T", Ok(2 << 40)),
            ("1 GiB", Ok(1 << 30)),
            ("5mb", Ok(5 << 20)),
            ("", Err(UnitError::NoNumber)),
            ("M", Err(UnitError::NoNumber)),
            ("-1", Err(UnitError::Negative)),
            ("-M", Err(UnitError::NoNumber)),
            ("1.5G", Err(UnitError::Fraction)),
            ("1X", Err(UnitError::SizeUnit)),
            ("99999999999999999999", Err(UnitError::TooLarge)),
            ("99999999999T", Err(UnitError::TooLarge)),
        ] {
            assert_eq!(parse_size(text), expected, "{text}");
        }
    }

    #[test]
    fn durations() {
        let s = Duration::from_secs;
        for (text, expected) in [
            ("0", Ok(s(0))),
            ("30", Ok(s(30))),
            ("30s", Ok(s(30))),
            ("10m", Ok(s(600))),
            ("1h", Ok(s(3600))),
            ("14d", Ok(s(14 * 86400))),
            ("500ms", Ok(Duration::from_millis(500))),
            ("", Err(UnitError::NoNumber)),
            ("h", Err(UnitError::NoNumber)),
            ("1h30m", Err(UnitError::TimeUnit)),
            ("5 weeks", Err(UnitError::TimeUnit)),
            ("9999999999999999999d", Err(UnitError::TooLarge)),
        ] {
            assert_eq!(parse_duration(text), expected, "{text}");
        }
    }
}
