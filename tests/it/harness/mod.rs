//! The hermetic world of an end-to-end test: a home, a project and a state of its own.

mod kept;
mod process;
mod project;
mod pty;
mod require;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) use kept::MadeUp;
pub(crate) use process::{
    PATIENCE, Running, is_stopped, mark, marked, pid, send, soon, tree, within,
};
pub(crate) use project::Project;
pub(crate) use pty::Pty;
pub(crate) use require::{debian_program, elsewhere, kernel, skip};

/// A place with a home and a project, gone when it is dropped.
pub(crate) struct World {
    root: TempDir,
}

/// What a program said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// Its exit code, or 128 and the signal's number.
    pub(crate) code: i32,
    /// What it wrote to stdout.
    pub(crate) stdout: String,
    /// What it wrote to stderr.
    pub(crate) stderr: String,
}

impl Drop for World {
    /// Trees of the cache can be written by nobody, and be removed only when they can.
    fn drop(&mut self) {
        let trees = self.root().join("cache/trees");
        if trees.exists() {
            let mut opened = Command::new("chmod");
            opened.args(["-R", "u+rwx"]).arg(trees).stderr(Stdio::null());
            drop(opened.status());
        }
    }
}

impl World {
    /// Makes a home with an empty project in it.
    pub(crate) fn new() -> Self {
        Self::of(tempfile::Builder::new().prefix("endow-it-").tempdir())
    }

    /// Makes one in memory: a write-back there does not wait for a disk.
    pub(crate) fn in_memory() -> Self {
        Self::of(tempfile::Builder::new().prefix("endow-it-").tempdir_in("/dev/shm"))
    }

    fn of(root: std::io::Result<TempDir>) -> Self {
        let world = Self { root: root.expect("a directory") };
        fs::create_dir_all(world.project()).expect("a project");
        world
    }

    /// Returns the directory that holds everything.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Returns the home directory.
    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// Returns the project, where commands start.
    pub(crate) fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    /// Returns endow's state directory.
    pub(crate) fn state(&self) -> PathBuf {
        self.root().join("state")
    }

    /// Writes a file below the root, with the directories that lead to it.
    pub(crate) fn write(&self, path: impl AsRef<Path>, content: &str) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(&path, content).expect("written");
        path
    }

    /// Returns what a file of the project has; `absent` without it.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project().join(name)).unwrap_or_else(|_| "absent".to_owned())
    }

    /// Returns a command with the world's environment, started in the project.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.project())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.home())
            .env("USER", "tester")
            .env("LANG", "C.UTF-8")
            .env("ENDOW_STATE_DIR", self.state())
            .env("ENDOW_CACHE_DIR", self.root().join("cache"))
            .env("ENDOW_CONFIG_DIR", self.root().join("config"))
            .envs(taken_away())
            .stdin(Stdio::null());
        command
    }

    /// Returns `endow` with arguments.
    pub(crate) fn endow<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(endow());
        command.args(arguments);
        command
    }

    /// Runs a script of the shell in the default sandbox, with options before `--`.
    pub(crate) fn run(&self, options: &[&str], script: &str) -> Said {
        let mut arguments: Vec<&str> = options.to_vec();
        if arguments.is_empty() {
            arguments.push("run");
        }
        arguments.extend(["--", "sh", "-c", script]);
        said(&mut self.endow(arguments))
    }

    /// Runs a script of the shell without a sandbox: the control of an attack.
    pub(crate) fn bare(&self, script: &str) -> Said {
        said(self.command("sh").args(["-c", script]))
    }

    /// Returns the states of the runs that are kept, as their records say.
    pub(crate) fn states(&self) -> Vec<String> {
        let runs = fs::read_dir(self.state().join("runs")).into_iter().flatten();
        let records = runs.filter_map(|run| fs::read(run.ok()?.path().join("record.json")).ok());
        let states = records.map(|text| {
            let record: Value = serde_json::from_slice(&text).expect("json");
            record["state"].as_str().expect("a state").to_owned()
        });
        states.collect()
    }

    /// Asserts that nothing of any run is left in the state directory.
    pub(crate) fn assert_no_run_left(&self) {
        let runs = fs::read_dir(self.state().join("runs"));
        let left: Vec<_> = runs.into_iter().flatten().map(|it| it.expect("a run").path()).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

/// Makes a world whose project holds a few files, directories and a link.
pub(crate) fn project() -> World {
    let world = World::new();
    world.write("home/project/file", "host\n");
    world.write("home/project/dir/inner", "inner\n");
    world.write("home/project/dir/sub/deep", "deep\n");
    symlink("file", world.project().join("link")).expect("a link");
    world
}

/// Returns the program under test: `ENDOW_BIN`, or the one cargo built.
pub(crate) fn endow() -> PathBuf {
    let built = || PathBuf::from(env!("CARGO_BIN_EXE_endow"));
    std::env::var_os("ENDOW_BIN").map_or_else(built, PathBuf::from)
}

/// Copies the program under test into a directory, which no process has open for writing that another
/// test starts at the same moment: it could not be executed then.
pub(crate) fn copy_of_endow(directory: &Path) -> PathBuf {
    let copy = directory.join("endow");
    said(Command::new("cp").arg(endow()).arg(&copy)).ok();
    copy
}

/// The layer that `cargo ci mutations` takes away from every run of a build that has the switches.
fn taken_away() -> Option<(&'static str, OsString)> {
    const WITHOUT: &str = "ENDOW_TEST_WITHOUT";
    std::env::var_os(WITHOUT).map(|layer| (WITHOUT, layer))
}

/// Runs a command to its end.
pub(crate) fn said(command: &mut Command) -> Said {
    use std::os::unix::process::ExitStatusExt;
    let output = command.output().expect("the program starts");
    let status = output.status;
    Said {
        code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Said {
    /// Asserts success and returns what was written to stdout.
    #[track_caller]
    pub(crate) fn ok(&self) -> &str {
        assert_eq!(self.code, 0, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        &self.stdout
    }

    /// Asserts an exit code and returns what was written to stderr.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        &self.stderr
    }
}
