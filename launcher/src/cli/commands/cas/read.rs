//! `endow cas get`, `ls` and `cat`.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use endow_vfs::cas::{self, Digest, Store, StoreError};
use endow_vfs::fs::OsFs;
use endow_vfs::snapshot::{Bounds, Entry, Node, Snapshot};
use endow_vfs::tree::remove_tree;
use serde_json::{Value, json};

use super::{Cas, digest, failed, of_store, of_tree};
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::json_text;
use crate::cli::output::progress::ProgressLine;
use crate::cli::output::{Output, printable};
use crate::trees;

const CHUNK: usize = 64 << 10;

/// Makes a tree a directory of the user's, whole or not at all.
pub(super) fn get(
    cas: &Cas,
    name: &str,
    directory: &Path,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let root = digest(name)?;
    if !cas.store.has(&root).map_err(|error| of_store(&error))? {
        return Err(of_store(&StoreError::Missing { digest: root }));
    }
    let refused = |error: &dyn std::error::Error| {
        let said = failed("can't make the directory", error).about(directory.display());
        CommandError { kind: Kind::Usage, ..said }
    };
    if directory.symlink_metadata().is_ok() {
        return Err(refused(&std::io::Error::from(std::io::ErrorKind::AlreadyExists)));
    }
    let above = directory.parent().filter(|above| !above.as_os_str().is_empty());
    let above = above.unwrap_or(Path::new("."));
    let begun = OsString::from(format!(".endow-get-{}", std::process::id()));
    let begun_path = above.join(&begun);
    fs::create_dir(&begun_path).map_err(|error| refused(&error))?;
    let opened = File::open(&begun_path).map_err(|error| refused(&error))?;
    let line = ProgressLine::begin(output, "making a tree");
    let made = trees::copy(cas.store.path(), &root, opened.as_fd(), &|it| line.show(it));
    drop(line);
    let made = made.map_err(|error| failed("can't make the tree", &error));
    let made =
        made.and_then(|()| fs::rename(&begun_path, directory).map_err(|error| refused(&error)));
    if made.is_err() {
        // The first error counts.
        drop(File::open(above).map(|above| remove_tree(&OsFs, above.as_fd(), &begun)));
    }
    made.map(|()| ExitCode::SUCCESS)
}

/// Lists what is in a tree.
pub(super) fn list(
    cas: &Cas,
    (name, below): (&str, Option<&Path>),
    recursive: bool,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let root = digest(name)?;
    let below = below.unwrap_or(Path::new("")).components().as_path();
    let stdout = std::io::stdout();
    let keep = vec![stdout.as_fd()];
    cas.reading(keep, |store| show(&snapshot(store, &root)?, (name, below), recursive, output))?;
    Ok(ExitCode::SUCCESS)
}

fn show(
    snapshot: &Snapshot<Digest>,
    (name, below): (&str, &Path),
    recursive: bool,
    output: &Output,
) -> Result<(), CommandError> {
    if !below.as_os_str().is_empty() {
        find(snapshot, below).ok_or_else(|| missing(name, below))?;
    }
    let is_shown = |entry: &&Entry<Digest>| {
        let is_below = entry.path.starts_with(below) && entry.path != below;
        is_below && (recursive || entry.path.parent() == Some(below))
            || entry.path == below && !is_directory(entry)
    };
    let mut shown: Vec<&Entry<Digest>> = snapshot.entries().iter().filter(is_shown).collect();
    shown.sort_by(|one, other| one.path.cmp(&other.path));
    if output.is_json() {
        let entries: Vec<Value> = shown.iter().map(|entry| value(entry)).collect();
        output.json(&json!({"version": 1, "entries": entries}));
    } else {
        output.text(&shown.iter().map(|entry| line(entry)).collect::<String>());
    }
    Ok(())
}

/// Prints a content.
pub(super) fn cat(
    cas: &Cas,
    name: &str,
    path: Option<&Path>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let root = digest(name)?;
    let wanted = match path {
        None => root,
        Some(path) => {
            let find = |store: &Store<'_>| {
                let found = file(&snapshot(store, &root)?, name, path)?;
                Ok((found.hash, found.size))
            };
            let (hash, size) = cas.reading(Vec::new(), find)?;
            Digest { hash, size }
        }
    };
    // Nothing is printed of what is not what its digest says.
    cas.store.verify(&wanted).map_err(|error| of_store(&error))?;
    let object = cas.store.open_object(&wanted).map_err(|error| of_store(&error))?;
    let (mut object, mut buffer) = (File::from(object), vec![0; CHUNK]);
    loop {
        let length = object.read(&mut buffer).map_err(|error| failed("can't read", &error))?;
        let bytes = buffer.get(..length).unwrap_or_default();
        if bytes.is_empty() || !output.bytes(bytes) {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

fn snapshot(store: &Store<'_>, root: &Digest) -> Result<Snapshot<Digest>, CommandError> {
    cas::snapshot(store, root, Bounds::default()).map_err(|error| of_tree(&error))
}

/// Returns the content of a file of a tree.
fn file(snapshot: &Snapshot<Digest>, name: &str, path: &Path) -> Result<Digest, CommandError> {
    match find(snapshot, path.components().as_path()) {
        Some(Node::File { content, .. }) => Ok(*content),
        Some(_) => {
            Err(CommandError::new(Kind::Usage, "not a file of the tree").about(path.display()))
        }
        None => Err(missing(name, path)),
    }
}

fn find<'a>(snapshot: &'a Snapshot<Digest>, path: &Path) -> Option<&'a Node<Digest>> {
    snapshot.entries().iter().find(|entry| entry.path == path).map(|entry| &entry.node)
}

fn missing(name: &str, path: &Path) -> CommandError {
    CommandError::new(Kind::Usage, "not in the tree").about(path.display()).cause(name)
}

fn is_directory(entry: &Entry<Digest>) -> bool {
    matches!(entry.node, Node::Directory)
}

/// The digest of a file, a tab, and the path as `ls -F` shows it.
fn line(entry: &Entry<Digest>) -> String {
    let path = printable(&entry.path.display().to_string());
    match &entry.node {
        Node::Directory => format!("-\t{path}/\n"),
        Node::File { content, executable, .. } => {
            format!("{content}\t{path}{}\n", if *executable { "*" } else { "" })
        }
        Node::Symlink { target } => {
            format!("-\t{path} -> {}\n", printable(&target.display().to_string()))
        }
    }
}

fn value(entry: &Entry<Digest>) -> Value {
    let path = json_text::path(&entry.path);
    match &entry.node {
        Node::Directory => json!({"path": path, "kind": "directory"}),
        Node::File { content, executable, .. } => json!({
            "path": path, "kind": "file", "digest": content.to_string(), "executable": executable,
        }),
        Node::Symlink { target } => {
            let target = json_text::text(target.as_os_str().as_bytes());
            json!({"path": path, "kind": "symlink", "target": target})
        }
    }
}
