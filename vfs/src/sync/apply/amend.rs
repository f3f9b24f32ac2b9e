//! Mode, times and attributes of what stands.

use std::os::fd::AsFd;

use rustix::fs::UTIME_OMIT;

use super::Workplace;
use crate::fs::{At, Attribute, Errno, Fs, Kind, Result, Timespec, is_acl, set_attribute};
use crate::sync::collect::{io, users};
use crate::sync::journal::{Act, Step};
use crate::sync::{Attributes, Seen, SyncError, Time};

/// The bits of the group.
const GROUP: u32 = 0o070;
/// The attribute that decides, as opposed to a directory's for new entries.
const ACL: &str = "system.posix_acl_access";

/// Sets the time of the last modification and leaves that of the last access.
pub(in crate::sync) fn set_time(fs: &dyn Fs, at: At<'_>, time: Time) -> Result<()> {
    let mut status = fs.status(at.dir, at.name)?;
    status.accessed = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    status.modified = time.into();
    fs.set_times_at(at.dir, at.name, &status)
}

/// Makes the `user.*` attributes and the ACLs of a name `after`, knowing that they are `before`, and returns
/// the bits of `mode` that it may have then: those of the group are the mask of an ACL, and go with one that
/// the file system can't keep.
pub(in crate::sync) fn set_user(
    fs: &dyn Fs,
    at: At<'_>,
    (before, after): (&[Attribute], &[Attribute]),
    mode: u32,
) -> Result<u32> {
    let mut kept = mode;
    for (name, _) in before.iter().filter(|(name, _)| !after.iter().any(|(kept, _)| kept == name)) {
        match fs.remove_attribute(at, name) {
            Err(Errno::NODATA) => {}
            result => result?,
        }
    }
    let mut new: Vec<_> = after.iter().filter(|attribute| !before.contains(attribute)).collect();
    // An ACL may take from the owner what the others need.
    new.sort_by_key(|(name, _)| is_acl(name));
    for attribute in new {
        match set_attribute(fs, at, attribute) {
            Err(Errno::OPNOTSUPP) if is_acl(&attribute.0) => kept &= !GROUP,
            result => result?,
        }
    }
    Ok(kept)
}

/// Sets attributes of a name that is `seen`; done twice it is as done once.
pub(in crate::sync) fn set(fs: &dyn Fs, at: At<'_>, seen: &Seen, after: &Attributes) -> Result<()> {
    let mut mode = after.mode.filter(|_| seen.kind != Kind::Symlink);
    if let Some(user) = &after.user {
        let whole = mode.unwrap_or(seen.mode);
        let kept = with_writable(fs, at, whole, || {
            let before = users(fs.attributes(at)?);
            close_first(fs, at, (&before, user), (seen.mode, whole))?;
            set_user(fs, at, (&before, user), whole)
        })?;
        mode = Some(kept).filter(|_| seen.kind != Kind::Symlink);
    }
    if let Some(mode) = mode {
        fs.set_mode_at(at, mode)?;
    }
    match after.modified {
        Some(time) => set_time(fs, at, time),
        None => Ok(()),
    }
}

/// Takes from a name whose ACL goes what its group is not to have, before that: with an ACL the bits of the group
/// are its mask, without one they are what the group may do.
fn close_first(
    fs: &dyn Fs,
    at: At<'_>,
    (before, after): (&[Attribute], &[Attribute]),
    (seen, mode): (u32, u32),
) -> Result<()> {
    if !has_acl(before) || has_acl(after) {
        return Ok(());
    }
    fs.set_mode_at(at, mode & (seen | !GROUP))
}

/// Whether one of some attributes decides who may do what.
fn has_acl(list: &[Attribute]) -> bool {
    list.iter().any(|(name, _)| name == ACL)
}

/// Calls again with the owner's bits set where they were missing; `mode` is what holds then.
pub(super) fn with_writable<T>(
    fs: &dyn Fs,
    at: At<'_>,
    mode: u32,
    call: impl Fn() -> Result<T>,
) -> Result<T> {
    match call() {
        Err(Errno::ACCESS) => {
            fs.set_mode_at(at, mode | 0o600)?;
            let result = call();
            fs.set_mode_at(at, mode)?;
            result
        }
        result => result,
    }
}

/// Leaves the time of a directory to the host where names came or went since it was collected.
pub(super) fn check_times(
    fs: &dyn Fs,
    workplace: &mut Workplace<'_>,
    steps: &mut [Step],
) -> std::result::Result<(), SyncError> {
    // The stage itself was made in the root.
    let root_time = workplace.root_time();
    let steps = steps.iter_mut().filter(|step| step.act == Act::Amend);
    for step in steps.filter(|step| step.node == Kind::Directory && step.old.is_some()) {
        let (Ok((dir, name)), Some(old)) = (workplace.root.above(&step.path), step.old) else {
            continue;
        };
        let found = match fs.node(dir.as_fd(), name) {
            Err(Errno::NOENT) => continue,
            result => result.map_err(io("look at", &step.path))?,
        };
        let is_root = step.path.as_os_str().is_empty();
        let modified = root_time.filter(|_| is_root).unwrap_or(found.status.modified.into());
        if modified != old.modified {
            step.after.modified = None;
            step.before.modified = Some(modified);
        }
    }
    Ok(())
}
