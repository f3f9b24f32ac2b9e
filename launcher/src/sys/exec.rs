//! Executing a program by path or by descriptor.

use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::io::Errno;

use super::last_errno;

/// Returns whether a path leads to a file that somebody may execute.
pub(crate) fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// A list of strings in the form that exec wants, made before the clone.
pub(crate) struct StringList {
    /// Owns what `pointers` points to.
    strings: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl StringList {
    /// Takes the strings and closes the list with a null pointer.
    pub(crate) fn new(strings: Vec<CString>) -> Self {
        let mut pointers: Vec<_> = strings.iter().map(|string| string.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Self { strings, pointers }
    }

    /// Returns the strings.
    pub(crate) fn strings(&self) -> &[CString] {
        &self.strings
    }

    fn as_ptr(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }
}

/// Replaces the process by the program at `path`; returns only the error.
pub(crate) fn execve(path: &CStr, argv: &StringList, env: &StringList) -> Errno {
    // SAFETY: the path and both lists are NUL-terminated and live across the call.
    unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), env.as_ptr()) };
    last_errno()
}

/// Replaces the process by the program behind a descriptor; returns only the error.
pub(crate) fn execveat(file: BorrowedFd<'_>, argv: &StringList, env: &StringList) -> Errno {
    // SAFETY: the empty path and both lists are NUL-terminated and live across the call.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            file.as_raw_fd(),
            c"".as_ptr(),
            argv.as_ptr(),
            env.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    last_errno()
}

/// Asks whether the program at `path` may be executed, without executing it (Linux 6.14).
pub(crate) fn check(path: &CStr) -> Result<(), Errno> {
    /// AT_EXECVE_CHECK of execveat(2).
    const CHECK: libc::c_int = 0x10000;
    let none: [*const libc::c_char; 1] = [std::ptr::null()];
    // SAFETY: the path is NUL-terminated and both lists end with a null pointer; all live across
    // the call, which returns in any case.
    let result = unsafe {
        libc::syscall(
            libc::SYS_execveat,
            libc::AT_FDCWD,
            path.as_ptr(),
            none.as_ptr(),
            none.as_ptr(),
            CHECK,
        )
    };
    super::check(result).map(drop)
}
