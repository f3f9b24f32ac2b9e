//! endow's own code inside a sandbox: started from a sealed file in memory instead of a command.
//!
//! It knows no policy and no plan. It does what its arguments say with the rights that a command
//! would have, and answers through a descriptor that it was handed.

mod layers;
mod probe;
mod report;
mod servers;

use std::ffi::OsString;
use std::fs::File;
use std::process::ExitCode;

use crate::sys;

/// The name under which the program is started inside.
pub(crate) const NAME: &str = "endow-helper";

/// Returns whether this process was started as a helper.
pub fn is_meant() -> bool {
    std::env::args_os().next().is_some_and(|name| name == NAME)
}

/// Runs the helper that the arguments name.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let done = match words.as_slice() {
        ["probe", questions, answers] => {
            run(|| probe::run(&mut descriptor(questions)?, &mut descriptor(answers)?))
        }
        ["verify", questions, answers] => run(|| {
            let mut answers = descriptor(answers)?;
            probe::run(&mut descriptor(questions)?, &mut answers)?;
            report::run(&mut answers)
        }),
        ["report", answers] => run(|| report::run(&mut descriptor(answers)?)),
        _ => false,
    };
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(helper: impl FnOnce() -> std::io::Result<()>) -> bool {
    helper().is_ok()
}

fn descriptor(number: &str) -> std::io::Result<File> {
    let number = number.parse().map_err(|_| std::io::ErrorKind::InvalidInput)?;
    Ok(File::from(sys::fd::take_number(number)?))
}
