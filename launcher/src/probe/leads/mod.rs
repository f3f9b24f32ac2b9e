//! What protected names lead to: where links among them and within them point, and what git's settings name. Whoever
//! reads or runs the one comes to the other, whatever it is called and in whichever mount it lies.
//!
//! Asked are the names at the root of each granted directory, and of live ones further down what the walk noted;
//! the repository that each of them lies in or holds, with its submodules; and the user's settings.

mod closed;
mod places;
mod repository;
mod settings;
mod way;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use endow_policy::{Access, HostPath, PatternRule, Policy, ProtectSet, Vars};

use super::explored::Explored;
use super::live_names::{STEERING, granted_roots, is_guarded};
use crate::plan::granted_as::GrantedAs;
use crate::plan::host::{HiddenNames, Noted, Paths};
use closed::Closable;
use places::Places;
use repository::{Finder, Repository};
use settings::Reader;

/// Why it is not known what protected names lead to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeadsError {
    /// Settings are too large.
    #[error("git's settings in {} have more than {most} bytes: what they lead to could not be protected", file.display())]
    LargeFile { most: u64, file: PathBuf },
    /// Settings include each other without an end.
    #[error("git's settings include more than {most} files, one of them {}: what they lead to could not be protected", file.display())]
    ManyFiles { most: usize, file: PathBuf },
    /// A protected directory is no such.
    #[error("protected directories hold more than {most} names, some of them in {}: where links there lead could not be protected; `--unprotect PATTERN` takes the pattern of a directory out", directory.display())]
    ManyNames { most: usize, directory: PathBuf },
    /// Nobody can look there, and the user could.
    #[error("nobody can look into {}, which is yours: `chmod u+rwX` opens it again, if it was you who closed it", place.display())]
    Closed { place: PathBuf },
}

/// What is asked.
pub(super) struct Asked<'a> {
    pub(super) policy: &'a Policy,
    pub(super) protect: &'a ProtectSet,
    pub(super) vars: &'a Vars,
    pub(super) environment: &'a [(OsString, OsString)],
}

/// A directory that is granted.
struct Root<'a> {
    place: &'a Path,
    protect: ProtectSet,
    explored: Explored,
    noted: Option<&'a Noted>,
    /// Whether a command can change something in it.
    is_changed: bool,
}

/// What was found.
#[derive(Default)]
pub(super) struct Found {
    /// All patterns of the directories to which something leads, by their places.
    pub(super) rules: BTreeMap<HostPath, Vec<PatternRule>>,
    /// What leads from the other ones to protected names.
    pub(super) explored: BTreeMap<HostPath, Explored>,
    /// Mounts at whose root git finds nothing.
    pub(super) without_git: BTreeSet<HostPath>,
}

/// Looks at the mounts of a policy.
///
/// # Errors
/// There is more than is looked at.
pub(super) fn find(
    asked: &Asked<'_>,
    paths: &Paths,
    hidden: &BTreeMap<HostPath, HiddenNames>,
) -> Result<Found, LeadsError> {
    let granted = granted_roots(asked.policy, paths).filter(|(spec, _)| is_guarded(spec));
    let names = GrantedAs::of(asked.policy, paths);
    let mut roots: BTreeMap<&HostPath, Root<'_>> = BTreeMap::new();
    for (spec, place) in granted {
        let noted = || hidden.get(place).map(|it| &it.noted);
        let first = || Root::of((place.as_path(), &names.all(place)), asked, noted(), false);
        let root = roots.entry(place).or_insert_with(first);
        root.is_changed |= spec.access != Access::Ro;
    }
    let all: Vec<&Root<'_>> = roots.values().collect();
    let places = collect(asked, &all)?;
    let changed = roots.iter().filter(|(_, root)| root.is_changed);
    let rules = changed.filter_map(|(place, root)| {
        Some(((*place).clone(), places.rules(root, &asked.policy.protect)?))
    });
    let rules: BTreeMap<_, _> = rules.collect();
    let plain = roots.iter().filter(|(_, root)| root.explored.has_no_git);
    let without_git = plain.map(|(place, _)| (*place).clone()).collect();
    let explored = roots.into_iter().map(|(place, root)| (place.clone(), root.explored));
    let explored = explored.filter(|(place, _)| !rules.contains_key(place)).collect();
    Ok(Found { rules, explored, without_git })
}

