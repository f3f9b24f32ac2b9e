//! The whole life of an adapter that serves clients at a socket, stage by stage.

use std::error::Error;
use std::process::ExitCode;

use endow_policy::{AdapterAnswer, in_one_line};

use crate::control::Control;

/// Prepares what the launcher orders, tells it how that went, and serves until the launcher is gone. Prints nothing.
pub fn live<T>(
    control: Control,
    prepare: impl FnOnce(Control) -> Result<T, Box<dyn Error>>,
    serve: impl FnOnce(Control, T),
) -> ExitCode {
    std::panic::set_hook(Box::new(|_| ()));
    match prepare(control) {
        Ok(prepared) => {
            control.answer(&AdapterAnswer::Ready);
            serve(control, prepared);
            ExitCode::SUCCESS
        }
        Err(error) => {
            control.answer(&AdapterAnswer::Failed(in_one_line(&*error)));
            ExitCode::FAILURE
        }
    }
}
