//! Small files that a project may have written: read whole, and only when they are what they seem.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// Whether a name may be a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// A link is followed.
    Followed,
    /// A link is an error.
    Refused,
}

/// Returns whether nothing stands at a path. What can't be looked at may be there.
pub(crate) fn is_absent(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| says_absent(&error))
}

/// Returns whether a call failed since nothing stands there.
pub(crate) fn says_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// A regular file that is open.
#[derive(Debug)]
pub(crate) struct SmallFile {
    file: File,
    /// What it is.
    pub(crate) metadata: Metadata,
}

impl SmallFile {
    /// Opens a regular file. Neither a FIFO nor a device is waited for.
    pub(crate) fn open(path: &Path, links: Links) -> io::Result<Self> {
        let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if links == Links::Refused {
            flags |= OFlags::NOFOLLOW;
        }
        let file = match openat(CWD, path, flags, Mode::empty()) {
            Err(Errno::LOOP) if links == Links::Refused => {
                return Err(refused("it is a symbolic link"));
            }
            // What a socket or a device without a driver answers.
            Err(Errno::NXIO | Errno::NODEV) => return Err(not_regular()),
            opened => File::from(opened?),
        };
        let metadata = file.metadata()?;
        if metadata.is_file() { Ok(Self { file, metadata }) } else { Err(not_regular()) }
    }

    /// Reads what it begins with, `most` bytes of it.
    pub(crate) fn beginning(self, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads all of it, which may be `most` bytes.
    pub(crate) fn read(self, most: u64) -> io::Result<Vec<u8>> {
        let too_large = || refused(&format!("it has more than {most} bytes"));
        if self.metadata.len() > most {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        // It may grow meanwhile, or say that it is empty as those of the kernel do.
        let length = self.file.take(most + 1).read_to_end(&mut bytes)?;
        if u64::try_from(length).is_ok_and(|length| length <= most) {
            Ok(bytes)
        } else {
            Err(too_large())
        }
    }
}

/// Reads a regular file of at most `most` bytes, links followed.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    SmallFile::open(path, Links::Followed)?.read(most)
}

fn not_regular() -> io::Error {
    refused("it is not a regular file")
}

fn refused(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use rustix::fs::{FileType, mknodat};

    use super::*;

    fn check(path: &Path, expected: Result<&[u8], &str>) {
        let read = read(path, 8).map_err(|error| error.to_string());
        assert_eq!(read, expected.map(<[u8]>::to_vec).map_err(str::to_owned), "{}", path.display());
    }

    #[test]
    fn only_regular_files_of_some_size_are_read() {
        let root = tempfile::tempdir().expect("a directory");
        let at = |name: &str| root.path().join(name);
        fs::write(at("small"), "12345678").expect("written");
        fs::write(at("large"), "123456789").expect("written");
        File::create(at("sparse")).and_then(|file| file.set_len(1 << 40)).expect("made");
        mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR, 0).expect("a fifo");
        let _socket = UnixListener::bind(at("socket")).expect("a socket");
        symlink("small", at("link")).expect("a link");
        symlink("/dev/zero", at("zero")).expect("a link");
        check(&at("small"), Ok(b"12345678"));
        check(&at("link"), Ok(b"12345678"));
        for large in ["large", "sparse"] {
            check(&at(large), Err("it has more than 8 bytes"));
        }
        check(Path::new("/proc/self/status"), Err("it has more than 8 bytes"));
        for other in ["fifo", "socket", "zero", "."] {
            check(&at(other), Err("it is not a regular file"));
        }
        let link = SmallFile::open(&at("link"), Links::Refused).expect_err("a link");
        assert_eq!(link.to_string(), "it is a symbolic link");
    }
}
