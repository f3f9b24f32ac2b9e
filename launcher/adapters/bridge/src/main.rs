//! `endow-bridge`, which endow starts outside of a sandbox, and shows inside by other names. See the
//! library.

use std::io::Write;
use std::process::ExitCode;

const USAGE: &str = "endow-bridge is started by endow";

fn main() -> ExitCode {
    if let Some(code) = endow_bridge::inside::run() {
        return code;
    }
    if std::env::args_os().len() == 1 && endow_bridge::outside::is_started_by_endow() {
        return endow_bridge::outside::run();
    }
    // There is nobody to tell that nobody reads it.
    drop(writeln!(std::io::stderr(), "{USAGE}"));
    ExitCode::from(2)
}
