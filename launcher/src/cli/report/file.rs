//! The file of a report or of events. Where it goes is settled before the command starts; this one, and those before
//! it, may have put links in the way.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, FileType, Mode, OFlags, accessat, fchmod, mkdirat, openat, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use super::interruptible::Interruptible;

/// Names that are tried for the new file: the command can't know them.
const TRIES: u32 = 16;

/// Where a report goes.
#[derive(Debug)]
pub(crate) enum ReportFile {
    /// A file that is replaced as a whole.
    Whole(Place),
    /// A device or pipe, which is written to.
    Stream(PathBuf),
    /// What leads to a descriptor, whatever that is.
    Descriptor(PathBuf),
}

/// A name in a directory that is there, or is made.
#[derive(Debug)]
pub(crate) struct Place {
    /// The nearest directory that is there before the start.
    above: OwnedFd,
    /// What is missing below it.
    missing: PathBuf,
    name: OsString,
}

impl ReportFile {
    /// Finds the place, and whether something can be put there.
    pub(crate) fn find(path: &Path) -> io::Result<Self> {
        let of_descriptors = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
        let leads = of_descriptors.iter().any(|it| path.starts_with(it));
        let kind = std::fs::symlink_metadata(path).ok().map(|found| found.file_type());
        let is_stream = |kind: std::fs::FileType| {
            kind.is_fifo() || kind.is_char_device() || kind.is_block_device() || kind.is_socket()
        };
        match kind {
            _ if leads => Ok(Self::Descriptor(path.to_owned())),
            Some(kind) if is_stream(kind) => Ok(Self::Stream(path.to_owned())),
            _ => Place::find(path).map(Self::Whole),
        }
    }

    /// Begins a file that is written while the command runs.
    pub(crate) fn open(&self) -> io::Result<File> {
        match self {
            Self::Whole(place) => place.begin(),
            Self::Stream(path) | Self::Descriptor(path) => append(path),
        }
    }

    /// Writes a report.
    pub(crate) fn write(&self, text: &str) -> io::Result<()> {
        match self {
            Self::Whole(place) => place.replace(text),
            Self::Stream(path) => {
                let (_wait, mut stream) = (Interruptible::begin(), append(path)?);
                if stream.metadata()?.is_file() {
                    return Err(io::Error::other("another file is there now"));
                }
                stream.write_all(text.as_bytes())
            }
            Self::Descriptor(path) => {
                let _wait = Interruptible::begin();
                append(path)?.write_all(text.as_bytes())
            }
        }
    }
}

impl Place {
    fn find(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(Errno::ISDIR)?.to_owned();
        for above in path.ancestors().skip(1) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = match rustix::fs::open(above, flags, Mode::empty()) {
                Err(Errno::NOENT) => continue,
                opened => opened?,
            };
            accessat(&opened, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)?;
            let below = path.strip_prefix(above).unwrap_or(path);
            let missing = below.parent().map(Path::to_owned).unwrap_or_default();
            let is_there = missing.as_os_str().is_empty();
            if is_there && is_directory(&opened, &name) {
                return Err(Errno::ISDIR.into());
            }
            return Ok(Self { above: opened, missing, name });
        }
        Err(Errno::NOENT.into())
    }

    /// Writes beside and renames, so that a reader sees the old file or the whole new one. No link is followed.
    fn replace(&self, text: &str) -> io::Result<()> {
        let made = self.make()?;
        let directory = made.as_ref().unwrap_or(&self.above);
        let (new, mut file) = create(directory)?;
        let written =
            self.keep_mode(directory, &file).and_then(|()| file.write_all(text.as_bytes()));
        let written = written
            .and_then(|()| renameat(directory, &new, directory, &self.name).map_err(Into::into));
        if written.is_err() {
            let _ = unlinkat(directory, &new, AtFlags::empty());
        }
        written
    }

    /// Puts an empty file there, in the place of what is there.
    fn begin(&self) -> io::Result<File> {
        let made = self.make()?;
        let directory = made.as_ref().unwrap_or(&self.above);
        let (new, file) = create(directory)?;
        self.keep_mode(directory, &file)?;
        renameat(directory, &new, directory, &self.name)?;
        Ok(file)
    }

    /// Gives a new file the bits of the one whose place it takes.
    fn keep_mode(&self, directory: impl AsFd, file: &File) -> io::Result<()> {
        let Ok(found) = statat(directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) else {
            return Ok(());
        };
        if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile {
            fchmod(file, Mode::from_raw_mode(found.st_mode & 0o777))?;
        }
        Ok(())
    }

    /// Makes the directories that are missing; `None` where none is.
    fn make(&self) -> io::Result<Option<OwnedFd>> {
        let mut made: Option<OwnedFd> = None;
        for name in &self.missing {
            let above = made.as_ref().unwrap_or(&self.above);
            match mkdirat(above, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            made = Some(openat(above, name, flags, Mode::empty())?);
        }
        Ok(made)
    }
}

fn is_directory(above: impl AsFd, name: &OsStr) -> bool {
    let found = statat(above, name, AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Directory)
}

/// Makes a file under a name that nothing had.
fn create(directory: impl AsFd) -> io::Result<(String, File)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    for _ in 0..TRIES {
        let mut random = [0; 8];
        getrandom(&mut random, GetRandomFlags::empty())?;
        let name = format!(".endow-report-{:016x}", u64::from_ne_bytes(random));
        match openat(&directory, &name, flags, Mode::from_raw_mode(0o666)) {
            Err(Errno::EXIST) => {}
            made => return Ok((name, File::from(made?))),
        }
    }
    Err(Errno::EXIST.into())
}

/// Opens a report's file to write after what the command wrote there.
fn append(path: &Path) -> io::Result<File> {
    File::options().append(true).open(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn directories_that_are_missing_are_made() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("a/b/report");
        Place::find(&path).expect("found").replace("text").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("there"), "text");
        let left: Vec<_> = fs::read_dir(root.path().join("a/b")).expect("a directory").collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn links_that_come_later_are_not_followed() {
        let root = tempfile::tempdir().expect("a directory");
        let path = |name: &str| root.path().join(name);
        for directory in ["here", "out"] {
            fs::create_dir(path(directory)).expect("a directory");
        }
        fs::write(path("out/report"), "mine").expect("written");
        let (later, here) = (Place::find(&path("made/report")), Place::find(&path("here/report")));
        symlink("out", path("made")).expect("a link");
        assert!(later.expect("found").replace("text").is_err());
        fs::rename(path("here"), path("moved")).expect("moved");
        symlink("out", path("here")).expect("a link");
        symlink("../out/report", path("moved/report")).expect("a link");
        here.expect("found").replace("text").expect("written");
        assert_eq!(fs::read_to_string(path("moved/report")).expect("there"), "text");
        assert_eq!(fs::read_to_string(path("out/report")).expect("there"), "mine");
    }

    #[test]
    fn what_can_not_be_written_is_found_before() {
        let root = tempfile::tempdir().expect("a directory");
        let path = |name: &str| root.path().join(name);
        fs::create_dir(path("directory")).expect("a directory");
        fs::write(path("file"), "").expect("written");
        for (name, errno) in
            [(path("directory"), Errno::ISDIR), (path("file/report"), Errno::NOTDIR)]
        {
            let found = Place::find(&name).err().and_then(|error| error.raw_os_error());
            assert_eq!(found.map(Errno::from_raw_os_error), Some(errno), "{}", name.display());
        }
    }
}
