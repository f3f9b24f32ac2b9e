//! A run's directory, a tree and a layer between them, for tests.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::*;
use crate::fs::{At, Fs, Kind, OsFs, Result};
use crate::testing::{Scratch, in_user_namespace, output_of};
pub(super) use crate::testing::{is_sweep, part_of};
use crate::tree::prune_layer;

/// The number of the one mount.
pub(super) const MOUNT: u32 = 1;
pub(super) const RUN: &str = "r1";

/// Where the tree is, seen from the run's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    Same,
    Elsewhere,
}

pub(super) const PLACES: [Where; 2] = [Where::Same, Where::Elsewhere];

/// A run with a layer over a tree.
pub(super) struct World {
    pub(super) run: Scratch,
    pub(super) tree: Scratch,
    pub(super) identity: Identity,
    pub(super) stamp: Time,
    pub(super) clock: Clock,
}

impl World {
    /// Makes a tree by a shell script and lets time pass.
    pub(super) fn new(place: Where, tree_script: &str) -> Self {
        Self::over(Scratch::new(), place, tree_script)
    }

    /// Makes one whose run is on a file system of the caller's choice.
    pub(super) fn over(run: Scratch, place: Where, tree_script: &str) -> Self {
        let tree = if place == Where::Same { run.beside() } else { run.elsewhere() };
        std::fs::create_dir(tree.path().join("root")).expect("mkdir");
        let mut world = Self {
            identity: Identity { dev: 0, ino: 0, born: None },
            stamp: Time { seconds: 0, nanoseconds: 0 },
            clock: Clock::Steady,
            run,
            tree,
        };
        shell(&world.root(), tree_script);
        std::fs::create_dir(world.run.path().join("upper")).expect("mkdir");
        std::fs::create_dir(world.run.path().join("work")).expect("mkdir");
        let root = world.root();
        shell(
            world.run.path(),
            &format!("chmod --reference='{0}' upper; touch -r '{0}' upper", root.display()),
        );
        let node = OsFs.node(world.tree.fd(), OsStr::new("root")).expect("stat");
        world.identity = Identity::from(&node);
        world.stamp = world.stamp_now();
        world
    }

    /// Copies tree and layer to a new world.
    pub(super) fn again(&self) -> Self {
        let run = Scratch::new();
        let is_same = self.run.path().metadata().expect("stat").dev()
            == self.root().metadata().expect("stat").dev();
        let tree = if is_same { run.beside() } else { run.elsewhere() };
        let copy = format!(
            "cp -a '{}' '{}'; cp -a '{}' .",
            self.root().display(),
            tree.path().display(),
            self.upper().display()
        );
        shell(run.path(), &copy);
        let node = OsFs.node(tree.fd(), OsStr::new("root")).expect("stat");
        let identity = Identity::from(&node);
        let mut world = Self { run, tree, identity, stamp: self.stamp, clock: self.clock };
        world.stamp = world.stamp_now();
        world
    }

    pub(super) fn stamp_now(&self) -> Time {
        let path = self.tree.path().join("stamp");
        let file = File::create(path).expect("create");
        // Asked for, the time of change is a fine one from the next change on.
        OsFs.status_of(file.as_fd()).expect("stat");
        OsFs.set_mode(file.as_fd(), 0o640).expect("chmod");
        OsFs.status_of(file.as_fd()).expect("stat").changed.into()
    }

    pub(super) fn root(&self) -> PathBuf {
        self.tree.path().join("root")
    }

    pub(super) fn upper(&self) -> PathBuf {
        self.run.path().join("upper")
    }

    /// Runs a script in the tree, as the host's user does.
    pub(super) fn host(&self, script: &str) {
        shell(&self.root(), script);
    }

    /// Runs a script in a real overlay over the tree, as the run does.
    pub(super) fn guest(&self, script: &str) -> String {
        let script = format!(
            "set -e; mkdir -p merged; mount -t overlay -o userxattr,lowerdir='{}',upperdir=upper,\
             workdir=work none merged; cd merged\n{script}",
            self.root().display()
        );
        in_user_namespace(self.run.path(), &script)
    }

    pub(super) fn root_fd(&self) -> OwnedFd {
        OsFs.open_handle(self.tree.fd(), OsStr::new("root")).expect("open")
    }

    pub(super) fn collect(&self) -> ChangeSet {
        self.collect_with(&OsFs).expect("collected")
    }

    pub(super) fn collect_with(&self, fs: &dyn Fs) -> std::result::Result<ChangeSet, SyncError> {
        self.with_source(|source| collect(fs, source))
    }

