//! What lies below the end of a link that puts other people's code (`node_modules`, `vendor`) elsewhere: names there are
//! nobody's matter, and count as soon as they stand at the link's place.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow::{self, Break, Continue};
use std::path::{Path, PathBuf};

use super::LinkTraps;
use super::git::is;
use crate::fs::Kind;
use crate::names::vendored_above;

/// How many names are looked at below the ends of all links of one mount.
const NAMES: usize = 1 << 19;
/// Why a link is held whose end can't be looked through.
const UNSEEN: &str = "a link to what can't be searched for protected names";
/// Why one is held that would lead git to a repository that nobody has looked at.
const TO_GIT: &str = "a link to a repository in other people's code";
/// Of these git's directories have some at least.
const PARTS: [&str; 4] = ["objects", "refs", "commondir", "worktrees"];

/// How many names may still be looked at.
#[derive(Debug)]
pub struct NamesLeft(Cell<usize>);

impl Default for NamesLeft {
    fn default() -> Self {
        Self(Cell::new(NAMES))
    }
}

impl NamesLeft {
    fn take(&self, names: usize) -> bool {
        let left = self.0.get().checked_sub(names);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}

/// What was found below the end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lying {
    /// Where it lies.
    pub place: PathBuf,
    /// Why it counts.
    pub lies: Lies,
}

/// Why what lies below the end of a link counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lies {
    /// It can't be looked through, or followed.
    Unseen,
    /// git would take it for a repository of its own.
    Repository,
    /// A pattern protects what stands at the link's place, or leads there.
    Protected(String),
}

impl Lies {
    /// Returns the reason in words.
    pub fn words(&self) -> &str {
        match self {
            Self::Unseen => UNSEEN,
            Self::Repository => TO_GIT,
            Self::Protected(why) => why,
        }
    }

    fn at(self, place: impl Into<PathBuf>) -> Lying {
        Lying { place: place.into(), lies: self }
    }
}

/// Hears of each thing that was found, and says whether to go on.
type Told<'t> = &'t mut dyn FnMut(Lying) -> ControlFlow<()>;

/// The search below one link.
struct Search {
    /// Directories, and as what they are seen.
    pending: Vec<(PathBuf, PathBuf)>,
    /// Those that were looked into, and as what: a link may lead in a circle.
    known: BTreeSet<(PathBuf, Seen)>,
}

/// What of the place at which a directory is seen decides about names in it: a pattern, and the place's own name.
type Seen = Option<(String, OsString)>;

impl LinkTraps<'_> {
    /// Returns why a link is held whose end is, or has, what could not be searched for protected names.
    pub fn unsearched(&self, link: &Path, target: &OsStr, missed: &[PathBuf]) -> Option<PathBuf> {
        let Some(end) = self.end(link, target) else { return missed.first().cloned() };
        let found = missed.iter().find(|it| end.starts_with(it) || it.starts_with(&end));
        found.cloned()
    }

    /// Returns why a link is held by what lies below its end in other people's code.
    pub fn below(&self, link: &Path, target: &OsStr) -> Option<String> {
        let mut found = None;
        self.each_below(link, target, &mut |lying| {
            found = Some(lying.lies.words().to_owned());
            Break(())
        });
        found
    }

    /// Tells of everything below the end of a link by which it would be held.
    pub fn each_below(&self, link: &Path, target: &OsStr, told: Told<'_>) {
        let Some(end) = self.end(link, target).filter(|end| is_anothers(end)) else { return };
        let pending = vec![(end, link.to_owned())];
        let mut search = Search { pending, known: BTreeSet::new() };
        while let Some((there, here)) = search.pending.pop() {
            let is_judged = || vendored_above(&here.join("x")).is_none();
            if is_judged()
                && search.known.insert((there.clone(), self.seen(&here)))
                && self.look_into((&there, &here), &mut search, told).is_break()
            {
                return;
            }
        }
    }

    fn seen(&self, here: &Path) -> Seen {
        self.protected(here).zip(here.file_name().map(OsStr::to_owned))
    }

    fn look_into(
        &self,
        (there, here): (&Path, &Path),
        search: &mut Search,
        told: Told<'_>,
    ) -> ControlFlow<()> {
        let names = self.sides().kinds(there, NAMES);
        let Some(names) = names.ok().filter(|names| self.names_left().take(names.len() + 1)) else {
            return told(Lies::Unseen.at(there));
        };
        if self.is_git_dir(there, &names) {
            told(Lies::Repository.at(there))?;
        }
        for (name, kind) in names.into_iter().filter(|(name, _)| !is(name, ".git")) {
            let (inner, shown) = (there.join(&name), here.join(&name));
            match kind {
                Some(Kind::Directory) => search.pending.push((inner, shown)),
                Some(Kind::File | Kind::Other) => self.look_at((&inner, &shown), told)?,
                Some(Kind::Symlink) | None => self.look_at_link((inner, shown), search, told)?,
            }
        }
        Continue(())
    }

    fn look_at(&self, (there, here): (&Path, &Path), told: Told<'_>) -> ControlFlow<()> {
        let why = self.protected(here);
        why.map_or(Continue(()), |why| told(Lies::Protected(why).at(there)))
    }

    /// Looks at what may be a link: where it leads, as if it stood at its name's new place.
    fn look_at_link(
        &self,
        (there, here): (PathBuf, PathBuf),
        search: &mut Search,
        told: Told<'_>,
    ) -> ControlFlow<()> {
        let Ok(target) = self.sides().link(&there) else {
            return told(Lies::Unseen.at(there));
        };
        self.look_at((&there, &here), told)?;
        let Some(target) = target else {
            search.pending.push((there, here));
            return Continue(());
        };
        let Some(end) = self.end(&there, &target) else {
            return told(Lies::Unseen.at(there));
        };
        if let Some(why) = self.leads(&end) {
            return told(Lies::Protected(why).at(there));
        }
        search.pending.extend(is_anothers(&end).then_some((end, here)));
        Continue(())
    }

    fn is_git_dir(&self, there: &Path, names: &BTreeMap<OsString, Option<Kind>>) -> bool {
        names.keys().any(|name| PARTS.iter().any(|part| is(name, part))) && self.is_of_git(there)
    }
}

/// Whether names in a directory, or in one that it may be known to have, are other people's.
fn is_anothers(directory: &Path) -> bool {
    vendored_above(&directory.join("registry/x")).is_some()
}
