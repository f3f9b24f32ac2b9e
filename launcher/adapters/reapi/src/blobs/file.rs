//! The file that comes with a question.

use std::os::fd::OwnedFd;

use rustix::io::{Errno, pread, pwrite};
use tonic::Status;

/// An open file, read and written at places.
#[derive(Debug)]
pub(crate) struct File(pub(crate) OwnedFd);

impl File {
    /// Writes bytes at a place.
    pub(crate) fn write(&self, mut bytes: &[u8], mut at: u64) -> Result<(), Status> {
        while !bytes.is_empty() {
            let written = match pwrite(&self.0, bytes, at) {
                Err(Errno::INTR) => 0,
                written => written.map_err(|errno| cant("write", errno))?,
            };
            bytes = bytes.get(written..).unwrap_or_default();
            at += written as u64;
        }
        Ok(())
    }

    /// Reads so many bytes from a place on.
    pub(crate) fn read(&self, at: u64, length: usize) -> Result<Vec<u8>, Status> {
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match pread(&self.0, rest, at + filled as u64) {
                Ok(0) => return Err(Status::data_loss("the content is shorter than it should be")),
                Ok(read) => filled += read,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(cant("read", errno)),
            }
        }
        Ok(bytes)
    }

    /// Returns how many bytes it has, which must not be more.
    pub(crate) fn length(&self, most: u64) -> Result<usize, Status> {
        let status = rustix::fs::fstat(&self.0).map_err(|errno| cant("look at", errno))?;
        let length = u64::try_from(status.st_size).ok().filter(|length| *length <= most);
        let length = length.and_then(|length| usize::try_from(length).ok());
        length.ok_or_else(|| Status::out_of_range("the file is too long"))
    }
}

/// A full disk must not look like a server that has too much to do.
fn cant(action: &str, errno: Errno) -> Status {
    let error = std::io::Error::from(errno);
    Status::data_loss(format!("can't {action} the file of a content: {error}"))
}
