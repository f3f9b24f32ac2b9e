//! `endow-ssh-agent`, which endow starts outside of a sandbox. See the library.

use std::io::Write;
use std::process::ExitCode;

const USAGE: &str = "endow-ssh-agent is started by endow";

fn main() -> ExitCode {
    if std::env::args_os().len() == 1 && endow_ssh_agent::is_started_by_endow() {
        return endow_ssh_agent::run();
    }
    // There is nobody to tell that nobody reads it.
    drop(writeln!(std::io::stderr(), "{USAGE}"));
    ExitCode::from(2)
}
