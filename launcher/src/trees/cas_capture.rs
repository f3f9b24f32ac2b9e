//! Changes of a tree of the content-addressed store: read in a confined process, which stages
//! objects, and published by the caller, who hashes each again.

use std::os::fd::AsFd;
use std::path::Path;

use endow_vfs::cas::{self, ChangedSource, Digest, Store};
use endow_vfs::fs::{Fs, OsFs};
use endow_vfs::snapshot::Bounds;
use endow_vfs::state::CasRecord;
use endow_vfs::working_copy::Captured;

use super::capture::{CaptureError, Layer, STAGED, UPPER, failed, layer_at};
use super::told;
use crate::confined::{self, Reach};

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
    let answer = confined::run(&reach, || {
        let store = Store::open(&OsFs, source).map_err(|error| told(&error))?;
        let (upper, staging, bounds) = (upper.as_fd(), staging.as_fd(), Bounds::default());
        let source = ChangedSource { upper, staging, store: &store, base, bounds };
        let captured = cas::capture(&OsFs, &source).map_err(|error| told(&error))?;
        serde_json::to_vec(&captured).map_err(|error| error.to_string())
    });
    let answer = answer.map_err(CaptureError::Confined)?.map_err(CaptureError::Content)?;
    serde_json::from_slice(&answer).map_err(|error| CaptureError::Content(error.to_string()))
}

/// Publishes what was staged. What the confined process says of it is not believed.
pub(crate) fn land_cas(layer: &Path, record: &CasRecord, tip: &str) -> Result<(), CaptureError> {
    let staged = layer.join(STAGED);
    let staging = OsFs.open_canonical(&staged).map_err(failed("open", &staged))?;
    let content = |error: cas::StoreError| CaptureError::Content(told(&error));
    let store = Store::open(&OsFs, record.store.as_path()).map_err(content)?;
    let publishing = store.publish().map_err(content)?;
    let landed = cas::land_staged(&OsFs, (staging.as_fd(), &staged), &publishing, &digest(tip)?);
    landed.map(drop).map_err(content)
}

fn digest(text: &str) -> Result<Digest, CaptureError> {
    text.parse().map_err(|_| CaptureError::Content(format!("no digest: {text}")))
}
