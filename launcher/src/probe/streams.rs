//! The standard streams, as far as a rule lets them be opened again inside.

use endow_policy::HostPath;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};

use crate::plan::host::StreamFact;
use crate::sys;

/// Returns the streams that are files or devices; pipes and sockets need no rule.
pub(super) fn facts() -> Vec<StreamFact> {
    (0..3).filter_map(fact).collect()
}

fn fact(number: i32) -> Option<StreamFact> {
    if sys::start::was_closed(number) {
        return None;
    }
    let stream = sys::fd::borrow_number(number).ok()?;
    let kind = FileType::from_raw_mode(fstat(stream).ok()?.st_mode);
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
    let terminal = streams.filter(rustix::termios::isatty).find_map(|stream| {
        let name = rustix::termios::ttyname(stream, Vec::new()).ok()?;
        HostPath::new(name.to_str().ok()?).ok()
    });
    terminal.filter(|path| path.as_path() != std::path::Path::new("/dev/tty"))
}
