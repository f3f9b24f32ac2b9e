//! Copy-on-write mounts of trees: an upper layer above the cached tree, and for a commit a git
//! directory that belongs to the command.

use endow_policy::{BackendSpec, GuestPath, HostPath, Landing};
use endow_vfs::working_copy::BORROWED;
use serde::Serialize;

use super::PlanError;
use super::mounts::{LAYER, flags_of};
use super::place::{Placed, PlacedSource};
use super::step::{InitStep, MaskPoint, MountFlags, PrepareStep, RunPath, Source, Upper};
use super::tree::TreeFact;
use super::view::{Builder, DATA_ONLY};

/// What is known of a repository of which a working copy is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CopyFact {
    /// The branch that `HEAD` stands for inside, `refs/heads/...`; none when it is detached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// All references at the start.
    #[serde(skip)]
    pub references: Vec<(String, String)>,
    /// The patterns of `info/exclude`.
    #[serde(skip)]
    pub exclude: Vec<u8>,
    /// The commits at which a shallow clone ends.
    #[serde(skip)]
    pub shallow: Vec<String>,
    /// The index that fits the tree, which is a tree of the cache itself.
    pub index: TreeFact,
    /// The git directory of the work tree, and the one that all work trees share.
    pub git: [PlacedSource; 2],
    /// The object directories; the repository's own first.
    pub objects: Vec<BorrowedFact>,
    /// Who makes a commit when the policy does not say: `Name <address>`.
    pub author: String,
    /// The branches that a work tree of the host has checked out.
    #[serde(skip)]
    pub checked_out: Vec<String>,
}

/// An object directory that is borrowed from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BorrowedFact {
    /// The directory.
    #[serde(flatten)]
    pub place: PlacedSource,
    /// It names others itself, which are listed here, too.
    pub has_alternates: bool,
}

/// A copy-on-write mount of a tree: what is changed in it becomes a commit or a digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedTree {
    /// Its place in the view.
    pub at: GuestPath,
    /// What it shows.
    pub tree: TreeFact,
    /// Where the run keeps its layer.
    pub layer: RunPath,
    /// Where changes of a git tree go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landing: Option<Landing>,
}

/// What the git directory of a working copy begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GitStart {
    /// How objects are named: `sha1` or `sha256`.
    pub algorithm: String,
    /// What `HEAD` stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit.
    pub commit: String,
    /// All references.
    #[serde(skip)]
    pub references: Vec<(String, String)>,
    /// The patterns of `info/exclude`.
    #[serde(skip)]
    pub exclude: Vec<u8>,
    /// The commits at which a shallow clone ends.
    #[serde(skip)]
    pub shallow: Vec<String>,
    /// Where objects are borrowed, inside.
    pub borrowed: Vec<GuestPath>,
}

