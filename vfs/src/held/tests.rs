use std::cell::RefCell;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::*;
use crate::fs::OsFs;
use crate::fs::faulty::FaultyFs;
use crate::testing::Scratch;

/// A tree and a layer, on one file system or on two.
struct World {
    tree: Scratch,
    upper: Scratch,
    held: RefCell<HeldLayer>,
}

impl World {
    fn new(elsewhere: bool) -> Self {
        let tree = Scratch::new();
        let upper = if elsewhere { tree.elsewhere() } else { tree.beside() };
        let held = RefCell::new(HeldLayer::new(tree.dir(), upper.dir()));
        Self { tree, upper, held }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.tree.path().join(path)
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("above")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    fn take(&self, path: &str) -> Taken {
        let mut held = self.held.borrow_mut();
        let taken = held.take(&OsFs, Path::new(path), Pace::AtOnce).expect("taken");
        assert_eq!(held.finish(&OsFs), Vec::<PathBuf>::new());
        taken
    }

    fn kept(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.upper.path().join(path)).ok()
    }
}

fn both(check: impl Fn(&World)) {
    [false, true].map(World::new).iter().for_each(check);
}

#[test]
fn entry_leaves_the_tree_and_is_in_the_layer() {
    both(|world| {
        world.put("sub/.envrc", "evil");
        fs::set_permissions(world.at("sub"), PermissionsExt::from_mode(0o750)).expect("bits");
        assert_eq!(world.take("sub/.envrc"), Taken::Held);
        assert!(!world.at("sub/.envrc").exists() && world.at("sub").exists());
        assert_eq!(world.kept("sub/.envrc").as_deref(), Some("evil"));
        let made = fs::metadata(world.upper.path().join("sub")).expect("made");
        let real = fs::metadata(world.at("sub")).expect("there");
        assert_eq!(made.permissions().mode(), real.permissions().mode());
        assert_eq!(made.modified().ok(), real.modified().ok());
        assert_eq!(world.take("sub/.envrc"), Taken::Gone);
        assert_eq!(world.take("none/.envrc"), Taken::Gone);
    });
}

#[test]
fn later_entry_replaces_or_joins_an_earlier_one() {
    both(|world| {
        world.put(".vscode/tasks.json", "1");
        world.put(".vscode/deep/a", "a");
        assert_eq!(world.take(".vscode"), Taken::Held);
        world.put(".vscode/tasks.json", "2");
        world.put(".vscode/deep/b", "b");
        assert_eq!(world.take(".vscode"), Taken::Held);
        assert!(!world.at(".vscode").exists());
        assert_eq!(world.kept(".vscode/tasks.json").as_deref(), Some("2"));
        assert_eq!(world.kept(".vscode/deep/a").as_deref(), Some("a"));
        assert_eq!(world.kept(".vscode/deep/b").as_deref(), Some("b"));
        // A file in the place of the directory, and back.
        world.put(".vscode", "file");
        assert_eq!(world.take(".vscode"), Taken::Held);
        assert_eq!(world.kept(".vscode").as_deref(), Some("file"));
        world.put(".vscode/x", "x");
        assert_eq!(world.take(".vscode/x"), Taken::Held);
        assert_eq!(world.kept(".vscode/x").as_deref(), Some("x"));
    });
}

#[test]
fn nothing_is_followed_out_of_the_tree_or_of_the_layer() {
    both(|world| {
        let outside = world.tree.beside();
        fs::write(outside.path().join(".envrc"), "the user's").expect("a file");
        symlink(outside.path(), world.at("link")).expect("a link");
        assert_eq!(world.take("link/.envrc"), Taken::Gone);
        // What was taken before is a link where a way must be.
        symlink(outside.path(), world.at(".github")).expect("a link");
        assert_eq!(world.take(".github"), Taken::Held);
        world.put(".github/workflows/x.yml", "evil");
        assert_eq!(world.take(".github/workflows"), Taken::Held);
        assert_eq!(world.kept(".github/workflows/x.yml").as_deref(), Some("evil"));
        let names = fs::read_dir(outside.path()).expect("listed").count();
        assert_eq!(names, 1);
    });
}

