//! `supervise`: one loop outside the sandboxes. Everything that happens becomes an [`Event`](event::Event),
//! [`decide`](decide::decide) says what follows, and the loop does it.

mod adapters;
mod bridging;
mod caller;
mod calls;
mod capture;
mod connects;
mod decide;
mod enter;
mod event;
mod foreground;
mod guard;
mod left;
mod measured;
mod observe;
mod outcome;
mod publisher;
mod recorder;
mod renames;
mod renew;
mod rest;
mod run;
mod seen;
mod stop;
mod supervised;
mod terminal;
mod watch;
mod worker;

pub(crate) use adapters::Adapters;
pub(crate) use bridging::Bridging;
pub(crate) use calls::Calls;
pub(crate) use capture::Capture;
pub(crate) use event::{Counted, Notice};
pub(crate) use guard::{
    End, Guarding, Missed, News, PART_OF_PATH, Patterns, Watching, Why, is_own_work_tree,
    is_spared, shadowed, work_tree,
};
pub(crate) use left::Left;
pub(crate) use measured::Measured;
pub(crate) use observe::{Asked, Denied, Judge, Observed, Observer};
pub(crate) use outcome::{Ended, Outcome};
pub(crate) use publisher::{Attempt, PublishedFile, Publisher};
pub(crate) use recorder::Recorder;
pub(crate) use renames::Layers;
pub(crate) use renew::{Back, Moved, PutBack, Renewal};
pub(crate) use run::run;
pub(crate) use supervised::Supervised;
pub(crate) use terminal::Terminal;
pub(crate) use worker::Over;
