//! Runs that were kept: which there are, and which one is meant.

pub(crate) mod bounds;
pub(crate) mod counts;
pub(crate) mod locked;
pub(crate) mod stage_directories;
pub(crate) mod sweep;
pub(crate) mod unguarded;

use std::ffi::OsStr;
use std::os::fd::AsFd;

use endow_policy::{HostPath, Vars};
use endow_vfs::fs::OsFs;
use endow_vfs::state::{
    ChangeCounts, FindError, JOURNAL, Listed, Record, RunDir, RunState, StateDir, StateError,
    TreeOrigin, UNDO, Wanted, find,
};
use endow_vfs::sync::Ledger;
use endow_vfs::sync::checkpoint::PLACE;

use super::args::Chosen;
use super::error::{CommandError, Kind};
use crate::cli::sources::surroundings;
use crate::finish;
use crate::plan::dots::without_dots;

/// The runs that are there, and from where they are looked at.
pub(crate) struct Kept {
    /// Absent as long as there was never a run.
    state: Option<StateDir>,
    /// All runs, the oldest first.
    pub(crate) runs: Vec<Listed>,
    vars: Vars,
}

/// What is to be done with a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Its changes are written back.
    Apply,
    /// They are shown.
    Show,
    /// They are dropped.
    Discard,
    /// They are taken back.
    Undo,
    /// Another run begins with them.
    GoOn,
    /// What a killed process left of it is finished.
    Finish,
    /// All of it goes.
    Remove,
}

impl Act {
    /// Returns the words that stand behind "can't".
    fn words(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Show => "show",
            Self::Discard => "discard",
            Self::Undo => "undo",
            Self::GoOn => "go on from",
            Self::Finish => "finish",
            Self::Remove => "remove",
        }
    }
}

/// What is to be done with a run, and in which states it can be.
#[derive(Clone, Copy)]
pub(crate) struct Verb {
    /// What is done.
    pub(crate) act: Act,
    /// The states.
    pub(crate) states: &'static [RunState],
    /// Which runs are meant when none is named.
    pub(crate) fits: fn(&Record) -> bool,
}

/// A run that is locked, with what it says of itself.
pub(crate) struct Opened {
    pub(crate) dir: RunDir,
    pub(crate) record: Record,
}

impl Kept {
    /// Lists all runs.
    pub(crate) fn list() -> Result<Self, CommandError> {
        let surroundings = surroundings::read(None)?;
        let path = &surroundings.dirs.state;
        let is_there = path.symlink_metadata().is_ok();
        let state = is_there.then(|| StateDir::open(&OsFs, path)).transpose()?;
        let runs = state.as_ref().map(|state| state.runs(&OsFs)).transpose()?.unwrap_or_default();
        Ok(Self { state, runs, vars: surroundings.vars })
    }

    /// Returns the state directory, when there is one.
    pub(crate) fn state(&self) -> Option<&StateDir> {
        self.state.as_ref()
    }

    /// Finds a run by what the user typed, in whatever state.
    pub(crate) fn named(&self, name: &str) -> Result<&Listed, CommandError> {
        find(&self.runs, Wanted::Named(name)).map_err(|error| not_found(name, error))
    }

    /// Finds the run that words of a command line mean, and the paths that follow it.
    pub(crate) fn choose(
        &self,
        chosen: &Chosen,
        verb: Verb,
    ) -> Result<(&Listed, Vec<HostPath>), CommandError> {
        if chosen.words.iter().chain(&chosen.paths).any(|word| word.is_empty()) {
            return Err(empty_word());
        }
        let (run, paths) = self.divide(chosen)?;
        let run = match run {
            Some(run) => usable(run, verb)?,
            None => self.newest(verb, chosen)?,
        };
        let paths = paths.iter().map(|path| self.absolute(path));
        Ok((run, paths.collect::<Result<_, _>>()?))
    }

