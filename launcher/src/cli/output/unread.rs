//! Lines that nobody takes while a command runs: a terminal that the user has stopped, or a pipe whose reader is busy, keeps
//! no supervisor from its work.

use std::io::Write;
use std::time::Instant;

use crate::cli::report::event_stream::is_taken;

/// The most lines that wait; what comes then is counted.
const LINES: usize = 1000;

/// Lines in their order.
#[derive(Debug, Default)]
pub(super) struct Unread {
    lines: Vec<String>,
    left_out: usize,
}

impl Unread {
    /// Prints a line after those that wait, or lets it wait with them.
    pub(super) fn print_or_keep(&mut self, line: String) {
        if self.lines.len() < LINES {
            self.lines.push(line);
        } else {
            self.left_out += 1;
        }
        let taken = self.lines.iter().take_while(|line| is_taken_now() && print(line)).count();
        self.lines.drain(..taken);
    }

    /// Prints all, however long that takes.
    pub(super) fn print(self) {
        let Self { lines, left_out } = self;
        let rest = (left_out > 0).then(|| format!("endow: {left_out} more lines were left out\n"));
        // Nobody listens: nothing more can be said.
        let _ = lines.iter().chain(&rest).all(|line| print(line));
    }
}

fn print(line: &str) -> bool {
    std::io::stderr().lock().write_all(line.as_bytes()).is_ok()
}

/// Whether a line can be written without waiting.
fn is_taken_now() -> bool {
    is_taken(std::io::stderr(), Instant::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_lines_wait() {
        let mut unread = Unread { lines: vec![String::new(); LINES], left_out: 0 };
        unread.print_or_keep("more".to_owned());
        assert!(unread.lines.is_empty() && unread.left_out == 1);
    }
}