    /// Calls with the layer and the tree.
    pub(super) fn with_source<R>(&self, call: impl FnOnce(&Source<'_>) -> R) -> R {
        let (root, upper) = (self.root_fd(), self.upper_fd());
        let ledger = Ledger::read(&OsFs, self.run.fd()).expect("read");
        let settled = ledger.settled(MOUNT).with_indexes(&OsFs, self.run.fd(), (&ledger, MOUNT));
        let source = Source {
            absent: None,
            closed: Closed::Stay,
            made_like: None,
            upper: upper.as_fd(),
            root: root.as_fd(),
            identity: self.identity,
            stamp: self.stamp,
            clock: self.clock,
            settled: &settled,
        };
        call(&source)
    }

    pub(super) fn upper_fd(&self) -> OwnedFd {
        OsFs.open_dir(self.run.fd(), OsStr::new("upper")).expect("open")
    }

    pub(super) fn apply(
        &self,
        fs: &dyn Fs,
        plan: &SyncPlan,
    ) -> std::result::Result<SyncReport, SyncError> {
        self.with_place(|run, mount| {
            apply(fs, &run, &[(mount, plan)]).map(|mut reports| reports.remove(0))
        })
    }

    pub(super) fn resume(&self, fs: &dyn Fs) -> std::result::Result<Option<Resumed>, SyncError> {
        self.with_place(|run, mount| resume(fs, &run, &[mount]))
    }

    pub(super) fn give_up(&self, fs: &dyn Fs) -> std::result::Result<Option<Resumed>, SyncError> {
        self.with_place(|run, mount| give_up(fs, &run, &[mount]))
    }

    pub(super) fn undo(&self, fs: &dyn Fs) -> std::result::Result<UndoReport, SyncError> {
        self.undo_only(fs, &|_| true)
    }

    /// Takes all paths back as if somebody had named them.
    pub(super) fn undo_named(&self, fs: &dyn Fs) -> std::result::Result<UndoReport, SyncError> {
        self.with_place(|run, mount| {
            let undone = undo_named(fs, &run, &[mount], &|_, _| true);
            undone.map(|mut reports| reports.remove(0))
        })
    }

    pub(super) fn undo_only(
        &self,
        fs: &dyn Fs,
        selected: &dyn Fn(&Path) -> bool,
    ) -> std::result::Result<UndoReport, SyncError> {
        self.with_place(|run, mount| {
            let undone = undo(fs, &run, &[mount], &|_, path| selected(path));
            undone.map(|mut reports| reports.remove(0))
        })
    }

    pub(super) fn with_place<T>(&self, call: impl FnOnce(RunPlace<'_>, MountPlace<'_>) -> T) -> T {
        let (root, upper) = (self.root_fd(), self.upper_fd());
        let run = RunPlace { dir: self.run.fd(), id: RUN };
        call(run, MountPlace { number: MOUNT, root: root.as_fd(), upper: Some(upper.as_fd()) })
    }

    /// Takes out of the layer what was written back, as a run does in which more waits.
    pub(super) fn prune(&self) {
        let (root, upper) = (self.root_fd(), self.upper_fd());
        let ledger = Ledger::read(&OsFs, self.run.fd()).expect("read");
        let standing = standing(&OsFs, self.run.fd(), &ledger, (MOUNT, root.as_fd()));
        let needed = needed(&self.collect());
        prune_layer(&OsFs, upper.as_fd(), &needed).expect("pruned");
        let standing = [(standing, root.as_fd())];
        settle_again(&OsFs, self.run.fd(), ledger, &standing).expect("settled");
        note_alone(&OsFs, self.run.fd(), &standing).expect("noted");
    }

    /// Takes the layer away, as the end of a run does.
    pub(super) fn drop_layer(&self) {
        let root = self.root_fd();
        let ledger = Ledger::read(&OsFs, self.run.fd()).expect("read");
        let place = (MOUNT, root.as_fd());
        let standing = standing(&OsFs, self.run.fd(), &ledger, place);
        shell(
            self.run.path(),
            "find upper -type d -exec chmod u+rwx {} \\;; rm -r upper; mkdir upper",
        );
        note_alone(&OsFs, self.run.fd(), &[(standing, root.as_fd())]).expect("noted");
    }

    /// Collects, plans and applies everything.
    pub(super) fn sync(&self, on_conflict: OnConflict) -> SyncReport {
        let plan = plan(&self.collect(), &rules(on_conflict));
        self.apply(&OsFs, &plan).expect("applied")
    }

    pub(super) fn snapshot(&self) -> BTreeMap<PathBuf, String> {
        snapshot(&self.root())
    }

    /// Fails when write-back left anything besides its undo data.
    pub(super) fn assert_clean(&self) {
        let mut found = Vec::new();
        for dir in [self.run.path().to_owned(), self.root(), self.run.path().join("undo")] {
            let Ok(entries) = dir.read_dir() else { continue };
            let names = entries.map(|entry| entry.expect("entry").file_name());
            let known = [
                "upper",
                "work",
                "merged",
                "copy",
                "bare",
                "undo",
                "m001",
                "applied.json",
                "alone.json",
                "indexes.json",
            ];
            let ours = names.filter(|name| {
                let text = name.to_string_lossy();
                let is_stage = text.starts_with(".endow-");
                is_stage || (dir != self.root() && !known.contains(&text.as_ref()))
            });
            found.extend(ours.map(|name| dir.join(name)));
        }
        assert!(found.is_empty(), "left: {found:?}");
    }
}

pub(super) fn rules(on_conflict: OnConflict) -> Rules<'static> {
    Rules { held: &|_, _| None, only: &|_| true, by_name: false, on_conflict, merged: &|_| None }
}

