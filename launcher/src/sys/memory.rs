//! The memory of other processes: `process_vm_readv(2)`, which no crate of ours wraps.

use rustix::io::Errno;

use super::check;

/// Reads from a process of the user's into `buffer`; returns how many bytes could be read.
pub(crate) fn read(pid: u32, address: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| Errno::SRCH)?;
    let place = usize::try_from(address).map_err(|_| Errno::FAULT)?;
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let remote = libc::iovec { iov_base: place as *mut libc::c_void, iov_len: buffer.len() };
    // SAFETY: the kernel writes at most `iov_len` bytes into `buffer`, which lives across the call;
    // the other address is one of the other process, and only the kernel looks there.
    let result =
        unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    let length = check(libc::c_long::try_from(result).map_err(|_| Errno::OVERFLOW)?)?;
    usize::try_from(length).map_err(|_| Errno::OVERFLOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_memory_is_read_and_none_elsewhere() {
        let (text, mut buffer) = (b"some text", [0; 9]);
        let own = std::process::id();
        assert_eq!(read(own, text.as_ptr() as u64, &mut buffer), Ok(9));
        assert_eq!(&buffer, text);
        assert_eq!(read(own, 1, &mut buffer), Err(Errno::FAULT));
    }
}
