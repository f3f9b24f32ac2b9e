//! Repositories made by git, whole and hostile ones.

mod config;
mod damage;
mod difference;
mod hostile;
mod layouts;
mod oracle;
mod revisions;
mod sparse;

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::*;
use crate::snapshot::{Node, Snapshot};
use crate::testing::{Scratch, git, started};

/// Runs git with bytes for it to read, fewer than a pipe holds, and returns its output.
#[expect(clippy::disallowed_types, reason = "git itself makes what no work tree can hold")]
fn bytes_of_git(dir: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = std::process::Command::new("git");
    command.args(args).current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = started(&mut command);
    child.stdin.take().expect("a pipe").write_all(input).expect("written");
    let output = child.wait_with_output().expect("git ends");
    assert!(output.status.success(), "git {args:?}");
    output.stdout
}

/// Runs git with bytes for it to read, and returns its output as a text without the end of its line.
fn git_with(dir: &Path, args: &[&str], input: &[u8]) -> String {
    let output = String::from_utf8(bytes_of_git(dir, args, input)).expect("a text");
    output.trim_end().to_owned()
}

fn said(dir: &Path, args: &[&str]) -> String {
    git(dir, args).trim_end().to_owned()
}

fn id(text: &str) -> Id {
    text.parse().expect("an id")
}

fn write(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    std::fs::write(path, content).expect("written");
}

/// A work tree with two commits, packed only when asked.
fn small() -> Scratch {
    let scratch = Scratch::new();
    let dir = scratch.path();
    git(dir, &["init", "-q", "-b", "main"]);
    write(&dir.join("a/b/file"), "one\n");
    write(&dir.join("top"), "two\n");
    commit(dir, "first");
    write(&dir.join("top"), "three\n".repeat(100));
    commit(dir, "second");
    scratch
}

fn commit(dir: &Path, message: &str) {
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-q", "--allow-empty", "-m", message]);
}

fn open(dir: &Path) -> Repository {
    Repository::open(dir).expect("a repository")
}

/// A whole tree as text: path to kind, executable bit and bytes.
type Whole = BTreeMap<Vec<u8>, (String, Vec<u8>)>;

fn whole(repository: &Repository, rev: &str) -> Whole {
    let tree = repository.resolve(rev).expect("a tree").tree;
    contents(repository, &repository.snapshot(&tree, &Options::default()).expect("a snapshot"))
}

fn contents(repository: &Repository, snapshot: &Snapshot<Blob>) -> Whole {
    let mut reader = repository.reader();
    let mut whole = Whole::new();
    for entry in snapshot.entries() {
        let mut bytes = Vec::new();
        let kind = match &entry.node {
            Node::Directory => "tree",
            Node::File { content, executable, .. } => {
                reader.read(content, &mut bytes).expect("a content");
                if *executable { "executable" } else { "file" }
            }
            Node::Symlink { target } => {
                bytes.extend_from_slice(target.as_os_str().as_bytes());
                "link"
            }
        };
        let path = entry.path.as_os_str().as_bytes().to_vec();
        assert!(whole.insert(path, (kind.to_owned(), bytes)).is_none());
    }
    whole
}
