//! Runs that look as if a supervisor had kept them: made by hand, layer and record.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use endow_policy::{GuestPath, HostPath, OnConflict, SyncMode};
use endow_vfs::fs::{Fs, OsFs};
use endow_vfs::state::{
    Durability, MadeLike, Moment, MountRecord, Record, RootId, RunDir, RunId, RunState, StateDir,
    SyncRules, Unknown,
};

use super::World;

/// Makes ids of the same time differ.
static NEXT: AtomicU8 = AtomicU8::new(0);

/// A run that is being made up.
pub(crate) struct MadeUp {
    dir: RunDir,
    /// What it will say of itself.
    pub(crate) record: Record,
}

impl World {
    /// Begins a run of the project that ended `ago`, with one copy-on-write mount: the project.
    pub(crate) fn make_up(&self, ago: Duration) -> MadeUp {
        let state = StateDir::open(&OsFs, &self.state()).expect("a state directory");
        let then = SystemTime::now() - ago;
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut dir = state.create_run(&OsFs, &RunId::new(then, [next; 5])).expect("a run");
        for part in ["upper", "work"] {
            let part = Path::new("layers/000/m000").join(part);
            dir.make_dir(&OsFs, &part, 0o755).expect("made");
        }
        let project = self.project().canonicalize().expect("a path");
        let mut record = record(dir.id().clone(), &project, then);
        let upper = Path::new("layers/000/m000/upper").as_os_str();
        let upper = OsFs.status(dir.as_fd(), upper).expect("a layer");
        record.mounts[0].made_like = Some(MadeLike::of(&upper, None));
        MadeUp { dir, record }
    }
}

/// Waits until a run's lock is free: a process that another test just forked has it too, until
/// it executes its program.
fn until_nobody_holds(run: &Path) {
    let run = File::open(run).expect("opened");
    let end = Instant::now() + Duration::from_secs(20);
    while run.try_lock().is_err() {
        assert!(Instant::now() < end, "the run stays locked");
        thread::sleep(Duration::from_millis(1));
    }
}

fn record(id: RunId, project: &Path, then: SystemTime) -> Record {
    let root = fs::metadata(project).expect("a project");
    Record {
        id,
        name: None,
        state: RunState::Waiting,
        command: OsString::from("make"),
        workspace: HostPath::new(project).ok(),
        started: then.into(),
        clocks: None,
        ended: Some(then.into()),
        outcome: None,
        sync: SyncRules {
            mode: SyncMode::Apply,
            on_conflict: OnConflict::Host,
            only: Vec::new(),
            strict: false,
        },
        deny: Vec::new(),
        protect: Vec::new(),
        mounts: vec![MountRecord {
            at: GuestPath::new(project).expect("a path"),
            source: HostPath::new(project).expect("a path"),
            id: RootId { dev: root.dev(), ino: root.ino(), born: born(&root) },
            directory: true,
            layer: "layers/000/m000".into(),
            live: false,
            in_memory: false,
            made_like: None,
            stamp: Moment::from(SystemTime::now()),
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

fn born(found: &fs::Metadata) -> Option<Moment> {
    found.created().ok().map(Moment::from)
}

impl MadeUp {
    /// Returns its directory.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path()
    }

    /// Returns where the layer of its mount is.
    pub(crate) fn upper(&self) -> PathBuf {
        self.path().join("layers/000/m000/upper")
    }

    /// Keeps it in a state, and returns its id.
    pub(crate) fn keep(mut self, state: RunState) -> String {
        self.record.state = state;
        self.dir.write_record(&OsFs, &self.record, Durability::Cached).expect("written");
        let id = self.dir.id().to_string();
        let path = self.path();
        self.dir.keep();
        until_nobody_holds(&path);
        id
    }
}