#[expect(clippy::disallowed_types, reason = "a script is the shortest way to describe a tree")]
pub(super) fn shell(dir: &Path, script: &str) {
    let mut command = std::process::Command::new("sh");
    let output = output_of(command.args(["-ec", script]).current_dir(dir));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {said}");
}

/// Describes all of a tree that write-back promises to keep.
pub(super) fn snapshot(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut tree = BTreeMap::new();
    let mut groups: HashMap<u64, Vec<PathBuf>> = HashMap::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(path) = pending.pop() {
        let full = root.join(&path);
        let status = full.symlink_metadata().expect("stat");
        let mut text = format!(
            "{:o} {}.{:09} {:?}",
            status.mode(),
            status.mtime(),
            status.mtime_nsec(),
            user_attributes(&full).expect("attributes")
        );
        if status.is_dir() {
            let names = full.read_dir().expect("list");
            let mut names: Vec<_> = names.map(|name| name.expect("name").file_name()).collect();
            names.sort();
            pending.extend(names.into_iter().rev().map(|name| path.join(name)));
        } else if status.is_symlink() {
            write!(text, " -> {:?}", full.read_link().expect("link")).expect("text");
        } else if status.is_file() && status.size() < 1 << 24 {
            let bytes = read(&full, status.mode());
            write!(text, " {}", summary(&bytes)).expect("text");
        } else {
            write!(text, " {} bytes", status.size()).expect("text");
        }
        if status.is_file() && status.nlink() > 1 {
            groups.entry(status.ino()).or_default().push(path.clone());
        }
        tree.insert(path, text);
    }
    for mut group in groups.into_values().filter(|group| group.len() > 1) {
        group.sort();
        for path in &group {
            let text = tree.get_mut(path).expect("known");
            write!(text, " = {group:?}").expect("text");
        }
    }
    tree
}

/// Reads a file, also one that is closed to its owner.
fn read(path: &Path, mode: u32) -> Vec<u8> {
    let set =
        |mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("chmod");
    if mode & 0o400 != 0 {
        return std::fs::read(path).expect("read");
    }
    set(mode | 0o400);
    let bytes = std::fs::read(path).expect("read");
    set(mode);
    bytes
}

fn summary(bytes: &[u8]) -> String {
    // Eight at once: some are megabytes, and many snapshots are taken.
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let sum = words
        .chain(rest.iter().map(|byte| u64::from(*byte)))
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, word| {
            (sum ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29)
        });
    let head = bytes.get(..bytes.len().min(20)).unwrap_or_default();
    format!("{} {sum:x} {:?}", bytes.len(), String::from_utf8_lossy(head))
}

fn user_attributes(path: &Path) -> Result<Vec<crate::fs::Attribute>> {
    let above = File::open(path.parent().unwrap_or(Path::new("/"))).expect("open");
    let status = path.symlink_metadata().expect("stat");
    if !(status.is_file() || status.is_dir()) {
        return Ok(Vec::new());
    }
    let name = path.file_name().unwrap_or(OsStr::new("."));
    OsFs.attributes(At { dir: above.as_fd(), name })
}

/// Fails with the lines that two trees don't share.
pub(super) fn assert_same(
    is: &BTreeMap<PathBuf, String>,
    should: &BTreeMap<PathBuf, String>,
    what: &str,
) {
    let line = |(path, text): (&PathBuf, &String)| format!("{} {text}", path.display());
    let lines = |one: &BTreeMap<PathBuf, String>, other: &BTreeMap<PathBuf, String>| {
        let only = one.iter().filter(|(path, text)| other.get(*path) != Some(*text));
        only.map(line).take(20).collect::<Vec<_>>()
    };
    assert!(
        is == should,
        "{what}:\nis     {:#?}\nshould {:#?}",
        lines(is, should),
        lines(should, is)
    );
}

/// Returns what changed, in a short form.
pub(super) fn told(set: &ChangeSet) -> Vec<String> {
    let shown = set.changes.iter().filter(|change| !change.is_trace());
    let text = shown.map(|change| {
        let kind = match change.kind {
            ChangeKind::Created => "A",
            ChangeKind::Modified => "M",
            ChangeKind::Deleted => "D",
            ChangeKind::Replaced(_) => "T",
            ChangeKind::Attributes => "m",
        };
        let slash = if change.node() == Kind::Directory { "/" } else { "" };
        let conflict = change.conflict.map(|conflict| format!(" !{conflict:?}"));
        let refused = change.refused.map(|refusal| format!(" -{refusal:?}"));
        let more = conflict.unwrap_or_default() + &refused.unwrap_or_default();
        format!("{kind} {}{slash}{more}", change.path.display())
    });
    text.collect()
}