    /// The first word is a run where one is called so, else all are paths. Nothing with a slash
    /// is a run.
    fn divide<'a>(
        &self,
        chosen: &'a Chosen,
    ) -> Result<(Option<&Listed>, Vec<&'a OsStr>), CommandError> {
        let words: Vec<&OsStr> = chosen.words.iter().map(AsRef::as_ref).collect();
        let paths = chosen.paths.iter().map(AsRef::as_ref);
        let Some((first, rest)) = words.split_first() else {
            return Ok((None, paths.collect()));
        };
        let name = first.to_str().filter(|name| !name.contains('/'));
        let found = name.map(|name| find(&self.runs, Wanted::Named(name)));
        match found {
            Some(Ok(run)) => Ok((Some(run), rest.iter().copied().chain(paths).collect())),
            Some(Err(error)) if error != FindError::NoSuch || !chosen.paths.is_empty() => {
                Err(not_found(&first.to_string_lossy(), error))
            }
            _ => Ok((None, words.iter().copied().chain(paths).collect())),
        }
    }

    fn newest(&self, verb: Verb, chosen: &Chosen) -> Result<&Listed, CommandError> {
        let fits = |run: &Listed, record: &Record| {
            self.is_of_here(record)
                && ((verb.fits)(record) || verb.act == Act::Undo && self.has_more(run, record))
        };
        let newest = Wanted::Newest { fits: &fits, states: verb.states };
        find(&self.runs, newest).map_err(|_| {
            let message = format!("there is no run of this workspace to {}", verb.act.words());
            let error = CommandError::new(Kind::Usage, message);
            let error = match chosen.words.first() {
                Some(word) => error.cause(format!("{} is no run either", word.display())),
                None => error,
            };
            error.hint("`endow runs` lists all runs")
        })
    }

    /// Whether an undo has anything to do or to name of which the record does not tell: endow was killed in a write-back,
    /// or its disk was full, or what changed in a live mount can't be taken back.
    fn has_more(&self, run: &Listed, record: &Record) -> bool {
        let signs: &[&str] = match run.state() {
            Some(RunState::Interrupted) => &[JOURNAL, finish::LEDGER, PLACE],
            Some(RunState::Waiting) => &[JOURNAL, PLACE],
            _ => &[],
        };
        let runs = self.state.as_ref().map(|state| state.path().join("runs"));
        let has_sign = signs.iter().any(|part| {
            let part = runs.as_ref().map(|runs| runs.join(run.id.as_str()).join(part));
            part.is_some_and(|part| part.symlink_metadata().is_ok())
        });
        has_sign || record.mounts.iter().any(|mount| mount.live) && self.has_uncovered(run, record)
    }

    fn has_uncovered(&self, run: &Listed, record: &Record) -> bool {
        let dir = self.state.as_ref().and_then(|state| state.look_into_run(&OsFs, &run.id).ok());
        let ledger = dir.and_then(|dir| Ledger::read(&OsFs, dir.as_fd()).ok()).unwrap_or_default();
        let mut numbers = (0u32..).zip(&record.mounts).map(|(number, _)| number);
        numbers.any(|number| ledger.uncovered(number).next().is_some())
    }

    /// Whether a run is of this workspace, or of its repository.
    pub(crate) fn is_of_here(&self, record: &Record) -> bool {
        let repositories = record.trees.iter().filter_map(|tree| match &tree.from {
            TreeOrigin::Git(git) => Some(&git.repository),
            TreeOrigin::Cas(_) => None,
        });
        record.workspace.iter().chain(repositories).any(|it| self.is_here(it))
    }

    /// Whether a run of this workspace had its workspace here: the current directory is in it, and
    /// no other repository begins in between.
    fn is_here(&self, workspace: &HostPath) -> bool {
        let root = self.vars.git_root.as_ref();
        self.vars.cwd.is_within(workspace) && root.is_none_or(|root| workspace.is_within(root))
    }

    fn absolute(&self, path: &OsStr) -> Result<HostPath, CommandError> {
        let joined = self.vars.cwd.as_path().join(path);
        HostPath::new(without_dots(&joined)).map_err(|error| {
            CommandError::new(Kind::Usage, "no such path").about(path.display()).cause(error)
        })
    }

    /// Returns how much a run changed. Where endow was killed its record does not tell; then it is what was
    /// held, which waits.
    pub(crate) fn changes(&self, run: &Listed) -> Option<ChangeCounts> {
        let told = run.record().and_then(|record| record.changes);
        if told.is_some() || run.state() != Some(RunState::Interrupted) {
            return told;
        }
        let dir = self.state.as_ref()?.look_into_run(&OsFs, &run.id).ok()?;
        let record = dir.read_record(&OsFs).ok()??;
        finish::held(&dir, &record).ok().filter(|counts| *counts != ChangeCounts::default())
    }

    /// Locks a run and reads again what it is; one whose write-back was killed on the way is none
    /// to decide about.
    pub(crate) fn open(&self, run: &Listed, verb: Verb) -> Result<Opened, CommandError> {
        if run.in_use {
            usable(run, verb)?;
        }
        // Whatever state it is in, that comes first: no other word can do anything about it.
        let opened = self.open_begun(run, Verb { states: &RunState::ALL, ..verb })?;
        if opened.is_begun()? {
            return Err(unfinished(&opened));
        }
        let record = Some(Ok(opened.record.clone()));
        usable(&Listed { id: run.id.clone(), in_use: false, record }, verb)?;
        Ok(opened)
    }

    /// Locks a run whose record can't be used.
    pub(crate) fn open_unusable(&self, run: &Listed) -> Result<RunDir, CommandError> {
        let gone = || CommandError::new(Kind::Usage, "no such run").about(&run.id);
        let state = self.state.as_ref().ok_or_else(gone)?;
        Ok(state.open_run(&OsFs, &run.id)?)
    }

    /// Locks a run whose write-back the caller finishes first, and reads again what it is.
    pub(crate) fn open_begun(&self, run: &Listed, verb: Verb) -> Result<Opened, CommandError> {
        let gone = || CommandError::new(Kind::Usage, "no such run").about(&run.id);
        let dir = self.open_unusable(run)?;
        let record = dir.read_record(&OsFs)?;
        let now = Listed { id: run.id.clone(), in_use: false, record: record.map(Ok) };
        usable(&now, verb)?;
        let record = now.record.and_then(Result::ok).ok_or_else(gone)?;
        Ok(Opened { dir, record })
    }
}

