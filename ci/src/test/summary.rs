//! Reads what test executables print: counts, and the order in which it is shown.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::AddAssign;

/// How the note of a test ends that is for another kind of machine.
const ELSEWHERE: &str = "; `cargo ci kernels` boots such a machine";
/// The line around what failed tests have said.
const FAILURES: &str = "failures:";
/// How much of it is said once more at the end, in lines.
const WORDS_MAX: usize = 100;

/// What became of the tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Ran and held.
    pub(crate) passed: u64,
    /// Ran and did not hold, or never ended.
    pub(crate) failed: u64,
    /// Did not run, because something they need is missing.
    pub(crate) skipped: u64,
    /// Those of them that no machine like this one can run, and `cargo ci kernels` does.
    pub(crate) elsewhere: u64,
    /// The names of those that did not hold.
    pub(crate) failures: Vec<String>,
    /// `name: reason` of those that did not run.
    pub(crate) notes: Vec<String>,
    /// What failed tests have said.
    words: Vec<String>,
    /// Whether they are saying it.
    in_words: bool,
    /// Whether the closing line of an executable was seen.
    closed: bool,
}

impl Counts {
    /// Reads one line of a test executable.
    pub(crate) fn read(&mut self, line: &str) {
        let failed = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED"));
        self.failures.extend(failed.map(str::to_owned));
        if line == FAILURES {
            self.in_words = !self.in_words;
        } else if self.in_words {
            self.words.push(line.to_owned());
        }
        let Some(rest) = line.strip_prefix("test result: ") else { return };
        self.closed = true;
        self.in_words = false;
        for part in rest.split([';', '.']) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(word)) = (words.next(), words.next()) else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match word {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }

    /// Shows the tests that noted not to have run; the executable had counted them as passed.
    pub(crate) fn add_skips(&mut self, notes: &str) {
        let notes: BTreeSet<&str> = notes.lines().filter(|line| !line.is_empty()).collect();
        for note in &notes {
            println!("not run: {note}");
        }
        let number = count(notes.len());
        self.elsewhere += count(notes.iter().filter(|note| note.ends_with(ELSEWHERE)).count());
        self.skipped += number;
        self.passed = self.passed.saturating_sub(number);
        self.notes.extend(notes.into_iter().map(str::to_owned));
    }

    /// What failed tests have said, for the end, where whoever reads only that finds it.
    pub(crate) fn said(&self) -> String {
        let words = self.words.iter().filter(|line| !line.is_empty()).take(WORDS_MAX);
        words.map(|line| format!("{line}\n")).collect()
    }

    /// Judges the end of an executable: one that dies half-way has failed whatever it printed.
    pub(crate) fn ended(&mut self, code: Option<i32>) -> Option<String> {
        let agrees = match code {
            Some(0) => self.closed && self.failed == 0,
            _ => self.closed && self.failed > 0,
        };
        if agrees {
            return None;
        }
        self.failed += 1;
        Some(match code {
            Some(124 | 137) => "failed: the time limit is over".to_owned(),
            Some(code) => format!("failed: the executable ended with {code} before its result"),
            None => "failed: the executable was killed".to_owned(),
        })
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.elsewhere += other.elsewhere;
        self.failures.extend(other.failures);
        self.words.extend(other.words);
        self.notes.extend(other.notes);
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Holds back the lines of single tests until all are there, then gives them out sorted.
#[derive(Debug, Default)]
pub(crate) struct SortedLines {
    held: Vec<String>,
}

impl SortedLines {
    /// Takes a line; gives back what can be shown now.
    pub(crate) fn push(&mut self, line: String) -> Vec<String> {
        if line.starts_with("test ") && line.contains(" ... ") {
            self.held.push(line);
            return Vec::new();
        }
        let ends_the_list = line.is_empty() || line.starts_with("test result: ");
        let mut ready = if ends_the_list { self.finish() } else { Vec::new() };
        ready.push(line);
        ready
    }

    /// Gives back what is still held.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        self.held.sort();
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &str = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s";
    const FAILED: &str = "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.01s";

    fn read(line: &str) -> Counts {
        let mut counts = Counts::default();
        counts.read(line);
        counts
    }

    #[test]
    fn counts_read_a_closing_line() {
        assert_eq!(read(OK).to_string(), "3 passed, 0 failed, 1 skipped");
        assert_eq!(read(FAILED).to_string(), "2 passed, 1 failed, 0 skipped");
        assert_eq!(read("test a ... ok").to_string(), "0 passed, 0 failed, 0 skipped");
    }

    #[test]
    fn counts_move_noted_tests_from_passed_to_skipped() {
        let mut counts = read(OK);
        counts.add_skips("run::strace: no strace\nrun::strace: no strace\n");
        assert_eq!(counts.to_string(), "2 passed, 0 failed, 2 skipped");
    }

    #[test]
    fn counts_tell_tests_for_other_machines() {
        let mut counts = read(OK);
        counts.add_skips(&format!("machines::a: no cgroup{ELSEWHERE}\nrun::b: no strace\n"));
        assert_eq!((counts.skipped, counts.elsewhere), (3, 1));
    }

    #[test]
    fn an_executable_that_dies_has_failed() {
        assert_eq!(read(OK).ended(Some(0)), None);
        assert_eq!(read(FAILED).ended(Some(101)), None);
        for (line, code) in [(OK, Some(1)), ("", Some(0)), ("", Some(124)), ("", None)] {
            let mut counts = read(line);
            assert!(counts.ended(code).is_some(), "{line} {code:?}");
            assert_eq!(counts.failed, 1);
        }
    }

    #[test]
    fn words_of_failed_tests_are_kept_for_the_end() {
        let mut counts = Counts::default();
        let heading = "---- a stdout ----";
        let printed = ["test a ... FAILED", "", FAILURES, "", heading, "no", FAILURES, "    a", ""];
        printed.iter().chain([&FAILED]).for_each(|line| counts.read(line));
        counts += read(OK);
        assert_eq!(counts.said(), "---- a stdout ----\nno\n");
    }

    #[test]
    fn lines_of_single_tests_are_sorted() {
        let mut lines = SortedLines::default();
        let mut shown = Vec::new();
        for line in ["", "running 2 tests", "test b ... ok", "test a ... ok", "", OK] {
            shown.extend(lines.push(line.to_owned()));
        }
        assert_eq!(shown, ["", "running 2 tests", "test a ... ok", "test b ... ok", "", OK]);
        assert!(lines.finish().is_empty());
    }
}
