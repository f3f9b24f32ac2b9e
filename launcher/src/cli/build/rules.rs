//! What an action may not see of the project, and may not leave there, whoever states it: the file that
//! does needs no trust.

use std::path::Path;

use endow_policy::{PatternSet, Policy, ProtectSet};
use endow_vfs::inputs::Leaf;

use crate::cli::error::CommandError;
use crate::cli::stages::{unknown_leads, unusable};
use crate::cli::surroundings::Surroundings;
use crate::probe::leads;

/// The rules of the policy for files of the project.
pub(super) struct Rules {
    deny: PatternSet,
    protect: ProtectSet,
}

impl Rules {
    /// Takes those that hold below a directory.
    pub(super) fn of(
        policy: &Policy,
        directory: &Path,
        surroundings: &Surroundings,
    ) -> Result<Self, CommandError> {
        let deny = PatternSet::new(&policy.deny).map_err(unusable)?.below(directory);
        let mut protect = ProtectSet::new(&policy.protect).map_err(unusable)?;
        let user = (&surroundings.vars, &surroundings.environment[..]);
        let led = leads::below((policy, &protect), directory, user).map_err(unknown_leads)?;
        if let Some(rules) = led {
            protect = ProtectSet::new(&rules).map_err(unusable)?;
        }
        Ok(Self { deny, protect: protect.below(directory) })
    }

    /// Returns whether a file is hidden from every command.
    pub(super) fn hides(&self, path: &str) -> bool {
        self.deny.hides(Path::new(path))
    }

    /// Says why something can't be put at a path; `None` when it can.
    pub(super) fn refuses(&self, path: &str) -> Option<String> {
        if self.hides(path) {
            return Some(format!("{path}: the name is hidden from commands"));
        }
        let rule = self.protect.guarding(Path::new(path))?;
        Some(format!("{path}: somebody else runs or reads it later ({})", rule.pattern))
    }

    /// Says likewise why a file or link can't be put there.
    pub(super) fn refuses_leaf(&self, path: &str, leaf: &Leaf) -> Option<String> {
        match leaf {
            Leaf::Symlink { target } if leads_out(path, target) => {
                Some(format!("{path}: the link leads out of the project: {target}"))
            }
            _ => self.refuses(path),
        }
    }
}

/// Returns whether a link, taken in writing, leads out of the directory of the build.
fn leads_out(path: &str, target: &str) -> bool {
    if target.starts_with('/') {
        return true;
    }
    let mut depth = path.split('/').count() - 1;
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::leads_out;

    #[test]
    fn link_that_leads_out_is_known() {
        for (path, target) in
            [("a", "/x"), ("a", "../x"), ("d/a", "../../x"), ("d/a", "b/../../../x"), ("a", "..")]
        {
            assert!(leads_out(path, target), "{path} {target}");
        }
        for (path, target) in [("a", "b"), ("d/a", "../b"), ("d/e/a", "../../b"), ("a", "b/../c")] {
            assert!(!leads_out(path, target), "{path} {target}");
        }
    }
}
