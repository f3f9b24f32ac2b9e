//! One line on the terminal that says how far long work has come, gone when the work is done.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use super::table;
use crate::cli::output::Output;
use crate::trees::{Amount, Progress};

/// What takes less time is not worth a line.
const BEGIN: Duration = Duration::from_millis(500);
/// The least time between two lines.
const PAUSE: Duration = Duration::from_millis(100);

/// The line. Without a terminal, and with `-q`, it is never there.
pub(crate) struct ProgressLine<'o> {
    output: &'o Output,
    what: &'static str,
    next: Cell<Instant>,
    /// What stands there now.
    shown: RefCell<String>,
}

impl<'o> ProgressLine<'o> {
    /// Begins some work.
    pub(crate) fn begin(output: &'o Output, what: &'static str) -> Self {
        let next = Cell::new(Instant::now() + BEGIN);
        Self { output, what, next, shown: RefCell::default() }
    }

    /// Says how far it has come.
    pub(crate) fn show(&self, progress: Progress) {
        if progress.done != Amount::default() {
            self.put(|what| line(what, progress));
        }
    }

    fn put(&self, line: impl FnOnce(&str) -> String) {
        let now = Instant::now();
        if !self.output.shows_progress() || now < self.next.get() {
            return;
        }
        self.next.set(now + PAUSE);
        let line = line(self.what);
        self.output.over(&self.shown.replace(line.clone()), &line);
    }
}

impl Drop for ProgressLine<'_> {
    fn drop(&mut self) {
        let shown = self.shown.take();
        if !shown.is_empty() {
            self.output.over(&shown, "");
        }
    }
}

/// A line likewise, of things that are counted.
pub(crate) struct CountLine<'o> {
    line: ProgressLine<'o>,
}

impl<'o> CountLine<'o> {
    /// Begins some work.
    pub(crate) fn begin(output: &'o Output, what: &'static str) -> Self {
        Self { line: ProgressLine::begin(output, what) }
    }

    /// Says how many are done.
    pub(crate) fn show(&self, done: usize, all: usize) {
        self.line.put(|what| format!("endow: {what}: {done} of {all}"));
    }
}

fn line(what: &str, Progress { done, of }: Progress) -> String {
    let Amount { files, bytes } = done;
    let size = table::size;
    match of {
        Some(of) if of.bytes > 0 => {
            let (all, whole) = (of.files, size(of.bytes));
            format!("endow: {what}: {files} of {all} files, {} of {whole}", size(bytes))
        }
        Some(of) => format!("endow: {what}: {files} of {}", of.files),
        None => format!("endow: {what}: {files} files, {}", size(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_is_known() {
        let amount = |files, bytes| Amount { files, bytes };
        let done = amount(3, 2048);
        let told = |of| line("reading", Progress { done, of });
        assert_eq!(told(None), "endow: reading: 3 files, 2.0K");
        assert_eq!(told(Some(amount(9, 0))), "endow: reading: 3 of 9");
        let whole = told(Some(amount(9, 1 << 20)));
        assert_eq!(whole, "endow: reading: 3 of 9 files, 2.0K of 1.0M");
    }
}
