//! Unix sockets of the host in granted directories: no mount keeps anybody from connecting to one.
//!
//! The kernel lists the sockets of a network namespace, each with its path as the binder wrote it:
//! through links, or relative to where the binder stood. That is no longer known: the granted directories
//! are tried, and where processes stand now.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use endow_policy::{Access, BackendSpec, HostPath, MountClass, MountSpec, Policy};
use rustc_hash::FxHashMap;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, readlink, statat};

use super::buffered::mount_points;
use crate::plan::host::{Found, HiddenName, HiddenNames, Paths};
use crate::sys::sockets;

/// The kernel's list (proc_pid_net(5)).
const TABLE: &str = "/proc/self/net/unix";
/// The most bytes of it that are read: tens of thousands of sockets.
const TABLE_MAX: u64 = 8 << 20;
/// Of what the base shows, where no service keeps its state. Below others, as `/opt` and `~/.nvm`, one may.
const INSTALLED: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/sys",
    "/nix/store",
    "/gnu/store",
];
/// The most relative paths that are tried in each directory.
const RELATIVE_MAX: usize = 256;

/// Adds the sockets below each source that is mounted without a layer before it.
pub(super) fn add(hidden: &mut BTreeMap<HostPath, HiddenNames>, policy: &Policy, paths: &Paths) {
    let sources: BTreeSet<&HostPath> =
        policy.mounts.iter().filter_map(|spec| reachable_through(spec, paths)).collect();
    if sources.is_empty() {
        return;
    }
    let (absolute, relative): (Vec<PathBuf>, Vec<PathBuf>) =
        bound(&table()).into_iter().partition(|path| path.is_absolute());
    let bases = if relative.is_empty() { BTreeSet::new() } else { bases(&sources) };
    let relative = relative
        .iter()
        .take(RELATIVE_MAX)
        .flat_map(|path| bases.iter().map(move |base| base.join(path)));
    let mut places = Places::default();
    let found: BTreeSet<HostPath> = absolute
        .into_iter()
        .chain(relative)
        .filter_map(|path| places.socket(&path, &sources))
        .collect();
    let mut holding = BTreeSet::new();
    for socket in &found {
        let around = sources.iter().filter(|source| socket.is_within(source));
        holding.extend(around.filter(|source| hide(hidden, source, socket)));
    }
    note_mounts(hidden, &holding);
}

/// Returns the directory through which a mount lets sockets be reached: a copy-on-write mount has
/// none, and in most of the base's directories nobody listens.
fn reachable_through<'a>(spec: &MountSpec, paths: &'a Paths) -> Option<&'a HostPath> {
    let BackendSpec::Physical { host } = &spec.backend else { return None };
    let fact = paths.get(host)?;
    let is_quiet = spec.class == MountClass::System && is_installed(&fact.resolved);
    let is_open = !is_quiet && spec.access != Access::Cow;
    (is_open && matches!(fact.found, Found::Directory(_))).then_some(&fact.resolved)
}

/// Whether only a package manager, or the kernel, makes anything there.
fn is_installed(source: &HostPath) -> bool {
    INSTALLED.iter().any(|root| source.as_path().starts_with(root))
}

fn table() -> Vec<u8> {
    let mut table = Vec::new();
    if let Ok(file) = File::open(TABLE) {
        // What was read until an error is as good.
        drop(file.take(TABLE_MAX).read_to_end(&mut table));
    }
    table
}

/// Returns the paths in the kernel's list. Connections repeat that of their listener.
fn bound(table: &[u8]) -> BTreeSet<PathBuf> {
    let mut paths: Vec<Vec<u8>> = Vec::new();
    let table = table.strip_suffix(b"\n").unwrap_or(table);
    for line in table.split(|byte| *byte == b'\n') {
        match (sockets::name_field(line), paths.last_mut()) {
            (Some(path), _) => paths.push(path.to_vec()),
            // The kernel prints a newline of a path as it is (measured).
            (None, Some(last)) => last.extend([b"\n", line].concat()),
            (None, None) => {}
        }
    }
    let is_path = |path: &Vec<u8>| !matches!(path.first(), None | Some(b'@' | b'\n'));
    paths.into_iter().filter(is_path).map(|path| PathBuf::from(OsString::from_vec(path))).collect()
}

/// Returns the directories that a relative path may be meant in.
fn bases(sources: &BTreeSet<&HostPath>) -> BTreeSet<PathBuf> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let numbered =
        processes.filter(|it| it.file_name().as_bytes().first().is_some_and(u8::is_ascii_digit));
    let standing = numbered.filter_map(|it| std::fs::read_link(it.path().join("cwd")).ok());
    standing.chain(sources.iter().map(|source| source.as_path().to_owned())).collect()
}

