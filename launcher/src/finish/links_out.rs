//! Symbolic links that lead out of a mount: which of them are written back like others, and which wait for the user.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use endow_vfs::fs::{Errno, Fs, Open, OsFs, Result};
use endow_vfs::sync::{Change, ChangeSet, Refusal};

use super::Target;

/// Why one is held: whoever writes to its name outside writes elsewhere.
pub(super) const WHY: &str = "a link that leads out of the mount";
/// Where programs of the system are, which their user can't write.
const SYSTEM: [&str; 9] =
    ["/bin", "/gnu/store", "/lib", "/lib32", "/lib64", "/nix/store", "/opt", "/sbin", "/usr"];
/// The most links that the kernel follows on one way.
const LINKS: usize = 40;
/// Bits by which others than the owner may write, and the one by which they can change no name of others.
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Takes back that links are refused for where they lead; returns those that are held instead. As those of a virtual
/// environment do, a link may lead to a program of the system; and it may name the mount by its path on the host.
pub(super) fn settle(changes: &mut ChangeSet, target: &Target) -> BTreeSet<PathBuf> {
    let mut held = BTreeSet::new();
    for change in changes.changes.iter_mut().filter(|it| it.refused == Some(Refusal::LinkOut)) {
        change.refused = None;
        if !is_fine(change, target) {
            held.insert(change.path.clone());
        }
    }
    held
}

/// Follows links until one leads to the system, or none leads on; what can't be read leads anywhere.
fn is_fine(change: &Change, target: &Target) -> bool {
    let mut at = change.path.clone();
    let own = target.upper.as_ref().map(|upper| link_at(upper.as_fd(), &at));
    let Some(Ok(At::Link(mut to))) = own else { return false };
    for _ in 0..LINKS {
        if is_of_system(&to) || stays(target, &at, &to) {
            return true;
        }
        let Some(next) = beside(target, &at, &to) else { return false };
        to = match link(target, &next) {
            Ok(Some(to)) => to,
            found => return found.is_ok(),
        };
        at = next;
    }
    false
}

/// What stands at a path of one side.
#[derive(PartialEq, Eq)]
enum At {
    Nothing,
    NoLink,
    Link(PathBuf),
}

/// Reads where a link leads, the run's and the host's; `None` for what is none. Where they are not the same, either may
/// stand there.
fn link(target: &Target, path: &Path) -> Result<Option<PathBuf>> {
    let host = link_at(target.root.as_fd(), path)?;
    let run = target.upper.as_ref().map_or(Ok(At::Nothing), |it| link_at(it.as_fd(), path))?;
    match (run, host) {
        (At::Nothing, At::Link(to)) | (At::Link(to), At::Nothing | At::NoLink) => Ok(Some(to)),
        (At::Link(run), At::Link(host)) if run == host => Ok(Some(run)),
        (At::Link(_) | At::NoLink, At::Link(_)) => Err(Errno::LOOP),
        (At::Nothing | At::NoLink, At::Nothing | At::NoLink) => Ok(None),
    }
}

fn link_at(side: BorrowedFd<'_>, path: &Path) -> Result<At> {
    let above = path.parent().unwrap_or(Path::new(""));
    let name = path.file_name().ok_or(Errno::INVAL)?;
    let opened = OsFs.open_below(side, above, Open::Handle);
    match opened.and_then(|above| OsFs.read_link(above.as_fd(), name)) {
        Ok(to) => Ok(At::Link(PathBuf::from(to))),
        Err(Errno::INVAL) => Ok(At::NoLink),
        Err(Errno::NOENT) => Ok(At::Nothing),
        Err(errno) => Err(errno),
    }
}

/// Returns the name in the mount that a link leads to, where no link is on the way to that.
fn beside(target: &Target, link: &Path, to: &Path) -> Option<PathBuf> {
    let (way, name) = (to.parent()?, to.file_name()?);
    let is_near = way.as_os_str().is_empty() || way.is_relative() && stays(target, link, way);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let place = link.parent()?.join(way);
    (is_near && place.components().all(is_plain)).then(|| place.join(name))
}

/// Whether a link leads to somewhere in the mount, links on the way followed. A place that did not exist is a part of
/// what is looked at only.
fn stays(target: &Target, link: &Path, to: &Path) -> bool {
    let roots = [target.path.as_path().to_owned()];
    let is_out = || target.sides().lead_out(link, to.as_os_str(), &roots);
    target.absent().is_none() && is_out().is_ok_and(|is_out| !is_out)
}

/// Whether a path leads to something that root owns, with all that leads there, and that nobody else can change. To root
/// nothing is.
fn is_of_system(to: &Path) -> bool {
    let is_inner = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    let is_below = |path: &Path| SYSTEM.iter().any(|it| path.starts_with(it));
    if rustix::process::geteuid().is_root() || !is_below(to) || !to.components().all(is_inner) {
        return false;
    }
    let real = std::fs::canonicalize(to);
    real.is_ok_and(|real| is_below(&real) && is_roots(to) && is_roots(&real))
}

fn is_roots(path: &Path) -> bool {
    path.ancestors().all(|it| {
        let found = it.symlink_metadata();
        let is_closed = |mode: u32| mode & OTHERS_WRITE == 0 || it != path && mode & STICKY != 0;
        found.is_ok_and(|it| it.uid() == 0 && (it.is_symlink() || is_closed(it.mode())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_the_system_are_those_that_root_alone_can_change() {
        let is_user = !rustix::process::geteuid().is_root();
        for path in ["/bin/sh", "/usr/bin/env"] {
            assert_eq!(is_of_system(Path::new(path)), is_user, "{path}");
        }
        for path in
            ["/usr/bin/nosuch", "/etc/passwd", "/tmp", "/usr/../etc/passwd", "usr/bin/env", "/"]
        {
            assert!(!is_of_system(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn what_others_can_write_is_no_program_of_the_system() {
        assert!(!is_roots(Path::new("/tmp")));
        assert!(is_roots(Path::new("/usr")));
    }
}
