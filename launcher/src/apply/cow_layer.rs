//! The layer of a copy-on-write mount on the host side, and the moment from which changes outside
//! count as made while the run went on.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use endow_policy::HostPath;
use endow_vfs::fs::{At, Fs, Open, OsFs, Timespec, keeps_birth};
use endow_vfs::state::{RunDir, STARTED};
use endow_vfs::sync::{
    Awaited, Ledger, Single, hand_on_indexes, make_awaited, make_like, make_single,
    make_single_absent,
};
use endow_vfs::tree::copy_layer;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};

use super::half_way::hand_on;
use super::prepare::PrepareError;
use crate::plan::step::{FileId, TakenLayer, UPPER, WORK};
use crate::sys;

/// Makes an upper and a work directory. The upper one shows as the root of the mount, so it is
/// like what the mount shows.
pub(super) fn make(
    run: &mut RunDir,
    at: &Path,
    like: &HostPath,
    expect: FileId,
) -> Result<(), PrepareError> {
    let real = open_expected(like, expect, OFlags::DIRECTORY)?;
    settle(&real).map_err(failed(like))?;
    for name in [WORK, UPPER] {
        run.make_dir(&OsFs, &at.join(name), 0o700).map_err(PrepareError::State)?;
    }
    let made = OsFs.open_dir(run.as_fd(), at.join(UPPER).as_os_str());
    made.and_then(|upper| make_like(&OsFs, upper.as_fd(), real.as_fd())).map_err(failed(like))
}

/// Gives the root its last inode before anybody notes what it is: on an overlay the first change, which would be that of
/// writing back, makes a copy of a directory that a lower layer has, with other times.
fn settle(root: &OwnedFd) -> Result<(), Errno> {
    let status = OsFs.status_of(root.as_fd())?;
    if keeps_birth(root, c"", status.id.dev) {
        return Ok(());
    }
    // Bits can't be set again as they are: the kernel takes set-group-ID from who is not in the group.
    match OsFs.set_times(root.as_fd(), &status) {
        // Nor can the command's changes be written there.
        Err(Errno::PERM | Errno::ROFS | Errno::NOSPC | Errno::DQUOT) => Ok(()),
        set => set,
    }
}

/// Copies a single file to where the command finds it.
pub(super) fn copy_file(
    run: &mut RunDir,
    (layer, at): (&Path, &Path),
    from: &HostPath,
    expect: FileId,
) -> Result<(), PrepareError> {
    // As long as it is open no other file gets its number.
    let real = open_expected(from, expect, OFlags::NONBLOCK)?;
    let status = fstat(&real).map_err(failed(from))?;
    if (status.st_uid, status.st_gid) != (geteuid().as_raw(), getegid().as_raw()) {
        let (uid, gid) = (status.st_uid, status.st_gid);
        return Err(PrepareError::Foreign { path: from.clone(), uid, gid });
    }
    make_upper(run, layer)?;
    let path = from.as_path();
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(failed(from)(Errno::ISDIR));
    };
    let made = OsFs.open_canonical(above).and_then(|host| {
        let host = At { dir: host.as_fd(), name };
        let copied = make_single(&OsFs, host, run.as_fd(), (layer, at))?;
        Ok(copied.status.id)
    });
    let copied = made.map_err(failed(from))?;
    let is_it = OsFs.status_of(real.as_fd()).map_err(failed(from))?.id == copied;
    if is_it { Ok(()) } else { Err(PrepareError::Swapped(from.clone())) }
}

/// Makes the layer of what does not exist yet, and notes where the command makes it.
pub(super) fn wait(run: &mut RunDir, (layer, at): (&Path, &Path)) -> Result<(), PrepareError> {
    make_upper(run, layer)?;
    make_awaited(&OsFs, run.as_fd(), (layer, at))
        .map_err(|errno| PrepareError::await_at(run, errno))
}

/// Makes the layer of a single file that is published and does not exist yet, and notes where the command makes it.
pub(super) fn wait_file(run: &mut RunDir, (layer, at): (&Path, &Path)) -> Result<(), PrepareError> {
    make_upper(run, layer)?;
    let made = make_single_absent(&OsFs, run.as_fd(), (layer, at));
    made.map_err(|errno| PrepareError::await_at(run, errno))
}