/// Directories of sockets: open, and where they are without links.
#[derive(Default)]
struct Places(FxHashMap<PathBuf, Option<(OwnedFd, HostPath)>>);

impl Places {
    /// Returns the canonical path when a socket is there now, below one of the sources.
    fn socket(&mut self, path: &Path, sources: &BTreeSet<&HostPath>) -> Option<HostPath> {
        let (parent, name) = (path.parent()?, path.file_name()?);
        let directory = self.0.entry(parent.to_owned()).or_insert_with(|| open(parent));
        let (directory, at) = directory.as_ref()?;
        if !sources.iter().any(|source| at.is_within(source)) {
            return None;
        }
        let mode = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?.st_mode;
        let is_socket = FileType::from_raw_mode(mode) == FileType::Socket;
        at.join(OsStr::new(name)).ok().filter(|_| is_socket)
    }
}

fn open(directory: &Path) -> Option<(OwnedFd, HostPath)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat(CWD, directory, flags, Mode::empty()).ok()?;
    let path = readlink(format!("/proc/self/fd/{}", opened.as_raw_fd()), Vec::new()).ok()?;
    let path = HostPath::new(Path::new(OsStr::from_bytes(path.as_bytes()))).ok()?;
    Some((opened, path))
}

/// Adds a socket to the names below a source.
fn hide(
    hidden: &mut BTreeMap<HostPath, HiddenNames>,
    source: &HostPath,
    socket: &HostPath,
) -> bool {
    let Some(path) = socket.below(source) else { return false };
    let names = &mut hidden.entry(source.clone()).or_default().names;
    names.push(HiddenName { path: path.to_owned(), directory: false, rule: None, socket: true });
    names.sort();
    true
}

/// Notes which sources can't have a layer before them.
fn note_mounts(hidden: &mut BTreeMap<HostPath, HiddenNames>, holding: &BTreeSet<&&HostPath>) {
    if holding.is_empty() {
        return;
    }
    let mounts = mount_points();
    for source in holding {
        let is_below = |point: &HostPath| point != **source && point.is_within(source);
        if let Some(names) = hidden.get_mut(**source) {
            names.mounts_below = mounts.iter().any(is_below);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_what_follows_seven_fields() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/a b
ffff8881deadbeef: 00000003 00000000 00000000 0001 03    99 /run/a b
0000000000000000: 00000002 00000000 00010000 0005 01    77 @abstract
0000000000000000: 00000003 00000000 00000000 0001 03  4711
0000000000000000: 00000002 00000000 00000000 0002 01     8 ./near
0000000000000000: 00000002 00000000 00010000 0001 01     9 /run/two
lines: 1 2
0000000000000000: 00000002 00000000 00010000 0001 01    10  /blank
";
        let expected = [" /blank", "./near", "/run/a b", "/run/two\nlines: 1 2"];
        assert_eq!(bound(table), expected.map(PathBuf::from).into_iter().collect());
        assert_eq!(bound(b""), BTreeSet::new());
    }

    #[test]
    fn places_of_the_base_are_told_apart_by_who_writes_there() {
        let is = |path| is_installed(&HostPath::new(path).expect("a path"));
        assert!(is("/usr") && is("/etc/ssl") && is("/nix/store"));
        assert!(!is("/opt") && !is("/nix/var/nix/profiles") && !is("/home/u/.nvm"));
    }

    #[test]
    fn sockets_are_found_through_links_and_by_relative_paths() {
        let root = tempfile::tempdir().expect("a directory");
        let root = root.path().canonicalize().expect("a path");
        let (granted, link) = (root.join("granted"), root.join("link"));
        std::fs::create_dir(&granted).expect("a directory");
        std::os::unix::fs::symlink(&granted, &link).expect("a link");
        let _listening = std::os::unix::net::UnixListener::bind(granted.join("s")).expect("bound");
        std::fs::write(granted.join("file"), "").expect("written");
        let source = HostPath::new(&granted).expect("a path");
        let mut places = Places::default();
        let mut look = |path: PathBuf| places.socket(&path, &BTreeSet::from([&source]));
        let expected = source.join("s").ok();
        assert_eq!(look(granted.join("s")), expected);
        assert_eq!(look(link.join("s")), expected);
        assert_eq!(look(granted.join("./../link/s")), expected);
        for other in ["file", "none", "none/s"] {
            assert_eq!(look(granted.join(other)), None, "{other}");
        }
    }
}