/// As a path it would be all of the current directory.
fn empty_word() -> CommandError {
    CommandError::new(Kind::Usage, "neither a run nor a path: an empty word")
        .hint("a variable may be empty; `.` is all of the current directory")
}

impl Opened {
    /// Returns whether a write-back, or an undo, was killed on the way: in the middle, or before the record
    /// told of it.
    pub(crate) fn is_begun(&self) -> Result<bool, CommandError> {
        Ok(self.dir.has(&OsFs, JOURNAL)? || finish::is_behind(&self.dir)?)
    }

    /// Returns whether anything was ever staged, or begun to be.
    pub(crate) fn has_staged(&self) -> Result<bool, CommandError> {
        Ok(self.dir.has(&OsFs, UNDO)? || self.dir.has(&OsFs, "journal.new")?)
    }
}

/// Says what is in the way of a run's removal, and what would be lost with it.
fn unfinished(opened: &Opened) -> CommandError {
    let id = opened.dir.id();
    let undo = opened.dir.path().join(UNDO);
    let undo = undo.symlink_metadata().is_ok().then_some(undo);
    let places = undo.into_iter().chain(stage_directories::of(&opened.dir, &opened.record));
    let this = CommandError::new(Kind::Setup, "a write-back is not finished").about(id);
    let this = places.fold(this, |this, place| {
        this.cause(format!("what it took from the tree may be in {}", place.display()))
    });
    this.hint(format!(
        "`endow gc` finishes it; `endow discard --force {id}` gives up what can't be"
    ))
    .hint(format!("where neither can, `endow runs rm --force {id}` removes the run with these"))
}