fn make_upper(run: &mut RunDir, layer: &Path) -> Result<(), PrepareError> {
    run.make_dir(&OsFs, &layer.join(UPPER), 0o700).map_err(PrepareError::State)
}

/// Copies the layers of an earlier run in the place of empty ones; what of that run's changes was
/// written back is no change of the host's for this one, too.
pub(super) fn go_on(
    run: &mut RunDir,
    from: &HostPath,
    layers: &[TakenLayer],
) -> Result<(), PrepareError> {
    let earlier = OsFs.open_canonical(from.as_path()).map_err(failed(from))?;
    hand_on(earlier.as_fd(), run.as_fd()).map_err(failed(from))?;
    for taken in layers {
        run.remove_part(&OsFs, &taken.at.0.join(UPPER)).map_err(PrepareError::State)?;
        let old =
            OsFs.open_below(earlier.as_fd(), &taken.layer, Open::Handle).map_err(failed(from))?;
        let new = OsFs.open_below(run.as_fd(), &taken.at.0, Open::Handle).map_err(failed(from))?;
        let (old, new) = (
            At { dir: old.as_fd(), name: UPPER.as_ref() },
            At { dir: new.as_fd(), name: UPPER.as_ref() },
        );
        // On the same file system as it was.
        drop(copy_layer(&OsFs, old, new).map_err(PrepareError::Layer)?);
        if let Some(file) = &taken.file {
            let single = (taken.number, taken.at.0.as_path());
            let single = Single::open(&OsFs, run.as_fd(), single, file.as_os_str());
            let spread = single.and_then(|single| single.spread(old.dir));
            spread.map_err(PrepareError::Earlier)?;
        }
        if let Some(path) = &taken.awaited {
            let awaited = Awaited::open(&OsFs, run.as_fd(), &taken.at.0, path);
            awaited.and_then(|it| it.spread()).map_err(PrepareError::Earlier)?;
        }
    }
    let numbers: Vec<(u32, u32)> = layers.iter().map(|it| (it.was, it.number)).collect();
    let ends = (earlier.as_fd(), run.as_fd());
    hand_on_indexes(&OsFs, ends, &numbers).map_err(PrepareError::Earlier)?;
    Ledger::hand_on(&OsFs, ends.0, ends.1, &numbers).map_err(PrepareError::Earlier)
}

/// Returns the moment after every change made so far, and not after any that is still to come.
///
/// Since Linux 6.13 a file's time of change is exact when its last one was looked at: no earlier
/// change is as late, and no later one is earlier (multigrain timestamps). Before, times are those
/// of the last tick of the clock, so that a change shortly before may count as one after.
pub(super) fn stamp(run: &mut RunDir) -> Result<Timespec, PrepareError> {
    run.make_file(&OsFs, Path::new(STARTED), 0o600).map_err(PrepareError::State)?;
    let changed = OsFs.open_file(run.as_fd(), STARTED.as_ref()).and_then(|file| {
        OsFs.status_of(file.as_fd())?;
        OsFs.set_mode(file.as_fd(), 0o600)?;
        OsFs.status_of(file.as_fd())
    });
    let failed = |errno: Errno| PrepareError::Stamp(errno.into());
    changed.map(|status| status.changed).map_err(failed)
}

/// Opens what was found before, and nothing that was put in its place since.
pub(super) fn open_expected(
    path: &HostPath,
    expect: FileId,
    kind: OFlags,
) -> Result<OwnedFd, PrepareError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | kind;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened =
        openat2(CWD, path.as_path(), flags, Mode::empty(), resolve).map_err(failed(path))?;
    let found = sys::identity::of(&opened).map_err(failed(path))?;
    if FileId::from(found.parts()) == expect {
        Ok(opened)
    } else {
        Err(PrepareError::Swapped(path.clone()))
    }
}

fn failed(path: &HostPath) -> impl Fn(Errno) -> PrepareError {
    move |errno| PrepareError::Open { path: path.clone(), source: errno.into() }
}
