//! Which names a call asks for, and for what: by its number and arguments.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use rustc_hash::FxHashMap;

use super::asked::Asked;
use crate::plan::seccomp::{Arch, Call, Observe};
use crate::plan::why::Need;
use crate::supervise::caller;
use crate::supervise::connects::{self, Peer};
use crate::sys::announced::Announced;
use crate::sys::memory;

/// What is asked for by one argument.
#[derive(Clone, Copy, Debug)]
struct Name {
    /// The argument with the directory that a relative path starts from; without one it is the
    /// caller's.
    directory: Option<usize>,
    /// The argument that points to the path.
    path: usize,
    need: Wish,
}

/// For what.
#[derive(Clone, Copy, Debug)]
enum Wish {
    Always(Need),
    /// By the flags of `open` in an argument.
    Flags(usize),
    /// By those where an argument points to.
    How(usize),
    /// By the mode of `access` in an argument.
    Mode(usize),
}

const fn here(path: usize, need: Need) -> Name {
    Name { directory: None, path, need: Wish::Always(need) }
}

const fn at(directory: usize, path: usize, need: Need) -> Name {
    Name { directory: Some(directory), path, need: Wish::Always(need) }
}

/// Names of the directory that a process is in.
const OWN_DIRECTORIES: &[&str] = &["/proc/self/cwd", "/proc/thread-self/cwd"];

const STARTED: &[(&str, &[Name])] =
    &[("execve", &[here(0, Need::Execute)]), ("execveat", &[at(0, 1, Need::Execute)])];

const NAMED: &[(&str, &[Name])] = &[
    ("open", &[Name { directory: None, path: 0, need: Wish::Flags(1) }]),
    ("openat", &[Name { directory: Some(0), path: 1, need: Wish::Flags(2) }]),
    ("openat2", &[Name { directory: Some(0), path: 1, need: Wish::How(2) }]),
    ("creat", &[here(0, Need::Write)]),
    ("access", &[Name { directory: None, path: 0, need: Wish::Mode(1) }]),
    ("faccessat", &[Name { directory: Some(0), path: 1, need: Wish::Mode(2) }]),
    ("faccessat2", &[Name { directory: Some(0), path: 1, need: Wish::Mode(2) }]),
    ("stat", &[here(0, Need::Presence)]),
    ("lstat", &[here(0, Need::Presence)]),
    ("newfstatat", &[at(0, 1, Need::Presence)]),
    ("statx", &[at(0, 1, Need::Presence)]),
    ("statfs", &[here(0, Need::Presence)]),
    ("readlink", &[here(0, Need::Presence)]),
    ("readlinkat", &[at(0, 1, Need::Presence)]),
    ("chdir", &[here(0, Need::Presence)]),
    ("getxattr", &[here(0, Need::Presence)]),
    ("lgetxattr", &[here(0, Need::Presence)]),
    ("listxattr", &[here(0, Need::Presence)]),
    ("llistxattr", &[here(0, Need::Presence)]),
    ("mkdir", &[here(0, Need::Write)]),
    ("mkdirat", &[at(0, 1, Need::Write)]),
    ("mknod", &[here(0, Need::Write)]),
    ("mknodat", &[at(0, 1, Need::Write)]),
    ("rmdir", &[here(0, Need::Remove)]),
    ("unlink", &[here(0, Need::Remove)]),
    ("unlinkat", &[at(0, 1, Need::Remove)]),
    ("rename", &[here(0, Need::Change), here(1, Need::Write)]),
    ("renameat", &[at(0, 1, Need::Change), at(2, 3, Need::Write)]),
    ("renameat2", &[at(0, 1, Need::Change), at(2, 3, Need::Write)]),
    ("link", &[here(0, Need::Presence), here(1, Need::Write)]),
    ("linkat", &[at(0, 1, Need::Presence), at(2, 3, Need::Write)]),
    ("symlink", &[here(1, Need::Write)]),
    ("symlinkat", &[at(1, 2, Need::Write)]),
    ("chmod", &[here(0, Need::Change)]),
    ("fchmodat", &[at(0, 1, Need::Change)]),
    ("fchmodat2", &[at(0, 1, Need::Change)]),
    ("chown", &[here(0, Need::Change)]),
    ("lchown", &[here(0, Need::Change)]),
    ("fchownat", &[at(0, 1, Need::Change)]),
    ("truncate", &[here(0, Need::Change)]),
    ("utime", &[here(0, Need::Change)]),
    ("utimes", &[here(0, Need::Change)]),
    ("futimesat", &[at(0, 1, Need::Change)]),
    ("utimensat", &[at(0, 1, Need::Change)]),
    ("setxattr", &[here(0, Need::Change)]),
    ("lsetxattr", &[here(0, Need::Change)]),
    ("removexattr", &[here(0, Need::Change)]),
    ("lremovexattr", &[here(0, Need::Change)]),
];

