//! What an action may not see of the project, and may not leave there, whoever states it: the file that
//! does needs no trust.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use endow_policy::{Policy, ProtectSet};
use endow_vfs::fs::{Kind, OsFs};
use endow_vfs::inputs::Leaf;
use endow_vfs::traps::{GitTraps, LinkTraps, NewNames, Sides};

use super::place::PREFIX;
use crate::cli::error::CommandError;
use crate::cli::sources::surroundings::Surroundings;
use crate::cli::stages::{unknown_leads, unusable};
use crate::finish::protects_own_code_alone;
use crate::probe::{HiddenBelow, leads};

/// The kernel follows no more links on one way (MAXSYMLINKS).
const HOPS: usize = 40;

/// The rules of the policy for files of the project.
pub(super) struct Rules {
    hidden: HiddenBelow,
    protect: ProtectSet,
    directory: PathBuf,
}

impl Rules {
    /// Returns the rules that hold below a directory.
    pub(super) fn of(
        policy: &Policy,
        directory: &Path,
        surroundings: &Surroundings,
    ) -> Result<Self, CommandError> {
        let work_tree = surroundings.vars.git_root.as_ref();
        let hidden = HiddenBelow::new(policy, directory, work_tree).map_err(unusable)?;
        let mut protect = ProtectSet::new(&policy.protect).map_err(unusable)?;
        let user = (&surroundings.vars, &surroundings.environment[..]);
        let led = leads::below((policy, &protect), directory, user).map_err(unknown_leads)?;
        if let Some(rules) = led {
            protect = ProtectSet::new(&rules).map_err(unusable)?;
        }
        Ok(Self { hidden, protect: protect.below(directory), directory: directory.to_owned() })
    }

    /// Returns whether what stands at a path is hidden from every command.
    pub(super) fn hides(&self, path: &str) -> bool {
        self.hidden.hides(Path::new(path))
    }

    /// Says why something can't be put at a path; `None` when it can.
    pub(super) fn refuses(&self, path: &str) -> Option<String> {
        let at = Path::new(path);
        if self.hidden.denies(at) {
            return Some(format!("{path}: `[deny]` hides the name from every command"));
        }
        let rule = self.protect.guarding(at)?;
        if protects_own_code_alone(rule, at) {
            return None;
        }
        Some(format!("{path}: somebody else runs or reads it later ({})", rule.pattern))
    }

    /// Says likewise why a file or link can't be put there.
    pub(super) fn refuses_leaf(&self, path: &str, leaf: &Leaf) -> Option<String> {
        match leaf {
            _ if path.split('/').any(|name| name.starts_with(PREFIX)) => {
                Some(format!("{path}: names that begin with `{PREFIX}` are endow's own"))
            }
            Leaf::Symlink { target } if leads_out(path, target) => Some(led_out(path, target)),
            _ => self.refuses(path),
        }
    }

    /// Says why one of the files and links that are to be put into the project can't be: by their names, and by what
    /// git would make of them there.
    pub(super) fn refuses_any(
        &self,
        leaves: &[(String, Leaf)],
        project: BorrowedFd<'_>,
    ) -> Option<String> {
        let refused = leaves.iter().find_map(|(path, leaf)| self.refuses_leaf(path, leaf));
        refused.or_else(|| self.traps(leaves, project))
    }

    fn traps(&self, leaves: &[(String, Leaf)], project: BorrowedFd<'_>) -> Option<String> {
        let link = |leaf: &Leaf| match leaf {
            Leaf::Symlink { target } => Some(OsString::from(target)),
            Leaf::File { .. } => None,
        };
        let new: NewNames = leaves.iter().map(|(path, leaf)| (path.into(), link(leaf))).collect();
        let sides = Sides::with_new(&OsFs, &new, project);
        let git = GitTraps::new(sides.clone());
        let protected = |path: &Path| self.protect.guarding(path).map(|rule| rule.pattern.clone());
        let roots = vec![self.directory.clone()];
        let links = LinkTraps::new((sides.clone(), roots.clone()), &git, &protected);
        let leads_out = |path: &str, leaf: &Leaf| {
            let lead_out = |target: OsString| sides.lead_out(Path::new(path), &target, &roots);
            link(leaf).is_some_and(|target| lead_out(target).unwrap_or(true))
        };
        if let Some((path, Leaf::Symlink { target })) =
            leaves.iter().find(|it| leads_out(&it.0, &it.1))
        {
            return Some(led_out(path, target));
        }
        leaves.iter().find_map(|(path, leaf)| {
            let at = Path::new(path);
            let why = match leaf {
                Leaf::Symlink { .. } => {
                    let held = git.held(at, Kind::Symlink).map(str::to_owned);
                    held.or_else(|| links.held(at))
                }
                Leaf::File { .. } => git.held(at, Kind::File).map(str::to_owned),
            };
            let why = why?;
            Some(if is_circle(path, leaves) {
                format!("{path}: the link leads to itself")
            } else {
                format!("{path}: git or another program follows or runs it later ({why})")
            })
        })
    }
}

fn led_out(path: &str, target: &str) -> String {
    format!("{path}: the link leads out of the project: {target}")
}

/// Returns whether a link leads back to itself, be it by way of others of these.
fn is_circle(path: &str, leaves: &[(String, Leaf)]) -> bool {
    let target = |of: &str| {
        leaves.iter().find_map(|(path, leaf)| match leaf {
            Leaf::Symlink { target } if path == of => Some(joined(of, target)),
            _ => None,
        })
    };
    let way = std::iter::successors(target(path), |at| target(at));
    way.take(HOPS).any(|at| at == path)
}

/// Returns the path that a link leads to by the names in it.
fn joined(path: &str, target: &str) -> String {
    let mut names: Vec<&str> = path.split('/').collect();
    names.pop();
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.join("/")
}

/// Returns whether a link leads out of the directory of the build, or may: after a name that is a link itself, `..`
/// leads elsewhere than it says.
fn leads_out(path: &str, target: &str) -> bool {
    if target.starts_with('/') {
        return true;
    }
    let names = || target.split('/').filter(|name| !matches!(*name, "" | "."));
    let up = names().take_while(|name| *name == "..").count();
    up >= path.split('/').count() || names().skip(up).any(|name| name == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circle_of_links_is_known() {
        let link = |(path, target): (&str, &str)| {
            (path.to_owned(), Leaf::Symlink { target: target.to_owned() })
        };
        let links = [("o", "o"), ("d/a", "./b"), ("d/b", "../d/a"), ("x", "o"), ("y", "z")];
        let leaves = links.map(link);
        for (path, expected) in
            [("o", true), ("d/a", true), ("d/b", true), ("x", false), ("y", false)]
        {
            assert_eq!(is_circle(path, &leaves), expected, "{path}");
        }
    }

    #[test]
    fn link_that_leads_out_is_known() {
        for (path, target) in [
            ("a", "/x"),
            ("a", "../x"),
            ("d/a", "../../x"),
            ("d/a", "b/../../../x"),
            ("a", ".."),
            ("d/a", "b/../c"),
            ("a", "./b/.."),
        ] {
            assert!(leads_out(path, target), "{path} {target}");
        }
        for (path, target) in
            [("a", "b"), ("d/a", "../b"), ("d/e/a", "../../b"), ("d/a", ".//../b/c")]
        {
            assert!(!leads_out(path, target), "{path} {target}");
        }
    }
}
