//! The file calls of the kernel.

mod attributes;
mod birth;
mod node;

use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FileType, FlockOperation, Mode, OFlags, RawDir, RenameFlags,
    ResolveFlags, SeekFrom, Stat, Timespec, Timestamps, XattrFlags,
};
use rustix::process::{Gid, Uid};

use super::{At, Attribute, Entry, Errno, FileId, Fs, Kind, Node, Open, Result, Special, Status};

use attributes::{attributes, proc_path};
pub use birth::keeps_birth;
use node::node;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

const HANDLE: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A bound on one copy, so that a signal is answered in time.
const COPY_AT_ONCE: usize = 64 << 20;

/// The real thing.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsFs;

impl Fs for OsFs {
    fn open_dir(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
        rustix::fs::openat(at, name, DIRECTORY, Mode::empty())
    }

    fn open_dir_here(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
        rustix::fs::openat2(at, name, DIRECTORY, Mode::empty(), ResolveFlags::NO_XDEV)
    }

    fn open_handle(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
        rustix::fs::openat(at, name, HANDLE, Mode::empty())
    }

    fn open_canonical(&self, path: &Path) -> Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        // openat2(2) answers EAGAIN while something above is being renamed.
        loop {
            match rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN) => {}
                result => return result,
            }
        }
    }

    fn open_file(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(at, name, flags | OFlags::NOCTTY, Mode::empty())
    }

    fn open_to_write(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(at, name, flags | OFlags::NOCTTY, Mode::empty())
    }

    fn create_file(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
        self.create_file_as(At { dir: at, name }, 0o600)
    }

    fn create_file_as(&self, at: At<'_>, mode: u32) -> Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        rustix::fs::openat(at.dir, at.name, flags, Mode::from_raw_mode(mode))
    }

    fn status(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<Status> {
        rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| status(&stat))
    }

    fn status_of(&self, file: BorrowedFd<'_>) -> Result<Status> {
        rustix::fs::fstat(file).map(|stat| status(&stat))
    }

    fn list(&self, dir: BorrowedFd<'_>, limit: usize) -> Result<Vec<Entry>> {
        rustix::fs::seek(dir, SeekFrom::Start(0))?;
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut names = RawDir::new(dir, &mut buffer);
        let mut entries = Vec::new();
        while entries.len() < limit
            && let Some(entry) = names.next()
        {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                let name = OsStr::from_bytes(name).to_owned();
                entries.push(Entry { name, kind: kind(entry.file_type()) });
            }
        }
        Ok(entries)
    }

    fn read_link(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<OsString> {
        rustix::fs::readlinkat(at, name, Vec::new())
            .map(|target| OsString::from_vec(target.into_bytes()))
    }

    fn read(&self, file: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize> {
        rustix::io::retry_on_intr(|| rustix::io::read(file, &mut *buffer))
    }

    fn write(&self, file: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize> {
        rustix::io::retry_on_intr(|| rustix::io::write(file, bytes))
    }

    fn make_dir(&self, at: BorrowedFd<'_>, name: &OsStr, mode: u32) -> Result<()> {
        rustix::fs::mkdirat(at, name, Mode::from_raw_mode(mode))
    }

    fn make_symlink(&self, target: &OsStr, at: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
        rustix::fs::symlinkat(target, at, name)
    }

    fn make_whiteout(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
        // An ordinary user may make this one device: mknod(2) checks for WHITEOUT_DEV since 5.8.
        rustix::fs::mknodat(at, name, FileType::CharacterDevice, Mode::empty(), 0)
    }

    fn make_special(&self, at: At<'_>, special: Special) -> Result<()> {
        let kind = match special {
            Special::Whiteout => return self.make_whiteout(at.dir, at.name),
            Special::Fifo => FileType::Fifo,
            Special::Socket => FileType::Socket,
            Special::Device => return Err(Errno::PERM),
        };
        rustix::fs::mknodat(at.dir, at.name, kind, Mode::RUSR | Mode::WUSR, 0)
    }

    fn make_opaque(&self, dir: BorrowedFd<'_>) -> Result<()> {
        rustix::fs::fsetxattr(dir, "user.overlay.opaque", b"y", XattrFlags::empty())
    }

    fn set_mode(&self, file: BorrowedFd<'_>, mode: u32) -> Result<()> {
        rustix::fs::fchmod(file, Mode::from_raw_mode(mode))
    }

    fn set_dir_mode(&self, at: BorrowedFd<'_>, name: &OsStr, mode: u32) -> Result<()> {
        // fchmodat(2) follows links; a handle pins the directory, and its entry below /proc
        // leads to that very inode.
        let handle = self.open_handle(at, name)?;
        let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
        rustix::fs::chmodat(CWD, link, Mode::from_raw_mode(mode), AtFlags::empty())
    }

    fn set_times(&self, file: BorrowedFd<'_>, status: &Status) -> Result<()> {
        rustix::fs::futimens(file, &timestamps(status))
    }

    fn set_times_at(&self, at: BorrowedFd<'_>, name: &OsStr, status: &Status) -> Result<()> {
        rustix::fs::utimensat(at, name, &timestamps(status), AtFlags::SYMLINK_NOFOLLOW)
    }

    fn set_modified(&self, at: At<'_>, time: Timespec) -> Result<()> {
        let kept = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
        let times = Timestamps { last_access: kept, last_modification: time };
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
        rustix::fs::utimensat(at.dir, at.name, &times, flags)
    }

    fn rename(&self, at: BorrowedFd<'_>, from: &OsStr, to: &OsStr) -> Result<()> {
        rustix::fs::renameat(at, from, at, to)
    }

    fn unlink(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
        rustix::fs::unlinkat(at, name, AtFlags::empty())
    }

    fn remove_dir(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
        rustix::fs::unlinkat(at, name, AtFlags::REMOVEDIR)
    }

    fn lock(&self, file: BorrowedFd<'_>) -> Result<()> {
        rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive)
    }

    fn lock_shared(&self, file: BorrowedFd<'_>) -> Result<()> {
        rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockShared)
    }

    fn node(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<Node> {
        node(at, name)
    }

    fn open_below(&self, at: BorrowedFd<'_>, path: &Path, open: Open) -> Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = if open == Open::List { DIRECTORY } else { HANDLE };
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        // openat2(2) answers EAGAIN while something above is being renamed.
        loop {
            match rustix::fs::openat2(at, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                result => return result,
            }
        }
    }

    fn rename_new(&self, from: At<'_>, to: At<'_>) -> Result<()> {
        let flags = RenameFlags::NOREPLACE;
        rustix::fs::renameat_with(from.dir, from.name, to.dir, to.name, flags)
    }

    fn exchange(&self, one: At<'_>, other: At<'_>) -> Result<()> {
        let flags = RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(one.dir, one.name, other.dir, other.name, flags)
    }

    fn link(&self, from: At<'_>, to: At<'_>) -> Result<()> {
        rustix::fs::linkat(from.dir, from.name, to.dir, to.name, AtFlags::empty())
    }

    fn attributes(&self, at: At<'_>) -> Result<Vec<Attribute>> {
        attributes(at)
    }

    fn set_attribute(&self, at: At<'_>, name: &OsStr, value: &[u8]) -> Result<()> {
        rustix::fs::lsetxattr(proc_path(at), name, value, XattrFlags::empty())
    }

    fn remove_attribute(&self, at: At<'_>, name: &OsStr) -> Result<()> {
        rustix::fs::lremovexattr(proc_path(at), name)
    }

    fn set_mode_at(&self, at: At<'_>, mode: u32) -> Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || rustix::fs::openat(at.dir, at.name, flags, Mode::empty());
        let handle = (!at.name.is_empty()).then(open).transpose()?;
        let number = handle.as_ref().map_or(at.dir, AsFd::as_fd).as_raw_fd();
        let link = format!("/proc/self/fd/{number}");
        rustix::fs::chmodat(CWD, link, Mode::from_raw_mode(mode), AtFlags::empty())
    }

    fn set_owner(&self, at: At<'_>, uid: u32, gid: u32) -> Result<()> {
        let (owner, group) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        rustix::fs::chownat(at.dir, at.name, owner, group, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn next_data(&self, file: BorrowedFd<'_>, offset: u64) -> Result<Option<u64>> {
        match rustix::fs::seek(file, SeekFrom::Data(offset)) {
            Ok(start) => Ok(Some(start)),
            Err(Errno::NXIO) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    fn next_hole(&self, file: BorrowedFd<'_>, offset: u64) -> Result<u64> {
        rustix::fs::seek(file, SeekFrom::Hole(offset))
    }

    fn read_at(&self, file: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> Result<usize> {
        rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut *buffer, offset))
    }

    fn copy_range(
        &self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        range: Range<u64>,
    ) -> Result<u64> {
        let (mut read, mut written) = (range.start, range.start);
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let copied = rustix::fs::copy_file_range(
            from,
            Some(&mut read),
            to,
            Some(&mut written),
            length.min(COPY_AT_ONCE),
        );
        match copied {
            Err(Errno::XDEV | Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP) => {
                copy_by_hand(from, to, range)
            }
            result => result.map(|length| length as u64),
        }
    }

    fn set_size(&self, file: BorrowedFd<'_>, size: u64) -> Result<()> {
        rustix::fs::ftruncate(file, size)
    }

    fn allocate(&self, file: BorrowedFd<'_>, size: u64) -> Result<()> {
        rustix::fs::fallocate(file, FallocateFlags::empty(), 0, size)
    }

    fn sync_file(&self, file: BorrowedFd<'_>) -> Result<()> {
        rustix::fs::fsync(file)
    }

    fn sync_all(&self, file: BorrowedFd<'_>) -> Result<()> {
        rustix::fs::syncfs(file)
    }
}

pub(crate) fn kind(file_type: FileType) -> Option<Kind> {
    match file_type {
        FileType::RegularFile => Some(Kind::File),
        FileType::Directory => Some(Kind::Directory),
        FileType::Symlink => Some(Kind::Symlink),
        FileType::Unknown => None,
        _ => Some(Kind::Other),
    }
}

#[allow(
    clippy::unnecessary_cast,
    clippy::cast_possible_wrap,
    reason = "the fields of stat differ by architecture"
)]
pub(crate) fn status(stat: &Stat) -> Status {
    let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    Status {
        id: FileId { dev: stat.st_dev as u64, ino: stat.st_ino as u64 },
        kind: kind(FileType::from_raw_mode(stat.st_mode)).unwrap_or(Kind::Other),
        mode: stat.st_mode & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        // Blocks of 512 bytes, whatever the file system's are: stat(3type).
        allocated: u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512),
        accessed: time(stat.st_atime as i64, stat.st_atime_nsec as i64),
        modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed: time(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    }
}

/// Returns the number of the file system of an open file: statfs(2), `linux/magic.h`.
pub(crate) fn magic(file: BorrowedFd<'_>) -> Result<u64> {
    #[expect(clippy::cast_sign_loss, reason = "a number that stands for a name")]
    rustix::fs::fstatfs(file).map(|found| found.f_type as u64 & 0xffff_ffff)
}

/// Copies up to one buffer, where the kernel can't copy between the two file systems.
fn copy_by_hand(from: BorrowedFd<'_>, to: BorrowedFd<'_>, range: Range<u64>) -> Result<u64> {
    let mut buffer = vec![0; 128 * 1024];
    let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let room = buffer.len().min(length);
    let length = rustix::io::retry_on_intr(|| {
        rustix::io::pread(from, buffer.get_mut(..room).unwrap_or_default(), range.start)
    })?;
    let mut written = 0;
    while written < length {
        let rest = buffer.get(written..length).unwrap_or_default();
        let at = range.start + written as u64;
        written += rustix::io::retry_on_intr(|| rustix::io::pwrite(to, rest, at))?;
    }
    Ok(length as u64)
}

fn timestamps(status: &Status) -> Timestamps {
    Timestamps { last_access: status.accessed, last_modification: status.modified }
}

#[cfg(test)]
mod tests;
