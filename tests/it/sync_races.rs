//! Two processes swap directories of the target with links that lead out of it, while runs are
//! written back and undone: nothing outside the mount changes.

use std::fs;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::time::Duration;

use endow_vfs::fs::{Fs, OsFs};
use endow_vfs::state::RunState;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::harness::{Running, World, said, soon};

/// Swaps of both processes together, in a second.
const RATE: f64 = 10_000.0;

/// Write-backs at each pace; each is undone, too.
const ROUNDS: usize = 120;

/// Swaps two names until its stdin ends, and says how often and in what time.
const SWAPPER: &str = "import ctypes, os, sys, time
swap, (one, other, pause) = ctypes.CDLL(None).renameat2, map(os.fsencode, sys.argv[1:])
os.set_blocking(0, False); print('ready', flush=True)
def more():
    try: return os.read(0, 1) != b''
    except BlockingIOError: return True
swaps, begun = 0, time.monotonic()
while more():
    for _ in range(64):
        swaps += swap(-100, one, -100, other, 2) == 0
        if pause: time.sleep(float(pause))
print(swaps, time.monotonic() - begun)";

/// What is swapped: a directory of the layer with a link that leads out.
const PAIRS: [(&str, &str, &str); 2] =
    [("dir", "trap", "outside"), ("two/sub", "other/sub", "outside/sub")];

/// What a swapper sleeps between two swaps, in seconds: not at all, so that hardly a call finds what
/// the one before found, or a moment, so that many do.
const PAUSES: [&str; 2] = ["", "0.00001"];

/// A project with traps in it, and what is outside.
struct Arena {
    swappers: Vec<Running>,
    world: World,
}

impl Arena {
    fn new(world: World, pause: &str) -> Self {
        let script = "mkdir -p dir two/sub other ../outside/sub; echo old >dir/file
            echo old >dir/gone; echo old >two/sub/file
            for it in file gone new sub/file; do echo safe >../outside/$it; done
            ln -s $(realpath ..)/outside trap; ln -s $(realpath ..)/outside/sub other/sub";
        world.bare(script).ok();
        let mut arena = Self { swappers: Vec::new(), world };
        let pairs = PAIRS.iter().map(|(one, other, _)| arena.swapper([one, other, pause]));
        arena.swappers = pairs.collect();
        arena
    }

    fn swapper(&self, arguments: [&str; 3]) -> Running {
        let mut command = self.world.command("python3");
        command.args(["-c", SWAPPER]).args(arguments).stdin(Stdio::piped());
        let running = Running::start(&mut command);
        running.expect("ready");
        running
    }

    /// Everything of what is outside that a write could change, the times that nobody can set too.
    fn outside(&self) -> String {
        let script = "find $(realpath ..)/outside -printf '%p %y %i %m %s %T@ %C@\\n' | sort
            grep -r '' $(realpath ..)/outside | sort";
        self.world.bare(script).ok().to_owned()
    }

    /// Puts a link beside each directory again where a write-back took it away.
    fn arm(&self) {
        let project = self.world.project();
        for (one, other, to) in PAIRS {
            let is_link = |name: &str| project.join(name).is_symlink();
            // Between the two looks they may be swapped: then there is one link more.
            if is_link(one) || is_link(other) {
                continue;
            }
            let fresh = project.join("../fresh");
            let to = project.join("..").canonicalize().expect("a path").join(to);
            symlink(to, &fresh).expect("a link");
            renameat_with(CWD, &fresh, CWD, project.join(other), RenameFlags::EXCHANGE)
                .expect("armed");
            drop(fs::remove_file(&fresh).or_else(|_| fs::remove_dir_all(&fresh)));
        }
    }

    /// Makes up a run that changed all that is swapped.
    fn waiting(&self) -> String {
        let run = self.world.make_up(Duration::ZERO);
        let upper = run.upper();
        let write = |path: &str| {
            let path = upper.join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            fs::write(path, "new\n").expect("written");
        };
        ["dir/file", "dir/new", "dir/made/x", "two/sub/file"].into_iter().for_each(write);
        let dir = fs::File::open(upper.join("dir")).expect("open");
        OsFs.make_whiteout(dir.as_fd(), "gone".as_ref()).expect("a whiteout");
        run.keep(RunState::Waiting)
    }

    /// Ends the swapping and returns how many swaps a second there were.
    fn rate(&mut self) -> f64 {
        let rate = |swapper: &mut Running| -> f64 {
            swapper.hush();
            let line = swapper.line();
            let (swaps, seconds) = line.split_once(' ').expect("two words");
            let number = |text: &str| text.parse::<f64>().expect("a number");
            number(swaps) / number(seconds)
        };
        self.swappers.iter_mut().map(rate).sum()
    }
}

/// Applies and undoes runs while the swappers are at work; returns the rate of these, and how many
/// runs were applied as a whole.
fn race(world: World, rounds: usize, pause: &str) -> (f64, usize) {
    let mut arena = Arena::new(world, pause);
    let before = arena.outside();
    let mut whole = [0; 2];
    for _ in 0..rounds {
        arena.arm();
        let run = arena.waiting();
        let commands = [vec!["apply", "--on-conflict", "guest", &run], vec!["undo", &run]];
        for (count, words) in whole.iter_mut().zip(commands) {
            let said = said(&mut arena.world.endow(words));
            // 2 where nothing was applied that could be undone.
            assert!([0, 121, 2].contains(&said.code), "{said:?}");
            *count += usize::from(said.code == 0);
        }
    }
    let rate = arena.rate();
    let line = format!("{rounds} rounds, {whole:?} whole, {rate:.0} swaps a second\n");
    std::io::stderr().write_all(line.as_bytes()).expect("stderr");
    assert_eq!(arena.outside(), before, "outside");
    (rate, whole[0])
}

#[test]
fn nothing_outside_changes() {
    let raced = PAUSES.map(|pause| race(World::in_memory(), ROUNDS, pause));
    assert!(raced[0].0 > RATE, "{raced:?}: too few swaps a second");
    let whole = raced[0].1 + raced[1].1;
    assert!(whole > 0 && whole < 2 * ROUNDS, "{raced:?}: swaps and write-backs did not meet");
}

#[test]
fn nothing_outside_changes_on_another_file_system() {
    for pause in PAUSES {
        let (world, memory) = (World::new(), World::in_memory());
        fs::remove_dir(world.project()).expect("removed");
        symlink(memory.project(), world.project()).expect("a link");
        race(world, ROUNDS / 10, pause);
    }
}

/// The control: the same, written back by names, is led outside.
#[test]
fn naive_write_back_is_led_outside() {
    for pause in PAUSES {
        let arena = Arena::new(World::in_memory(), pause);
        let before = arena.outside();
        let script = "test -L dir || echo new >dir/file; test -L two/sub || echo new >two/sub/file";
        soon("it is led outside", || {
            arena.world.bare(script);
            arena.outside() != before
        });
    }
}
