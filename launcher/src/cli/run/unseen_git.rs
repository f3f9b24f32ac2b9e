//! Parts of the project's repository that lie elsewhere and that the view does not show: git inside takes it for damaged,
//! or for none. They are not granted by themselves, since whoever can write the repository can have it name any.

use std::path::{Path, PathBuf};

use endow_policy::{Access, HostPath};
use endow_vfs::{git_dir, git_tree};

use crate::cli::output::Output;
use crate::cli::stages::Planned;
use crate::plan::place::{Placed, Placement};

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
        let (git, flag) = (git.display(), flag(access));
        return Some(format!("git's directory of this project is not shown: {git} ({flag} {git})"));
    }
    let mut objects = places.objects.iter().filter(is_unseen).filter(|path| is_for_objects(path));
    let objects = objects.next()?.display();
    let what = "objects that this repository borrows are not shown";
    Some(format!("{what}: {objects} (--ro {objects})"))
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
