//! What the command's git directory says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::capture::Source;
use super::import::Import;
use super::objects::Objects;
use super::work_tree::GIT;
use super::{CopyError, RefusedPath};
use crate::git_tree::{GitError, Id, Repository};

/// The most references of the command's that are looked at.
const REFERENCES: usize = 1_000_000;
/// The reference of the newest stash; the others stand in its log.
const STASH: &str = "refs/stash";

/// The commit and the references of the command's git directory.
pub(super) struct Guest {
    /// The commit of its `HEAD`; that of the start when there is none.
    pub(super) head: Id,
    /// Its other references that lead to what the host's repository lacks.
    references: BTreeMap<String, Id>,
    /// What is no reference, by its path in the git directory, and why.
    broken: BTreeMap<String, String>,
}

/// What lands beside the commit.
pub(super) struct Others {
    pub(super) references: BTreeMap<String, String>,
    pub(super) refused: Vec<RefusedPath>,
}

impl Guest {
    pub(super) fn read(source: &Source<'_>) -> Result<Self, CopyError> {
        let Some(guest) = source.guest else {
            let (references, broken) = (BTreeMap::new(), BTreeMap::new());
            return Ok(Self { head: source.base, references, broken });
        };
        // One that can't be read any more is what the command made of it.
        let said = guest.head().unwrap_or_default();
        let head = said.commit.unwrap_or(source.base);
        let listed = guest.all_references(REFERENCES)?;
        let told = |(name, fault): (String, GitError)| (name, fault.to_string());
        let mut broken: BTreeMap<_, _> = listed.broken.into_iter().map(told).collect();
        let mut references = listed.found;
        if let Err(fault) = add_stashes(guest, &mut references) {
            broken.insert(format!("logs/{STASH}"), fault.to_string());
        }
        references.retain(|name, id| source.references.get(name) != Some(id));
        let (host, mut new) = (source.host.reader(), BTreeMap::new());
        for (name, id) in references {
            if id != head && Some(&name) != said.branch.as_ref() && !host.has(&id)? {
                new.insert(name, id);
            }
        }
        Ok(Self { head, references: new, broken })
    }

    /// Stages what the references lead to. One that leads to what can't be taken over is left out:
    /// the others are no worse for it.
    pub(super) fn take_over(
        self,
        objects: &mut Objects<'_>,
        import: &mut Import,
    ) -> Result<Others, CopyError> {
        let (mut references, mut broken) = (BTreeMap::new(), self.broken);
        for (name, id) in self.references {
            match import.take(objects, id) {
                Ok(()) => drop(references.insert(name, id.to_string())),
                Err(fault @ (CopyError::Git(_) | CopyError::Object { .. })) => {
                    broken.insert(name, fault.to_string());
                }
                Err(other) => return Err(other),
            }
        }
        let place = |name: String| -> PathBuf { Path::new(GIT).join(name) };
        let refused = broken.into_iter().map(|(name, why)| RefusedPath { path: place(name), why });
        Ok(Others { references, refused: refused.collect() })
    }
}

/// Gives older stashes names of their own: `refs/stash-1` is what git calls `stash@{1}`.
fn add_stashes(guest: &Repository, references: &mut BTreeMap<String, Id>) -> Result<(), GitError> {
    let Some(newest) = references.get(STASH).copied() else { return Ok(()) };
    let older = guest.log_of(STASH)?.into_iter().filter(|id| *id != newest);
    let mut numbers = 1..;
    for id in older {
        let mut names = numbers.by_ref().map(|number| format!("{STASH}-{number}"));
        // The command may have a reference of that name itself.
        if let Some(name) = names.find(|name| !references.contains_key(name)) {
            references.insert(name, id);
        }
    }
    Ok(())
}