/// The calls that are understood, by their numbers.
#[derive(Debug)]
pub(super) struct Names {
    arch: Arch,
    connect: Option<u32>,
    starts: Vec<u32>,
    calls: FxHashMap<u32, &'static [Name]>,
}

impl Names {
    pub(super) fn new(arch: Arch, observe: Observe) -> Self {
        let number = |name: &str| Call::named(name).and_then(|call| call.number(arch));
        let named = if observe >= Observe::Paths { NAMED } else { &[] };
        let numbered = |(name, names): &(&str, &'static [Name])| Some((number(name)?, *names));
        Self {
            arch,
            connect: number("connect"),
            starts: STARTED.iter().filter_map(|(name, _)| number(name)).collect(),
            calls: STARTED.iter().chain(named).filter_map(numbered).collect(),
        }
    }

    /// Returns whether a call starts another program in its process.
    pub(super) fn starts(&self, call: &Announced) -> bool {
        self.starts.contains(&call.number.cast_unsigned())
    }

    /// Reads what a call asks for. What can't be read, the kernel can't read either.
    pub(super) fn of(&self, call: &Announced) -> Vec<Asked> {
        let number = call.number.cast_unsigned();
        if call.arch != self.arch.audit() {
            return Vec::new();
        }
        if Some(number) == self.connect {
            return peer(call).into_iter().collect();
        }
        let names = self.calls.get(&number).copied().unwrap_or_default();
        names.iter().filter_map(|name| name.read(call)).collect()
    }
}

fn peer(call: &Announced) -> Option<Asked> {
    match connects::peer(call)? {
        Peer::Internet(address) => Some(Asked::Address(address)),
        Peer::Abstract(name) => Some(Asked::Abstract(name)),
        Peer::Unix(path) => {
            let path = caller::place_of(call.pid, libc::AT_FDCWD, &path)?;
            Some(Asked::Path(Need::Connect, plain(path)))
        }
    }
}

impl Name {
    fn read(self, call: &Announced) -> Option<Asked> {
        let argument = |number: usize| call.arguments.get(number).copied();
        let directory = match self.directory {
            Some(number) => caller::descriptor(argument(number)?)?,
            None => libc::AT_FDCWD,
        };
        let path = caller::named_at(call.pid, directory, argument(self.path)?)?;
        Some(Asked::Path(self.need.read(call)?, plain(from_own(call.pid, path))))
    }
}

impl Wish {
    fn read(self, call: &Announced) -> Option<Need> {
        let argument = |number: usize| call.arguments.get(number).copied();
        Some(match self {
            Self::Always(need) => need,
            Self::Flags(number) => of_flags(argument(number)?),
            Self::How(number) => {
                let mut flags = [0; 8];
                memory::read(call.pid, argument(number)?, &mut flags).ok()?;
                of_flags(u64::from_ne_bytes(flags))
            }
            Self::Mode(number) => of_mode(argument(number)?),
        })
    }
}

/// The flags of `open` are an `int`.
fn of_flags(flags: u64) -> Need {
    let flags = caller::descriptor(flags).unwrap_or_default();
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
    let changes = writes || flags & libc::O_TRUNC != 0;
    match flags & libc::O_PATH != 0 {
        true => Need::Presence,
        false if flags & libc::O_CREAT != 0 => Need::Write,
        false if changes => Need::Change,
        false => Need::Read,
    }
}

fn of_mode(mode: u64) -> Need {
    let mode = caller::descriptor(mode).unwrap_or_default();
    match mode {
        _ if mode & libc::W_OK != 0 => Need::Change,
        _ if mode & libc::X_OK != 0 => Need::Execute,
        _ if mode & libc::R_OK != 0 => Need::Read,
        _ => Need::Presence,
    }
}

/// A name by way of the caller's own directory is another for everybody else.
fn from_own(pid: u32, path: PathBuf) -> PathBuf {
    let rest = OWN_DIRECTORIES.iter().find_map(|own| path.strip_prefix(own).ok());
    rest.and_then(|rest| caller::place_of(pid, libc::AT_FDCWD, rest)).unwrap_or(path)
}

/// Leaves out what says nothing: empty names and dots. `..` may follow a link, and stays.
fn plain(path: PathBuf) -> OsString {
    let bytes = path.as_os_str().as_bytes();
    let is_plain = !bytes.windows(2).any(|two| two == b"//")
        && !bytes.windows(3).any(|three| three == b"/./")
        && !bytes.ends_with(b"/.")
        && !bytes.ends_with(b"/");
    if is_plain {
        return path.into_os_string();
    }
    let names = bytes.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    let mut plain: Vec<u8> = names.flat_map(|name| [b"/", name].concat()).collect();
    if plain.is_empty() {
        plain.push(b'/');
    }
    OsString::from_vec(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::seccomp::{CALLS, Group};

    #[test]
    fn every_announced_call_is_understood() {
        for arch in Arch::ALL {
            let names = Names::new(*arch, Observe::Paths);
            let links = [Group::Links, Group::LinksAt];
            let announced = [&[Group::Paths, Group::Rename, Group::Observed][..], &links].concat();
            for call in CALLS.iter().filter(|call| announced.contains(&call.group)) {
                let number = call.number(*arch);
                let known = number.is_none_or(|number| names.calls.contains_key(&number));
                assert!(known, "{} on {arch:?}", call.name);
            }
            let told = names.calls.keys().map(|number| Call::numbered(*number, *arch));
            assert!(told.flatten().all(|call| announced.contains(&call.group)));
        }
    }

    #[test]
    fn flags_tell_what_is_needed() {
        let of = |flags: i32| of_flags(flags.cast_unsigned().into());
        assert_eq!(of(libc::O_RDONLY | libc::O_CLOEXEC), Need::Read);
        assert_eq!(of(libc::O_RDWR), Need::Change);
        assert_eq!(of(libc::O_WRONLY | libc::O_TRUNC | libc::O_CREAT), Need::Write);
        assert_eq!(of(libc::O_RDONLY | libc::O_CREAT), Need::Write);
        assert_eq!(of(libc::O_PATH | libc::O_RDWR), Need::Presence);
        assert_eq!(
            [0, 4, 1, 5, 6].map(of_mode),
            [Need::Presence, Need::Read, Need::Execute, Need::Execute, Need::Change]
        );
    }

    #[test]
    fn paths_are_told_plainly() {
        for (said, told) in [
            ("/a/b", "/a/b"),
            ("//a/./b//", "/a/b"),
            ("/a/../b/.", "/a/../b"),
            ("/", "/"),
            ("/.", "/"),
        ] {
            assert_eq!(plain(said.into()), told, "{said}");
        }
    }

    #[test]
    fn own_directory_of_a_caller_is_named() {
        let here = std::env::current_dir().expect("a directory");
        let told = |path: &str| from_own(std::process::id(), path.into());
        assert_eq!(told("/proc/self/cwd/../a"), here.join("../a"));
        assert_eq!(told("/proc/self/cwds/a"), PathBuf::from("/proc/self/cwds/a"));
    }

    #[test]
    fn names_are_read_from_memory() {
        let path = c"/some//where";
        let call = |name: &str, arguments: [u64; 6]| {
            let number = Call::named(name).and_then(|it| it.number(Arch::native()?));
            let number = number.expect("a call").cast_signed();
            Announced::of(
                std::process::id(),
                Arch::native().expect("known").audit(),
                (number, arguments),
            )
        };
        let names = Names::new(Arch::native().expect("known"), Observe::Paths);
        let place = path.as_ptr() as u64;
        let flags = u64::from(libc::O_WRONLY.cast_unsigned());
        let asked = names.of(&call("openat", [0xffff_ff9c, place, flags, 0, 0, 0]));
        assert_eq!(asked, [Asked::Path(Need::Change, "/some/where".into())]);
        let both = names.of(&call("renameat2", [3, place, 3, place, 0, 0]));
        assert_eq!(both.len(), 2);
        let empty = names.of(&call("newfstatat", [3, c"".as_ptr() as u64, 0, 0, 0, 0]));
        assert_eq!(empty, []);
    }
}