/// Returns the run when something can be done with it as it is.
pub(crate) fn usable(run: &Listed, verb: Verb) -> Result<&Listed, CommandError> {
    if let Some(Err(error)) = &run.record {
        return Err(CommandError::new(Kind::Setup, "can't use the run")
            .about(&run.id)
            .cause(error)
            .hint("nothing of it was touched"));
    }
    match run.state() {
        Some(state) if verb.states.contains(&state) => Ok(run),
        state => Err(unsuitable(run, state, verb)),
    }
}

fn unsuitable(run: &Listed, state: Option<RunState>, verb: Verb) -> CommandError {
    let word = state.map_or("without a record", RunState::word);
    let message = format!("can't {} a run that is {word}", verb.act.words());
    let error = CommandError::new(Kind::Usage, message).about(&run.id);
    let id = &run.id;
    match state {
        Some(RunState::Waiting | RunState::Interrupted) => error.hint(format!(
            "`endow apply {id}` writes its changes back, `endow discard {id}` drops them"
        )),
        Some(RunState::Applied) => error.hint(format!("`endow undo {id}` takes its changes back")),
        Some(RunState::Running) => error.hint("it ends with its command"),
        None => error.hint(format!("`endow runs rm --force {id}` removes it")),
        _ => error,
    }
}

fn not_found(name: &str, error: FindError) -> CommandError {
    let this = CommandError::new(Kind::Usage, error.to_string()).about(name);
    match error {
        FindError::Ambiguous(ids) => ids.iter().fold(this, CommandError::cause),
        _ => this.hint("`endow runs` lists all runs"),
    }
}

impl From<StateError> for CommandError {
    fn from(error: StateError) -> Self {
        let (kind, hint) = match &error {
            StateError::InUse { .. } => (Kind::Usage, Some("it runs, or is being worked on")),
            StateError::Gone { .. } => (Kind::Usage, Some("`endow runs` lists all runs")),
            StateError::Record { .. } => (Kind::Setup, Some("nothing of it was touched")),
            full if full.is_full() => {
                (Kind::Setup, Some("`endow gc`, `endow discard` and `endow runs rm` make room"))
            }
            _ => (Kind::Setup, None),
        };
        let this = Self::new(kind, error.to_string()).because(&error);
        hint.into_iter().fold(this, Self::hint)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cli::sources::surroundings::{Dirs, Surroundings};

    #[test]
    fn an_empty_word_is_not_the_current_directory() {
        let dirs = Dirs { state: "/s".into(), cache: "/s".into(), config: "/s".into() };
        let vars = Surroundings::alone(dirs, ("u", None), Vec::new()).vars;
        let kept = Kept { state: None, runs: Vec::new(), vars };
        let verb = Verb { act: Act::Discard, states: &RunState::ALL, fits: |_| true };
        let message = |words: &[&str], paths: &[&str]| {
            let all = |texts: &[&str]| texts.iter().map(Into::into).collect();
            let chosen = Chosen { words: all(words), paths: all(paths) };
            kept.choose(&chosen, verb).map(drop).expect_err("there is no run").message
        };
        let empty = empty_word().message;
        assert_ne!(message(&["."], &[]), empty);
        for (words, paths) in [(&[""][..], &[][..]), (&["run", ""], &[]), (&[], &[""])] {
            assert_eq!(message(words, paths), empty, "{words:?} {paths:?}");
        }
    }

    #[test]
    fn dots_are_taken_out() {
        for (path, expected) in
            [("/a/b/../c", "/a/c"), ("/a/./b/", "/a/b"), ("/../..", "/"), ("/a/../../b", "/b")]
        {
            assert_eq!(without_dots(Path::new(path)), Path::new(expected), "{path}");
        }
    }
}
