//! Files: mount attributes, the view, masks and Landlock.

use super::alone::Attack;
use crate::harness::{World, said};

const FILES: &str = r#"
path = sys.argv[1]
def opened(flags):
    os.close(os.open(path, flags, 0o600))
attempt("read", lambda: opened(os.O_RDONLY))
attempt("write", lambda: opened(os.O_WRONLY))
attempt("create", lambda: os.close(os.open(path + ".new", os.O_CREAT | os.O_WRONLY, 0o600)))
attempt("rename", lambda: os.rename(path + ".spare", path + ".moved"))
attempt("chmod", lambda: os.chmod(path, 0o755))
attempt("stat", lambda: os.stat(path) and None)
def execute():
    import subprocess
    subprocess.run([path], check=True)
attempt("execute", execute)
"#;

fn program(world: &World, name: &str) -> String {
    let path = world.write(name, "#!/bin/sh\nexit 0\n");
    world.write(format!("{name}.spare"), "");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("a mode");
    path.display().to_string()
}

#[track_caller]
fn check(
    world: &World,
    options: &[&str],
    (attempt, path): (&str, &str),
    layers: &[&str],
    open: &[&str],
) {
    let attack = Attack { options, probe: FILES, about: &[path], attempt, works: "ok" };
    attack.is_refused_by_each(world, layers, open);
}

/// Granted at a path of its own: nothing above it in the view may be written.
struct Granted {
    world: World,
    grant: String,
}

impl Granted {
    fn new(options: &str) -> Self {
        let world = World::new();
        program(&world, "granted/file");
        let grant = format!("/granted={}{options}", world.root().join("granted").display());
        Self { world, grant }
    }

    #[track_caller]
    fn check(&self, attempt: &str, layers: &[&str], open: &[&str]) {
        let options = ["--workspace", "rw", "--ro", &self.grant];
        check(&self.world, &options, (attempt, "/granted/file"), layers, open);
    }
}

#[test]
fn mount_flags_and_landlock_alone_keep_a_read_only_grant() {
    for attempt in ["write", "create", "rename"] {
        Granted::new("").check(attempt, &["mount-flags", "landlock"], &[]);
    }
}

#[test]
fn mount_flags_and_landlock_alone_keep_programs_from_starting() {
    Granted::new(",noexec").check("execute", &["mount-flags", "landlock"], &[]);
}

/// Landlock has no right for modes, owners, times and attributes: here the mount stands alone.
#[test]
fn mount_flags_alone_keep_metadata_where_landlock_has_no_right() {
    Granted::new("").check("chmod", &["mount-flags"], &["landlock"]);
    Granted::new("").check("chmod", &["mount-flags"], &[]);
}

/// Landlock adds up what it allows on the way to the root, over mounts: below a writable directory
/// of the view, as the private home, a read-only grant is kept by its mount alone.
#[test]
fn mount_flags_alone_keep_a_read_only_grant_below_a_writable_directory() {
    let world = World::new();
    let path = program(&world, "home/granted/file");
    let granted = world.home().join("granted").display().to_string();
    let options = ["--workspace", "rw", "--ro", &granted];
    check(&world, &options, ("write", &path), &["mount-flags"], &["landlock"]);
    check(&world, &options, ("write", &path), &["mount-flags"], &[]);
}

/// Without its view the whole host stands at /host, writable: Landlock has no rule for it.
#[test]
fn the_view_and_landlock_alone_keep_what_is_not_granted() {
    for attempt in ["read", "write", "create", "rename", "execute"] {
        let world = World::new();
        let path = format!("/host{}", program(&world, "outside/file"));
        check(&world, &["--workspace", "rw"], (attempt, &path), &["mounts", "landlock"], &[]);
    }
}

/// Landlock has no right for `stat` and modes: that a file exists is hidden by the view alone.
#[test]
fn the_view_alone_keeps_names_and_metadata_where_landlock_has_no_right() {
    for attempt in ["stat", "chmod"] {
        let world = World::new();
        let path = format!("/host{}", program(&world, "outside/file"));
        check(&world, &["--workspace", "rw"], (attempt, &path), &["mounts"], &[]);
    }
}

/// Landlock can't deny a directory in one that it allows: covers stand alone.
#[test]
fn covers_alone_keep_hooks_and_settings_of_a_live_repository() {
    let world = World::new();
    for part in ["HEAD", "objects/x", "refs/x"] {
        world.write(format!("home/project/.git/{part}"), "");
    }
    world.write("home/project/.git/config", "[credential]\n\thelper = canary\n");
    let hook = world.write("home/project/.git/hooks/pre-commit", "").display().to_string();
    let options = ["--workspace", "rw"];
    check(&world, &options, ("create", &hook), &["hidden"], &["landlock", "seccomp"]);
    check(&world, &options, ("create", &format!("{hook}s")), &["hidden"], &[]);
    for workspace in ["rw", "cow", "ro"] {
        let shown = |more: &[&str]| {
            let run = ["run", "--workspace", workspace];
            let words = [&run, more, &["--", "cat", ".git/config"]].concat();
            said(&mut world.endow(words)).ok().contains("canary")
        };
        assert!(!shown(&[]), "{workspace}");
        assert!(shown(&["--test-without", "hidden"]), "{workspace}");
    }
}

/// What appears at a protected name is taken away by the watch, and by nothing else.
#[test]
fn covers_and_the_watch_alone_keep_protected_names_of_a_live_workspace() {
    let world = World::new();
    let there = world.write("home/project/.envrc", "theirs");
    let absent = world.project().join("Jenkinsfile");
    let evil = |more: &[&str]| {
        let script = ["-c", "echo evil >.envrc; echo evil >Jenkinsfile; sleep 0.1"];
        let words = [&["run", "--workspace", "rw"], more, &["--", "sh"], &script].concat();
        said(&mut world.endow(words));
        let text = |path| std::fs::read_to_string(path).unwrap_or_default();
        [text(&there), text(&absent)].map(|text| text == "evil\n")
    };
    for other in ["landlock", "seccomp"] {
        assert_eq!(evil(&["--test-without", other]), [false, false], "{other}");
    }
    assert_eq!(evil(&["--test-without", "hidden"]), [true, true]);
}

/// Landlock can't deny a file in a directory that it allows: masks and covers stand alone.
#[test]
fn masks_and_covers_alone_hide_denied_names() {
    for access in ["--ro", "--rw"] {
        let world = World::new();
        let path = world.write("granted/.env", "secret\n").display().to_string();
        let granted = world.root().join("granted").display().to_string();
        let options = ["--workspace", "rw", access, &granted];
        let open = ["landlock", "seccomp", "mount-flags"];
        check(&world, &options, ("read", &path), &["hidden"], &open);
        check(&world, &options, ("read", &path), &["hidden"], &[]);
    }
}
