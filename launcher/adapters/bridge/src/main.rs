//! `endow-bridge`, which endow starts outside of a sandbox, and shows inside by other names. See the
//! library.

use std::io::Write;
use std::process::ExitCode;

use endow_adapter::Control;

const USAGE: &str = "endow-bridge is started by endow";

fn main() -> ExitCode {
    if let Some(code) = endow_bridge::inside::run() {
        return code;
    }
    if let Some(control) = Control::inherited().filter(|_| std::env::args_os().len() == 1) {
        return endow_bridge::outside::run(control);
    }
    // There is nobody to tell that nobody reads it.
    drop(writeln!(std::io::stderr(), "{USAGE}"));
    ExitCode::from(2)
}
