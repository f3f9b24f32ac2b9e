//! Files of layers that have no name any more, or never had one: what holds them are processes of the
//! run. All is read from `/proc`, where the owner of their user namespace may look.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{major, minor};

use super::{Amount, Extent};
use crate::sys::holders::{Listing, descendants, listing, shares_descriptors};
use crate::sys::mountinfo;

/// The most processes, threads and descriptors of theirs that are looked at.
const ENTRIES_MAX: usize = 1 << 17;
/// How the kernel writes names that are gone (`proc_pid_fd(5)`, `proc_pid_maps(5)`).
const GONE: &[u8] = b" (deleted)";

/// Where the layers of a run are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layers<'a> {
    /// Their places in the view.
    pub(super) places: &'a [&'a Path],
    /// Their device outside.
    pub(super) device: u64,
}

/// Returns what the processes of a run hold of layers without a name.
pub(super) fn held(pid_1: i32, layers: Layers<'_>) -> Extent {
    let mut search = Search::default();
    match descendants(pid_1, ENTRIES_MAX) {
        Listing::Whole(processes) => processes.iter().for_each(|it| search.process(*it, layers)),
        Listing::Cut => search.is_partial = true,
    }
    search.found()
}

#[derive(Debug, Default)]
struct Search {
    /// The layers' mounts, once a process has told.
    mounts: Option<Mounts>,
    /// Devices and numbers of files that were counted.
    counted: HashSet<(u64, u64)>,
    /// Numbers of files that are mapped.
    mapped: HashSet<u64>,
    entries: usize,
    amount: Amount,
    is_partial: bool,
}

/// Mounts of the layers, and the devices that their files have.
#[derive(Debug, Default, PartialEq, Eq)]
struct Mounts {
    numbers: HashSet<u64>,
    devices: HashSet<(u32, u32)>,
}

impl Search {
    fn found(self) -> Extent {
        // What is mapped and not open can't be measured.
        let is_counted = |it: &u64| self.counted.iter().any(|(_, number)| number == it);
        let is_whole = !self.is_partial && self.mapped.iter().all(is_counted);
        if is_whole { Extent::Whole(self.amount) } else { Extent::AtLeast(self.amount) }
    }

    /// Returns what was read, unless its process is gone.
    fn told<T>(&mut self, read: io::Result<T>) -> Option<T> {
        let is_gone = |error: &io::Error| {
            error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
        };
        self.is_partial |= read.as_ref().is_err_and(|error| !is_gone(error));
        read.ok()
    }

    /// Looks at a process, and at those of its threads that have other descriptors.
    fn process(&mut self, pid: i32, layers: Layers<'_>) {
        let Some(threads) = self.told(listing(&format!("/proc/{pid}/task"))) else { return };
        let threads = threads.iter().filter_map(|it| it.to_str()?.parse::<i32>().ok());
        let apart = threads.filter(|it| *it != pid && !shares_descriptors(pid, *it));
        for thread in std::iter::once(pid).chain(apart.collect::<Vec<_>>()) {
            self.thread(&format!("/proc/{pid}/task/{thread}"), layers);
        }
    }

    fn thread(&mut self, thread: &str, layers: Layers<'_>) {
        let Some(descriptors) = self.told(listing(&format!("{thread}/fd"))) else { return };
        // One that has ended has none.
        if descriptors.is_empty() && !self.has_memory(thread) {
            return;
        }
        if self.mounts.is_none()
            && let Some(table) = self.told(fs::read(format!("{thread}/mountinfo")))
        {
            self.mounts = Some(Mounts::new(&table, layers)).filter(|it| !it.numbers.is_empty());
        }
        self.is_partial |= self.mounts.is_none();
        for number in descriptors {
            self.entries += 1;
            if self.entries > ENTRIES_MAX {
                self.is_partial = true;
                return;
            }
            self.descriptor(thread, &number);
        }
        self.mappings(thread);
    }

    fn has_memory(&mut self, thread: &str) -> bool {
        self.told(fs::read(format!("{thread}/maps"))).is_some_and(|maps| !maps.is_empty())
    }

    fn descriptor(&mut self, thread: &str, number: &OsStr) {
        let number = number.to_string_lossy();
        let link = match fs::read_link(format!("{thread}/fd/{number}")) {
            Ok(link) => link.into_os_string(),
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            // The kernel tells no name that is longer than a page.
            Err(_) => OsStr::from_bytes(GONE).to_owned(),
        };
        let (is_gone, is_socket) =
            (link.as_bytes().ends_with(GONE), link.as_bytes().starts_with(b"socket:"));
        if !is_gone && !is_socket {
            return;
        }
        let Some(info) = self.told(fs::read_to_string(format!("{thread}/fdinfo/{number}"))) else {
            return;
        };
        if is_socket {
            // Descriptors that nobody has received yet.
            self.is_partial |= field(&info, "scm_fds:").is_some_and(|count| count > 0);
        } else if field(&info, "mnt_id:").is_some_and(|it| self.is_on_layer(it)) {
            self.count(&format!("{thread}/fd/{number}"));
        }
    }

