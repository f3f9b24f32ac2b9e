//! `endow cas get`, `ls` and `cat`.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use endow_vfs::cas::{self, Digest};
use endow_vfs::fs::OsFs;
use endow_vfs::materialize;
use endow_vfs::snapshot::{Bounds, Entry, Node, Snapshot};
use serde_json::{Value, json};

use super::{Cas, digest, failed, of_store, of_tree};
use crate::cli::error::{CommandError, Kind};
use crate::cli::json;
use crate::cli::output::{Output, printable};
use crate::trees;

const CHUNK: usize = 64 << 10;

/// Makes a tree a directory of the user's.
pub(super) fn get(cas: &Cas, name: &str, directory: &Path) -> Result<ExitCode, CommandError> {
    let snapshot = snapshot(cas, name)?;
    fs::create_dir(directory).map_err(|error| {
        CommandError::new(Kind::Usage, "can't make the directory")
            .about(directory.display())
            .cause(error)
    })?;
    let made = File::open(directory).map_err(|error| failed("can't open the directory", &error))?;
    let (plan, objects) = (materialize::plan(&snapshot), trees::objects(&cas.store));
    let made = materialize::apply(&OsFs, made.as_fd(), &plan, &objects, trees::WORKERS);
    made.map_err(|error| failed("can't make the tree", &error).about(directory.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Lists what is in a tree.
pub(super) fn list(
    cas: &Cas,
    (name, below): (&str, Option<&Path>),
    recursive: bool,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let snapshot = snapshot(cas, name)?;
    let below = below.unwrap_or(Path::new("")).components().as_path();
    if !below.as_os_str().is_empty() {
        find(&snapshot, below).ok_or_else(|| missing(name, below))?;
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
    Ok(ExitCode::SUCCESS)
}

/// Prints a content.
pub(super) fn cat(
    cas: &Cas,
    name: &str,
    path: Option<&Path>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let wanted = match path {
        None => digest(name)?,
        Some(path) => match find(&snapshot(cas, name)?, path.components().as_path()) {
            Some(Node::File { content, .. }) => *content,
            Some(_) => {
                let what = CommandError::new(Kind::Usage, "not a file of the tree");
                return Err(what.about(path.display()));
            }
            None => return Err(missing(name, path)),
        },
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

fn snapshot(cas: &Cas, name: &str) -> Result<Snapshot<Digest>, CommandError> {
    let root = digest(name)?;
    cas::snapshot(&cas.store, &root, Bounds::default()).map_err(|error| of_tree(&error))
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
    let path = json::path(&entry.path);
    match &entry.node {
        Node::Directory => json!({"path": path, "kind": "directory"}),
        Node::File { content, executable, .. } => json!({
            "path": path, "kind": "file", "digest": content.to_string(), "executable": executable,
        }),
        Node::Symlink { target } => {
            let target = json::text(target.as_os_str().as_bytes());
            json!({"path": path, "kind": "symlink", "target": target})
        }
    }
}
