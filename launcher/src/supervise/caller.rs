//! Who makes an announced call, and what it says: read from a process that may change it at any time.
//! Nothing is allowed by it.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::network::Process;
use crate::sys::announced::{self, Announced};
use crate::sys::memory;

/// The most bytes of a path, as the kernel has it.
const PATH_MAX: usize = 4096;
/// No page is smaller.
const PAGE: u64 = 4096;

/// A call that waits, and where it was announced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller<'a> {
    pub(super) listener: BorrowedFd<'a>,
    pub(super) call: &'a Announced,
}

impl Caller<'_> {
    /// Returns whether the call still waits, so that the process id it came with is still the caller's.
    pub(super) fn still_waits(self) -> bool {
        announced::still_waits(self.listener, self.call)
    }
}

/// Returns the process that a thread belongs to.
pub(super) fn process(thread: u32) -> Option<Process> {
    Process::of(i32::try_from(thread).ok()?)
}

/// Returns a path in the caller's view, when it is not empty.
pub(super) fn place_of(pid: u32, directory: i32, path: &Path) -> Option<PathBuf> {
    if path.is_absolute() {
        return Some(path.to_owned());
    }
    let base = if directory == libc::AT_FDCWD {
        std::fs::read_link(format!("/proc/{pid}/cwd"))
    } else {
        std::fs::read_link(format!("/proc/{pid}/fd/{directory}"))
    };
    Some(base.ok()?.join(path))
}

/// Descriptors are 32 bits wide.
pub(super) fn descriptor(argument: u64) -> Option<i32> {
    u32::try_from(argument & u64::from(u32::MAX)).ok().map(u32::cast_signed)
}

/// Reads a path from the caller's memory, page by page: the next one may not be there.
pub(super) fn path_at(pid: u32, address: u64) -> Option<Vec<u8>> {
    let (mut text, mut from) = (Vec::new(), address);
    while text.len() < PATH_MAX {
        let here = usize::try_from(PAGE - from % PAGE).ok()?;
        let mut part = vec![0; here.min(PATH_MAX - text.len())];
        let read = memory::read(pid, from, &mut part).ok()?;
        let read = part.get(..read)?;
        if let Some(end) = read.iter().position(|byte| *byte == 0) {
            text.extend(read.iter().take(end));
            return Some(text);
        }
        text.extend(read);
        from = from.checked_add(u64::try_from(read.len()).ok().filter(|length| *length > 0)?)?;
    }
    None
}

/// Reads an absolute path of the view, or one relative to a directory of the caller.
pub(super) fn named_at(pid: u32, directory: i32, address: u64) -> Option<PathBuf> {
    let text = path_at(pid, address).filter(|text| !text.is_empty())?;
    place_of(pid, directory, Path::new(&OsString::from_vec(text)))
}
