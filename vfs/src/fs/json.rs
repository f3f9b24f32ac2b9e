//! A value written to a file as JSON, of which no more than a part is in memory at once.

use std::io::{BufWriter, Write};
use std::os::fd::BorrowedFd;

use serde::Serialize;

use super::{Errno, Fs};

/// Bytes written at once.
const AT_ONCE: usize = 64 * 1024;

/// Why a value was not written.
pub(crate) enum JsonError {
    /// The file takes no more.
    File(Errno),
    /// It can't be told in JSON.
    Value(serde_json::Error),
}

/// Writes a value to an open file; returns how many bytes it has.
pub(crate) fn write_json<T: Serialize>(
    fs: &dyn Fs,
    file: BorrowedFd<'_>,
    value: &T,
) -> Result<u64, JsonError> {
    let mut text = BufWriter::with_capacity(AT_ONCE, Writer { fs, file, written: 0 });
    let written = serde_json::to_writer(&mut text, value);
    written.map_err(|error| {
        let is_file = error.is_io();
        if is_file { JsonError::File(errno_of(&error.into())) } else { JsonError::Value(error) }
    })?;
    text.flush().map_err(|error| JsonError::File(errno_of(&error)))?;
    Ok(text.get_ref().written)
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

struct Writer<'a> {
    fs: &'a dyn Fs,
    file: BorrowedFd<'a>,
    written: u64,
}

impl Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.fs.write(self.file, bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
