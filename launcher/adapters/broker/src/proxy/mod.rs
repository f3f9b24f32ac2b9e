//! One request: looked at, changed, sent on; its answer searched and passed back.

mod alike;
mod hop;
mod naming;
mod pass;
mod path;
mod request;
mod response;

pub(crate) use alike::folded;
pub(crate) use pass::Passage;
