use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::super::{HeldLayer, Pace, Taken};
use super::*;
use crate::fs::OsFs;
use crate::fs::faulty::FaultyFs;
use crate::testing::Scratch;

/// A tree with a file of two names, one of which is held, and the directory of the layer.
struct World {
    tree: Scratch,
    layer: Scratch,
}

impl World {
    fn new() -> Self {
        let tree = Scratch::new();
        let layer = tree.beside();
        fs::create_dir(layer.path().join("upper")).expect("a layer");
        fs::create_dir_all(tree.path().join(".vscode/deep")).expect("a directory");
        fs::write(tree.path().join("mine"), "good").expect("a file");
        let world = Self { tree, layer };
        for name in [".vscode/tasks.json", ".vscode/deep/again"] {
            fs::hard_link(world.tree.path().join("mine"), world.tree.path().join(name))
                .expect("a link");
        }
        world
    }

    fn upper(&self) -> OwnedFd {
        OsFs.open_dir(self.layer.fd(), OsStr::new("upper")).expect("open")
    }

    fn at(&self, path: &str) -> PathBuf {
        self.layer.path().join("upper").join(path)
    }

    fn hold(&self) -> HeldLayer {
        let mut held = HeldLayer::new(self.tree.dir(), self.upper());
        let taken = held.take(&OsFs, Path::new(".vscode"), Pace::AtOnce);
        assert_eq!(taken, Ok(Taken::Held));
        held
    }

    /// Writes by the name that is not held, and returns what is held then.
    fn written(&self) -> [String; 2] {
        fs::write(self.tree.path().join("mine"), "evil").expect("written");
        [".vscode/tasks.json", ".vscode/deep/again"]
            .map(|name| fs::read_to_string(self.at(name)).expect("held"))
    }
}

#[test]
fn what_is_written_by_another_name_is_not_in_the_layer() {
    let world = World::new();
    let held = world.hold();
    assert_eq!(fs::metadata(world.at(".vscode/tasks.json")).expect("held").nlink(), 3);
    fs::set_permissions(world.at(".vscode/deep"), PermissionsExt::from_mode(0o500))
        .expect("closed");
    let before = fs::metadata(world.at(".vscode/deep")).expect("there");
    assert_eq!(held.part(&OsFs), Vec::<PathBuf>::new());
    let after = fs::metadata(world.at(".vscode/deep")).expect("there");
    assert_eq!(before.modified().ok(), after.modified().ok());
    assert_eq!(before.mode(), after.mode());
    assert_eq!(world.written(), ["good", "good"]);
    let [one, other] = [".vscode/tasks.json", ".vscode/deep/again"]
        .map(|name| fs::metadata(world.at(name)).expect("held"));
    assert_eq!((one.ino(), one.nlink()), (other.ino(), 2));
    assert_eq!(fs::read_dir(world.layer.path()).expect("the layer").count(), 1);
}

#[test]
fn files_that_have_all_their_names_there_or_are_kept_stay_the_same() {
    let world = World::new();
    let held = world.hold();
    let ino = || fs::metadata(world.at(".vscode/tasks.json")).expect("held").ino();
    let before = ino();
    let id = OsFs.status(world.tree.fd(), OsStr::new("mine")).expect("there").id;
    assert_eq!(part(&OsFs, world.upper().as_fd(), &BTreeSet::from([id])), Vec::<PathBuf>::new());
    assert_eq!(ino(), before);
    fs::remove_file(world.tree.path().join("mine")).expect("removed");
    assert_eq!(held.part(&OsFs), Vec::<PathBuf>::new());
    assert_eq!(ino(), before);
}

/// What is told can still be written to, and only that.
#[test]
fn fault_loses_nothing_and_is_told() {
    let all = FaultyFs::counting();
    assert_eq!(World::new().hold().part(&all), Vec::<PathBuf>::new());
    for call in 0..all.calls() {
        let world = World::new();
        let left = world.hold().part(&FaultyFs::new(call, Errno::NOSPC));
        let written = world.written();
        assert!(written.iter().all(|text| text == "good") || !left.is_empty(), "call {call}");
    }
}
