//! Trees made of contents in memory.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::fs::OsFs;
use crate::fs::faulty::each_fault;
use crate::snapshot::{Bounds, Builder, Naming, Node, Snapshot};
use crate::testing::Scratch;

/// Contents by number; the workers that asked are counted.
struct InMemory<'f> {
    fs: &'f dyn Fs,
    texts: Vec<&'static str>,
    makers: AtomicUsize,
}

struct InMemoryMaker<'a>(&'a InMemory<'a>);

impl<'f> InMemory<'f> {
    fn new(fs: &'f dyn Fs) -> Self {
        Self { fs, texts: vec!["", "one\n", "#!/bin/sh\n"], makers: AtomicUsize::new(0) }
    }
}

impl Contents<usize> for InMemory<'_> {
    fn maker(&self) -> Box<dyn Maker<usize> + '_> {
        self.makers.fetch_add(1, Ordering::Relaxed);
        Box::new(InMemoryMaker(self))
    }
}

impl Maker<usize> for InMemoryMaker<'_> {
    fn make(&mut self, content: &usize, executable: bool, at: At<'_>) -> Result<(), ContentError> {
        let text = self.0.texts.get(*content);
        let text = text.ok_or_else(|| ContentError::Source(format!("no content {content}")))?;
        make_file(self.0.fs, at, executable, text.as_bytes())
    }
}

fn file(content: usize, executable: bool) -> Node<usize> {
    Node::File { content, size: 0, executable }
}

/// Files of a directory stand before and after those of another.
fn tree() -> Snapshot<usize> {
    let mut tree = Builder::new(Naming::Any, Bounds::default());
    let mut push = |directory: &str, name: &str, node| {
        tree.push(Path::new(directory), name.as_bytes(), node).map(drop).expect("added");
    };
    push("", "a", file(1, false));
    push("", "dir", Node::Directory);
    push("dir", "run", file(2, true));
    push("dir", "deep", Node::Directory);
    push("dir/deep", "empty", file(0, false));
    push("dir", "link", Node::Symlink { target: "../../outside".into() });
    push("", "z", file(1, true));
    push("", "void", Node::Directory);
    tree.finish()
}

/// Each path with its mode, time and content.
fn found(root: &Path) -> BTreeMap<String, (u32, i64, String)> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        let status = path.symlink_metadata().expect("stat");
        let content = if status.is_symlink() {
            path.read_link().expect("a link").display().to_string()
        } else if status.is_dir() {
            pending.extend(path.read_dir().expect("list").map(|it| it.expect("entry").path()));
            String::new()
        } else {
            std::fs::read_to_string(&path).expect("read")
        };
        let name = path.strip_prefix(root).expect("below").display().to_string();
        found.insert(name, (status.mode(), status.mtime(), content));
    }
    found
}

#[test]
fn tree_is_made_with_its_bits_and_one_time() {
    for workers in [0, 1, 5] {
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.path().join("root")).expect("mkdir");
        let root = OsFs.open_dir(scratch.fd(), OsStr::new("root")).expect("open");
        let contents = InMemory::new(&OsFs);
        apply(&OsFs, root.as_fd(), &plan(&tree()), &contents, workers).expect("made");
        let time = MODIFIED.tv_sec;
        let of = |mode, text: &str| (mode, time, text.to_owned());
        let expected = [
            ("", of(0o040_755, "")),
            ("a", of(0o100_644, "one\n")),
            ("dir", of(0o040_755, "")),
            ("dir/deep", of(0o040_755, "")),
            ("dir/deep/empty", of(0o100_644, "")),
            ("dir/link", of(0o120_777, "../../outside")),
            ("dir/run", of(0o100_755, "#!/bin/sh\n")),
            ("void", of(0o040_755, "")),
            ("z", of(0o100_755, "one\n")),
        ];
        let expected = expected.map(|(path, what)| (path.to_owned(), what));
        assert_eq!(found(&scratch.path().join("root")), BTreeMap::from(expected));
        // No more than there are directories to work on, and the caller.
        assert_eq!(contents.makers.load(Ordering::Relaxed), workers.min(3) + 1);
    }
}

#[test]
fn missing_content_ends_it_with_its_path() {
    let mut tree = Builder::new(Naming::Any, Bounds::default());
    tree.push(Path::new(""), b"dir", Node::Directory).map(drop).expect("added");
    tree.push(Path::new("dir"), b"gone", file(7, false)).map(drop).expect("added");
    let scratch = Scratch::new();
    let contents = InMemory::new(&OsFs);
    let error = apply(&OsFs, scratch.fd(), &plan(&tree.finish()), &contents, 2);
    let error = error.expect_err("nothing to make it of");
    assert_eq!(error.path, Path::new("dir/gone"));
    assert_eq!(error.error.to_string(), "no content 7");
}

#[test]
fn every_failing_call_is_an_error() {
    let mut failed = 0;
    let calls = each_fault(Errno::NOSPC, |fs| {
        let scratch = Scratch::new();
        let made = apply(fs, scratch.fd(), &plan(&tree()), &InMemory::new(fs), 0);
        failed += usize::from(made.is_err());
    });
    assert_eq!(failed, calls);
    assert!(failed > 30, "{failed} calls");
}

#[test]
fn existing_name_is_not_written_into() {
    let scratch = Scratch::new();
    let outside = scratch.path().join("outside");
    std::fs::write(&outside, "kept").expect("written");
    std::fs::create_dir(scratch.path().join("root")).expect("mkdir");
    std::os::unix::fs::symlink(&outside, scratch.path().join("root/a")).expect("link");
    let root = OsFs.open_dir(scratch.fd(), OsStr::new("root")).expect("open");
    let error = apply(&OsFs, root.as_fd(), &plan(&tree()), &InMemory::new(&OsFs), 0);
    assert_eq!(error.expect_err("taken").path, Path::new("a"));
    assert_eq!(std::fs::read_to_string(&outside).expect("read"), "kept");
}

/// A default list of access rights does what a mask does, in one directory.
#[test]
fn bits_that_the_directory_takes_away_are_set() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("root")).expect("mkdir");
    let root = OsFs.open_dir(scratch.fd(), OsStr::new("root")).expect("open");
    // Version 2; user rwx, group r, mask r, others nothing: each entry has tag, rights and id.
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, rights) in [(1_u16, 7_u16), (4, 4), (0x10, 4), (0x20, 0)] {
        list.extend([tag.to_le_bytes(), rights.to_le_bytes()].concat());
        list.extend(u32::MAX.to_le_bytes());
    }
    let name = "system.posix_acl_default";
    rustix::fs::fsetxattr(&root, name, &list, rustix::fs::XattrFlags::empty()).expect("set");
    std::fs::write(scratch.path().join("root/control"), "").expect("written");
    let control = std::fs::metadata(scratch.path().join("root/control")).expect("stat").mode();
    assert_eq!(control & 0o777, 0o640, "the list counts here");
    apply(&OsFs, root.as_fd(), &plan(&tree()), &InMemory::new(&OsFs), 2).expect("made");
    let found = found(&scratch.path().join("root"));
    for (path, mode) in [("a", 0o100_644), ("z", 0o100_755), ("dir/run", 0o100_755)] {
        assert_eq!(found.get(path).map(|found| found.0), Some(mode), "{path}");
    }
}
