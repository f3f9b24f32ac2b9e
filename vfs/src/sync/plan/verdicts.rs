//! Whether each change is made.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::moved;
use crate::fs::Kind;
use crate::sync::repository::GitDirs;
use crate::sync::{Change, ChangeKind, ChangeSet, Held, OnConflict, Refusal, Rules};

/// How often it is looked for what stays because other things do. Each time is once through all changes,
/// and a layer could be made in which each time finds one more.
const ROUNDS: usize = 16;

/// What becomes of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Go,
    Conflict,
    Refused(Refusal),
    Held(Held),
    NotSelected,
    NotEmpty,
    Blocked,
}

/// The verdicts on all changes of a set, by their places in it.
pub(super) struct Verdicts {
    verdicts: Vec<Verdict>,
}

impl Verdicts {
    pub(super) fn of(set: &ChangeSet, rules: &Rules<'_>) -> Self {
        let changes = &set.changes;
        let index = changes.iter().enumerate().map(|(at, change)| (change.path.as_path(), at));
        let index: HashMap<&Path, usize> = index.collect();
        let above = |change: &Change| index.get(change.path.parent()?).copied();
        let parents = changes.iter().map(above).collect();
        let (verdicts, wanted) = (Vec::new(), Vec::new());
        let git_dirs = set.git_dirs;
        let mut judge = Judge { changes, parents, git_dirs, rules, verdicts, wanted };
        judge.judge_each();
        // Before the selection: what is refused is so whether it was asked for or not.
        let drops = !rules.by_name;
        moved::keep(changes, &mut judge.verdicts, drops);
        judge.select();
        for _ in 0..ROUNDS {
            judge.keep_what_is_not_empty();
            judge.block_below_what_stays();
            judge.block_what_lacks_objects();
            if !moved::keep(changes, &mut judge.verdicts, drops) {
                break;
            }
        }
        // What the last round kept, too, stands in directories that stay.
        judge.keep_what_is_not_empty();
        judge.block_below_what_stays();
        judge.judge_traces();
        Self { verdicts: judge.verdicts }
    }

    pub(super) fn of_change(&self, at: usize) -> &Verdict {
        self.verdicts.get(at).unwrap_or(&Verdict::Blocked)
    }

    pub(super) fn goes(&self, at: usize) -> bool {
        *self.of_change(at) == Verdict::Go
    }
}

struct Judge<'a> {
    changes: &'a [Change],
    /// The change of the directory that each change is in, if that changed.
    parents: Vec<Option<usize>>,
    git_dirs: GitDirs,
    rules: &'a Rules<'a>,
    verdicts: Vec<Verdict>,
    wanted: Vec<bool>,
}

