//! What protected names lead to: where links among them and within them point, and what git's settings name. Whoever
//! reads or runs the one comes to the other, whatever it is called and in whichever mount it lies.
//!
//! Asked are the names at the root of each granted directory, and of live ones further down what the walk noted;
//! the repository that each of them lies in or holds, with its submodules; and the user's settings.

mod places;
mod settings;
mod way;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use endow_policy::{Access, HostPath, Origin, PatternRule, Policy, ProtectSet, Vars};

use super::explored::Explored;
use super::live_names::{granted_roots, is_guarded};
use super::repositories::directories;
use crate::plan::host::{HiddenNames, Noted, Paths};
use places::Places;
use settings::{Kind, Named, Reader, Repository};
use way::Way;

/// Why it is not known what protected names lead to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeadsError {
    /// Settings are too large.
    #[error("git's settings in {} have more than {most} bytes: what they lead to could not be protected", file.display())]
    LargeFile { most: u64, file: PathBuf },
    /// Settings include each other without an end.
    #[error("git's settings are in more than {most} files, one of them {}: what they lead to could not be protected", file.display())]
    ManyFiles { most: usize, file: PathBuf },
    /// A protected directory is no such.
    #[error("protected directories hold more than {most} names, some of them in {}: where links there lead could not be protected; `--unprotect PATTERN` takes the pattern of a directory out", directory.display())]
    ManyNames { most: usize, directory: PathBuf },
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
}

/// What was found.
#[derive(Default)]
pub(super) struct Found {
    /// All patterns of the directories to which something leads, by their places.
    pub(super) rules: BTreeMap<HostPath, Vec<PatternRule>>,
    /// What leads from the other ones to protected names.
    pub(super) explored: BTreeMap<HostPath, Explored>,
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
    let mut roots: BTreeMap<&HostPath, (Root<'_>, bool)> = BTreeMap::new();
    for (spec, place) in granted {
        let noted = || hidden.get(place).map(|it| &it.noted);
        let (_, is_changed) = roots
            .entry(place)
            .or_insert_with(|| (Root::of(place.as_path(), asked, noted()), false));
        *is_changed |= spec.access != Access::Ro;
    }
    let all: Vec<&Root<'_>> = roots.values().map(|(root, _)| root).collect();
    let places = collect(asked, &all)?;
    let changed = roots.iter().filter(|(_, (_, is_changed))| *is_changed);
    let rules = changed.filter_map(|(place, (root, _))| {
        Some(((*place).clone(), places.rules(root, &asked.policy.protect)?))
    });
    let rules: BTreeMap<_, _> = rules.collect();
    let explored = roots.into_iter().map(|(place, (root, _))| (place.clone(), root.explored));
    let explored = explored.filter(|(place, _)| !rules.contains_key(place)).collect();
    Ok(Found { rules, explored })
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
    let root = Root::of(directory, &asked, None);
    Ok(collect(&asked, &[&root])?.rules(&root, &policy.protect))
}

impl<'a> Root<'a> {
    fn of(place: &'a Path, asked: &Asked<'_>, noted: Option<&'a Noted>) -> Self {
        let protect = asked.protect.below(place);
        Self { place, explored: Explored::of(place, &protect, noted), protect, noted }
    }

    /// The repositories of which something is in it.
    fn repositories(&self) -> impl Iterator<Item = Repository> {
        let inside = directories(self.place, self.noted).into_iter();
        let inside = inside.map(|directory| Repository::of(self.place.join(directory)));
        Repository::around(self.place).into_iter().chain(inside)
    }
}

/// Finds all places to which something leads.
fn collect(asked: &Asked<'_>, roots: &[&Root<'_>]) -> Result<Places, LeadsError> {
    let mut places = Places::default();
    for named in named_by_settings(asked, roots)? {
        let file = Arc::from(named.by.to_string_lossy());
        places.add(Way::of(&named.path), &Origin::Settings { file });
    }
    for root in roots {
        root.explored.links().for_each(|link| places.add_link(&root.place.join(link)));
        let directories = root.explored.directories().map(|it| root.place.join(it));
        directories.for_each(|directory| places.add_directory(directory));
    }
    // What holds a whole mount is granted on purpose.
    let is_above = |directory: &Path| roots.iter().any(|root| root.place.starts_with(directory));
    places.follow(&is_above)?;
    Ok(places)
}

/// Returns what git's settings lead to, as far as hooks and settings are protected at all.
fn named_by_settings(asked: &Asked<'_>, roots: &[&Root<'_>]) -> Result<Vec<Named>, LeadsError> {
    let protects = |name: &str| asked.protect.matching(Path::new(name)).is_some();
    let (hooks, settings) = (protects(".git/hooks"), protects(".git/config"));
    if !(hooks || settings) {
        return Ok(Vec::new());
    }
    let mut reader = Reader::new(asked.vars, asked.environment);
    let mut all = reader.leads(&Repository::any())?;
    for repository in roots.iter().flat_map(|root| root.repositories()) {
        all.extend(reader.leads(&repository)?);
    }
    all.retain(|named| if named.kind == Kind::Hooks { hooks } else { settings });
    Ok(all)
}
