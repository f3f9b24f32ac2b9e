//! Ranges of descriptors, and descriptors known by number.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::fs::{CWD, MemfdFlags, Mode, OFlags, ResolveFlags, memfd_create, open, openat2};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::check;

/// The last number that a policy can have the command find something at.
const GIVEN_MAX: RawFd = 255;

/// Makes a file without a name: in a directory, where its file system can do that, or else in memory.
pub(crate) fn unnamed(directory: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match open(directory, flags, Mode::RUSR | Mode::WUSR) {
        Err(Errno::OPNOTSUPP | Errno::INVAL | Errno::ISDIR) => {
            memfd_create(c"endow-unnamed", MemfdFlags::CLOEXEC)
        }
        opened => opened,
    }
}

/// Lets this process, and those that it starts from now on, have as many descriptors as its user may; returns
/// how many, `None` where there is no limit.
pub(crate) fn take_all() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return limit.maximum;
    }
    let wanted = Rlimit { current: limit.maximum, ..limit };
    setrlimit(Resource::Nofile, wanted).map_or(limit.current, |()| limit.maximum)
}

/// Marks every descriptor from `first` on close-on-exec.
pub(crate) fn cloexec_from(first: u32) -> Result<(), Errno> {
    close_range(first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC)
}

/// Closes every descriptor from `first` on but these, in whatever order they are.
pub(crate) fn close_from(first: u32, kept: &mut [RawFd]) -> Result<(), Errno> {
    kept.sort_unstable();
    let mut from = first;
    for number in kept.iter().filter_map(|number| u32::try_from(*number).ok()) {
        if number > from {
            close_range(from, number - 1, 0)?;
        }
        from = from.max(number + 1);
    }
    close_range(from, u32::MAX, 0)
}

fn close_range(first: u32, last: u32, flags: u32) -> Result<(), Errno> {
    // SAFETY: the kernel takes any numbers. Descriptors that other code owns must not be in the
    // range when it closes: callers give ranges above what they hold.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
    check(result).map(drop)
}

/// Closes a descriptor by number, whatever it was.
pub(crate) fn close_number(number: RawFd) {
    // SAFETY: callers name descriptors that no owner in this process will close again.
    unsafe { libc::close(number) };
}

/// Borrows a descriptor that the caller of the program passed by number.
pub(crate) fn borrow_number(number: RawFd) -> Result<BorrowedFd<'static>, Errno> {
    // SAFETY: F_GETFD takes any number and only reads.
    let result = unsafe { libc::fcntl(number, libc::F_GETFD) };
    check(result.into())?;
    // SAFETY: the descriptor is open, and descriptors passed by the caller stay open until exec.
    Ok(unsafe { BorrowedFd::borrow_raw(number) })
}

/// Takes ownership of a descriptor that the caller of the program passed by number.
pub(crate) fn take_number(number: RawFd) -> Result<OwnedFd, Errno> {
    borrow_number(number)?;
    // SAFETY: the descriptor is open and each number passed on the command line is taken once.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Returns a descriptor of the same at a number above those that the command can be given.
pub(crate) fn set_aside(fd: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    rustix::io::fcntl_dupfd_cloexec(fd, GIVEN_MAX + 1)
}

/// Opens a directory to list it, through no link.
pub(crate) fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(CWD, path, flags, Mode::empty(), resolve)
}

/// Puts a descriptor at a number, in the place of what stood there.
pub(crate) fn put_at(fd: BorrowedFd<'_>, number: RawFd) -> Result<(), Errno> {
    // SAFETY: the kernel takes any numbers. What stood at the number is closed: callers name one
    // that no owner in this process uses any more.
    let result = unsafe { libc::dup2(fd.as_raw_fd(), number) };
    check(result.into()).map(drop)
}

/// Lets a descriptor survive exec.
pub(crate) fn keep_across_exec(number: RawFd) -> Result<(), Errno> {
    rustix::io::fcntl_setfd(borrow_number(number)?, rustix::io::FdFlags::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{clone, wait};

    /// In a process of its own: the test's has descriptors of other tests.
    #[test]
    fn all_are_closed_but_those_that_are_kept() {
        let made: Vec<_> = (0..5).map(|_| rustix::pipe::pipe().expect("a pipe")).collect();
        let numbers: Vec<RawFd> = made.iter().map(|(end, _)| end.as_raw_fd()).collect();
        let kept = [numbers[3], 1, numbers[1], numbers[1]];
        let Some(pid) = clone::fork().expect("a process") else {
            let closed = close_from(3, &mut kept.clone()).is_ok();
            let is_right = |number: &RawFd| borrow_number(*number).is_ok() == kept.contains(number);
            let streams = [0, 1, 2].into_iter().all(|number| borrow_number(number).is_ok());
            clone::exit_now(i32::from(!(closed && streams && numbers.iter().all(is_right))))
        };
        let ended = wait::until_ended(pid).expect("waited for");
        assert_eq!(ended.map(|ended| ended.status), Some(0));
    }
}
