use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::prelude::*;

use super::*;
use crate::fs::faulty::{FaultyFs, each_fault};
use crate::fs::{Errno, Fs, OsFs};
use crate::testing::{Scratch, is_root, no_program_starts};

fn new_id() -> RunId {
    RunId::generate().expect("an id")
}

fn open(scratch: &Scratch) -> StateDir {
    StateDir::open(&OsFs, &scratch.path().join("state/endow")).expect("a state directory")
}

fn all() -> Sweep {
    Sweep { candidates: usize::MAX, start: 0, now: SystemTime::now() }
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).expect("list");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o7777
}

/// Where the first private directory of a run stands.
const PRIVATE: &str = "layers/000/p000";

#[test]
fn id_sorts_by_time_and_reads_back() {
    let at = |millis| UNIX_EPOCH + Duration::from_millis(millis);
    let early = RunId::new(at(1_790_000_000_000), [255; 5]);
    let late = RunId::new(at(1_790_000_000_032), [0; 5]);
    assert!(early < late);
    assert_eq!(early.as_str(), "1nb2ew00zzzzzzzz");
    assert_eq!(RunId::parse(early.as_str()), Ok(early.clone()));
    assert_eq!(early.time(), at(1_790_000_000_000));
    for wrong in ["", "1", "1nb1gr00zzzzzzzZ", "1nb1gr00zzzzzzz/", "..", "1nb1gr00zzzzzzzzz"] {
        assert_eq!(RunId::parse(wrong), Err(RunIdError), "{wrong}");
    }
}

proptest! {
    #[test]
    fn id_of_any_time_reads_back(millis in 0_u64..1 << 44, random: [u8; 5]) {
        let time = UNIX_EPOCH + Duration::from_millis(millis);
        let id = RunId::new(time, random);
        prop_assert_eq!(RunId::parse(id.as_str()), Ok(id.clone()));
        let lost = time.duration_since(id.time()).expect("rounded down");
        prop_assert!(lost < Duration::from_millis(32));
        prop_assert!(RunId::new(time + Duration::from_millis(32), [0; 5]) > id);
    }
}

#[test]
fn ids_differ() {
    let ids: BTreeSet<RunId> = (0..1000).map(|_| RunId::generate().expect("an id")).collect();
    assert_eq!(ids.len(), 1000);
}

#[test]
fn state_is_made_with_all_above_closed_to_others() {
    let scratch = Scratch::new();
    let state = open(&scratch);
    assert_eq!(mode(&scratch.path().join("state")), 0o700);
    assert_eq!(mode(state.path()), 0o700);
    assert_eq!(mode(&state.path().join("runs")), 0o700);
    drop(open(&scratch));
}

#[test]
fn state_behind_a_link_is_refused() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path().join("real")).expect("mkdir");
    symlink("real", scratch.path().join("link")).expect("symlink");
    fs::write(scratch.path().join("file"), "").expect("write");
    for name in ["link", "file"] {
        let error = StateDir::open(&OsFs, &scratch.path().join(name)).expect_err("refused");
        assert!(matches!(error, StateError::NotADirectory { .. }), "{error:?}");
    }
}

#[test]
fn state_open_to_others_is_refused() {
    let scratch = Scratch::new();
    let path = scratch.path().join("state");
    fs::create_dir(&path).expect("mkdir");
    fs::set_permissions(&path, Permissions::from_mode(0o710)).expect("chmod");
    let error = StateDir::open(&OsFs, &path).expect_err("refused");
    assert!(error.to_string().starts_with("open to others (mode 0710): /"), "{error}");
}

#[test]
fn state_of_another_user_is_refused() {
    // Root makes one of somebody else; an ordinary user finds one of root's.
    let scratch = Scratch::new();
    let mut path = scratch.path().join("state");
    if is_root() {
        fs::create_dir(&path).expect("mkdir");
        std::os::unix::fs::chown(&path, Some(12345), None).expect("chown");
    } else {
        path = "/".into();
    }
    let error = StateDir::open(&OsFs, &path).expect_err("refused");
    assert!(matches!(error, StateError::ForeignOwner { .. }), "{error:?}");
}

