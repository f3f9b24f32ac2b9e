//! Mounts of git trees and of content-addressed trees: made once in the user's cache, shown
//! read-only.

use std::path::PathBuf;

use endow_policy::{Access, BackendSpec, HostPath, MountSpec};
use endow_vfs::trees::NoteName;
use serde::Serialize;

use super::PlanError;
use super::host::HostFacts;
use super::mounts::flags_of;
use super::place::Placed;
use super::step::{InitStep, MaskPoint, MountFlags, Source};
use super::view::Builder;
use super::working_copy::{self, CopyFact};

/// A tree that a mount shows, as its name was resolved: once, before the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TreeFact {
    /// What the tree is: `git-sha1:HEX`, `git-sha256:HEX` or `sha256:HEX/SIZE`; with `/sparse:HASH`
    /// what these patterns select of it.
    pub id: String,
    /// The commit that was named, when it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Which paths of it are shown; without a pattern all are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sparse: Vec<String>,
    /// Its name in the cache.
    pub key: String,
    /// What to call a note of which tree the revision leads to, where there is none.
    #[serde(skip)]
    pub note: Option<NoteName>,
    /// The cache.
    pub cache: HostPath,
    /// Where it lies once it is made.
    pub root: HostPath,
    /// Where its contents are: the repository or the store.
    pub source: HostPath,
    /// Whether it is made already.
    pub is_made: bool,
    /// What a working copy of it needs; `None` where there can be none, or is to be none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy: Option<Box<CopyFact>>,
    /// The tree over which this one is a layer of differences; without one it is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<TreeBase>,
}

/// A tree of the cache, of the same source, that another one stands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TreeBase {
    /// What the tree is.
    pub id: String,
    /// Its name in the cache.
    pub key: String,
    /// Where it lies.
    pub root: HostPath,
}

impl TreeFact {
    /// Returns the layers that together are the tree, the topmost first.
    pub fn layers(&self) -> Vec<Source> {
        let base = self.base.as_ref().map(|base| &base.root);
        std::iter::once(&self.root).chain(base).cloned().map(Source::Tree).collect()
    }

    /// Returns the whole tree that this one stands on.
    pub fn whole_base(&self) -> Option<Self> {
        let TreeBase { id, key, root } = self.base.clone()?;
        Some(Self {
            id,
            key,
            root,
            base: None,
            commit: None,
            note: None,
            copy: None,
            ..self.clone()
        })
    }
}

/// Why the name of a tree leads to none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TreeFault {
    /// What went wrong, and on what.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether there is nothing of this name, rather than something that can't be used.
    pub is_absent: bool,
}

/// Returns what the facts of the host know a tree by; `None` for other kinds of mount.
pub fn tree_name(spec: &MountSpec) -> Option<String> {
    let name = match &spec.backend {
        // No pattern has an end of a line.
        BackendSpec::Git { repository, rev, sparse, .. } => {
            let patterns: String = sparse.iter().map(|it| format!("\n{it}")).collect();
            format!("{repository}@{rev}{patterns}")
        }
        BackendSpec::Cas { digest } => digest.clone(),
        _ => return None,
    };
    Some(if spec.access == Access::Cow { format!("cow {name}") } else { name })
}

/// Places a tree; `None` for an optional one that is not there.
pub(super) fn place_tree(spec: &MountSpec, host: &HostFacts) -> Result<Option<Placed>, PlanError> {
    let found = tree_name(spec).and_then(|name| host.trees.get(&name));
    match found.ok_or_else(|| PlanError::no_place(spec))? {
        Ok(fact) if refused(spec, fact).is_some() => {
            let (at, origin) = (spec.at.clone(), spec.origin.clone());
            let fault = refused(spec, fact).unwrap_or_default();
            Err(PlanError::NoTree { at, fault, origin })
        }
        Ok(fact) => Ok(Some(Placed {
            spec: spec.clone(),
            source: None,
            tree: Some(Box::new(fact.clone())),
        })),
        Err(fault) if fault.is_absent && spec.options.optional => Ok(None),
        Err(fault) => {
            let (at, origin) = (spec.at.clone(), spec.origin.clone());
            Err(PlanError::NoTree { at, fault: fault.clone(), origin })
        }
    }
}

/// Returns why a tree can't be changed as a policy wants it.
fn refused(spec: &MountSpec, fact: &TreeFact) -> Option<TreeFault> {
    let BackendSpec::Git { landing, .. } = &spec.backend else { return None };
    let cow = (spec.access == Access::Cow).then(|| working_copy::refuse(landing, fact));
    let (message, hint) = cow.flatten()?;
    Some(TreeFault { message, hint: Some(hint.to_owned()), is_absent: false })
}

impl Builder<'_> {
    /// Shows a tree; where other mounts stand in it, a layer above it has their places.
    pub(super) fn tree(&mut self, placed: &Placed) -> Result<(), PlanError> {
        let Some(fact) = &placed.tree else { return Ok(()) };
        let spec = &placed.spec;
        self.directory(&spec.at, 0o755)?;
        self.needs_tree(fact);
        if spec.access == Access::Cow {
            return self.changed_tree(placed, fact);
        }
        let (mut lower, at) = (fact.layers(), spec.at.clone());
        let flags = MountFlags { recursive: false, ..flags_of(spec, false) };
        if let Some(points) = self.points_of(placed) {
            lower.insert(0, points);
        }
        self.step(match <[Source; 1]>::try_from(lower) {
            Ok([source]) => InitStep::Bind { source, at, flags },
            Err(lower) => InitStep::Overlay { lower, upper: None, at, flags },
        });
        self.mounted(&spec.at, false);
        Ok(())
    }

    pub(super) fn points_in(&self, placed: &Placed) -> Vec<MaskPoint> {
        let point = |other: &&Placed| {
            let path: PathBuf = other.spec.at.below(&placed.spec.at)?.to_path_buf();
            Some(MaskPoint { path, directory: other.is_directory() })
        };
        self.below(placed).iter().filter_map(point).collect()
    }
}

impl Placed {
    /// Returns whether names that the tree lacks can be mount points in it.
    pub(super) fn has_points(&self) -> bool {
        self.tree.is_some()
    }
}
