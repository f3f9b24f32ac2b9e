//! Links that lead out of a tree by way of others that stand there.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use super::Sides;
use super::link::LINKS;
use crate::fs::{Errno, Result};

impl Sides<'_> {
    /// Returns whether a new link would lead out of the tree when links on its way are followed, or where nobody
    /// may look. Looked at is the tree with what is new in it, and the tree alone: a name that is held stays as it is.
    ///
    /// `roots` are paths of the tree, as links name it.
    ///
    /// # Errors
    /// A failing call.
    pub fn lead_out(&self, link: &Path, target: &OsStr, roots: &[PathBuf]) -> Result<bool> {
        let Some(above) = link.parent() else { return Ok(true) };
        let tree = self.tree_alone();
        let found = leads_out(self, above, target, roots).and_then(|is_out| {
            let has_above = !is_out && tree.has_directory(above)?;
            Ok(is_out || (has_above && leads_out(&tree, above, target, roots)?))
        });
        match found {
            Err(Errno::ACCESS | Errno::PERM) => Ok(true),
            found => found,
        }
    }
}

/// A step of a way, the next one last.
enum Step {
    Up,
    Name(OsString),
}

fn leads_out(sides: &Sides<'_>, above: &Path, target: &OsStr, roots: &[PathBuf]) -> Result<bool> {
    let (mut real, mut links) = (above.to_owned(), 0);
    let mut steps = Vec::new();
    // Links whose way is not at its end, with the steps that come after it.
    let mut open: Vec<(PathBuf, usize)> = Vec::new();
    if !push(&mut steps, &mut real, target, roots) {
        return Ok(true);
    }
    while let Some(step) = steps.pop() {
        open.retain(|(_, after)| steps.len() >= *after);
        let Step::Name(name) = step else {
            if !real.pop() {
                return Ok(true);
            }
            continue;
        };
        real.push(name);
        let Some(target) = link_at(sides, &real)? else { continue };
        if open.iter().any(|(link, _)| *link == real) {
            // It leads to itself, and so nowhere.
            return Ok(false);
        }
        open.push((real.clone(), steps.len()));
        links += 1;
        real.pop();
        if links > LINKS || !push(&mut steps, &mut real, &target, roots) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the tree has behind a link of its own is not there where a new directory stands in the link's place.
fn link_at(sides: &Sides<'_>, real: &Path) -> Result<Option<OsString>> {
    match sides.link(real) {
        Err(Errno::LOOP) => Ok(None),
        found => found,
    }
}

/// Puts the steps of a link before the others; returns whether it begins in the tree.
fn push(steps: &mut Vec<Step>, real: &mut PathBuf, target: &OsStr, roots: &[PathBuf]) -> bool {
    let mut target = Path::new(target);
    if target.is_absolute() {
        let Some(below) = roots.iter().find_map(|root| target.strip_prefix(root).ok()) else {
            return false;
        };
        (target, *real) = (below, PathBuf::new());
    }
    steps.extend(target.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(Step::Name(name.to_owned())),
        Component::ParentDir => Some(Step::Up),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    }));
    true
}