/// Returns the patterns of a directory that is no mount, where something leads into it.
///
/// # Errors
/// There is more than is looked at.
pub(crate) fn below(
    (policy, protect): (&Policy, &ProtectSet),
    directory: &Path,
    (vars, environment): (&Vars, &[(OsString, OsString)]),
) -> Result<Option<Vec<PatternRule>>, LeadsError> {
    let asked = Asked { policy, protect, vars, environment };
    let root = Root::of((directory, &[directory]), &asked, None, true);
    Ok(collect(&asked, &[&root])?.rules(&root, &policy.protect))
}

impl<'a> Root<'a> {
    fn of(
        (place, names): (&'a Path, &[&Path]),
        asked: &Asked<'_>,
        noted: Option<&'a Noted>,
        is_changed: bool,
    ) -> Self {
        let protect = asked.protect.below_all(names);
        let explored = Explored::of(place, &protect, noted);
        Self { place, protect, explored, noted, is_changed }
    }
}

/// Finds all places to which something leads.
fn collect(asked: &Asked<'_>, roots: &[&Root<'_>]) -> Result<Places, LeadsError> {
    let closable = roots.iter().filter(|root| root.is_changed).map(|root| root.place.to_owned());
    let closable = Closable(closable.collect());
    let repositories = repositories(roots);
    let others = others(asked, &repositories);
    let work_trees = others.iter().filter(|place| place.join(".git").symlink_metadata().is_ok());
    let mounts = roots.iter().map(|root| root.place.to_owned());
    let mut places = Places::of_mounts(mounts, work_trees.cloned().collect(), closable.clone());
    let mut reader = Reader::new(asked.vars, asked.environment, &closable);
    places.add_named(&reader.of_user()?, asked.protect, None)?;
    places.add_anywhere(&reader.anywhere()?, asked.protect);
    for repository in &repositories {
        places.add_named(&reader.leads(repository)?, asked.protect, Some(repository))?;
    }
    for root in roots {
        places.add_protected(root.place, &root.explored)?;
    }
    // What is around a granted directory leads into it as well.
    for place in others.iter().filter(|place| roots.iter().all(|root| root.place != *place)) {
        let explored = Explored::of(place, &asked.protect.below(place), None);
        places.add_protected(place, &explored)?;
    }
    let directories = repositories.iter().flat_map(|it| &it.directories);
    for directory in directories {
        let mut parts = STEERING.iter().filter(|part| is_part_protected(asked.protect, part));
        parts.try_for_each(|part| places.add_start(&directory.join(part)))?;
    }
    places.follow()?;
    Ok(places)
}

fn repositories(roots: &[&Root<'_>]) -> BTreeSet<Repository> {
    let mut finder = Finder::default();
    for root in roots {
        finder.add_around(root.place, root.explored.has_no_git);
        if let Some(noted) = root.noted {
            finder.add_noted(root.place, noted);
        }
    }
    finder.found
}

/// Returns the directories besides mounts at which protected names are read: work trees, and where the user is.
fn others(asked: &Asked<'_>, repositories: &BTreeSet<Repository>) -> BTreeSet<PathBuf> {
    let trees = repositories.iter().flat_map(|it| &it.work_trees).cloned();
    let here = [Some(&asked.vars.cwd), asked.vars.git_root.as_ref()].into_iter().flatten();
    let here = here.map(|place| place.as_path().to_owned());
    trees.chain(here).filter_map(|place| place.canonicalize().ok()).collect()
}

/// Whether a part of a directory of git's is protected.
fn is_part_protected(protect: &ProtectSet, part: &str) -> bool {
    protect.matching(&Path::new(".git").join(part)).is_some()
}
