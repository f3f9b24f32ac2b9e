//! Where the links of a path lead.

use std::path::{Component, Path};

use endow_policy::GuestPath;

use super::tell::Questions;
use super::walk::{Lost, Place};

impl Questions<'_> {
    /// Returns the place that a path of the view names, with the links followed that the view has: where
    /// one leads to what it has not, that is the place. `None` when it can't be told.
    pub fn leads_to(&self, path: &Path) -> Option<GuestPath> {
        match self.walk(path) {
            Ok(Place::Found(node)) => Some(node.at),
            Ok(Place::Vacant { at, .. }) => Some(at),
            Err(lost) => wanted(&lost),
        }
    }
}

/// What is not there may be a link as well: what `..` behind it means is not known.
pub(super) fn wanted(lost: &Lost) -> Option<GuestPath> {
    let is_plain = lost.rest.components().all(|it| matches!(it, Component::Normal(_)));
    let is_known = is_plain && !lost.rest.as_os_str().is_empty();
    is_known.then(|| lost.at.join(&lost.rest).ok()).flatten()
}
