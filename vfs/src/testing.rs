//! What tests share.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use endow_policy::{GuestPath, HostPath};

use crate::fs::OsFs;
use crate::state::{
    Moment, MountRecord, OnConflict, Record, RootId, RunId, RunState, SyncMode, SyncRules, Unknown,
};
use crate::tree::remove_tree;

/// Whether all is to be tried (`ENDOW_SWEEP=all`), and not what every change has time for.
#[expect(clippy::disallowed_methods, reason = "a test may be asked to do more")]
pub(crate) fn is_sweep() -> bool {
    std::env::var_os("ENDOW_SWEEP").is_some_and(|asked| asked == "all")
}

/// Which of so many parts is tried where not all is: another one each time, unless `ENDOW_TEST_SEED` says.
#[expect(clippy::disallowed_methods, reason = "a test may be asked to do the same again")]
pub(crate) fn part_of(parts: usize) -> usize {
    let given = std::env::var("ENDOW_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let clock = || std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.subsec_micros() as usize);
    let seed: usize = given.unwrap_or_else(clock);
    println!("ENDOW_TEST_SEED={seed}");
    seed % parts
}

/// A directory that is gone at the end of a test, whatever the test left in it.
pub(crate) struct Scratch {
    path: tempfile::TempDir,
    dir: File,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        // In memory: a sync of a disk waits for what all others write there.
        let in_memory = tempfile::Builder::new().prefix("endow-vfs-").tempdir_in("/dev/shm");
        Self::of(in_memory.or_else(|_| tempfile::Builder::new().prefix("endow-vfs-").tempdir()))
    }

    /// Makes one on another file system than this one's.
    pub(crate) fn elsewhere(&self) -> Self {
        let device =
            |path: &Path| std::os::unix::fs::MetadataExt::dev(&path.metadata().expect("stat"));
        let other = ["/dev/shm", "/var/tmp", "/tmp"].map(Path::new).into_iter();
        let mut other = other.filter(|path| path.exists() && device(path) != device(self.path()));
        let other = other.next().expect("a second file system");
        Self::of(tempfile::Builder::new().prefix("endow-vfs-").tempdir_in(other))
    }

    /// Makes one on the same file system.
    pub(crate) fn beside(&self) -> Self {
        let above = self.path().parent().expect("a directory");
        Self::of(tempfile::Builder::new().prefix("endow-vfs-").tempdir_in(above))
    }

    fn of(path: std::io::Result<tempfile::TempDir>) -> Self {
        let path = path.expect("a directory");
        let dir = File::open(path.path()).expect("open");
        Self { path, dir }
    }

    /// Returns a path without links in it.
    pub(crate) fn path(&self) -> &Path {
        self.path.path()
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    pub(crate) fn dir(&self) -> OwnedFd {
        self.dir.try_clone().expect("a descriptor").into()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for entry in std::fs::read_dir(self.path()).expect("list").flatten() {
            drop(remove_tree(&OsFs, self.fd(), OsStr::new(&entry.file_name())));
        }
    }
}

/// Returns whether permission bits are no obstacle to this process.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Held to write by a test that must have its locks for itself.
static STARTS: RwLock<()> = RwLock::new(());

/// Starts a program. Until it is executed it has what this process has open, locks among it.
#[expect(clippy::disallowed_types, reason = "other programs are what some tests compare with")]
pub(crate) fn started(command: &mut std::process::Command) -> Child {
    let _others_may = STARTS.read().unwrap_or_else(PoisonError::into_inner);
    command.spawn().expect("the program starts")
}

/// Runs a program to its end.
#[expect(clippy::disallowed_types, reason = "other programs are what some tests compare with")]
pub(crate) fn output_of(command: &mut std::process::Command) -> Output {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    started(command).wait_with_output().expect("the program ends")
}

/// Keeps programs from starting: no lock of this process is anybody else's for a moment.
pub(crate) fn no_program_starts() -> RwLockWriteGuard<'static, ()> {
    STARTS.write().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a shell script as root of a new user and mount namespace and returns its output.
///
/// It fails, and never skips, where the kernel refuses that.
#[expect(clippy::disallowed_types, reason = "overlays need namespaces, so a process of their own")]
pub(crate) fn in_user_namespace(dir: &Path, script: &str) -> String {
    let mut command = std::process::Command::new("unshare");
    command.args(["-Urm", "sh", "-c", script]).current_dir(dir);
    let output = output_of(&mut command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    String::from_utf8(output.stdout).expect("a text")
}

/// Runs git without any configuration but ours and returns its output.
#[expect(clippy::disallowed_types, reason = "git itself is the oracle for its index")]
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"];
    command.args(identity).args(args).current_dir(dir);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = output_of(&mut command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8(output.stdout).expect("a text")
}

/// A run with one directory mount, as its supervisor writes it down.
pub(crate) fn record(id: &RunId, state: RunState) -> Record {
    let time = Moment { seconds: 1_790_000_000, nanoseconds: 7 };
    let path = |text: &str| HostPath::new(text).expect("a path");
    Record {
        id: id.clone(),
        name: None,
        state,
        command: "make".into(),
        workspace: Some(path("/home/u/src")),
        started: time,
        clocks: None,
        ended: None,
        outcome: None,
        sync: SyncRules {
            mode: SyncMode::Apply,
            on_conflict: OnConflict::Host,
            only: Vec::new(),
            strict: false,
        },
        deny: vec!["*.pem".into()],
        protect: Vec::new(),
        mounts: vec![MountRecord {
            at: GuestPath::new("/home/u/src").expect("a path"),
            source: path("/home/u/src"),
            id: RootId { dev: 1, ino: 2, born: Some(time) },
            directory: true,
            layer: "layers/000/m000".into(),
            live: false,
            in_memory: false,
            made_like: None,
            stamp: time,
            hidden: Vec::new(),
            held: Vec::new(),
            programs: Vec::new(),
            protect: None,
            granted_as: Vec::new(),
            awaited: None,
        }],
        trees: Vec::new(),
        changes: None,
        undo_bytes: None,
        unknown: Unknown::new(),
    }
}
