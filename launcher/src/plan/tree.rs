//! Mounts of git trees and of content-addressed trees: made once in the user's cache, shown
//! read-only.

use std::path::PathBuf;

use endow_policy::{Access, BackendSpec, HostPath, MountSpec};
use endow_vfs::trees::NoteName;
use serde::Serialize;

use super::PlanError;
use super::host::{HostFacts, KernelFacts};
use super::mounts::flags_of;
use super::place::Placed;
use super::step::{InitStep, MaskPoint, MountFlags, Source};
use super::view::Builder;
use super::working_copy::{self, CopyFact};

/// What endow mounts in every view.
const OWN_PLACES: [&str; 2] = ["proc", "dev"];

/// The most lower layers of one overlay: masks, mount points, and trees over another. Their names, of at most
/// three digits, and that of a layer of data are one option, of which the kernel takes 255 bytes.
pub const LAYERS_MAX: usize = 12;

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
    /// How its files stand in the cache.
    pub presented_as: Presented,
    /// Trees that together are this one, the topmost first; without any it is by itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Self>,
}

/// How the files of a tree stand in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presented {
    /// Large ones are stubs. Their bytes are those of the objects of the store, which have further
    /// names in this directory.
    Stubs {
        /// The directory.
        data: HostPath,
    },
    /// All are copies.
    Copy(WhyCopied),
}

impl Serialize for Presented {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why all files of a tree are copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyCopied {
    /// A repository has them packed: there is nothing to link.
    Packed,
    /// The copies are there already.
    Made,
    /// Another tree lies below, and stubs are read from the lowest layer alone.
    Above,
    /// This kernel's overlays take no layer of data from an ordinary user.
    Kernel(u32, u32),
    /// The kernel could, and refuses the directories at hand.
    Refused,
    /// Objects of the store can't have further names in the cache.
    OtherFileSystem,
    /// The cache's file system can't mark a file as a stub.
    NoAttributes,
}

impl TreeFact {
    /// Chooses how a tree of the store is shown: as it is made already, else with stubs where that
    /// is `possible`, which is asked only then.
    pub fn choose(
        stubs: Self,
        copy: Self,
        kernel: &KernelFacts,
        possible: impl FnOnce() -> Result<(), WhyCopied>,
    ) -> Self {
        let why = match kernel.version {
            (major, minor) if !kernel.takes_data_layers() => WhyCopied::Kernel(major, minor),
            _ if stubs.is_made => return stubs,
            _ if copy.is_made => WhyCopied::Made,
            _ => match possible() {
                Ok(()) => return stubs,
                Err(why) => why,
            },
        };
        Self { presented_as: Presented::Copy(why), ..copy }
    }
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
        if !self.parts.is_empty() {
            return self.parts.iter().flat_map(Self::layers).collect();
        }
        if let Presented::Stubs { data } = &self.presented_as {
            return vec![Source::Stubs { root: self.root.clone(), data: data.clone() }];
        }
        let base = self.base.as_ref().map(|base| &base.root);
        std::iter::once(&self.root).chain(base).cloned().map(Source::Tree).collect()
    }

    /// Returns the trees that must be in the cache for it, what others stand on first.
    pub fn needed(&self) -> Vec<Self> {
        if !self.parts.is_empty() {
            return self.parts.iter().flat_map(Self::needed).collect();
        }
        self.whole_base().into_iter().chain([self.clone()]).collect()
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
        BackendSpec::Cas { digest, layers } => {
            let layers: String = layers.iter().map(|it| format!("\n{it}")).collect();
            format!("{digest}{layers}")
        }
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
        self.step(match lower.as_slice() {
            [source @ Source::Tree(_)] => InitStep::Bind { source: source.clone(), at, flags },
            _ => InitStep::Overlay { lower, upper: None, at, flags },
        });
        self.mounted(&spec.at, false);
        Ok(())
    }

    pub(super) fn points_in(&self, placed: &Placed) -> Vec<MaskPoint> {
        let point = |other: &&Placed| {
            let path: PathBuf = other.spec.at.below(&placed.spec.at)?.to_path_buf();
            Some(MaskPoint { path, directory: other.is_directory() })
        };
        let mut points: Vec<MaskPoint> = self.below(placed).iter().filter_map(point).collect();
        let own = OWN_PLACES.iter().filter(|_| placed.spec.at.is_root());
        for path in own.map(PathBuf::from) {
            if points.iter().all(|point| point.path != path) {
                points.push(MaskPoint { path, directory: true });
            }
        }
        points
    }
}

impl Placed {
    /// Returns whether names that the tree lacks can be mount points in it.
    pub(super) fn has_points(&self) -> bool {
        self.tree.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(path: &str) -> HostPath {
        HostPath::new(path).expect("a path")
    }

    fn fact(is_made: bool, presented_as: Presented) -> TreeFact {
        TreeFact {
            id: "sha256:7ee/7".to_owned(),
            commit: None,
            note: None,
            sparse: Vec::new(),
            key: "sha256-7ee-7".to_owned(),
            cache: host("/cache"),
            root: host("/cache/KEY/root"),
            source: host("/cache/cas"),
            is_made,
            copy: None,
            base: None,
            parts: Vec::new(),
            presented_as,
        }
    }

    /// Checks how a tree is shown that is made with stubs, or as copies, on a kernel of which more is
    /// asked when nothing is made.
    fn check(
        version: (u32, u32),
        made: [bool; 2],
        possible: Option<Result<(), WhyCopied>>,
        expect: &str,
    ) {
        let kernel = KernelFacts {
            version,
            arch: String::new(),
            landlock_abi: 7,
            userns_refused: None,
            seccomp: true,
            proc_mountable: true,
        };
        let stubs = fact(made[0], Presented::Stubs { data: host("/cache/KEY/data") });
        let copy = fact(made[1], Presented::Copy(WhyCopied::Packed));
        let asked = || possible.expect("it is asked in vain");
        let chosen = TreeFact::choose(stubs, copy, &kernel, asked);
        assert_eq!(chosen.presented_as.to_string(), expect);
        let is_stubs = matches!(chosen.presented_as, Presented::Stubs { .. });
        assert_eq!(chosen.is_made, made[usize::from(!is_stubs)]);
    }

    #[test]
    fn tree_is_shown_as_it_is_made() {
        check((6, 18), [true, true], None, "stubs over linked objects");
        check((6, 18), [true, false], None, "stubs over linked objects");
        check((6, 18), [false, true], None, "copy (it is in the cache already)");
    }

    #[test]
    fn tree_that_is_to_be_made_has_stubs_where_it_can() {
        let none = [false, false];
        check((6, 16), none, Some(Ok(())), "stubs over linked objects");
        let refused = |why, words: &str| check((6, 18), none, Some(Err(why)), words);
        refused(WhyCopied::Refused, "copy (an overlay with a data-only layer is refused here)");
        refused(WhyCopied::OtherFileSystem, "copy (the store is on another file system)");
        refused(WhyCopied::NoAttributes, "copy (the cache's file system has no user attributes)");
    }

    #[test]
    fn older_kernel_is_shown_copies() {
        let words = "copy (Linux 6.15 takes no data-only layers from users)";
        for made in [[true, false], [false, true], [false, false]] {
            check((6, 15), made, None, words);
        }
    }
}
