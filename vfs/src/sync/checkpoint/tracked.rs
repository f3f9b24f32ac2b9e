//! Contents that git has: named in the list in the place of a copy.
//!
//! A file's bytes are hashed, so an index that lies costs time and nothing else. The objects get
//! further names in the run's directory: a command that removes them removes its own only. One that
//! writes into them is found out when they are asked for, for what comes must have its name.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::fs::{At, Errno, Fs, Kind, Node, Open, Result};
use crate::git_blob::{Name, name_of};
use crate::git_index::{Blob, Tracked as Index, blobs};
use crate::hex;

/// The repository of our own with the further names, in the place of the checkpoint.
pub(super) const OBJECTS: &str = "objects";
const PACK: &str = "pack";
/// The largest file whose content is not copied: what is asked for is held in memory.
pub(super) const LARGEST: u64 = 4 << 20;
/// The largest index of a pack that is read: three million objects.
const INDEX: u64 = 64 << 20;
/// What a pack's index begins with: its signature and version 2 (gitformat-pack(5)).
const HEAD: [u8; 8] = *b"\xfftOc\0\0\0\x02";
const FANOUT: usize = 256 * 4;
const NAME: usize = 20;

/// What the repository at the root of a tree has.
pub(super) struct Tracked<'a> {
    fs: &'a dyn Fs,
    blobs: Index<Blob>,
    objects: OwnedFd,
    own: OwnedFd,
    /// The indices of the packs that have a further name.
    packs: Vec<Vec<u8>>,
}

impl<'a> Tracked<'a> {
    /// Opens the repository whose directory is at the root; `None` when there is none of the plain
    /// kind, or nothing of it can be kept.
    pub(super) fn open(
        fs: &'a dyn Fs,
        root: BorrowedFd<'_>,
        place: BorrowedFd<'_>,
    ) -> Option<Self> {
        let git_dir = fs.open_below(root, Path::new(".git"), Open::List).ok()?;
        let blobs = blobs(git_dir.as_fd(), &|_| true).ok()?;
        let objects = fs.open_below(git_dir.as_fd(), Path::new(OBJECTS), Open::List).ok()?;
        for name in [Path::new(OBJECTS), &Path::new(OBJECTS).join(PACK)] {
            fs.make_dir(place, name.as_os_str(), 0o700).ok()?;
        }
        let own = fs.open_dir(place, OsStr::new(OBJECTS)).ok()?;
        let mut tracked = Self { fs, blobs, objects, own, packs: Vec::new() };
        // Without packs what is loose is known all the same.
        let _ = tracked.keep_packs();
        Some(tracked)
    }

    /// Returns the name of a file's content, if git has it and it is kept.
    pub(super) fn name(&mut self, path: &Path, file: BorrowedFd<'_>, node: &Node) -> Option<Name> {
        let size = node.status.size;
        let blob = *self.blobs.remembered(path.as_os_str().as_bytes())?;
        let is_likely = size <= LARGEST && u64::from(blob.stamp.size()) == size;
        if !is_likely || !self.keeps(&blob.id) {
            return None;
        }
        (name_of(self.fs, file, size) == Ok(blob.id)).then_some(blob.id)
    }

    /// Returns whether an object has a further name, giving it one if it is loose.
    fn keeps(&self, id: &Name) -> bool {
        self.packs.iter().any(|index| has(index, id)) || self.keep_loose(id).is_ok()
    }

    fn keep_loose(&self, id: &Name) -> Result<()> {
        let digits = hex::digits(id);
        let (above, name) = digits.split_at(2);
        let from = self.fs.open_below(self.objects.as_fd(), Path::new(above), Open::Handle)?;
        match self.fs.make_dir(self.own.as_fd(), OsStr::new(above), 0o700) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        let to = self.fs.open_below(self.own.as_fd(), Path::new(above), Open::Handle)?;
        match self.keep(from.as_fd(), to.as_fd(), OsStr::new(name)) {
            Err(Errno::EXIST) => Ok(()),
            result => result,
        }
    }

    fn keep_packs(&mut self) -> Result<()> {
        let from = self.fs.open_below(self.objects.as_fd(), Path::new(PACK), Open::List)?;
        let to = self.fs.open_below(self.own.as_fd(), Path::new(PACK), Open::Handle)?;
        for entry in self.fs.list(from.as_fd(), usize::MAX)? {
            let Some(stem) = entry.name.as_bytes().strip_suffix(b".idx") else { continue };
            let pack = OsString::from(OsStr::from_bytes(&[stem, b".pack"].concat()));
            let kept = [&entry.name, &pack].map(|name| self.keep(from.as_fd(), to.as_fd(), name));
            if kept.iter().all(Result::is_ok) {
                self.packs.extend(self.index(to.as_fd(), &entry.name));
            }
        }
        Ok(())
    }

    /// Gives a file a further name. Anything else has none afterwards: what stood there may have
    /// been changed for it.
    fn keep(&self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
        self.fs.link(At { dir: from, name }, At { dir: to, name })?;
        if self.fs.node(to, name)?.status.kind == Kind::File {
            return Ok(());
        }
        self.fs.unlink(to, name)?;
        Err(Errno::INVAL)
    }

    fn index(&self, dir: BorrowedFd<'_>, name: &OsStr) -> Option<Vec<u8>> {
        let file = self.fs.open_file(dir, name).ok()?;
        let size = self.fs.status_of(file.as_fd()).ok()?.size;
        let mut bytes = vec![0; usize::try_from(size).ok().filter(|_| size <= INDEX)?];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.fs.read(file.as_fd(), rest).ok()? {
                0 => return None,
                length => filled += length,
            }
        }
        bytes.starts_with(&HEAD).then_some(bytes)
    }
}

/// Returns whether a pack's index names an object: the names stand sorted behind a table that says
/// how many begin with each byte or a lower one.
fn has(index: &[u8], id: &Name) -> bool {
    let table = HEAD.len();
    let count = |byte: usize| -> Option<usize> {
        let bytes = index.get(table + byte * 4..)?.first_chunk::<4>()?;
        usize::try_from(u32::from_be_bytes(*bytes)).ok()
    };
    let first = usize::from(id[0]);
    let range = (if first == 0 { Some(0) } else { count(first - 1) }).zip(count(first));
    let names = range.and_then(|(start, end)| {
        let all = index.get(table + FANOUT..)?;
        all.get(start.checked_mul(NAME)?..end.checked_mul(NAME)?)
    });
    let (names, _) = names.unwrap_or_default().as_chunks::<NAME>();
    names.binary_search(id).is_ok()
}
