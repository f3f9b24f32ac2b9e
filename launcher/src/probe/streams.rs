//! The standard streams, as far as a rule lets them be opened again inside.

use endow_policy::HostPath;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};

use crate::plan::host::StreamFact;
use crate::sys;

/// Returns the streams that are files or devices; pipes and sockets need no rule.
pub(super) fn facts() -> Vec<StreamFact> {
    (0..3).filter_map(fact).collect()
}

/// Returns whether a standard stream is a pipe, or a socket that a shell uses as one.
pub(super) fn in_pipeline() -> bool {
    let is_pipe = |kind| matches!(kind, FileType::Fifo | FileType::Socket);
    (0..3).filter_map(kind).any(is_pipe)
}

fn kind(number: i32) -> Option<FileType> {
    if sys::start::was_closed(number) {
        return None;
    }
    let stream = sys::fd::borrow_number(number).ok()?;
    Some(FileType::from_raw_mode(fstat(stream).ok()?.st_mode))
}

fn fact(number: i32) -> Option<StreamFact> {
    let kind = kind(number)?;
    let stream = sys::fd::borrow_number(number).ok()?;
    let flags = fcntl_getfl(stream).ok()?;
    let mode = flags & OFlags::ACCMODE;
    let device = kind == FileType::CharacterDevice;
    (device || kind == FileType::RegularFile).then_some(StreamFact {
        number,
        read: mode != OFlags::WRONLY,
        write: mode != OFlags::RDONLY,
        device,
    })
}

/// Returns the terminal behind the first standard stream that is one.
pub(super) fn terminal() -> Option<HostPath> {
    let streams = (0..3).filter_map(|number| sys::fd::borrow_number(number).ok());
    let terminal = streams.filter(|stream| rustix::termios::isatty(stream)).find_map(|stream| {
        let name = rustix::termios::ttyname(stream, Vec::new()).ok()?;
        HostPath::new(name.to_str().ok()?).ok()
    });
    terminal.filter(|path| path.as_path() != std::path::Path::new("/dev/tty"))
}
