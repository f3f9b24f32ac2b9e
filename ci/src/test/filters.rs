//! What of the tests was asked for, in the words of a test executable.
//!
//! An executable leaves out by any part of a name: without `work::` nothing of `network::` is left. So it is told the
//! names that are wanted, and a module is one from its beginning.

/// Options of a test executable that have a value.
const WITH_A_VALUE: [&str; 4] = ["--color", "--format", "--logfile", "--test-threads"];

/// An option of a test executable with its value in the same word.
const SKIP: &str = "--skip=";

/// Which tests are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filters {
    wanted: Vec<String>,
    is_exact: bool,
    skipped: Vec<String>,
    /// Words that choose nothing.
    options: Vec<String>,
}

impl Filters {
    /// Reads the words that a test executable understands.
    pub(crate) fn of(words: &[String]) -> Self {
        let mut filters = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--" => {}
                "--exact" => filters.is_exact = true,
                "--skip" => filters.skipped.extend(words.next().cloned()),
                skip if skip.starts_with(SKIP) => filters.skipped.push(skip.replacen(SKIP, "", 1)),
                option if option.starts_with('-') => {
                    let value = words.clone().next().filter(|_| WITH_A_VALUE.contains(&option));
                    filters.options.extend([word].into_iter().chain(value).cloned());
                    words.by_ref().take(value.iter().count()).for_each(drop);
                }
                _ => filters.wanted.push(word.clone()),
            }
        }
        filters
    }

    /// Returns whether a test is wanted.
    pub(crate) fn let_through(&self, name: &str) -> bool {
        let is = |part: &String| if self.is_exact { part == name } else { has(name, part) };
        let is_wanted = self.wanted.is_empty() || self.wanted.iter().any(is);
        is_wanted && !self.skipped.iter().any(|part| has(name, part))
    }

    /// Returns the words for an executable that is to run just these tests.
    pub(crate) fn words_for(&self, names: impl IntoIterator<Item = String>) -> Vec<String> {
        let exact = ["--exact".to_owned()].into_iter();
        exact.chain(names).chain(self.options.iter().cloned()).collect()
    }
}

/// Returns whether a test's name has a part; a module, which ends in `::`, counts whole.
pub(crate) fn has(name: &str, part: &str) -> bool {
    if part.ends_with("::") {
        return name.starts_with(part) || name.contains(&format!("::{part}"));
    }
    name.contains(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters(words: &str) -> Filters {
        Filters::of(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_module_is_one_from_its_beginning() {
        assert!(has("work::builds::make", "work::") && has("a::work::b", "work::"));
        assert!(!has("network::rules::host", "work::") && has("network::rules::host", "work"));
        let without = filters("--skip work::");
        assert!(without.let_through("network::rules::host") && !without.let_through("work::make"));
    }

    #[test]
    fn what_is_named_is_wanted_but_what_is_skipped() {
        assert!(filters("").let_through("a::b"));
        for words in ["a:: --skip a::c d", "a:: --skip=a::c d"] {
            let some = filters(words);
            assert!(some.let_through("a::b") && some.let_through("x::d"));
            assert!(!some.let_through("a::c") && !some.let_through("x::b"));
            assert_eq!(some.words_for([]), ["--exact"]);
        }
        let exact = filters("--exact a::b");
        assert!(exact.let_through("a::b") && !exact.let_through("a::bc"));
    }

    #[test]
    fn options_choose_nothing_and_are_passed_on() {
        let options = filters("--nocapture --test-threads 1 -- a");
        assert!(options.let_through("a") && !options.let_through("1"));
        let words = options.words_for(["a".to_owned()]);
        assert_eq!(words, ["--exact", "a", "--nocapture", "--test-threads", "1"]);
    }
}