#[test]
fn run_has_its_parts_and_goes_whole() {
    let scratch = Scratch::new();
    let state = open(&scratch);
    let mut run = state.create_run(&OsFs, &new_id()).expect("a run");
    let [home, tmp, hidden] = ["layers/000/p000", "layers/000/p001", "mask/hidden"].map(Path::new);
    run.make_dir(&OsFs, home, 0o700).expect("made");
    run.make_dir(&OsFs, tmp, 0o1777).expect("made");
    run.make_file(&OsFs, hidden, 0).expect("made");
    let modes = [home, tmp, hidden].map(|path| mode(&run.path().join(path)));
    assert_eq!(modes, [0o700, 0o1777, 0]);
    assert!(run.make_dir(&OsFs, home, 0o700).is_err(), "made twice");
    run.make_way(&OsFs, Path::new("mask/3")).expect("made");
    fs::create_dir_all(run.path().join("mask/3/a")).expect("mkdir");
    fs::create_dir_all(run.path().join(home).join("x/y")).expect("mkdir");
    fs::write(run.path().join("report.json"), "").expect("write");
    assert_eq!(mode(&run.path()), 0o700);
    run.remove(&OsFs).expect("removed");
    assert!(names(&state.path().join("runs")).is_empty());
}

#[test]
fn cleared_run_is_used_again() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    let state = open(&scratch);
    let mut run = state.create_run(&OsFs, &new_id()).expect("a run");
    let path = run.path();
    run.make_dir(&OsFs, Path::new(STAGED), 0o700).expect("made");
    for _ in 0..3 {
        run.make_dir(&OsFs, Path::new(PRIVATE), 0o700).expect("made");
        fs::write(path.join(PRIVATE).join("x"), "x").expect("written");
        fs::write(path.join(STAGED).join("x"), "x").expect("written");
        run.clear(&OsFs, STAGED.as_ref()).expect("cleared");
        assert_eq!(names(&path), [STAGED]);
        assert_eq!(names(&path.join(STAGED)), ["x"]);
    }
    run.remove(&OsFs).expect("removed");
    assert!(!path.exists());
}

#[test]
fn mask_of_a_run_is_made_below_it_and_goes_with_it() {
    let scratch = Scratch::new();
    let state = open(&scratch);
    let mut run = state.create_run(&OsFs, &new_id()).expect("a run");
    let plan = crate::mask::MaskPlan::new([Path::new("secret")], []).expect("a plan");
    for number in 0..2 {
        let name = format!("mask/{number}");
        let name = Path::new(&name);
        run.make_way(&OsFs, name).expect("made");
        let made = crate::mask::apply(&OsFs, &plan, scratch.fd(), run.as_fd(), name.as_os_str());
        made.expect("made");
        assert!(fs::symlink_metadata(run.path().join(name).join("secret")).is_ok());
    }
    run.remove(&OsFs).expect("removed");
    assert!(names(&state.path().join("runs")).is_empty());
}

#[test]
fn dropped_run_goes_and_kept_run_stays() {
    let scratch = Scratch::new();
    let state = open(&scratch);
    drop(state.create_run(&OsFs, &new_id()).expect("a run"));
    assert!(names(&state.path().join("runs")).is_empty());
    let run = state.create_run(&OsFs, &new_id()).expect("a run");
    let id = run.id().to_string();
    run.keep();
    assert_eq!(names(&state.path().join("runs")), [id]);
}

#[test]
fn sweep_takes_the_dead_and_leaves_the_living() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    let state = open(&scratch);
    let living = state.create_run(&OsFs, &new_id()).expect("a run");
    let mut dead = state.create_run(&OsFs, &new_id()).expect("a run");
    dead.make_dir(&OsFs, Path::new(PRIVATE), 0o700).expect("made");
    fs::write(dead.path().join(PRIVATE).join("file"), "").expect("write");
    fs::write(dead.path().join("denials.jsonl"), "{}\n").expect("write");
    for part in ["upper", "work"] {
        fs::create_dir_all(dead.path().join("held/0").join(part)).expect("mkdir");
    }
    let id = dead.id().to_string();
    dead.keep();
    let swept = state.sweep(&OsFs, all()).expect("swept");
    assert_eq!(swept, Swept { removed: vec![id.into()], ..Swept::default() });
    assert_eq!(names(&state.path().join("runs")), [living.id().as_str()]);
}

