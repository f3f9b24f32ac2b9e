//! `endow-ssh-agent`, which endow starts outside of a sandbox. See the library.

use std::io::Write;
use std::process::ExitCode;

use endow_adapter::Control;

const USAGE: &str = "endow-ssh-agent is started by endow";

fn main() -> ExitCode {
    if let Some(control) = Control::inherited().filter(|_| std::env::args_os().len() == 1) {
        return endow_ssh_agent::run(control);
    }
    // There is nobody to tell that nobody reads it.
    drop(writeln!(std::io::stderr(), "{USAGE}"));
    ExitCode::from(2)
}