    fn is_on_layer(&self, mount: u64) -> bool {
        self.mounts.as_ref().is_some_and(|mounts| mounts.numbers.contains(&mount))
    }

    fn count(&mut self, file: &str) {
        let Some(found) = self.told(fs::metadata(file)) else { return };
        if found.nlink() == 0 && found.is_file() && self.counted.insert((found.dev(), found.ino()))
        {
            self.amount.add(found.blocks().saturating_mul(512), 1);
        }
    }

    /// A mapping keeps a file when all its descriptors are closed.
    fn mappings(&mut self, thread: &str) {
        let Some(maps) = self.told(fs::read(format!("{thread}/maps"))) else { return };
        let gone = maps.split(|byte| *byte == b'\n').filter(|line| line.ends_with(GONE));
        let gone = gone.filter_map(mapped);
        let devices = self.mounts.as_ref().map(|mounts| &mounts.devices);
        let is_on_layer =
            |device: &(u32, u32)| devices.is_none_or(|devices| devices.contains(device));
        let numbers = gone.filter(|(device, _)| is_on_layer(device)).map(|(_, number)| number);
        self.mapped.extend(numbers);
    }
}

/// Returns the device and number of the file that a line of `maps` is about.
fn mapped(line: &[u8]) -> Option<((u32, u32), u64)> {
    let line = String::from_utf8_lossy(line);
    let mut fields = line.split_ascii_whitespace().skip(3);
    let device = device(fields.next()?)?;
    Some((device, fields.next()?.parse().ok()?))
}

/// Reads `MAJOR:MINOR`, which stand in hexadecimal there.
fn device(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?))
}

/// Returns a number of `/proc/PID/fdinfo/N`.
fn field(info: &str, key: &str) -> Option<u64> {
    info.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok()
}

impl Mounts {
    /// Reads a table of mounts: a layer's file system may be mounted at
    /// other places as well, and the one at its own place that came last is what is seen there.
    fn new(table: &[u8], layers: Layers<'_>) -> Self {
        let mounts = mountinfo::parse(table);
        let at = |place: &&Path| {
            let mut overlays = mounts.iter().filter(|it| it.kind == "overlay").rev();
            overlays.find(|it| it.place == *place).map(|it| it.device)
        };
        let of_layers: HashSet<(u32, u32)> = layers.places.iter().filter_map(at).collect();
        let shown = mounts.iter().filter(|it| of_layers.contains(&it.device));
        let numbers = shown.map(|it| it.number).collect();
        // Before Linux 6.8 a mapping tells the file below the overlay.
        let below = (major(layers.device), minor(layers.device));
        Self { numbers, devices: of_layers.into_iter().chain([below]).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = br"30 1 0:26 / / rw - tmpfs none rw
41 30 0:45 / /work\040here rw - overlay overlay rw,upperdir=/proc/self/fd/5
42 41 0:45 /hooks /work\040here/hooks ro - overlay overlay rw
43 30 0:46 / /mask ro - overlay overlay ro
44 30 8:1 /tmp /tmp rw - ext4 /dev/root rw
";

    fn mounts(places: &[&Path]) -> Mounts {
        Mounts::new(TABLE, Layers { places, device: rustix::fs::makedev(8, 1) })
    }

    #[test]
    fn mounts_of_a_layer_are_known_by_its_place() {
        let found = mounts(&[Path::new("/work here"), Path::new("/tmp")]);
        assert_eq!(found.numbers, HashSet::from([41, 42]));
        assert_eq!(found.devices, HashSet::from([(0, 45), (8, 1)]));
        assert_eq!(mounts(&[Path::new("/other")]).numbers, HashSet::new());
    }

    #[test]
    fn mapping_tells_its_file() {
        let line = b"7f10-7f20 r--s 00000000 00:2d 4242                       /w/a b (deleted)";
        assert_eq!(mapped(line), Some(((0, 45), 4242)));
        assert_eq!(mapped(b"7f10-7f20 rw-p 00000000"), None);
    }

    #[test]
    fn process_that_is_gone_hides_nothing() {
        let mut search = Search::default();
        search.process(i32::MAX, Layers { places: &[], device: 0 });
        assert_eq!(search.found(), Extent::Whole(Amount::default()));
    }

    #[test]
    fn what_can_not_be_read_may_hide_anything() {
        let mut search = Search::default();
        assert_eq!(search.told::<()>(Err(ErrorKind::PermissionDenied.into())), None);
        assert_eq!(search.found(), Extent::AtLeast(Amount::default()));
    }
}
