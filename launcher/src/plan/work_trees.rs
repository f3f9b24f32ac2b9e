//! Work trees that are linked to a repository and that the view does not show. git takes one whose `.git` it does not
//! find for one that somebody removed, and takes its index, `HEAD` and logs away (git-worktree(1), prune). So an empty,
//! read-only directory stands there, in one that can't be moved: git sees that something is there, and neither prunes nor removes it. What the
//! repository keeps of it stays open, since git needs that to rename branches and to expire logs.
//!
//! Where nothing can be made, what is kept is read-only in a live mount. To take it away from a layer is refused when
//! that is written back.

use std::collections::BTreeSet;

use endow_policy::{Access, BackendSpec, GuestPath};
use endow_vfs::git_dir;

use super::PlanError;
use super::host::{RepositoryFacts, WorkTree};
use super::place::Placed;
use super::skeleton::is_kernels;
use super::step::{InitStep, Source};
use super::view::{Builder, DATA_ONLY};

impl Builder<'_> {
    /// Keeps what belongs to work trees that the command can't see.
    pub(super) fn work_trees(&mut self) -> Result<(), PlanError> {
        let (placement, host) = (self.placement, self.host);
        let mut unseen = BTreeSet::new();
        for placed in placement.mounts.iter().filter(|placed| placed.spec.access != Access::Ro) {
            let source = placed.source.as_ref().map(|source| &source.path);
            let repository = source.and_then(|source| host.repositories.get(source));
            let trees = repository.map(RepositoryFacts::work_trees).unwrap_or_default();
            for tree in trees.iter().filter(|_| placed.is_physical()) {
                unseen.extend(self.unseen(placed, tree)?);
            }
        }
        unseen.iter().try_for_each(|at| self.directory(at, 0o755))?;
        // One may be in another: each tree shows what is below it, and only then what is read-only in them.
        let trees: BTreeSet<GuestPath> = unseen.iter().filter_map(GuestPath::parent).collect();
        for tree in &trees {
            self.hold_tree(tree);
        }
        for at in &unseen {
            self.hold_empty(at);
        }
        Ok(())
    }

    /// Returns where git looks for a work tree, if it finds nothing there and a directory can be made. If none can, what
    /// is kept is covered.
    fn unseen(&mut self, placed: &Placed, tree: &WorkTree) -> Result<Option<GuestPath>, PlanError> {
        let at = self.place_of(placed, tree);
        let is_shown = |at: &GuestPath| self.shows(at, tree);
        let is_seen = |at: &GuestPath| is_shown(at) || self.is_seeded(at);
        if at.as_ref().is_some_and(is_seen) || is_shown(&tree.real.to_guest()) {
            return Ok(None);
        }
        let at = at.filter(|at| self.has_room(at));
        if at.is_none() && placed.is_live() {
            self.hold_entry(placed, &tree.kept)?;
        }
        Ok(at)
    }

    /// Returns the place in the view of which the repository says that the work tree's `.git` is there.
    fn place_of(&self, placed: &Placed, tree: &WorkTree) -> Option<GuestPath> {
        let kept = placed.spec.at.join(&tree.kept).ok()?;
        let said = if tree.said.is_absolute() {
            tree.said.clone()
        } else {
            git_dir::joined(kept.as_path(), &tree.said)?
        };
        let at = GuestPath::new(said).ok()?;
        let is_led = self.placement.links.keys().any(|link| at.is_within(link));
        Some(if is_led { tree.real.to_guest() } else { at })
    }

    /// Whether a mount shows the work tree's `.git` at a place.
    fn shows(&self, at: &GuestPath, tree: &WorkTree) -> bool {
        let Some(placed) = self.placement.covering(at) else { return false };
        let is_it = placed.host_path(at).is_some_and(|path| path == tree.real);
        let hidden = || {
            let (source, path) = (placed.source.as_ref()?, at.below(&placed.spec.at)?);
            let names = self.hidden_names(&placed.spec, source);
            names.iter().any(|name| path.starts_with(&name.path)).then_some(())
        };
        is_it && hidden().is_none()
    }

    /// Whether the view has nothing at a place, and something can be made there.
    fn has_room(&self, at: &GuestPath) -> bool {
        let is_open = self.placement.covering(at).is_none_or(|it| it.spec.access != Access::Ro);
        !is_kernels(at) && is_open && at.parent().is_some_and(|above| self.is_fresh(&above))
    }

    /// Whether a place is copied into a private directory.
    fn is_seeded(&self, at: &GuestPath) -> bool {
        let covering = self.placement.covering(at).map(|placed| &placed.spec.backend);
        let Some(BackendSpec::Private { seed, .. }) = covering else { return false };
        seed.iter().any(|seed| at.is_within(&seed.to_guest()))
    }

    /// Makes a mount of the directory of a work tree, so that it can't be moved. Where a mount is in it, it can't be either.
    fn hold_tree(&mut self, tree: &GuestPath) {
        let has_mounts = self.placement.mounts.iter().any(|it| it.spec.at.is_within(tree));
        if has_mounts || tree.is_root() {
            return;
        }
        match self.placement.covering(tree) {
            Some(placed) => self.hold_place(&placed.spec, tree),
            None => self.hold_empty(tree),
        }
    }

    fn hold_empty(&mut self, at: &GuestPath) {
        if self.bound.insert((at.clone(), true)) {
            let (source, at) = (Source::Guest(at.clone()), at.clone());
            self.step(InitStep::Bind { source, at, flags: DATA_ONLY });
        }
    }
}
