//! One name of the view.

use endow_policy::GuestPath;

use super::entry::{Entry, EntryKind};
use crate::plan::step::FileId;

/// What stands at a place of the view.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Its place, without links.
    pub(super) at: GuestPath,
    /// What it is, with the attributes of its mount.
    pub(super) entry: Entry,
    /// Which file it is: rules of Landlock are tied to files, not to names.
    pub(super) identity: Identity,
    /// Where it comes from.
    pub(super) origin: NodeOrigin,
    /// The real thing behind a mask: the kernel opens it with the rights of pid 1.
    pub(super) behind: Option<Entry>,
}

impl Node {
    /// Returns whether a Unix socket has the name.
    pub(super) fn is_socket(&self) -> bool {
        matches!(self.entry.kind, EntryKind::Socket { .. })
    }
}

/// Which file a name leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// One of the host's.
    Host(FileId),
    /// A file that exists only in the view, by mount and place.
    Own(usize, GuestPath),
}

/// Where something in the view comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeOrigin {
    /// The host.
    Host,
    /// A step of the plan.
    Step,
    /// It covers something of the host that is hidden.
    Cover,
}

/// Why no name is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// No mount shows anything there.
    NotShown,
    /// A mount shows the host there, which has no such name.
    NotThere,
    /// A pattern hides it, or it is endow's own: the path below the mount.
    Hidden,
    /// What is there changes from process to process.
    Unknown,
    /// The host could not be asked.
    Unreadable(i32),
}