impl Judge<'_> {
    /// Judges each change by itself and by the directory it is in, selection left aside.
    fn judge_each(&mut self) {
        for (at, change) in self.changes.iter().enumerate() {
            let own = self.judge_alone(change);
            let verdict = match (self.parent(at).and_then(|at| self.inherit(at, change)), own) {
                // Why it is held itself tells more.
                (Some(Verdict::Held(_)), own @ Verdict::Held(_)) => own,
                (verdict, own) => verdict.unwrap_or(own),
            };
            self.verdicts.push(verdict);
        }
    }

    fn judge_alone(&self, change: &Change) -> Verdict {
        if let Some(reason) = change.refused {
            return Verdict::Refused(reason);
        }
        if change.is_trace() {
            return Verdict::Go;
        }
        if let Some(reason) = (self.rules.held)(&change.path, change.node())
            && !(change.is_time_of_file() && matches!(reason, Held::Protected(_)))
        {
            return Verdict::Held(reason);
        }
        match change.conflict {
            None => Verdict::Go,
            Some(_) if self.guest_wins(change) => Verdict::Go,
            Some(_) if self.rules.merged(change).is_some() => Verdict::Go,
            Some(_) => Verdict::Conflict,
        }
    }

    /// Of a file that the run may not have written at all its version wins by name only: it may be what the host had
    /// before.
    fn guest_wins(&self, change: &Change) -> bool {
        let is_meant = self.rules.by_name || !change.may_be_untouched;
        self.rules.on_conflict == OnConflict::Guest && is_meant
    }

    /// Returns the verdict that the change of the directory above forces on `change`.
    fn inherit(&self, above: usize, change: &Change) -> Option<Verdict> {
        let (parent, verdict) = (self.changes.get(above)?, self.verdicts.get(above)?);
        let forced = match verdict {
            Verdict::Refused(_) => Verdict::Refused(Refusal::Ancestor),
            Verdict::Held(reason) => Verdict::Held(reason.clone()),
            Verdict::Conflict | Verdict::Blocked => Verdict::Blocked,
            Verdict::Go | Verdict::NotSelected | Verdict::NotEmpty => return None,
        };
        let is_removal = change.kind == ChangeKind::Deleted && parent.kind == ChangeKind::Deleted;
        let is_bound = makes_directory(parent)
            || removes_directory(parent) && (parent.kind != ChangeKind::Deleted)
            || is_removal && matches!(verdict, Verdict::Held(_));
        is_bound.then_some(forced)
    }

    /// Finds what was asked for, and the new directories that it needs.
    fn select(&mut self) {
        for (at, change) in self.changes.iter().enumerate() {
            let parent = self.parent(at);
            let with_parent = parent.is_some_and(|above| {
                change.kind == ChangeKind::Deleted
                    && self.wanted.get(above) == Some(&true)
                    && self.changes.get(above).is_some_and(removes_directory)
            });
            let wanted = with_parent || (self.rules.only)(&change.path);
            self.wanted.push(wanted);
            if wanted && self.verdicts.get(at) == Some(&Verdict::Go) && !change.is_trace() {
                self.want_above(parent);
            }
        }
        self.want_objects();
        for (verdict, wanted) in self.verdicts.iter_mut().zip(&self.wanted) {
            if !wanted {
                *verdict = Verdict::NotSelected;
            }
        }
    }

    /// Takes the objects of a repository along with what names them: the host may have collected those that were
    /// written back already.
    fn want_objects(&mut self) {
        if !self.rules.by_name {
            return;
        }
        let wanted = self.changes.iter().zip(&self.wanted).filter(|(_, wanted)| **wanted);
        let git_dirs: HashSet<PathBuf> =
            wanted.filter_map(|(it, _)| self.git_dirs.names_objects_of(&it.path)).collect();
        let is_one = |path: &Path| {
            self.git_dirs.has_object_at(path).is_some_and(|git_dir| git_dirs.contains(&git_dir))
        };
        let objects = self.changes.iter().enumerate().filter(|(_, it)| is_one(&it.path));
        for at in objects.map(|(at, _)| at).collect::<Vec<_>>() {
            if let Some(wanted) = self.wanted.get_mut(at) {
                *wanted = true;
            }
            self.want_above(self.parent(at));
        }
    }

    fn want_above(&mut self, mut above: Option<usize>) {
        while let Some(at) = above
            && self.changes.get(at).is_some_and(makes_directory)
            && let Some(wanted @ false) = self.wanted.get_mut(at)
        {
            *wanted = true;
            above = self.parent(at);
        }
    }

    /// Keeps directories that the run removed and in which something stays.
    fn keep_what_is_not_empty(&mut self) {
        let mut kept: HashSet<&Path> = HashSet::new();
        for (change, verdict) in self.changes.iter().zip(&mut self.verdicts).rev() {
            if !removes(change) {
                continue;
            }
            if *verdict == Verdict::Go && kept.contains(change.path.as_path()) {
                *verdict = match change.kind {
                    ChangeKind::Deleted => Verdict::NotEmpty,
                    _ => Verdict::Blocked,
                };
            }
            if change.kind == ChangeKind::Deleted && *verdict != Verdict::Go {
                kept.extend(change.path.parent());
            }
        }
    }

    /// Leaves what is in a directory that was to be replaced, or made, and is not.
    fn block_below_what_stays(&mut self) {
        let mut is_part = vec![false; self.changes.len()];
        for (at, change) in self.changes.iter().enumerate() {
            let Some(above) = self.parent(at) else { continue };
            let Some(parent) = self.changes.get(above) else { continue };
            let is_old = change.kind == ChangeKind::Deleted
                && (matches!(parent.kind, ChangeKind::Replaced(Kind::Directory))
                    || is_part.get(above) == Some(&true));
            is_part[at] = is_old;
            let stays = self.verdicts.get(above) != Some(&Verdict::Go);
            if let Some(verdict @ Verdict::Go) = self.verdicts.get_mut(at)
                && stays
                && (is_old || makes_directory(parent))
            {
                *verdict = Verdict::Blocked;
            }
        }
    }

    /// Leaves references and all else that may name objects where an object stays.
    fn block_what_lacks_objects(&mut self) {
        let changes = self.changes.iter().zip(&self.verdicts);
        let staying = changes.filter(|(change, verdict)| {
            change.upper.is_some() && !change.is_trace() && **verdict != Verdict::Go
        });
        let lacking: HashSet<_> =
            staying.filter_map(|(change, _)| self.git_dirs.has_object_at(&change.path)).collect();
        if lacking.is_empty() {
            return;
        }
        for (change, verdict) in self.changes.iter().zip(&mut self.verdicts) {
            let git_dir = || self.git_dirs.names_objects_of(&change.path);
            let lacks = || git_dir().is_some_and(|it| lacking.contains(&it));
            if *verdict == Verdict::Go && !change.is_trace() && lacks() {
                *verdict = Verdict::Blocked;
            }
        }
    }

    /// Lets the time of a directory follow what is done in it.
    fn judge_traces(&mut self) {
        let mut has_any: HashSet<&Path> = HashSet::new();
        let mut done: HashSet<&Path> = HashSet::new();
        for (change, verdict) in self.changes.iter().zip(&self.verdicts) {
            let above = change.path.parent();
            if change.is_trace() || change.is_amended() {
                continue;
            }
            has_any.extend(above);
            if *verdict == Verdict::Go {
                done.extend(above);
            }
        }
        for (change, verdict) in self.changes.iter().zip(&mut self.verdicts) {
            let path = change.path.as_path();
            if change.is_trace() && has_any.contains(path) {
                *verdict = done.get(path).map_or(Verdict::NotSelected, |_| Verdict::Go);
            }
        }
    }

    fn parent(&self, at: usize) -> Option<usize> {
        self.parents.get(at).copied().flatten()
    }
}

/// Returns whether the change makes a directory where none was.
pub(super) fn makes_directory(change: &Change) -> bool {
    change.upper.is_some_and(|upper| upper.kind == Kind::Directory)
        && matches!(change.kind, ChangeKind::Created | ChangeKind::Replaced(_))
}

/// Returns whether the change takes a directory away.
pub(super) fn removes_directory(change: &Change) -> bool {
    removes(change) && change.host.is_some_and(|host| host.kind == Kind::Directory)
}

fn removes(change: &Change) -> bool {
    matches!(change.kind, ChangeKind::Deleted | ChangeKind::Replaced(Kind::Directory))
}
