//! Parts of the project's repository that lie elsewhere and that the view does not show: git inside takes it for damaged,
//! or for none. They are not granted by themselves, since whoever can write the repository can have it name any.

use std::path::{Path, PathBuf};

use endow_policy::{Access, HostPath};
use endow_vfs::{git_dir, git_tree};

use crate::cli::output::Output;
use crate::cli::stages::Planned;
use crate::plan::place::{Placed, Placement};
use crate::plan::why::shell_word;

/// Says before the start what of the repository is not shown, and what would show it.
pub(crate) fn tell(planned: &Planned, output: &Output) {
    if !output.shows_notices() {
        return;
    }
    let Some(root) = &planned.surroundings.vars.git_root else { return };
    if let Some(line) = line(&planned.plan.placement, root) {
        output.notice(&line);
    }
}

fn line(placement: &Placement, root: &HostPath) -> Option<String> {
    let file = root.join(".git").ok()?;
    let access = shown(placement, file.as_path())?.spec.access;
    let places = git_tree::places(root.as_path()).ok()?;
    let is_unseen = |path: &&PathBuf| shown(placement, path).is_none();
    let mut git = places.git.iter().filter(is_unseen).filter(|path| git_dir::is(path));
    if let Some(git) = git.next() {
        let what = "the directory that `.git` of this project names is not shown";
        return Some(said(what, git, flag(access)));
    }
    let mut objects = places.objects.iter().filter(is_unseen).filter(|path| is_for_objects(path));
    Some(said("objects that this repository borrows are not shown", objects.next()?, "--ro"))
}

/// The repository may name any: whose it is knows the user.
fn said(what: &str, path: &Path, flag: &str) -> String {
    let word = shell_word(&path.to_string_lossy());
    format!("{what}: {} (if it is yours: {flag} {word})", path.display())
}

/// Returns the mount that shows what the host has at a path, at the same path.
fn shown<'a>(placement: &'a Placement, path: &Path) -> Option<&'a Placed> {
    let path = HostPath::new(path).ok()?;
    let at = path.to_guest();
    placement.covering(&at).filter(|placed| placed.host_path(&at).as_ref() == Some(&path))
}

/// Whether a directory looks like one for objects of a repository: no other is proposed, whatever a command made it say.
fn is_for_objects(path: &Path) -> bool {
    path.ends_with("objects") && path.parent().is_some_and(git_dir::is)
}

/// Returns the flag that grants as much as the workspace.
fn flag(access: Access) -> &'static str {
    match access {
        Access::Ro => "--ro",
        Access::Rw => "--rw",
        Access::Cow => "--cow",
    }
}
