//! The file that comes with a question.

use std::fs;
use std::io::{Error, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use tonic::Status;

/// An open file, read and written at places.
#[derive(Debug)]
pub(crate) struct File(fs::File);

impl From<OwnedFd> for File {
    fn from(file: OwnedFd) -> Self {
        Self(file.into())
    }
}

impl File {
    /// Writes bytes at a place.
    pub(crate) fn write(&self, bytes: &[u8], at: u64) -> Result<(), Status> {
        self.0.write_all_at(bytes, at).map_err(|error| cant("write", &error))
    }

    /// Reads so many bytes from a place on.
    pub(crate) fn read(&self, at: u64, length: usize) -> Result<Vec<u8>, Status> {
        let mut bytes = vec![0; length];
        match self.0.read_exact_at(&mut bytes, at) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(Status::data_loss("the content is shorter than it should be"))
            }
            read => read.map(|()| bytes).map_err(|error| cant("read", &error)),
        }
    }

    /// Returns how many bytes it has, which must not be more.
    pub(crate) fn length(&self, most: u64) -> Result<usize, Status> {
        let length = self.0.metadata().map_err(|error| cant("look at", &error))?.len();
        let length = usize::try_from(length).ok().filter(|_| length <= most);
        length.ok_or_else(|| Status::out_of_range("the file is too long"))
    }
}

/// A full disk must not look like a server that has too much to do.
fn cant(action: &str, error: &Error) -> Status {
    Status::data_loss(format!("can't {action} the file of a content: {error}"))
}
