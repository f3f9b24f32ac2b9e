//! `endow cas put`.

use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use endow_vfs::cas::{Digest, Publishing, PutError, StoreError, Stored, put_tree};
use endow_vfs::fs::OsFs;
use endow_vfs::snapshot::Bounds;
use rustix::fs::OFlags;
use serde_json::{Value, json};

use super::{Cas, failed, keep, of_store};
use crate::cli::cache;
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::json_text;
use crate::cli::output::progress::ProgressLine;
use crate::cli::output::{Output, printable};
use crate::trees::{Amount, Progress};

/// How often it is looked how far work has come.
const LOOK: Duration = Duration::from_millis(50);

/// What was put.
struct Done<'a> {
    path: &'a Path,
    digest: Digest,
    /// Files and bytes of a tree.
    tree: Option<(u64, u64)>,
    new_bytes: u64,
}

pub(super) fn run(
    cas: &Cas,
    retain: Option<&str>,
    paths: &[PathBuf],
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let publishing = cas.store.publish().map_err(|error| of_store(&error))?;
    let mut done = Vec::new();
    for path in paths {
        done.push(watched(&publishing, output, || put(&publishing, path))?);
    }
    cas.store.sync().map_err(|error| of_store(&error))?;
    let digests: Vec<Digest> = done.iter().map(|it| it.digest).collect();
    if let Some(name) = retain {
        let name = keep::name(name)?;
        cas.store.retain(&name, &digests).map_err(|error| of_store(&error))?;
    }
    tell(&done, output);
    let _lease = cas.store.lease(&digests).map_err(|error| of_store(&error))?;
    drop(publishing);
    cache::keep_store(&cas.store, &cas.surroundings, output)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows how far it has come while something is put.
fn watched<T>(publishing: &Publishing<'_>, output: &Output, work: impl FnOnce() -> T) -> T {
    if !output.shows_progress() {
        return work();
    }
    let (working, ended) = mpsc::channel::<Infallible>();
    std::thread::scope(|scope| {
        let show = move || {
            let line = ProgressLine::begin(output, "putting");
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let (files, bytes) = publishing.read_so_far();
                line.show(Progress { done: Amount { files, bytes }, of: None });
            }
        };
        // Where the user may have no more threads, nothing is shown.
        drop(std::thread::Builder::new().spawn_scoped(scope, show));
        let done = work();
        drop(working);
        done
    })
}

fn put<'a>(publishing: &Publishing<'_>, path: &'a Path) -> Result<Done<'a>, CommandError> {
    if path == Path::new("-") {
        return stored(path, publishing.put_rest(std::io::stdin().as_fd()));
    }
    let (is_dir, file) = open(path).map_err(|error| refused(path, &error))?;
    if !is_dir {
        return stored(path, publishing.put_file(file.as_fd()));
    }
    let put = put_tree(&OsFs, publishing, file.as_fd(), Bounds::default());
    let put = put.map_err(|error| match error {
        PutError::Store(error) => of_store(&error),
        error => refused(path, &error),
    })?;
    let tree = Some((put.files, put.bytes));
    Ok(Done { path, digest: put.root, tree, new_bytes: put.new_bytes })
}

/// Opens a file or a directory, and says whether it is one. Nobody waits for the other end of a FIFO.
fn open(path: &Path) -> io::Result<(bool, File)> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_dir() && !found.is_file() {
        return Err(io::Error::other("it is neither a file nor a directory"));
    }
    Ok((found.is_dir(), file))
}

fn stored(path: &Path, stored: Result<Stored, StoreError>) -> Result<Done<'_>, CommandError> {
    let stored = stored.map_err(|error| match error {
        error @ StoreError::Source { .. } => refused(path, &error),
        error => of_store(&error),
    })?;
    let new_bytes = if stored.is_new { stored.digest.size } else { 0 };
    Ok(Done { path, digest: stored.digest, tree: None, new_bytes })
}

fn refused(path: &Path, error: &dyn std::error::Error) -> CommandError {
    let this = failed("can't be put into the store", error).about(path.display());
    CommandError { kind: Kind::Usage, ..this }
}

fn tell(done: &[Done<'_>], output: &Output) {
    if output.is_json() {
        let put: Vec<Value> = done.iter().map(value).collect();
        return output.json(&json!({"version": 1, "put": put}));
    }
    let line =
        |it: &Done<'_>| format!("{}\t{}\n", it.digest, printable(&it.path.display().to_string()));
    output.text(&done.iter().map(line).collect::<String>());
}

fn value(done: &Done<'_>) -> Value {
    json!({
        "digest": done.digest.to_string(), "path": json_text::path(done.path),
        "kind": if done.tree.is_some() { "tree" } else { "file" },
        "files": done.tree.map(|tree| tree.0),
        "bytes": done.tree.map_or(done.digest.size, |tree| tree.1),
        "new_bytes": done.new_bytes,
    })
}
