use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::fs::OsFs;

/// Everything that a walk shows, but for what is in `past`.
fn seen(root: &Path, past: &str) -> BTreeMap<PathBuf, LayerNode> {
    let mut seen = BTreeMap::new();
    let upper = File::open(root).expect("opened");
    let walked = walk(&OsFs, upper.as_fd(), &mut |entry| -> Result<_, LayerError> {
        assert!(seen.insert(entry.path.to_owned(), entry.found.clone()).is_none(), "seen twice");
        Ok(if entry.path == Path::new(past) { Descend::Past } else { Descend::Into })
    });
    walked.expect("walked");
    seen
}

#[test]
fn every_kind_is_told() {
    let root = tempfile::tempdir().expect("a directory");
    let root = root.path();
    for directory in ["plain", "opaque", "past"] {
        fs::create_dir(root.join(directory)).expect("made");
        fs::write(root.join(directory).join("file"), "12345").expect("written");
    }
    let place = |name| {
        let name: &'static str = name;
        (File::open(root).expect("opened"), OsStr::new(name))
    };
    let (dir, name) = place("opaque");
    OsFs.set_attribute(At { dir: dir.as_fd(), name }, OsStr::new(OPAQUE), b"y").expect("set");
    fs::write(root.join("run"), "").expect("written");
    fs::set_permissions(root.join("run"), Permissions::from_mode(0o744)).expect("set");
    symlink("../x", root.join("link")).expect("a link");
    OsFs.make_whiteout(dir.as_fd(), OsStr::new("gone")).expect("a whiteout");
    OsFs.make_special(At { dir: dir.as_fd(), name: OsStr::new("fifo") }, Special::Fifo)
        .expect("a FIFO");
    let seen = seen(root, "past");
    let file = |size, executable| LayerNode::File { size, executable };
    let expected = [
        ("fifo", LayerNode::Special("a FIFO")),
        ("gone", LayerNode::Whiteout),
        ("link", LayerNode::Symlink("../x".into())),
        ("opaque", LayerNode::Directory { opaque: true }),
        ("opaque/file", file(5, false)),
        ("past", LayerNode::Directory { opaque: false }),
        ("plain", LayerNode::Directory { opaque: false }),
        ("plain/file", file(5, false)),
        ("run", file(0, true)),
    ];
    let expected = expected.into_iter().map(|(path, found)| (PathBuf::from(path), found));
    assert_eq!(seen, expected.collect());
}

#[test]
fn closed_directories_are_opened_and_closed_again() {
    let root = tempfile::tempdir().expect("a directory");
    let closed = root.path().join("closed");
    fs::create_dir(&closed).expect("made");
    fs::write(closed.join("file"), "").expect("written");
    fs::set_permissions(&closed, Permissions::from_mode(0o0)).expect("closed");
    assert!(seen(root.path(), "").contains_key(Path::new("closed/file")));
    let mode = fs::metadata(&closed).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0);
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).expect("opened");
}
