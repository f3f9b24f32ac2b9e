//! The `endow` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(panic = "unwind")]
    abort_at_a_panic();
    if endow::guest::is_meant() { endow::guest::main() } else { endow::cli::main() }
}

/// Ends the process at a panic, as one ends that is built to abort: what only a parent is to do must not be done by its
/// child on the way out. What is built for tests unwinds, so that it is built once for them and for what they start.
#[cfg(panic = "unwind")]
fn abort_at_a_panic() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::abort();
    }));
}
