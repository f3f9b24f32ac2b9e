//! Why what both sides made of a file did not become one, where that was asked for.

use endow_vfs::fs::Kind;
use endow_vfs::sync::{Change, ChangeKind, Conflict, Seen};

use super::LARGEST;

/// Why the versions of both sides are not merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotMerged {
    /// One of them is no regular file, or gone.
    NoFile,
    /// Their permissions differ.
    Mode,
    /// Their attributes differ, or nothing else does.
    Attributes,
    /// The run gave it further names.
    Names,
    /// One of them is larger than what is merged.
    Large,
    /// It is a part of a repository.
    Repository,
    /// It lies in no work tree that is believed, or the index does not name it.
    Unknown,
    /// What the index names may be from after the start.
    Late,
    /// What both began with can't be had.
    Lost,
    /// One of the three is no text.
    NoText,
    /// Both sides changed the same lines.
    SameLines,
    /// One of them is another by now.
    Moving,
    /// The time for all merges is over.
    Time,
    /// The room for all of them is.
    Room,
}

impl NotMerged {
    /// Returns why nobody looks into a file that both sides changed; `None` where the conflict itself says it.
    pub(super) fn of(change: &Change) -> Option<Self> {
        let sides = [change.upper, change.host];
        let is_file = |side: &Option<Seen>| side.is_some_and(|seen| seen.kind == Kind::File);
        let [mode_of_run, mode_of_host] = sides.map(|side| side.map(|seen| seen.mode));
        let reason = match change.conflict? {
            Conflict::Root | Conflict::Ancestor | Conflict::Database => return None,
            _ if change.refused.is_some() => return None,
            _ if !sides.iter().all(is_file) => Self::NoFile,
            _ if mode_of_run != mode_of_host => Self::Mode,
            _ if change.kind != ChangeKind::Modified => Self::Attributes,
            _ if change.group.is_some() => Self::Names,
            _ if sides.iter().flatten().any(|seen| seen.size > LARGEST) => Self::Large,
            _ => Self::Repository,
        };
        Some(reason)
    }

    /// Returns it in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::NoFile => "one side has no regular file there",
            Self::Mode => "the permissions differ",
            Self::Attributes => "attributes differ",
            Self::Names => "the run gave it further names",
            Self::Large => "it is larger than 4 MiB",
            Self::Repository => "it is a part of a repository",
            Self::Unknown => "git does not know it",
            Self::Late => "what git has of it may be newer than the run, or filtered",
            Self::Lost => "what both sides began with can't be had",
            Self::NoText => "it is no text",
            Self::SameLines => "both changed the same lines",
            Self::Moving => "it was changed meanwhile",
            Self::Time => "there was no time left",
            Self::Room => "too much is merged already",
        }
    }
}
