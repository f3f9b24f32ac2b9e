//! The process that records a live workspace while the command already runs, and notes when it
//! ended: after the last of its processes, and after endow's own last look at the tree.

use std::os::fd::AsFd;
use std::path::Path;

use endow_vfs::fs::{Fs, OsFs, Timespec};
use endow_vfs::sync::checkpoint::{self, Limits, Recording, record};
use rustix::io::Errno;

use super::supervised::Supervised;
use super::worker::Worker;
use crate::plan::Checkpoint;
use crate::plan::step::FileId;
use crate::sys;

/// A recorder. Dropped, it notes the end, so nothing of endow's may change the tree afterwards.
#[derive(Debug)]
pub(crate) struct Recorder {
    _worker: Worker,
}

impl Recorder {
    /// Starts the recorder for a run whose directory is `run`.
    pub(crate) fn start(
        plan: &Checkpoint,
        (run, stamp): (&Path, Timespec),
        supervised: &Supervised<'_>,
    ) -> Result<Self, Errno> {
        let root = sys::fd::open_directory(plan.source.as_path())?;
        if FileId::from(sys::identity::of(&root)?.parts()) != plan.id {
            return Err(Errno::STALE);
        }
        let place = OsFs.open_canonical(&run.canonicalize().map_err(|_| Errno::NOENT)?)?;
        let place = OsFs.open_dir(place.as_fd(), plan.place.0.as_os_str())?;
        let worker = Worker::start(|over| {
            let is_over = || over.is_over();
            let (stamp, hidden) = (stamp.into(), plan.hidden.as_slice());
            let limits = Limits::default();
            let (root, of) = (root.as_fd(), place.as_fd());
            let recording = Recording { root, place: of, stamp, hidden, limits, is_over: &is_over };
            let recorded = record(&OsFs, &recording);
            over.wait_for();
            if over.is_untold() {
                supervised.outlive();
            }
            checkpoint::ended(&OsFs, of).is_ok() && recorded.is_ok()
        })?;
        Ok(Self { _worker: worker })
    }
}
