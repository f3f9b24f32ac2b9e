//! What is hidden, asked about single names instead of by a walk.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use endow_policy::{HostPath, PatternError, PatternRule, Policy};

use super::rules::{Denied, Rules};
use super::tracked;
use crate::plan::granted_as::GrantedAs;
use crate::plan::host::Paths;

/// What a directory of git's has.
const PARTS: [&str; 3] = ["HEAD", "objects", "refs"];

/// What deny patterns say of single paths.
pub(crate) struct DeniedNames<'a> {
    denied: Denied,
    written: &'a [PatternRule],
    granted: GrantedAs,
}

impl<'a> DeniedNames<'a> {
    /// Compiles the patterns; `None` when one can't be used.
    pub(crate) fn new(policy: &'a Policy, paths: &Paths) -> Option<Self> {
        let (denied, granted) = (Denied::new(&policy.deny).ok()?, GrantedAs::of(policy, paths));
        Some(Self { denied, written: &policy.deny, granted })
    }

    /// Returns whether a walk of a mount's source finds a path below it hidden, where everything that is called `.git`
    /// is git's, or nothing.
    pub(crate) fn hides(&self, source: &HostPath, path: &Path, is_git: bool) -> bool {
        let narrower = self.denied.narrower(&self.granted.all(source), self.written);
        let denied = narrower.as_ref().unwrap_or(&self.denied);
        denied.hides(path, &|_| is_git)
    }
}

/// What is hidden below one directory, by names that are asked about in any order and by several threads.
pub(crate) struct HiddenBelow {
    denied: Denied,
    written: Vec<PatternRule>,
    directory: PathBuf,
    work_tree: Option<HostPath>,
    /// What git tracks of it, once that was asked about.
    spared: OnceLock<BTreeSet<PathBuf>>,
}

impl HiddenBelow {
    /// Compiles the patterns for a directory; what the index of the work tree tracks is spared.
    pub(crate) fn new(
        policy: &Policy,
        directory: &Path,
        work_tree: Option<&HostPath>,
    ) -> Result<Self, PatternError> {
        let denied = Denied::new(&policy.deny)?;
        let denied = denied.narrower(&[directory], &policy.deny).unwrap_or(denied);
        let (written, spared) = (policy.deny.clone(), OnceLock::new());
        let (directory, work_tree) = (directory.to_owned(), work_tree.cloned());
        Ok(Self { denied, written, directory, work_tree, spared })
    }

    /// Returns whether a walk of the directory finds what stands at a path hidden.
    pub(crate) fn hides(&self, path: &Path) -> bool {
        self.denies(path) && !self.spared.get_or_init(|| self.tracked()).contains(path)
    }

    /// Returns whether patterns hide a name, whatever stands there.
    pub(crate) fn denies(&self, path: &Path) -> bool {
        self.rules().hides(path) && self.denied.hides(path, &|it| self.is_git(it))
    }

    /// The index is read once, and only when something is hidden.
    fn tracked(&self) -> BTreeSet<PathBuf> {
        let Some(work_tree) = &self.work_tree else { return BTreeSet::new() };
        let Ok(prefix) = self.directory.strip_prefix(work_tree.as_path()) else {
            return BTreeSet::new();
        };
        let rules = self.rules();
        let is_denied = |name: &[u8]| {
            let below = Path::new(OsStr::from_bytes(name)).strip_prefix(prefix);
            below.is_ok_and(|path| rules.hides(path) && rules.is_builtin(path))
        };
        tracked::below((work_tree, prefix), &rules, &is_denied)
    }

    fn rules(&self) -> Rules<'_> {
        Rules::of(&self.denied, &self.written)
    }

    fn is_git(&self, path: &Path) -> bool {
        PARTS.iter().all(|part| self.directory.join(path).join(part).symlink_metadata().is_ok())
    }
}
