//! Where goes what the command writes.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use endow_vfs::cas::Store;
use rustix::fs::OFlags;
use rustix::stdio;

use super::options::Options;
use crate::cli::build::{Streams, stream};
use crate::cli::error::{CommandError, Kind};

/// Opens both streams: the files that are named, else the caller's own where nothing is kept, else files
/// without a name.
pub(super) fn open(options: &Options, store: &Store<'_>) -> Result<Streams, CommandError> {
    let keeps = !options.keeps_no_streams;
    let open = |file: &Option<_>, caller: BorrowedFd<'_>| {
        let opened = match file {
            Some(path) => named(path).and_then(twice),
            None if keeps => stream(store).map_err(io::Error::from),
            None => caller.try_clone_to_owned().and_then(|fd| twice(fd.into())),
        };
        opened.map_err(|error| {
            let failure = CommandError::new(Kind::Setup, "can't open what the command writes to");
            failure.cause(error)
        })
    };
    let (own_out, out) = open(&options.stdout, stdio::stdout())?;
    let (own_err, err) = open(&options.stderr, stdio::stderr())?;
    Ok(Streams::of_others([out, err], keeps.then_some([own_out, own_err])))
}

/// Empties a file or makes it: through no link.
fn named(path: impl AsRef<Path>) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).custom_flags(flags);
    let file = options.open(path)?;
    let is_file = file.metadata()?.is_file();
    is_file.then_some(file).ok_or_else(|| io::Error::other("it is no file"))
}

fn twice(file: File) -> io::Result<(OwnedFd, OwnedFd)> {
    let other = file.as_fd().try_clone_to_owned()?;
    Ok((file.into(), other))
}
