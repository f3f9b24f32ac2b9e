//! Bridges between a sandbox and the user's desktop, both ends of them.
//!
//! **Inside**, the program stands under the names of those that do such things (`xdg-open`, `wl-copy`,
//! `notify-send` ...). It understands their arguments, puts one [`Request`] to a socket of the view
//! and tells the answer. Nobody has to believe it: whatever runs inside can speak to that socket.
//!
//! **Outside**, one process for each run serves the socket, as the user. Who connects says one thing:
//!
//! - a URL of the web, which the user's own browser opens when its host is one that may be opened;
//! - text, which becomes the clipboard's content;
//! - a title and a text, which are shown as a notification.
//!
//! Everything else is refused, and nothing is ever told back but whether it was done. What is started
//! is found where no command may write, gets its arguments without a shell, an environment of chosen
//! variables and no descriptor of ours.
//!
//! The stages outside: `harden` the process, take the `order`, find `programs`, then `serve` until the
//! launcher is gone. A message is read by `request`, judged by `judge` with `url` and `text`, and done by `start`.

#![warn(missing_docs)]

pub mod inside;
pub mod outside;
mod request;

pub use request::{Malformed, Request};