#[test]
fn sweep_keeps_whatever_it_does_not_know() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    let state = open(&scratch);
    let mut expected = Vec::new();
    for part in ["report.json", "layers/000/m000/x", "layers/000/p", "layers/x", "held/0/upper/x"] {
        let run = state.create_run(&OsFs, &new_id()).expect("a run");
        fs::create_dir_all(run.path().join(part)).expect("mkdir");
        expected.push(run.id().as_str().into());
        run.keep();
    }
    fs::create_dir(state.path().join("runs/not-a-run")).expect("mkdir");
    let mut swept = state.sweep(&OsFs, all()).expect("swept");
    swept.kept.sort();
    expected.sort();
    assert_eq!(swept, Swept { kept: expected, ..Swept::default() });
    assert!(state.path().join("runs/not-a-run").exists());
}

#[test]
fn sweep_leaves_young_unfinished_runs() {
    let scratch = Scratch::new();
    let state = open(&scratch);
    let now = SystemTime::now();
    let name = |age| format!(".new-{}", RunId::new(now - Duration::from_secs(age), [1; 5]));
    for age in [1, 3600] {
        fs::create_dir(state.path().join("runs").join(name(age))).expect("mkdir");
    }
    let swept = state.sweep(&OsFs, all()).expect("swept");
    assert_eq!(swept.removed, [name(3600).as_str()]);
    assert_eq!(names(&state.path().join("runs")), [name(1)]);
}

#[test]
fn sweep_is_bounded_and_begins_elsewhere() {
    let scratch = Scratch::new();
    let state = open(&scratch);
    let ids: Vec<String> = (0..10u8)
        .map(|n| RunId::new(UNIX_EPOCH + Duration::from_secs(n.into()), [n; 5]).to_string())
        .collect();
    for id in &ids {
        fs::create_dir(state.path().join("runs").join(id)).expect("mkdir");
    }
    let sweep = Sweep { candidates: 3, start: 28, now: SystemTime::now() };
    let swept = state.sweep(&OsFs, sweep).expect("swept");
    assert_eq!(swept.removed, [&ids[8], &ids[9], &ids[0]].map(OsStr::new));
}

#[test]
fn runs_start_and_sweep_together() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    open(&scratch);
    let work = |start: usize| {
        for round in 0..10 {
            let state = open(&scratch);
            let mut run = state.create_run(&OsFs, &new_id()).expect("a run");
            run.make_dir(&OsFs, Path::new(PRIVATE), 0o755).expect("its directory is its own");
            let old = Sweep { now: SystemTime::now() + Duration::from_hours(1), ..all() };
            state.sweep(&OsFs, Sweep { start: start + round, ..old }).expect("swept");
            assert!(run.path().join(PRIVATE).exists(), "swept alive");
            if round % 2 == 0 { run.keep() } else { run.remove(&OsFs).expect("removed") }
        }
    };
    std::thread::scope(|scope| {
        for start in 0..50 {
            scope.spawn(move || work(start));
        }
    });
    let state = open(&scratch);
    state.sweep(&OsFs, all()).expect("swept");
    assert!(names(&state.path().join("runs")).is_empty());
}

#[test]
fn start_and_end_of_a_run_are_few_calls() {
    let scratch = Scratch::new();
    open(&scratch);
    let fs = FaultyFs::counting();
    let state = StateDir::open(&fs, &scratch.path().join("state/endow")).expect("open");
    let mut run = state.create_run(&fs, &new_id()).expect("a run");
    for number in 0..3 {
        run.make_dir(&fs, Path::new(&format!("layers/000/p00{number}")), 0o700).expect("made");
    }
    run.remove(&fs).expect("removed");
    // Six directories made and removed; the rest opens, verifies, locks, takes access lists away, names and sets aside.
    assert_eq!(fs.calls(), 6 + 6 + 8);
}

#[test]
fn fault_leaves_nothing_that_a_sweep_does_not_take() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    open(&scratch);
    let mut failures = 0;
    each_fault(Errno::NOSPC, |fs: &FaultyFs| {
        let attempt = || -> Result<(), StateError> {
            let state = StateDir::open(fs, &scratch.path().join("state/endow"))?;
            let mut run = state.create_run(fs, &new_id())?;
            run.make_dir(fs, Path::new(PRIVATE), 0o777)?;
            run.make_file(fs, Path::new("mask/hidden"), 0)?;
            run.remove(fs)
        };
        failures += usize::from(attempt().is_err());
        let later = Sweep { now: SystemTime::now() + Duration::from_hours(1), ..all() };
        open(&scratch).sweep(&OsFs, later).expect("swept");
        assert!(names(&scratch.path().join("state/endow/runs")).is_empty());
    });
    assert!(failures > 8, "{failures}");
}

