//! The only place that prints. Data goes to stdout, everything else to stderr.

pub(crate) mod json_text;
pub(crate) mod progress;
pub(crate) mod table;
mod unread;
pub(crate) mod words;

use std::io::{BufRead, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use endow_policy::causes;
pub(crate) use endow_policy::printable;
use rustix::io::Errno;
use serde::Serialize;
use serde_json::json;

use super::args::{Color, Style};
use super::error::CommandError;
use super::exit;
use crate::sys::start;
use unread::Unread;

/// How to speak, decided once.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each answers one question about the caller")]
pub(crate) struct Output {
    json: bool,
    quiet: bool,
    verbose: bool,
    terminal: bool,
    color: bool,
    /// What `--color` says, when it does.
    wish: Option<bool>,
    /// Some data could not be written, and somebody would have read it.
    lost: Arc<AtomicBool>,
    /// What waits for its reader while a command runs; `None` when nothing has to.
    unread: Arc<Mutex<Option<Unread>>>,
}

impl Output {
    /// Decides by flags, terminal and `NO_COLOR`.
    pub(crate) fn new(style: &Style) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let wish = match style.color {
            Color::Always => Some(true),
            Color::Never => Some(false),
            Color::Auto => None,
        };
        let color = wish.unwrap_or(terminal && !no_color());
        let Style { json, quiet, verbose, .. } = *style;
        let (lost, unread) = (Arc::default(), Arc::default());
        Self { json, quiet, verbose, terminal, color, wish, lost, unread }
    }

    /// Returns whether data is to be one JSON object.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Returns whether anybody is told of details: by `-v`, or in the JSON.
    pub(crate) fn is_detailed(&self) -> bool {
        self.verbose || self.json
    }

    /// Returns whether only what is wrong is to be told.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints data as text.
    pub(crate) fn text(&self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Prints data as bytes; false when nothing more can be printed, or nobody reads it any more.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> bool {
        // In the place of a closed one is /dev/null, which takes everything.
        let is_closed = start::was_closed(1) && !bytes.is_empty();
        let written = if is_closed { Err(Errno::BADF.into()) } else { write_out(bytes) };
        self.note(&written);
        written.is_ok()
    }

    /// Tells once that data could not be written.
    pub(crate) fn note(&self, written: &std::io::Result<()>) {
        // A reader that has gone, as in `endow plan | head`, has what it wanted.
        if let Err(error) = written.as_ref()
            && error.kind() != ErrorKind::BrokenPipe
            && !self.lost.swap(true, Ordering::Relaxed)
        {
            self.problem("not all that was asked for could be written", error);
        }
    }

    /// Returns the exit code of a command that prints data: whoever has only a part of it must not take that for the
    /// whole. What else went wrong has the word.
    pub(crate) fn ended(&self, code: ExitCode) -> ExitCode {
        let is_answer = [ExitCode::SUCCESS, ExitCode::FAILURE].contains(&code);
        if !is_answer || !self.lost.load(Ordering::Relaxed) {
            return code;
        }
        self.hint("make room where it is written, or write it elsewhere, and ask again");
        ExitCode::from(exit::SETUP_FAILED)
    }

    /// Returns whether data goes to a terminal, and whether it is coloured.
    pub(crate) fn data_look(&self) -> (bool, bool) {
        let terminal = std::io::stdout().is_terminal();
        (terminal, self.wish.unwrap_or(terminal && !no_color()))
    }

    /// Prints data as JSON.
    pub(crate) fn json(&self, data: &impl Serialize) {
        let mut text = serde_json::to_string_pretty(data).unwrap_or_default();
        text.push('\n');
        self.text(&text);
    }

    /// Prints data as JSON on one line.
    pub(crate) fn json_line(&self, data: &impl Serialize) {
        let mut text = serde_json::to_string(data).unwrap_or_default();
        text.push('\n');
        self.text(&text);
    }

    /// Prints one line that the user of a terminal should know of; `-q` silences it.
    pub(crate) fn notice(&self, line: &str) {
        if !self.quiet && (self.terminal || self.verbose) {
            self.line("", &format!("endow: {}", printable(line)));
        }
    }

    /// Prints a notice, which is told without a terminal too where somebody asked for it.
    pub(crate) fn finding(&self, line: &str, is_asked_for: bool) {
        if is_asked_for { self.remark(line) } else { self.notice(line) }
    }

    /// Returns whether anybody gets to see a notice.
    pub(crate) fn shows_notices(&self) -> bool {
        self.shows_progress() || self.is_detailed()
    }

    /// Returns whether somebody looks who wants to know how far work has come.
    pub(crate) fn shows_progress(&self) -> bool {
        self.terminal && !self.quiet
    }

    /// Writes over a line of the terminal; an empty one leaves nothing of it.
    #[expect(clippy::unused_self, reason = "printing is done by those who were handed an output")]
    pub(crate) fn over(&self, before: &str, line: &str) {
        let blank = " ".repeat(before.len().saturating_sub(line.len()));
        let end = if line.is_empty() { "\r" } else { "" };
        let mut stderr = std::io::stderr().lock();
        drop(write!(stderr, "\r{line}{blank}{end}").and_then(|()| stderr.flush()));
    }

    /// Prints one line that explains an exit code of endow's own, or names what is lost.
    pub(crate) fn warning(&self, line: &str) {
        self.line("1;31", &format!("endow: {}", printable(line)));
    }

    /// Prints one line about what may not be meant and changes no exit code; `-q` silences it.
    pub(crate) fn caution(&self, line: &str) {
        if !self.quiet {
            self.warning(line);
        }
    }

    /// Prints one line about the data that was asked for; `-q` silences it.
    pub(crate) fn remark(&self, line: &str) {
        if !self.quiet {
            self.line("", &format!("endow: {}", printable(line)));
        }
    }

    /// Prints one line that says what helps; `-q` silences it.
    pub(crate) fn hint(&self, line: &str) {
        if !self.quiet {
            self.line("1;32", &format!("hint: {}", printable(line)));
        }
    }

    /// Hands bytes of others on to stderr.
    #[expect(clippy::unused_self, reason = "printing is done by those who were handed an output")]
    pub(crate) fn error_bytes(&self, bytes: &[u8]) {
        drop(std::io::stderr().lock().write_all(bytes));
    }

    /// Prints what went wrong after the command had ended, whose exit code may stand all the same.
    pub(crate) fn problem(&self, what: &str, error: &dyn std::error::Error) {
        self.line("1;31", &format!("endow: {what}"));
        for cause in causes(error) {
            self.line("", &format!("cause: {}", printable(&cause.to_string())));
        }
    }

    /// Prints one line that only `-v` wants.
    pub(crate) fn detail(&self, line: &str) {
        if self.verbose {
            self.line("", &format!("endow: {}", printable(line)));
        }
    }

    /// Returns whether somebody is there who can be asked.
    pub(crate) fn can_ask(&self) -> bool {
        !self.json && self.terminal && std::io::stdin().is_terminal()
    }

    /// Asks the user of a terminal; `None` when there is none to ask.
    pub(crate) fn ask(&self, question: &str) -> Option<bool> {
        if !self.can_ask() {
            return None;
        }
        let stdin = std::io::stdin();
        let mut stderr = std::io::stderr().lock();
        write!(stderr, "{} [y/N] ", printable(question)).ok()?;
        let mut answer = Vec::new();
        stdin.lock().read_until(b'\n', &mut answer).ok()?;
        if !answer.ends_with(b"\n") {
            // What follows begins a line of its own.
            drop(writeln!(stderr));
        }
        let answer = String::from_utf8_lossy(&answer).trim().to_lowercase();
        Some(matches!(answer.as_str(), "y" | "yes"))
    }

    /// Prints an error and returns its exit code.
    pub(crate) fn failure(&self, error: &CommandError) -> ExitCode {
        if self.json {
            self.json(&json!({"error": {
                "kind": error.kind.word(),
                "message": error.message,
                "object": error.object,
                "causes": error.causes,
                "hints": error.hints,
            }}));
        } else {
            self.error(error);
        }
        ExitCode::from(error.kind.code())
    }

    /// Prints an error on stderr.
    pub(crate) fn error(&self, error: &CommandError) {
        let object = error.object.as_ref().map(|object| format!(": {object}")).unwrap_or_default();
        self.line("1;31", &format!("endow: {}{}", printable(&error.message), printable(&object)));
        if let Some(excerpt) = &error.excerpt {
            self.line("", excerpt.trim_end());
        }
        // An excerpt says them with their places.
        let causes = error.causes.iter().filter(|_| error.excerpt.is_none());
        for cause in causes {
            self.line("", &format!("cause: {}", printable(cause)));
        }
        for hint in &error.hints {
            self.line("1;32", &format!("hint: {}", printable(hint)));
        }
    }

    /// Does something for which no reader may keep it waiting: what nobody takes meanwhile is printed after it.
    pub(crate) fn without_waiting<T>(&self, act: impl FnOnce() -> T) -> T {
        *self.unread() = Some(Unread::default());
        let done = act();
        if let Some(unread) = self.unread().take() {
            unread.print();
        }
        done
    }

    fn unread(&self) -> std::sync::MutexGuard<'_, Option<Unread>> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self, style: &str, line: &str) {
        let line = match line.split_once(": ") {
            Some((word, rest)) if self.color && !style.is_empty() => {
                format!("\x1b[{style}m{word}:\x1b[0m {rest}\n")
            }
            _ => format!("{line}\n"),
        };
        match &mut *self.unread() {
            Some(unread) => unread.print_or_keep(line),
            // Nobody listens: nothing more can be said.
            None => drop(std::io::stderr().lock().write_all(line.as_bytes())),
        }
    }
}

fn write_out(bytes: &[u8]) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush())
}

/// By NO_COLOR, or since the terminal knows no colours.
fn no_color() -> bool {
    let is_said = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    is_said || std::env::var_os("TERM").is_some_and(|term| term.is_empty() || term == "dumb")
}
