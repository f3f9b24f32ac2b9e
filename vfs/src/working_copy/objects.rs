//! Objects: those of the host's repository, those that the command made, and those that are staged
//! for the repository, which has none of them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use gix_object::Kind;
use gix_zlib::Compression;
use gix_zlib::stream::deflate;

use super::CopyError;
use super::order::{LINE, ORDER};
use crate::fs::{Errno, Fs, Open, write_all};
use crate::git_tree::{Algorithm, GitError, Id, Limit, Reader, Repository, loose_path};

/// The most bytes of new contents, all together: what takes no room may be of any size.
const BYTES: u64 = 64 << 30;
const CHUNK: usize = 128 << 10;
/// How objects that have a file each are compressed: fast, as git does it.
const LEVEL: i32 = 1;

pub(super) struct Objects<'a> {
    fs: &'a dyn Fs,
    staging: BorrowedFd<'a>,
    algorithm: Algorithm,
    host: Reader<'a>,
    guest: Option<Reader<'a>>,
    staged: HashSet<Id>,
    /// What is staged of trees, commits and tags, each after all that it leads to.
    order: Vec<Id>,
    /// The bytes of all that was put.
    bytes: u64,
}

impl<'a> Objects<'a> {
    pub(super) fn new(
        fs: &'a dyn Fs,
        staging: BorrowedFd<'a>,
        host: &'a Repository,
        guest: Option<&'a Repository>,
    ) -> Self {
        let (algorithm, guest) = (host.algorithm(), guest.map(Repository::reader));
        Self {
            fs,
            staging,
            algorithm,
            host: host.reader(),
            guest,
            staged: HashSet::new(),
            order: Vec::new(),
            bytes: 0,
        }
    }

    /// Returns how many objects the repository lacks of what was put.
    pub(super) fn staged(&self) -> usize {
        self.staged.len()
    }

    /// Returns whether the host's repository has an object.
    pub(super) fn is_there(&self, id: &Id) -> Result<bool, CopyError> {
        Ok(id.algorithm() == self.algorithm && self.host.has(id)?)
    }

    /// Returns the kind of an object that the host's repository has.
    pub(super) fn kind(&mut self, id: &Id) -> Result<Kind, CopyError> {
        Ok(self.host.header(id)?.0)
    }

    /// Returns the size of an object that the host's repository has, as that claims it.
    pub(super) fn size(&mut self, id: &Id) -> Result<u64, CopyError> {
        Ok(self.host.header(id)?.1)
    }

    /// Returns whether nothing is to do for the host's repository to have an object.
    fn knows(&self, id: &Id) -> Result<bool, CopyError> {
        Ok(self.staged.contains(id) || self.host.has(id)?)
    }

    /// Reads an object, the host's if there is one.
    pub(super) fn read(
        &mut self,
        id: &Id,
        limit: Limit,
        out: &mut Vec<u8>,
    ) -> Result<Kind, CopyError> {
        if let Some(guest) = &mut self.guest
            && !self.host.has(id)?
        {
            match guest.any(id, limit, out) {
                // A collection may have moved it meanwhile: the host's repository is asked again.
                Err(GitError::Missing { .. }) => {}
                read => return Ok(read?),
            }
        }
        Ok(self.host.any(id, limit, out)?)
    }

    /// Stages an object unless it is known; all that it leads to was put before.
    pub(super) fn put(&mut self, kind: Kind, bytes: &[u8]) -> Result<Id, CopyError> {
        let before = self.staged.len();
        let id = self.put_early(kind, bytes)?;
        if kind != Kind::Blob && self.staged.len() > before {
            self.order.push(id);
        }
        Ok(id)
    }

    /// Stages an object unless it is known; its place in the order is told by [`Self::follows`].
    pub(super) fn put_early(&mut self, kind: Kind, bytes: &[u8]) -> Result<Id, CopyError> {
        self.count(bytes.len() as u64)?;
        let mut name = Name::of(self.algorithm, kind, bytes.len() as u64);
        name.update(bytes);
        let id = name.finish()?;
        if !self.knows(&id)? {
            let mut object = self.begin(&id, kind, bytes.len() as u64)?;
            object.write(bytes)?;
            object.finish()?;
            self.staged.insert(id);
        }
        Ok(id)
    }

    /// Notes that all is staged by now that an object leads to.
    pub(super) fn follows(&mut self, id: Id) {
        self.order.push(id);
    }

    /// Takes back what was staged of an object.
    pub(super) fn take_out(&mut self, id: &Id) -> Result<(), CopyError> {
        if !self.staged.remove(id) {
            return Ok(());
        }
        let path = loose_path(id);
        let above = path.parent().unwrap_or(Path::new(""));
        let dir = self.fs.open_below(self.staging, above, Open::Handle);
        let dir = dir.map_err(failed("open the directory of", &path))?;
        let removed = self.fs.unlink(dir.as_fd(), path.file_name().unwrap_or_default());
        removed.map_err(failed("remove", &path))
    }

