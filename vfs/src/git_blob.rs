//! The name that git gives to a content.

use std::os::fd::BorrowedFd;

use gix_hash::{Hasher, Kind, hasher};

use crate::fs::{Errno, Fs, Result};

/// A SHA-1 name.
pub type Name = [u8; 20];

/// What no object is called.
const NONE: Name = [0; 20];
const CHUNK: usize = 64 << 10;

/// Returns the name of bytes, or that of nothing where they were made to have another content's: git refuses
/// those, too.
pub fn name(content: &[u8]) -> Name {
    let mut hash = begin(content.len() as u64);
    hash.update(content);
    end(hash)
}

/// Returns the name of an open file of `size` bytes, as [`name()`] does.
///
/// # Errors
/// A failing call; `STALE` when the file has another size.
pub fn name_of(fs: &dyn Fs, file: BorrowedFd<'_>, size: u64) -> Result<Name> {
    let (mut hash, mut at, mut buffer) = (begin(size), 0, vec![0; CHUNK]);
    loop {
        let length = fs.read_at(file, &mut buffer, at)?;
        if length == 0 {
            return if at == size { Ok(end(hash)) } else { Err(Errno::STALE) };
        }
        hash.update(buffer.get(..length).unwrap_or_default());
        at += length as u64;
        if at > size {
            return Err(Errno::STALE);
        }
    }
}

fn begin(size: u64) -> Hasher {
    let mut hash = hasher(Kind::Sha1);
    hash.update(format!("blob {size}\0").as_bytes());
    hash
}

fn end(hash: Hasher) -> Name {
    let id = hash.try_finalize().ok();
    id.and_then(|id| id.as_slice().try_into().ok()).unwrap_or(NONE)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;
    use crate::fs::OsFs;
    use crate::hex;
    use crate::testing::Scratch;

    #[test]
    fn names_are_those_of_git() {
        assert_eq!(hex::digits(&name(b"hello\n")), "ce013625030ba8dba906f756967f9e9ca394464a");
        let scratch = Scratch::new();
        let path = scratch.path().join("file");
        std::fs::write(&path, "hello\n").expect("written");
        let file = File::open(path).expect("opened");
        assert_eq!(name_of(&OsFs, file.as_fd(), 6), Ok(name(b"hello\n")));
        assert_eq!(name_of(&OsFs, file.as_fd(), 5), Err(Errno::STALE));
        assert_eq!(name_of(&OsFs, file.as_fd(), 7), Err(Errno::STALE));
    }
}
