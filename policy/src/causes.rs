//! An error with all that led to it.

use std::error::Error;
use std::iter::successors;

/// Returns an error and what led to it, one after the other.
pub fn causes<'e>(error: &'e (dyn Error + 'e)) -> impl Iterator<Item = &'e (dyn Error + 'e)> {
    successors(Some(error), |error| (**error).source().map(|cause| cause as &(dyn Error + 'e)))
}

/// Returns an error and what led to it, in one line.
pub fn in_one_line(error: &dyn Error) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("can't start")]
    struct Outer(#[source] std::fmt::Error);

    #[test]
    fn all_causes_stand_in_one_line() {
        let error = Outer(std::fmt::Error);
        assert_eq!(in_one_line(&error), format!("can't start: {}", std::fmt::Error));
    }
}
