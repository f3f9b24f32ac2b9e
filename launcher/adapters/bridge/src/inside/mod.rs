//! The ends of the bridges inside: programs that programs know.

mod ask;
mod clipboard;
mod notify;
mod opener;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use endow_policy::BridgeKind;

use crate::Request;

/// What a program was asked to do, in bad words.
#[derive(Debug, thiserror::Error)]
enum UsageError {
    /// Something is missing, or too much.
    #[error("{0}")]
    Words(&'static str),
    /// An option that it does not have here.
    #[error("not available in a sandbox: {0}")]
    Option(String),
    /// An argument that is no text.
    #[error("an argument is not UTF-8")]
    NotText,
    /// What is to be copied can't be read.
    #[error("can't read {what}")]
    Read {
        /// A file or the standard input.
        what: String,
        #[source]
        source: std::io::Error,
    },
}

/// The code for arguments that can't be understood, as `xdg-open` has it.
const USAGE: u8 = 1;
/// The code for what was understood and not done.
const FAILED: u8 = 4;

/// Does what the name by which this was started says; `None` when that is no program's of a bridge.
pub fn run() -> Option<ExitCode> {
    let mut words = std::env::args_os();
    let own = words.next()?;
    let name = Path::new(&own).file_name().and_then(OsStr::to_str)?.to_owned();
    let kind = BridgeKind::ALL.iter().find(|kind| kind.programs().contains(&name.as_str()))?;
    let words: Result<Vec<String>, OsString> = words.map(OsString::into_string).collect();
    let request =
        words.map_err(|_| UsageError::NotText).and_then(|words| read(*kind, &name, &words));
    let (code, message) = match request {
        Err(error) => (USAGE, whole(&error)),
        Ok(request) => match ask::ask(&request) {
            Ok(()) => return Some(ExitCode::SUCCESS),
            Err(why) => (FAILED, why),
        },
    };
    drop(writeln!(std::io::stderr(), "{name}: {message}"));
    Some(ExitCode::from(code))
}

fn read(kind: BridgeKind, name: &str, words: &[String]) -> Result<Request, UsageError> {
    match kind {
        BridgeKind::Browser => opener::read(words),
        BridgeKind::Clipboard => clipboard::read(name, words),
        BridgeKind::Notify => notify::read(words),
    }
}

fn whole(error: &UsageError) -> String {
    let cause = std::error::Error::source(error);
    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}
