//! The files that say how names are looked up: read again when they have changed, since a run outlives a network.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::config::ResolverConfig;

/// How long they are taken to be as they were.
const UNSEEN: Duration = Duration::from_secs(1);

/// The most bytes that are read of one.
const FILE_MAX: u64 = 1 << 20;

/// `/etc/hosts` and `/etc/resolv.conf`, or what stands for them.
#[derive(Debug)]
pub(super) struct Files {
    hosts: PathBuf,
    resolv_conf: PathBuf,
    seen: [Option<Stamp>; 2],
    next_look: Option<Instant>,
}

/// What tells one content of a file from another: device, inode, size, and time of the last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp([u64; 3], [i64; 2]);

impl Files {
    /// Names them.
    pub(super) fn new(hosts: &Path, resolv_conf: &Path) -> Self {
        let (hosts, resolv_conf) = (hosts.to_owned(), resolv_conf.to_owned());
        Self { hosts, resolv_conf, seen: [None; 2], next_look: None }
    }

    /// Reads them. What changes meanwhile is seen the next time.
    pub(super) fn read(&mut self) -> ResolverConfig {
        self.seen = self.stamps();
        ResolverConfig::new(&text(&self.hosts), &text(&self.resolv_conf))
    }

    /// Returns what they say, if they are not those that were read.
    pub(super) fn changed(&mut self, now: Instant) -> Option<ResolverConfig> {
        if self.next_look.is_some_and(|at| now < at) {
            return None;
        }
        self.next_look = Some(now + UNSEEN);
        (self.stamps() != self.seen).then(|| self.read())
    }

    fn stamps(&self) -> [Option<Stamp>; 2] {
        [&self.hosts, &self.resolv_conf].map(|path| stamp(path))
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let found = fs::metadata(path).ok()?;
    Some(Stamp([found.dev(), found.ino(), found.len()], [found.mtime(), found.mtime_nsec()]))
}

/// What can't be read says nothing.
fn text(path: &Path) -> String {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILE_MAX).read_to_end(&mut text));
    read.map(|_| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_again_when_they_have_changed() {
        let directory = tempfile::tempdir().expect("made");
        let [hosts, servers] = ["hosts", "servers"].map(|name| directory.path().join(name));
        let mut files = Files::new(&hosts, &servers);
        assert_eq!(files.read().nameservers, ["127.0.0.1:53".parse().expect("an address")]);
        let start = Instant::now();
        assert!(files.changed(start).is_none());
        fs::write(&servers, "nameserver 192.0.2.1\n").expect("written");
        assert!(files.changed(start).is_none(), "it was looked at just now");
        let config = files.changed(start + UNSEEN).expect("it is another");
        assert_eq!(config.nameservers, ["192.0.2.1:53".parse().expect("an address")]);
        assert!(files.changed(start + 2 * UNSEEN).is_none());
        fs::write(&hosts, "192.0.2.7 a.test\n").expect("written");
        assert!(files.changed(start + 3 * UNSEEN).is_some());
        fs::remove_file(&servers).expect("removed");
        assert!(files.changed(start + 4 * UNSEEN).is_some());
    }
}
