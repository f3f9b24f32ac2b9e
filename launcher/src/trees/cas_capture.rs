//! Changes of a tree of the content-addressed store: read in a confined process, which stages
//! objects, and published by the caller, who hashes each again.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use endow_policy::in_one_line;
use endow_vfs::cas::{self, ChangedSource, Digest, Publishing, Store};
use endow_vfs::fs::{Fs, OsFs};
use endow_vfs::snapshot::Bounds;
use endow_vfs::state::{self, CasRecord, RunDir};
use endow_vfs::tree::remove_tree;
use endow_vfs::working_copy::Captured;

use super::capture::{CaptureError, Layer, STAGED, UPPER, failed, layer_at, written_out};
use crate::confined::{self, Reach, Service};

/// Stages what a command left; `layer` is the path of its layer's directory. What an earlier try
/// staged goes.
pub(crate) fn capture_cas(layer: &Path, record: &CasRecord) -> Result<Captured, CaptureError> {
    let Layer { path, upper, staging } = layer_at(layer)?;
    let (base, source) = (digest(&record.digest)?, record.store.as_path());
    let reach = Reach {
        read: vec![path.join(UPPER), source.to_owned()],
        write: vec![staging.as_fd()],
        keep: vec![upper.as_fd()],
        ..Reach::default()
    };
    let answer =
        confined::run(&reach, || staged(source, (upper.as_fd(), staging.as_fd()), base, None));
    let captured = captured(answer.map_err(CaptureError::Confined)?)?;
    written_out(staging.as_fd(), captured)
}

/// Stages what is above a tree of the store; the answer is in JSON.
fn staged(
    store: &Path,
    (upper, staging): (BorrowedFd<'_>, BorrowedFd<'_>),
    base: Digest,
    wanted: Option<&[String]>,
) -> Result<Vec<u8>, String> {
    let store = Store::open(&OsFs, store).map_err(|error| in_one_line(&error))?;
    let bounds = Bounds::default();
    let source = ChangedSource { upper, staging, store: &store, base, bounds, wanted };
    let captured = cas::capture(&OsFs, &source).map_err(|error| in_one_line(&error))?;
    serde_json::to_vec(&captured).map_err(|error| error.to_string())
}

fn captured(answer: Result<Vec<u8>, String>) -> Result<Captured, CaptureError> {
    let answer = answer.map_err(CaptureError::Content)?;
    serde_json::from_slice(&answer).map_err(|error| CaptureError::Content(error.to_string()))
}

/// The layer, the tree below it, and what is wanted of it.
type Question = (PathBuf, String, Vec<String>);

/// One confined process that reads what one command after another left, all of them in one directory of a
/// run and above trees of one store. It reaches these two alone.
#[derive(Debug)]
pub(crate) struct Capturer {
    service: Service<Question, Result<Vec<u8>, String>>,
    staging: PathBuf,
}

impl Capturer {
    /// Starts the process for a run. The caller has no threads.
    pub(crate) fn start(run: &mut RunDir, store: &Path) -> Result<Self, CaptureError> {
        let failing = failed("make a directory in", &run.path());
        let made = run.make_dir(&OsFs, Path::new(state::STAGED), 0o700);
        made.map_err(|error| CaptureError::Content(in_one_line(&error)))?;
        let dir = OsFs.open_dir(run.as_fd(), state::STAGED.as_ref()).map_err(failing)?;
        let reach = Reach {
            read: vec![run.path(), store.to_owned()],
            write: vec![dir.as_fd()],
            ..Reach::default()
        };
        let store = store.to_owned();
        let service = Service::start(&reach, |(upper, base, wanted): Question| {
            empty(dir.as_fd()).map_err(|error| in_one_line(&error))?;
            let upper = OsFs.open_canonical(&upper).map_err(|errno| errno.to_string())?;
            let base = digest(&base).map_err(|error| in_one_line(&error))?;
            staged(&store, (upper.as_fd(), dir.as_fd()), base, Some(&wanted))
        });
        let staging = run.path().join(state::STAGED);
        Ok(Self { service: service.map_err(CaptureError::Confined)?, staging })
    }

    /// Stages what is wanted of a layer above a tree, and nothing of what was staged before. For a layer with nothing in
    /// it no other process is asked.
    pub(crate) fn capture(
        &mut self,
        layer: &Path,
        base: &str,
        wanted: &[String],
    ) -> Result<Captured, CaptureError> {
        if is_empty(&layer.join(UPPER))? {
            return Ok(cas::unchanged(digest(base)?));
        }
        let question = (layer.join(UPPER), base.to_owned(), wanted.to_owned());
        captured(self.service.ask(&question).map_err(CaptureError::Confined)?)
    }

    /// Publishes what is staged, see [`land_cas`].
    pub(crate) fn land(&self, publishing: &Publishing<'_>, tip: &str) -> Result<(), CaptureError> {
        land(&self.staging, publishing, tip)
    }
}

fn is_empty(directory: &Path) -> Result<bool, CaptureError> {
    let opened = OsFs.open_canonical(directory);
    let opened = opened.and_then(|opened| OsFs.open_dir(opened.as_fd(), ".".as_ref()));
    let first = opened.and_then(|opened| OsFs.list(opened.as_fd(), 1));
    first.map(|first| first.is_empty()).map_err(failed("list", directory))
}

/// Takes away what was staged before.
fn empty(staging: BorrowedFd<'_>) -> Result<(), CaptureError> {
    let own = OsFs.open_dir(staging, ".".as_ref());
    let names = own.and_then(|own| OsFs.list(own.as_fd(), usize::MAX));
    let names = names.map_err(failed("list", Path::new(state::STAGED)))?;
    let remove = |name: &std::ffi::OsString| remove_tree(&OsFs, staging, name);
    let removed = names.iter().try_for_each(|entry| remove(&entry.name));
    removed.map_err(CaptureError::Staged)
}

/// Publishes what was staged, and writes it to the disk: the layer, which has the only other copy, goes next. What
/// the confined process says of it is not believed.
pub(crate) fn land_cas(layer: &Path, record: &CasRecord, tip: &str) -> Result<(), CaptureError> {
    let content = |error: cas::StoreError| CaptureError::Content(in_one_line(&error));
    let store = Store::open(&OsFs, record.store.as_path()).map_err(content)?;
    let publishing = store.publish().map_err(content)?;
    land(&layer.join(STAGED), &publishing, tip)?;
    publishing.sync().map_err(content)
}

/// Returns whether what was staged some time ago can be published as it is.
pub(super) fn is_sound(layer: &Path, record: &CasRecord, tip: &str) -> Result<bool, CaptureError> {
    let store = Store::open(&OsFs, record.store.as_path());
    let store = store.map_err(|error| CaptureError::Content(in_one_line(&error)))?;
    let staged = layer.join(STAGED);
    let Ok(staging) = OsFs.open_canonical(&staged) else { return Ok(false) };
    Ok(cas::is_sound(&OsFs, (staging.as_fd(), &staged), &store, &digest(tip)?))
}

fn land(staged: &Path, publishing: &Publishing<'_>, tip: &str) -> Result<(), CaptureError> {
    let staging = OsFs.open_canonical(staged).map_err(failed("open", staged))?;
    let landed = cas::land_staged(&OsFs, (staging.as_fd(), staged), publishing, &digest(tip)?);
    landed.map(drop).map_err(|error| CaptureError::Content(in_one_line(&error)))
}

fn digest(text: &str) -> Result<Digest, CaptureError> {
    text.parse().map_err(|_| CaptureError::Content(format!("no digest: {text}")))
}
