use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

const PLACES: [&str; 2] = ["a/conf", "z/conf"];

/// Moves a directory with a hidden name to and fro until it is told to rest, and does `work` meanwhile.
fn meanwhile<T>(scratch: &Scratch, work: impl FnOnce(&AtomicBool) -> T) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let [one, other] = PLACES.map(|place| scratch.path().join("root").join(place));
            while !is_over.load(Ordering::Relaxed) {
                fs::rename(&one, &other).expect("there");
                fs::rename(&other, &one).expect("and back");
            }
        });
        let done = work(&is_over);
        is_over.store(true, Ordering::Relaxed);
        done
    })
}

fn world() -> (Scratch, std::os::fd::OwnedFd) {
    let scratch = Scratch::new();
    let many: Vec<String> = (0..40).map(|number| format!("m/{number}/")).collect();
    make(&scratch, &many.iter().map(String::as_str).collect::<Vec<_>>());
    make(&scratch, &["a/conf/.env", "z/other"]);
    let root = OsFs.open_dir(scratch.fd(), OsStr::new("root")).expect("open");
    (scratch, root)
}

/// The control: to look once is not enough.
#[test]
fn what_is_moved_meanwhile_can_be_missed() {
    let (scratch, root) = world();
    let options = WalkOptions::default();
    let is_missed =
        || walk(root.as_fd(), &SECRET, &options).is_ok_and(|walked| walked.hidden.is_empty());
    let missed = meanwhile(&scratch, |_| (0..20_000).any(|_| is_missed()));
    assert!(missed);
}

#[test]
fn tree_that_does_not_come_to_rest_is_not_known() {
    let (scratch, root) = world();
    let options = WalkOptions::default();
    let found = meanwhile(&scratch, |_| walk_at_rest(root.as_fd(), &SECRET, &options));
    assert_eq!(found, Err(Errno::AGAIN));
}

#[test]
fn tree_that_comes_to_rest_is_known() {
    for _ in 0..5 {
        let (scratch, root) = world();
        let options = WalkOptions { threads: 2, ..WalkOptions::default() };
        let found = meanwhile(&scratch, |is_over| {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(30));
                    is_over.store(true, Ordering::Relaxed);
                });
                walk_at_rest(root.as_fd(), &SECRET, &options).expect("at rest")
            })
        });
        let hidden: Vec<&Path> = found.hidden.iter().map(|name| name.path.as_path()).collect();
        assert_eq!(hidden, [Path::new("a/conf/.env")]);
        let plain = walk(root.as_fd(), &SECRET, &options).expect("walked");
        assert_eq!(plain.directories, found.directories);
    }
}