    /// Writes down in which order objects may land, for [`super::land_objects`].
    pub(super) fn write_order(&self) -> Result<(), CopyError> {
        let file = self.fs.create_file(self.staging, ORDER.as_ref());
        let file = file.map_err(failed("create", ORDER))?;
        let lines = |ids: &[Id]| ids.iter().map(|id| format!("{id}\n")).collect::<String>();
        self.order.chunks(CHUNK / LINE).try_for_each(|ids| {
            let written = write_all(self.fs, file.as_fd(), lines(ids).as_bytes());
            written.map_err(failed("write", ORDER))
        })
    }

    /// Stages the content of a file unless it is known.
    pub(super) fn put_file(
        &mut self,
        file: BorrowedFd<'_>,
        size: u64,
        path: &Path,
    ) -> Result<Id, CopyError> {
        self.count(size)?;
        let mut name = Name::of(self.algorithm, Kind::Blob, size);
        each_chunk(self.fs, (file, size, path), &mut |bytes| {
            name.update(bytes);
            Ok(())
        })?;
        let id = name.finish()?;
        if !self.knows(&id)? {
            let mut object = self.begin(&id, Kind::Blob, size)?;
            each_chunk(self.fs, (file, size, path), &mut |bytes| object.write(bytes))?;
            object.finish()?;
            self.staged.insert(id);
        }
        Ok(id)
    }

    fn count(&mut self, size: u64) -> Result<(), CopyError> {
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > BYTES {
            return Err(CopyError::TooMuch { what: "bytes of new contents", most: BYTES });
        }
        Ok(())
    }

    fn begin(&self, id: &Id, kind: Kind, size: u64) -> Result<Object<'a>, CopyError> {
        let path = loose_path(id);
        let above = path.parent().unwrap_or(Path::new("")).as_os_str();
        match self.fs.make_dir(self.staging, above, 0o755) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed("make a directory for", &path)(errno)),
        }
        let dir = self.fs.open_below(self.staging, Path::new(above), Open::Handle);
        let dir = dir.map_err(failed("open the directory of", &path))?;
        let name = path.file_name().unwrap_or_default();
        let file = self.fs.create_file(dir.as_fd(), name).map_err(failed("create", &path))?;
        let level = Compression::new(LEVEL).unwrap_or_default();
        let sink = Sink { fs: self.fs, file };
        let mut object = Object { out: deflate::Write::new(sink, level), path };
        object.write(format!("{kind} {size}\0").as_bytes())?;
        Ok(object)
    }
}

/// Shows a file's bytes, which are as many as its size says.
fn each_chunk(
    fs: &dyn Fs,
    (file, size, path): (BorrowedFd<'_>, u64, &Path),
    take: &mut dyn FnMut(&[u8]) -> Result<(), CopyError>,
) -> Result<(), CopyError> {
    let (mut buffer, mut at) = (vec![0; CHUNK.min(usize::try_from(size).unwrap_or(CHUNK) + 1)], 0);
    loop {
        let read = fs.read_at(file, &mut buffer, at).map_err(failed("read", path))?;
        at += read as u64;
        if read == 0 || at > size {
            break;
        }
        take(buffer.get(..read).unwrap_or_default())?;
    }
    // Nobody is left who could change it, so this is the file system's doing.
    if at == size { Ok(()) } else { Err(failed("read", path)(Errno::IO)) }
}

/// An object that is being written.
struct Object<'a> {
    out: deflate::Write<Sink<'a>>,
    path: std::path::PathBuf,
}

impl Object<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), CopyError> {
        self.out.write_all(bytes).map_err(|error| told("write", &self.path, &error))
    }

    fn finish(mut self) -> Result<(), CopyError> {
        self.out.flush().map_err(|error| told("write", &self.path, &error))?;
        let sink = self.out.into_inner();
        sink.fs.set_mode(sink.file.as_fd(), 0o444).map_err(failed("close", &self.path))
    }
}

struct Sink<'a> {
    fs: &'a dyn Fs,
    file: OwnedFd,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_all(self.fs, self.file.as_fd(), bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The name of an object, as its bytes come.
struct Name(gix_hash::Hasher);

impl Name {
    fn of(algorithm: Algorithm, kind: Kind, size: u64) -> Self {
        let mut hasher = gix_hash::hasher(algorithm.kind());
        hasher.update(format!("{kind} {size}\0").as_bytes());
        Self(hasher)
    }

    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// A known collision of SHA-1 gets no name.
    fn finish(self) -> Result<Id, CopyError> {
        let name = self.0.try_finalize().ok().and_then(|name| Id::from_bytes(name.as_slice()));
        name.ok_or_else(|| failed("name an object of", Path::new("the command"))(Errno::BADMSG))
    }
}

fn told(action: &'static str, path: &Path, error: &io::Error) -> CopyError {
    failed(action, path)(Errno::from_io_error(error).unwrap_or(Errno::IO))
}

pub(super) fn failed(
    action: &'static str,
    path: impl AsRef<OsStr>,
) -> impl FnOnce(Errno) -> CopyError {
    let path = Path::new(path.as_ref()).to_owned();
    move |errno| CopyError::Io { action, path, errno }
}