#[test]
fn bytes_that_are_written_later_are_there_too() {
    both(|world| {
        let mut file = fs::File::create(world.at(".envrc")).expect("a file");
        let mut held = world.held.borrow_mut();
        let taken = held.take(&OsFs, Path::new(".envrc"), Pace::AtOnce).expect("taken");
        assert!(taken == Taken::Held && !world.at(".envrc").exists());
        file.write_all(b"late").expect("written");
        file.set_permissions(PermissionsExt::from_mode(0o640)).expect("bits");
        assert_eq!(held.finish(&OsFs), Vec::<PathBuf>::new());
        assert_eq!(world.kept(".envrc").as_deref(), Some("late"));
        let kept = fs::metadata(world.upper.path().join(".envrc")).expect("kept");
        assert_eq!(kept.permissions().mode() & 0o777, 0o640);
    });
}

/// On a full disk, say.
#[test]
fn what_can_not_be_copied_is_in_the_tree_again() {
    let finish = |fs: &FaultyFs| {
        let world = World::new(true);
        world.put("a/.envrc", "mine");
        let mut held = world.held.borrow_mut();
        let taken = held.take(&OsFs, Path::new("a/.envrc"), Pace::AtOnce).expect("taken");
        assert!(taken == Taken::Held && !world.at("a/.envrc").exists());
        let left = held.finish(fs);
        let there = fs::read_to_string(world.at("a/.envrc")).ok();
        (left, there, world.kept("a/.envrc"))
    };
    let text = || Some("mine".to_owned());
    let all = FaultyFs::counting();
    assert_eq!(finish(&all), (Vec::new(), None, text()));
    let mut failed = 0;
    for call in 0..all.calls() {
        match finish(&FaultyFs::new(call, Errno::NOSPC)) {
            (left, None, kept) if left.is_empty() => assert_eq!(kept, text(), "call {call}"),
            (left, there, kept) => {
                assert_eq!((left, there, kept), (vec!["a/.envrc".into()], text(), None), "{call}");
                failed += 1;
            }
        }
    }
    assert!(failed > 2, "{failed} of {}", all.calls());
}

#[test]
fn what_is_taken_last_stays() {
    for newer in [".envrc", "d/.envrc"] {
        let world = World::new(true);
        let mut held = world.held.borrow_mut();
        let mut take = |path: &str, pace| held.take(&OsFs, Path::new(path), pace).expect("taken");
        world.put(newer, "first");
        assert_eq!(take(newer, Pace::AtOnce), Taken::Held);
        world.put(newer, "second");
        let whole = newer.split('/').next().expect("a name");
        assert_eq!(take(whole, Pace::Whole), Taken::Held);
        assert_eq!(held.finish(&OsFs), Vec::<PathBuf>::new());
        assert_eq!(world.kept(newer).as_deref(), Some("second"), "{newer}");
    }
}

#[test]
fn what_is_taken_last_stays_where_it_was_a_directory_before() {
    let world = World::new(true);
    let mut held = world.held.borrow_mut();
    world.put("d/.envrc", "first");
    let mut take = |path: &str, pace| held.take(&OsFs, Path::new(path), pace).expect("taken");
    assert_eq!(take("d/.envrc", Pace::AtOnce), Taken::Held);
    fs::rename(world.at("d"), world.at("e")).expect("moved");
    symlink("e", world.at("d")).expect("a link");
    assert_eq!(take("d", Pace::Whole), Taken::Held);
    assert_eq!(held.finish(&OsFs), Vec::<PathBuf>::new());
    assert!(world.upper.path().join("d").is_symlink());
}

