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

/// Writes a value to an open file.
pub(crate) fn write_json<T: Serialize>(
    fs: &dyn Fs,
    file: BorrowedFd<'_>,
    value: &T,
) -> Result<(), JsonError> {
    let mut text = BufWriter::with_capacity(AT_ONCE, Writer { fs, file });
    let written = serde_json::to_writer(&mut text, value);
    written.map_err(|error| {
        let is_file = error.is_io();
        if is_file { JsonError::File(errno_of(&error.into())) } else { JsonError::Value(error) }
    })?;
    text.flush().map_err(|error| JsonError::File(errno_of(&error)))
}

fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

struct Writer<'a> {
    fs: &'a dyn Fs,
    file: BorrowedFd<'a>,
}

impl Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.fs.write(self.file, bytes).map_err(Into::into)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