fn dirs(scratch: &Scratch) -> EndowDirs {
    let home = scratch.path();
    let (state, cache) = (home.join("home/.local/state/endow"), home.join("home/.cache/endow"));
    EndowDirs::resolve([(OwnDir::State, &*state), (OwnDir::Cache, &*cache)]).expect("resolved")
}

/// The relation of what is at the end of a path's links.
fn relation(dirs: &EndowDirs, path: &Path) -> Relation {
    let resolved = path.canonicalize().expect("it exists");
    let found = resolved.metadata().expect("it exists");
    let id = crate::fs::FileId { dev: found.dev(), ino: found.ino() };
    dirs.relation_found(&resolved, id).expect("a relation")
}

#[test]
fn own_dirs_inside_above_and_apart() {
    let scratch = Scratch::new();
    let home = scratch.path().join("home");
    let state = home.join(".local/state/endow");
    fs::create_dir_all(state.join("runs")).expect("mkdir");
    fs::create_dir(home.join("src")).expect("mkdir");
    symlink(&state, home.join("src/link")).expect("symlink");
    let dirs = dirs(&scratch);
    let relation = |path: &Path| relation(&dirs, path);
    assert_eq!(relation(&home.join("src")), Relation::Apart);
    assert_eq!(relation(&state), Relation::Inside(OwnDir::State));
    assert_eq!(relation(&home.join("src/link/runs")), Relation::Inside(OwnDir::State));
    let contained =
        |dir, relative: &str, exists| Contained { dir, relative: relative.into(), exists };
    let expected = vec![
        contained(OwnDir::State, ".local/state/endow", true),
        contained(OwnDir::Cache, ".cache/endow", false),
    ];
    assert_eq!(relation(&home), Relation::Contains(expected));
    let expected = vec![contained(OwnDir::State, "endow", true)];
    assert_eq!(relation(&home.join(".local/state")), Relation::Contains(expected));
}

#[test]
fn own_dirs_are_known_by_inode_not_by_name() {
    let scratch = Scratch::new();
    let real = scratch.path().join("real");
    fs::create_dir_all(real.join(".local/state/endow")).expect("mkdir");
    symlink("real", scratch.path().join("home")).expect("symlink");
    let relation = relation(&dirs(&scratch), &real);
    assert!(matches!(relation, Relation::Contains(contained) if contained.len() == 2));
}

#[test]
fn lock_ends_with_the_run() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    let state = open(&scratch);
    let run = state.create_run(&OsFs, &new_id()).expect("a run");
    let again = fs::File::open(run.path()).expect("open");
    assert_eq!(OsFs.lock(again.as_fd()), Err(Errno::WOULDBLOCK));
    run.keep();
    assert_eq!(OsFs.lock(again.as_fd()), Ok(()));
    assert_eq!(again.metadata().expect("there").uid(), rustix::process::geteuid().as_raw());
}

/// What a run leaves in its layers becomes part of the user's tree.
#[test]
fn run_has_no_access_list_of_the_state_directory() {
    const DEFAULT: &str = "system.posix_acl_default";
    let scratch = Scratch::new();
    let state = open(&scratch);
    let runs = fs::File::open(state.path().join("runs")).expect("open");
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, bits) in [(1_u16, 7_u16), (4, 5), (0x20, 5)] {
        list.extend(tag.to_le_bytes().into_iter().chain(bits.to_le_bytes()));
        list.extend(u32::MAX.to_le_bytes());
    }
    let at = |dir| crate::fs::At { dir, name: OsStr::new("") };
    match OsFs.set_attribute(at(runs.as_fd()), OsStr::new(DEFAULT), &list) {
        Err(Errno::OPNOTSUPP) => return,
        set => set.expect("set"),
    }
    let run = state.create_run(&OsFs, &new_id()).expect("a run");
    let has_lists = OsFs.attributes(at(run.as_fd())).expect("listed");
    assert_eq!(has_lists, []);
}
