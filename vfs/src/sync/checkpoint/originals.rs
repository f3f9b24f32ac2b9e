//! What an undo puts back, made of the copies of a checkpoint.

use std::ffi::{OsStr, OsString};
use std::ops::Bound;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use super::list::{FILES, Kept, Left, Recorded};
use crate::fs::{At, Errno, Fs, Kind, Open, Result, is_acl, is_beyond};
use crate::git_blob::Name;
use crate::hex;
use crate::sync::Seen;
use crate::sync::apply::amend::{set_time, set_user};
use crate::sync::apply::copy::{Owner, copy_leaf};
use crate::sync::apply::number_name;

/// What was made of a path.
#[derive(Debug, Default)]
pub(super) struct Original {
    /// All that is in it, when it is a directory.
    pub(super) below: Vec<(PathBuf, Seen)>,
    /// What was in it and can't be had again.
    pub(super) missing: Vec<(PathBuf, Left)>,
    /// There is nothing to put back.
    pub(super) is_lost: bool,
}

/// Makes `to` what stood at `path`: a further name of the copy, or a directory of such names.
pub(super) fn make(
    fs: &dyn Fs,
    place: BorrowedFd<'_>,
    recorded: &Recorded,
    path: &Path,
    to: At<'_>,
) -> Result<Original> {
    let mut original = Original::default();
    let Some((seen, kept)) = recorded.entries.get(path) else { return Ok(original) };
    if seen.kind != Kind::Directory {
        let missing = bring(fs, (place, recorded), (path, seen, *kept), to)?;
        original.is_lost = missing == Some(Left::Lost);
        original.missing.extend(missing.map(|left| (path.to_owned(), left)));
        return Ok(original);
    }
    if !recorded.listed.contains(path) {
        // What it held is not known; what is known of it comes back.
        original.missing.push((path.to_owned(), Left::Changed));
    }
    fs.make_dir(to.dir, to.name, 0o700)?;
    let top = fs.open_below(to.dir, Path::new(to.name), Open::Handle)?;
    let mut dirs = vec![(PathBuf::from("."), *seen)];
    let below = recorded.entries.range::<Path, _>((Bound::Excluded(path), Bound::Unbounded));
    for (whole, (seen, kept)) in below.take_while(|(below, _)| below.starts_with(path)) {
        let Ok(path) = whole.strip_prefix(path) else { continue };
        if let Some(left) = kept.left() {
            original.missing.push((whole.clone(), left));
            continue;
        }
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { continue };
        let dir = fs.open_below(top.as_fd(), above, Open::Handle)?;
        if seen.kind == Kind::Directory {
            fs.make_dir(dir.as_fd(), name, 0o700)?;
            dirs.push((path.to_owned(), *seen));
        } else {
            let to = At { dir: dir.as_fd(), name };
            let missing = bring(fs, (place, recorded), (whole, seen, *kept), to)?;
            original.missing.extend(missing.map(|left| (whole.clone(), left)));
            if missing == Some(Left::Lost) {
                continue;
            }
        }
        if *kept == Kept::Directory && !recorded.listed.contains(whole) {
            original.missing.push((whole.clone(), Left::Changed));
        }
        original.below.push((path.to_owned(), *seen));
    }
    for (below, seen) in dirs.iter().rev() {
        let dir = fs.open_below(top.as_fd(), below, Open::Handle)?;
        let at = At { dir: dir.as_fd(), name: OsStr::new(".") };
        let whole = if below == Path::new(".") { path.to_owned() } else { path.join(below) };
        let (mode, lacking) = give_attributes(fs, recorded, (&whole, seen), at)?;
        set_time(fs, at, seen.modified)?;
        let missing = set_bits(fs, recorded, (&whole, &Seen { mode, ..*seen }), at)?;
        original.missing.extend(missing.or(lacking).map(|left| (whole, left)));
    }
    Ok(original)
}

/// Gives a directory that was made anew its attributes; returns the bits that it may have then, and what it lacks.
fn give_attributes(
    fs: &dyn Fs,
    recorded: &Recorded,
    (path, seen): (&Path, &Seen),
    at: At<'_>,
) -> Result<(u32, Option<Left>)> {
    let user = recorded.user(path).unwrap_or_default();
    match set_user(fs, at, (&[], user), seen.mode) {
        // Without its ACL, whose mask they are, the bits of the group would give it more than it had.
        Err(errno) if is_beyond(errno) && user.iter().any(|(name, _)| is_acl(name)) => {
            Ok((seen.mode & !0o070, Some(Left::Attributes)))
        }
        Err(errno) if is_beyond(errno) => Ok((seen.mode, Some(Left::Attributes))),
        mode => {
            let mode = mode?;
            Ok((mode, (mode != seen.mode).then_some(Left::Attributes)))
        }
    }
}

/// Gives what was made anew its owner and then its bits; returns what it lacks of them.
fn set_bits(
    fs: &dyn Fs,
    recorded: &Recorded,
    (path, seen): (&Path, &Seen),
    at: At<'_>,
) -> Result<Option<Left>> {
    let owner = recorded.owners.get(path).copied().unwrap_or_else(Owner::own);
    let mode = owner.give_bits(fs, at, seen.mode)?;
    fs.set_mode_at(at, mode)?;
    Ok((mode != seen.mode).then_some(Left::Privilege))
}

/// Makes a file or link what it was; returns why it is not that.
fn bring(
    fs: &dyn Fs,
    (place, recorded): (BorrowedFd<'_>, &Recorded),
    (path, seen, kept): (&Path, &Seen, Kept),
    to: At<'_>,
) -> Result<Option<Left>> {
    let files = fs.open_below(place, Path::new(FILES), Open::Handle)?;
    match kept {
        Kept::Copy(number) => {
            fs.link(At { dir: files.as_fd(), name: &number_name(number) }, to)?;
            Ok(recorded.less.contains(path).then_some(Left::Privilege))
        }
        Kept::Git(name) => {
            let from = At { dir: files.as_fd(), name: &brought(&name) };
            let copied =
                fs.node(from.dir, from.name).and_then(|node| copy_leaf(fs, from, to, &node));
            if copied.as_ref().err() == Some(&Errno::NOENT) {
                return Ok(Some(Left::Lost));
            }
            copied?;
            set_time(fs, to, seen.modified)?;
            set_bits(fs, recorded, (path, seen), to)
        }
        Kept::Directory | Kept::Name | Kept::Left(_) => Ok(Some(Left::Lost)),
    }
}

/// Returns the name of a content that git gave back.
pub(super) fn brought(name: &Name) -> OsString {
    format!("git-{}", hex::digits(name)).into()
}