/// A directory of the layer that was made for nothing would be told as one that was closed.
#[test]
fn way_to_what_can_not_be_taken_looks_like_the_trees() {
    let world = World::new(true);
    world.put("d/.envrc", "mine");
    fs::set_permissions(world.at("d"), PermissionsExt::from_mode(0o755)).expect("bits");
    let all = FaultyFs::counting();
    let take = |fs: &FaultyFs| {
        let mut held = HeldLayer::new(world.tree.dir(), world.upper.dir());
        held.take(fs, Path::new("d/.envrc"), Pace::Whole)
    };
    assert_eq!(take(&all), Ok(Taken::Held));
    let mut seen = 0;
    for call in 0..all.calls() {
        world.put("d/.envrc", "mine");
        fs::set_permissions(world.at("d"), PermissionsExt::from_mode(0o755)).expect("bits");
        crate::tree::remove_tree(&OsFs, world.upper.fd(), OsStr::new("d")).expect("removed");
        let taken = take(&FaultyFs::new(call, Errno::NOSPC));
        let made = fs::metadata(world.upper.path().join("d"));
        if let (Err(_), Ok(made)) = (taken, made) {
            seen += usize::from(made.permissions().mode() & 0o777 == 0o755);
        }
    }
    assert!(seen > 0);
}

/// A part of it would be taken for what was held.
#[test]
fn nothing_is_left_of_a_copy_that_fails() {
    let take = |fs: &FaultyFs| {
        let world = World::new(true);
        world.put(".vscode/tasks.json", "{}");
        let taken = world.held.borrow_mut().take(fs, Path::new(".vscode"), Pace::Whole);
        let there = fs::read_to_string(world.at(".vscode/tasks.json")).ok();
        (taken, there, world.kept(".vscode/tasks.json"))
    };
    let all = FaultyFs::counting();
    let text = || Some("{}".to_owned());
    assert_eq!(take(&all), (Ok(Taken::Held), None, text()));
    for call in 0..all.calls() {
        let (taken, there, kept) = take(&FaultyFs::new(call, Errno::NOSPC));
        let is_one = there.is_some() != kept.is_some();
        assert!(is_one || taken.is_err(), "call {call}: {taken:?} {there:?} {kept:?}");
        assert!(there.is_some() || kept.is_some(), "call {call}: nothing is lost");
    }
}

/// They are not copied, and so are no reason to wait.
#[test]
fn blocks_behind_the_end_of_a_file_do_not_count() {
    let world = World::new(true);
    world.put(".envrc", "short");
    let file = fs::File::options().write(true).open(world.at(".envrc")).expect("a file");
    let flags = rustix::fs::FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&file, flags, 0, COPIED_AT_ONCE + (1 << 20)).expect("blocks");
    drop(file);
    assert_eq!(world.take(".envrc"), Taken::Held);
    assert!(!world.at(".envrc").exists());
}

/// Only so many files are kept open, of which a command could make more before.
#[test]
fn large_file_does_not_wait_for_others() {
    let world = World::new(true);
    let mut held = world.held.borrow_mut();
    let mut take = |path: &str| held.take(&OsFs, Path::new(path), Pace::AtOnce).expect("taken");
    for number in 0..=OPEN {
        world.put(&format!(".husky/{number}"), &"x".repeat(1 + number));
        assert_eq!(take(&format!(".husky/{number}")), Taken::Held);
    }
    let file = fs::File::create(world.at(".envrc")).expect("a file");
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, COPIED_AT_ONCE + 1)
        .expect("blocks");
    assert_eq!(take(".envrc"), Taken::Held);
    assert!(!world.at(".envrc").exists());
    assert_eq!(world.kept(".husky/0").as_deref(), Some("x"), "the smallest was copied");
    assert_eq!(world.kept(".husky/2"), None, "others are still open");
    assert_eq!(held.finish(&OsFs), Vec::<PathBuf>::new());
    assert!((0..=OPEN).all(|number| world.kept(&format!(".husky/{number}")).is_some()));
    assert!(world.upper.path().join(".envrc").exists());
}