impl Builder<'_> {
    /// Mounts a tree that can be changed.
    pub(super) fn changed_tree(
        &mut self,
        placed: &Placed,
        fact: &TreeFact,
    ) -> Result<(), PlanError> {
        let spec = &placed.spec;
        let layer = RunPath(format!("{LAYER}/t{:03}", self.plan.trees.len()).into());
        let git = git_start(&spec.at, fact)?;
        self.plan.prepare.push(PrepareStep::TreeLayer { at: layer.clone(), git });
        let mut lower: Vec<Source> = self.points_of(placed).into_iter().collect();
        if let Some(copy) = &fact.copy {
            self.needs_tree(&copy.index);
            lower.extend(copy.index.layers());
        }
        lower.extend(fact.layers());
        let (upper, flags) = (Some(Upper::Run(layer.clone())), flags_of(spec, false));
        self.step(InitStep::Overlay { lower, upper, at: spec.at.clone(), flags });
        self.mounted(&spec.at, false);
        for (number, borrowed) in fact.copy.iter().flat_map(|it| &it.objects).enumerate() {
            self.borrow(borrowed, borrowed_at(&spec.at, number)?);
        }
        let landing = match &spec.backend {
            BackendSpec::Git { landing, .. } => Some(landing.clone()),
            _ => None,
        };
        let (at, tree) = (spec.at.clone(), fact.clone());
        self.plan.trees.push(ChangedTree { at, tree, layer, landing });
        Ok(())
    }

    /// Shows an object directory of the host, without its list of others: these are borrowed from
    /// beside it, at places that the command can see.
    fn borrow(&mut self, borrowed: &BorrowedFact, at: GuestPath) {
        let source = &borrowed.place;
        let real = source.source();
        let step = if borrowed.has_alternates {
            let layer = RunPath(format!("mask/{}", self.plan.prepare.len()).into());
            self.plan.prepare.push(PrepareStep::Mask {
                at: layer.clone(),
                like: source.path.clone(),
                expect: source.id,
                hide: vec!["info/alternates".into()],
                points: Vec::new(),
            });
            let lower = vec![Source::Run(layer), real];
            InitStep::Overlay { lower, upper: None, at: at.clone(), flags: DATA_ONLY }
        } else {
            let flags = MountFlags { recursive: false, ..DATA_ONLY };
            InitStep::Bind { source: real, at: at.clone(), flags }
        };
        self.step(step);
        self.mounted(&at, false);
    }

    /// Returns the layer that has the places of mounts in a tree.
    pub(super) fn points_of(&mut self, placed: &Placed) -> Option<Source> {
        let points: Vec<MaskPoint> = self.points_in(placed);
        if points.is_empty() {
            return None;
        }
        let layer = RunPath(format!("mask/{}", self.plan.prepare.len()).into());
        self.plan.prepare.push(PrepareStep::Points { at: layer.clone(), points });
        Some(Source::Run(layer))
    }

    /// Sees to it that a tree is in the cache.
    pub(super) fn needs_tree(&mut self, fact: &TreeFact) {
        let step = PrepareStep::Tree { tree: fact.clone(), cache_bytes: self.cache_bytes };
        if !self.plan.prepare.contains(&step) {
            self.plan.prepare.push(step);
        }
    }
}

fn git_start(at: &GuestPath, fact: &TreeFact) -> Result<Option<GitStart>, PlanError> {
    let (Some(copy), Some(commit)) = (&fact.copy, &fact.commit) else { return Ok(None) };
    let borrowed = (0..copy.objects.len()).map(|number| borrowed_at(at, number));
    let algorithm = fact.id.strip_prefix("git-").and_then(|id| id.split_once(':'));
    Ok(Some(GitStart {
        algorithm: algorithm.map_or_else(String::new, |(name, _)| name.to_owned()),
        branch: copy.branch.clone(),
        commit: commit.clone(),
        references: copy.references.clone(),
        exclude: copy.exclude.clone(),
        shallow: copy.shallow.clone(),
        borrowed: borrowed.collect::<Result<_, _>>()?,
    }))
}

fn borrowed_at(at: &GuestPath, number: usize) -> Result<GuestPath, PlanError> {
    let path = at.join(format!("{BORROWED}/{number}"));
    path.map_err(|_| PlanError::NoMountPoint { at: at.clone(), within: at.clone() })
}

/// Returns why a policy and a repository don't fit.
pub(super) fn refuse(landing: &Landing, fact: &TreeFact) -> Option<(String, &'static str)> {
    let Some(copy) = &fact.copy else {
        let message = format!("{}: it is no commit, and only one can be changed", fact.source);
        return Some((message, "name a commit, or leave `cow` out"));
    };
    match &landing.to {
        endow_policy::LandsAt::Branch(name) if copy.checked_out.contains(name) => {
            let message = format!("{}: branch {name} is checked out", fact.source);
            Some((message, "name another branch, and merge it"))
        }
        _ => None,
    }
}

impl TreeFact {
    /// Returns what of the host a working copy shows beside the cache.
    pub(super) fn borrowed(&self) -> impl Iterator<Item = &HostPath> {
        self.copy.iter().flat_map(|copy| copy.objects.iter().map(|it| &it.place.path))
    }
}
