//! What can happen while a sandbox runs, and what can follow.

use std::net::SocketAddr;

use endow_policy::{BridgeNews, PublishedPort};

use super::guard::{HeldName, Missed, News};
use super::observe::Denied;
use super::renew::Moved;
use crate::adapters::Helper;
use crate::apply::Message;
use crate::network::Entry;
use crate::sys::signal::SignalSet;

/// Something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Pid 1 said something.
    Said(Message),
    /// Pid 1 is gone, and with it every process of the sandbox.
    Gone,
    /// A signal came to the supervisor.
    Signal {
        /// Its number.
        signal: i32,
        /// A terminal sent it, to the command as well.
        from_terminal: bool,
    },
    /// The caller's terminal is gone.
    HungUp {
        /// The command heard of it, too.
        reached: bool,
    },
    /// A point in time that was asked for has come.
    Time,
    /// A layer holds more than it may.
    LayerLimit(Counted),
    /// There was no room for a descriptor.
    Short,
    /// What the command writes can't be kept any more.
    Unkept,
}

/// What a limit of layers was compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// What the layers hold.
    Layers,
    /// What was added to their file system, since some of a layer can't be looked at.
    FileSystem,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Send the command a signal.
    Forward(i32),
    /// Send the command what came before it started.
    ForwardHeld(SignalSet),
    /// Ask every process inside to end.
    Terminate,
    /// Kill pid 1, and with it everything inside.
    Kill,
    /// End everything inside, whatever is known of it.
    End,
    /// Stop as the command stopped, so that the caller sees it.
    StopSelf(i32),
    /// Let the command go on, unless it does by itself.
    Resume,
}

/// What a caller may want to hear while the command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// The command's process exists.
    Started,
    /// The command was stopped by this signal.
    Stopped(i32),
    /// The command goes on.
    Continued,
    /// The time limit has passed; the processes were asked to end.
    TimeLimit,
    /// A layer holds more than it may; the processes were asked to end.
    LayerLimit(Counted),
    /// What was left after that was killed.
    Killed,
    /// A hidden name was covered again, by its number in the plan.
    Renewed(usize),
    /// A hidden name that the host replaced can't be covered again, by its number in the plan.
    Uncovered(usize),
    /// A hidden name of a live mount was moved to where nothing hides it.
    Moved(Moved),
    /// A protected name appeared in a live mount, and was taken away.
    Held(HeldName),
    /// Something in a live mount was not searched for protected names at the end, or not taken away.
    Missed(Missed),
    /// A port of the host leads to one inside.
    Published(SocketAddr, PublishedPort),
    /// Something was connected, or refused.
    Connection(Entry),
    /// A process asked for something that the plan refuses.
    Denied(Denied),
    /// Something was asked for over a bridge.
    Bridge(BridgeNews),
    /// A process of endow's own has ended before the run.
    Lost(Helper),
}

impl From<News> for Notice {
    fn from(news: News) -> Self {
        match news {
            News::Held(name) => Self::Held(name),
            News::Missed(missed) => Self::Missed(missed),
        }
    }
}