#[test]
fn large_directory_of_another_file_system_waits() {
    let world = World::new(true);
    world.put(".husky/x", "");
    let file = fs::File::create(world.at(".husky/x")).expect("a file");
    let flags = rustix::fs::FallocateFlags::empty();
    rustix::fs::fallocate(&file, flags, 0, COPIED_AT_ONCE + (1 << 20)).expect("blocks");
    assert_eq!(world.take(".husky"), Taken::Later);
    assert!(world.at(".husky/x").exists());
    let mut held = world.held.borrow_mut();
    let taken = held.take(&OsFs, Path::new(".husky"), Pace::Whole).expect("taken");
    assert_eq!(taken, Taken::Held);
    assert!(!world.at(".husky").exists() && world.upper.path().join(".husky/x").exists());
}

fn close(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("bits");
}

fn bits(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("there").permissions().mode() & 0o7777
}

#[test]
fn closed_directory_keeps_nothing_and_stays_closed() {
    both(|world| {
        if crate::testing::is_root() {
            return;
        }
        for mode in [0o500, 0o555, 0o300, 0o100, 0o400, 0] {
            world.put("sub/x/.envrc", "evil");
            close(&world.at("sub/x"), mode);
            close(&world.at("sub"), mode);
            assert_eq!(world.take("sub/x/.envrc"), Taken::Held, "{mode:o}");
            assert_eq!(bits(&world.at("sub")), mode);
            close(&world.at("sub"), 0o755);
            assert_eq!(bits(&world.at("sub/x")), mode);
            close(&world.at("sub/x"), 0o755);
            assert!(!world.at("sub/x/.envrc").exists(), "{mode:o}");
            assert_eq!(world.kept("sub/x/.envrc").as_deref(), Some("evil"));
        }
        close(world.tree.path(), 0o500);
        assert_eq!(world.take("sub/x/.envrc"), Taken::Gone);
        assert_eq!(bits(world.tree.path()), 0o500);
        close(world.tree.path(), 0o755);
    });
}

#[test]
fn directory_that_is_closed_itself_moves_as_it_is() {
    both(|world| {
        if crate::testing::is_root() {
            return;
        }
        let kept = world.upper.path().join(".vscode");
        for (mode, text) in [(0o500, "1"), (0, "2"), (0o555, "3")] {
            world.put(".vscode/deep/tasks.json", text);
            close(&world.at(".vscode/deep"), mode);
            close(&world.at(".vscode"), mode);
            assert_eq!(world.take(".vscode"), Taken::Held, "{mode:o}");
            assert!(!world.at(".vscode").exists());
            // What was taken before keeps the bits that it had.
            let first = bits(&kept);
            assert_eq!(first, 0o500);
            close(&kept, 0o755);
            close(&kept.join("deep"), 0o755);
            assert_eq!(world.kept(".vscode/deep/tasks.json").as_deref(), Some(text));
            close(&kept.join("deep"), 0o500);
            close(&kept, first);
        }
        world.put(".vscode/x", "x");
        assert_eq!(world.take(".vscode/x"), Taken::Held);
        assert_eq!(world.kept(".vscode/x").as_deref(), Some("x"));
        close(&kept, 0o755);
        close(&kept.join("deep"), 0o755);
    });
}

#[test]
fn name_of_any_length_is_taken() {
    both(|world| {
        let name = "n".repeat(255);
        world.put(&format!(".claude/{name}/x"), "x");
        assert_eq!(world.take(&format!(".claude/{name}")), Taken::Held);
        assert_eq!(world.kept(&format!(".claude/{name}/x")).as_deref(), Some("x"));
        let deep: String = std::iter::repeat_n("d".repeat(200), 24).map(|it| it + "/").collect();
        let mut at = world.tree.dir();
        for name in Path::new(&deep) {
            OsFs.make_dir(at.as_fd(), name, 0o700).expect("made");
            at = OsFs.open_dir(at.as_fd(), name).expect("open");
        }
        OsFs.create_file(at.as_fd(), ".envrc".as_ref()).expect("made");
        assert_eq!(world.take(&format!("{deep}.envrc")), Taken::Held);
        assert!(OsFs.status(at.as_fd(), ".envrc".as_ref()).is_err());
    });
}
