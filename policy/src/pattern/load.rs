//! How much all patterns of a policy stand for together: each is compiled, with what leads to protected names.

use super::PatternFault;
use super::compile::{MOST_CHOICES, expand};

/// The most patterns without choices.
const MOST: usize = 20_000;
/// The most bytes that these have.
const MOST_BYTES: usize = 1 << 20;

/// What to write instead.
pub(crate) const FEWER: &str =
    "say it with fewer braces, with `*`, or with a directory as a whole (`x/**`)";

/// What the patterns so far stand for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    patterns: usize,
    bytes: usize,
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The names that a pattern matches.
    Names,
    /// These, and the directories that lead to them.
    NamesAndWays,
}

impl Load {
    /// Adds what a pattern stands for.
    ///
    /// # Errors
    /// All patterns together stand for more than is allowed.
    pub(crate) fn add(&mut self, pattern: &str, reach: Reach) -> Result<(), PatternFault> {
        match expand(pattern) {
            Ok(choices) => choices.iter().for_each(|choice| self.add_choice(choice, reach)),
            // To find that out costs as much as a pattern that has them.
            Err(PatternFault::TooManyChoices) => self.patterns += MOST_CHOICES,
            Err(_) => self.patterns += 1,
        }
        if self.is_too_much() { Err(PatternFault::TooManyInAll) } else { Ok(()) }
    }

    pub(crate) fn is_too_much(&self) -> bool {
        self.patterns > MOST || self.bytes > MOST_BYTES
    }

    fn add_choice(&mut self, choice: &str, reach: Reach) {
        let ways = choice.match_indices('/').map(|(end, _)| end);
        let ways = ways.filter(|_| reach == Reach::NamesAndWays);
        for length in ways.chain([choice.len()]) {
            self.patterns += 1;
            self.bytes += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many of many like it there may be.
    fn fit(pattern: &str, reach: Reach) -> usize {
        let mut load = Load::default();
        (0..=MOST).find(|_| load.add(pattern, reach).is_err()).expect("an end")
    }

    #[test]
    fn patterns_count_by_what_they_stand_for() {
        use Reach::{Names, NamesAndWays};
        assert_eq!(fit("*.pem", Names), 20_000);
        assert_eq!(fit("{a,b}{c,d}", Names), 5000);
        assert_eq!(fit("!{a,b}", Names), 10_000);
        assert_eq!(fit(&"a".repeat(1 << 10), Names), 1 << 10);
        assert_eq!(fit(&format!("{{a,b}}{}", "c".repeat(1023)), Names), 1 << 9);
        assert_eq!(fit("a/b/c/d", Names), 20_000);
        assert_eq!(fit("a/b/c/d", NamesAndWays), 5000);
        assert!(fit(&"*/".repeat(1000), NamesAndWays) < 2);
        assert_eq!(fit(&"{a,b}".repeat(20), Names), 20);
        assert_eq!(fit("{a", Names), 20_000);
    }
}
