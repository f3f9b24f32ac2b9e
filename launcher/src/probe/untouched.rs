//! Single names of the host, found without having anything mounted or asked for because of them: a command
//! chooses names too, and an automounter asks the network for each.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    CWD, FileType, Mode, OFlags, ResolveFlags, fstat, fstatfs, open, openat2, readlinkat,
};
use rustix::io::Errno;

/// The types of file systems that are treated in a way of their own, as `linux/magic.h` numbers them.
const AUTOFS: u64 = 0x0187;
const PROC: u64 = 0x9fa0;

/// The most links on the way (path_resolution(7)).
const LINKS_MAX: usize = 40;

const NAME: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens what is at an absolute path, a link itself; magic links are not followed. What an automounter has
/// not mounted is not there.
pub(super) fn open_untouched(path: &Path) -> Result<OwnedFd, Errno> {
    let known = ResolveFlags::NO_MAGICLINKS | ResolveFlags::CACHED;
    match openat2(CWD, path, NAME, Mode::empty(), known) {
        // More than the kernel has in memory is needed, or it is older than 5.12.
        Err(Errno::AGAIN | Errno::INVAL) => walk(path),
        known => known,
    }
}

/// Goes on from name to name: an automount point that is opened by its name is left as it is (open(2)).
fn walk(path: &Path) -> Result<OwnedFd, Errno> {
    let mut at = root()?;
    let (mut left, mut links) = (names(path), 0);
    while let Some(name) = left.pop() {
        let found = step(&at, &name)?;
        let is_link = FileType::from_raw_mode(fstat(&found)?.st_mode) == FileType::Symlink;
        if left.is_empty() || !is_link {
            at = found;
        } else if kind(&found)? == PROC {
            // Of these the kernel alone knows which are magic. They lead to other names of processes.
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            at = openat2(&at, &name, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)?;
        } else {
            links += 1;
            let to = readlinkat(&found, c"", Vec::new())?.into_bytes();
            let to = PathBuf::from(OsString::from_vec(to));
            left.extend(names(&to));
            at = if to.has_root() { root()? } else { at };
        }
        if links > LINKS_MAX {
            return Err(Errno::LOOP);
        }
    }
    Ok(at)
}

fn root() -> Result<OwnedFd, Errno> {
    open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// The names of a path, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.rev().collect()
}

/// Opens one name. In a directory of an automounter that is what has been mounted there.
fn step(at: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_MAGICLINKS;
    if kind(at)? != AUTOFS || name == ".." {
        return openat2(at, name, NAME, Mode::empty(), resolve);
    }
    let known = openat2(at, name, NAME, Mode::empty(), resolve | ResolveFlags::CACHED);
    known.map_err(|_| Errno::NOENT)
}

fn kind(file: impl AsFd) -> Result<u64, Errno> {
    #[expect(clippy::cast_sign_loss, reason = "a number that stands for a name")]
    fstatfs(file).map(|found| found.f_type as u64 & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// What a way of opening says of a path: which file, or which error.
    fn said(opened: Result<OwnedFd, Errno>) -> Result<(u64, u64), Errno> {
        let stat = opened.and_then(fstat)?;
        Ok((stat.st_dev, stat.st_ino))
    }

    #[test]
    fn names_lead_where_the_kernel_says() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().canonicalize().expect("a path");
        std::fs::create_dir_all(root.join("there/deep")).expect("made");
        std::fs::write(root.join("there/deep/file"), "").expect("written");
        let absolute = root.join("there");
        let name = absolute.to_str().expect("a name");
        for (to, link) in [
            ("there", "link"),
            ("link/../there/./deep/", "far"),
            (name, "absolute"),
            ("nowhere", "dangling"),
            ("loop", "loop"),
            ("there/deep/file", "file"),
        ] {
            symlink(to, root.join(link)).expect("a link");
        }
        let below = [
            "",
            "there",
            "link",
            "link/deep/file",
            "far/file",
            "far",
            "absolute/deep",
            "dangling",
            "dangling/x",
            "loop",
            "loop/x",
            "file",
            "file/x",
            "there/x",
            "there/deep/file/x",
        ];
        let of_kernel = [
            "/proc/self/status",
            "/proc/self",
            "/proc/mounts",
            "/proc/self/cwd/x",
            "/proc/self/fd",
        ];
        let of_kernel = of_kernel.into_iter().chain(["/proc/net/tcp", "/proc/self/exe", "/"]);
        for path in below.map(|it| root.join(it)).into_iter().chain(of_kernel.map(PathBuf::from)) {
            let flags = ResolveFlags::NO_MAGICLINKS;
            let expected = said(openat2(CWD, &path, NAME, Mode::empty(), flags));
            assert_eq!(said(walk(&path)), expected, "{}", path.display());
            assert_eq!(said(open_untouched(&path)), expected, "{}", path.display());
        }
    }
}
