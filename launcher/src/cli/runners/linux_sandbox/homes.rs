//! The homes of the user, of which nothing is shown that nobody names.
//!
//! `HOME` is the command's: Bazel gives it what a rule says. The account database says which home is the user's; where
//! `HOME` names another one of theirs, that is as empty.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::cli::error::CommandError;
use crate::cli::sources::surroundings;

/// Homes by their paths, with links in them and without.
pub(super) struct Homes {
    /// The one that the base of every sandbox makes empty.
    own: BTreeSet<PathBuf>,
    others: BTreeSet<PathBuf>,
}

impl Homes {
    /// Finds the home of the account and the one that `HOME` names.
    ///
    /// # Errors
    /// What says which it is can't be read: it could be shown.
    pub(super) fn of_the_user() -> Result<Self, CommandError> {
        let own = surroundings::home_of_account()?.map(|home| paths(&home)).unwrap_or_default();
        let named = std::env::var_os("HOME").map(PathBuf::from).filter(|home| is_home(home));
        let mut others = named.map(|home| paths(&home)).unwrap_or_default();
        others.retain(|home| !own.contains(home));
        Ok(Self { own, others })
    }

    /// Returns whether a path is that of a home.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.own.contains(path) || self.others.contains(path)
    }

    /// Returns the homes that nobody makes empty yet.
    pub(super) fn others(&self) -> impl Iterator<Item = PathBuf> {
        self.others.iter().cloned()
    }
}

fn paths(home: &Path) -> BTreeSet<PathBuf> {
    [fs::canonicalize(home).ok(), Some(home.to_owned())].into_iter().flatten().collect()
}

/// Returns whether a path is a directory of the user's, as `/usr` is none.
fn is_home(path: &Path) -> bool {
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_dir);
    path.is_absolute()
        && path.parent().is_some()
        && found.is_some_and(|it| it.uid() == geteuid().as_raw())
}
