//! A change as it is shown: what stands on either side, and where its content is.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use endow_vfs::git_tree::Algorithm;
use endow_vfs::sync::{ChangeKind, Conflict, Refusal, Seen};

use super::in_git::is_object;
use crate::cli::diff::{Blob, Pair, exported, read};

/// One change that is shown.
pub(crate) struct Shown<'a> {
    /// Below the workspace or the root of a tree, else without the leading slash: as `git apply`
    /// wants it.
    pub(crate) path: PathBuf,
    /// On the host; of a tree, in the sandbox.
    pub(crate) place: PathBuf,
    pub(crate) kind: ChangeKind,
    /// What stands on either side, and where its content is.
    pub(crate) old: Side<'a>,
    pub(crate) new: Side<'a>,
    pub(crate) conflict: Option<Conflict>,
    pub(crate) refused: Option<Refusal>,
    /// Somebody changed it since it was written back: the host's side is none of the run's.
    pub(crate) is_changed_since: bool,
    /// It was taken out of a live mount, and waits for a word of the user.
    pub(crate) is_held: bool,
    /// How git would name its contents.
    pub(crate) algorithm: Algorithm,
}

/// One side of a change.
pub(crate) struct Side<'a> {
    pub(crate) seen: Option<Seen>,
    pub(crate) dir: BorrowedFd<'a>,
    pub(crate) path: PathBuf,
    pub(crate) form: Form,
}

/// How a side is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As what it is.
    Itself,
    /// As a file with its bytes.
    Exported,
}

impl Side<'_> {
    pub(crate) fn itself(seen: Option<Seen>, dir: BorrowedFd<'_>, path: PathBuf) -> Side<'_> {
        Side { seen, dir, path, form: Form::Itself }
    }
}

/// Reads both sides of a change; none where one of them is nobody's any more.
pub(crate) fn pair(shown: &Shown<'_>) -> Pair {
    if shown.is_changed_since {
        return Pair::default();
    }
    let side = |side: &Side<'_>| match side.form {
        Form::Itself => read(side.dir, &side.path, side.seen.as_ref()),
        Form::Exported => exported(side.dir, &side.path, side.seen.as_ref()),
    };
    let pair = Pair { old: side(&shown.old), new: side(&shown.new) };
    if !is_object(&shown.path) {
        return pair;
    }
    // It is compressed, also where no byte of it is one that texts never have.
    Pair { old: pair.old.map(Blob::opaque), new: pair.new.map(Blob::opaque) }
}
