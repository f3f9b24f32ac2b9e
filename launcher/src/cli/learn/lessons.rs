//! What runs of a project asked for, in endow's state: a file for each run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use endow_policy::HostPath;
use endow_policy::learn::Lesson;
use serde_json::{Value, json};

use super::Missed;
use crate::cli::output::json_text;
use crate::cli::sources::digest;
use crate::cli::sources::surroundings::Surroundings;
use crate::probe::small_file;

/// Below endow's state.
const LEARNED: &str = "learned";
/// The most runs that are remembered of a project.
const RUNS_MAX: usize = 50;
/// The most bytes of what is remembered of a run: some ten thousand paths.
const SIZE_MAX: u64 = 8 << 20;
/// The form of the files.
const VERSION: u64 = 1;

/// What is remembered of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    /// What it asked for and did not get.
    pub(crate) missed: BTreeSet<Missed>,
    /// What it had, and used.
    pub(crate) lesson: Lesson,
}

/// What is remembered of a project.
#[derive(Debug)]
pub(crate) struct Lessons {
    directory: PathBuf,
    project: HostPath,
}

impl Lessons {
    /// Returns the place for the project at hand: the git work tree, else the current directory.
    pub(crate) fn of(surroundings: &Surroundings) -> Self {
        let vars = &surroundings.vars;
        let project = vars.git_root.as_ref().unwrap_or(&vars.cwd).clone();
        let name = digest(project.as_path().as_os_str().as_bytes());
        let directory = surroundings.dirs.state.join(LEARNED).join(&name[..32]);
        Self { directory, project }
    }

    /// Remembers a run, and forgets the oldest beyond the bound.
    pub(crate) fn add(&self, run: &str, kept: &Kept) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let missed: Vec<Value> = kept.missed.iter().map(Missed::value).collect();
        let text = json!({
            "version": VERSION, "project": json_text::path(self.project.as_path()),
            "missed": missed, "grants": kept.lesson.grants,
        });
        // One that is half written teaches nothing, as long as it is there.
        fs::write(self.directory.join(format!("{:020}-{run}.json", now())), text.to_string())?;
        self.prune()
    }

    fn prune(&self) -> io::Result<()> {
        let files = self.files()?;
        let old = files.len().saturating_sub(RUNS_MAX);
        files.iter().take(old).try_for_each(|path| gone(fs::remove_file(path)))
    }

    /// Returns what is remembered, oldest first. A file that can't be read teaches nothing.
    pub(crate) fn all(&self) -> Vec<Kept> {
        let files = self.files().unwrap_or_default();
        files.iter().filter_map(|path| read(path)).collect()
    }

    /// Forgets what is remembered of all runs; returns of how many that was.
    pub(crate) fn forget(&self) -> io::Result<usize> {
        let count = self.files()?.len();
        gone(fs::remove_dir_all(&self.directory))?;
        Ok(count)
    }

    /// Returns the files of lessons in the order of time, which their names have.
    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let is_kept = |path: &PathBuf| path.extension().is_some_and(|it| it == "json");
        let mut files: Vec<PathBuf> = paths.filter(is_kept).collect();
        files.sort();
        Ok(files)
    }
}

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

/// Takes what is gone already for removed: another process may be faster.
fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn read(path: &Path) -> Option<Kept> {
    let text = small_file::read(path, SIZE_MAX).ok()?;
    let value: Value = serde_json::from_slice(&text).ok()?;
    if value.get("version")?.as_u64()? != VERSION {
        return None;
    }
    let missed = value.get("missed")?.as_array()?.iter().filter_map(Missed::read).collect();
    let used = |(grant, used): (&String, &Value)| Some((grant.clone(), used.as_bool()?));
    let grants: BTreeMap<String, bool> =
        value.get("grants")?.as_object()?.iter().filter_map(used).collect();
    Some(Kept { missed, lesson: Lesson { grants } })
}
