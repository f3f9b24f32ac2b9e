//! What a mask layer holds: pure.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Why a mask can't be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MaskError {
    /// A path is empty, absolute or has `..`; or the whole mount would be hidden.
    #[error("not a path below a mount: {}", path.display())]
    NotBelow {
        /// The path.
        path: PathBuf,
    },
    /// A mount point lies below one that is a file.
    #[error("mount point below a file: {}", path.display())]
    BelowFile {
        /// The deeper one.
        path: PathBuf,
    },
}

/// What a mount point must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointKind {
    /// An empty file.
    File,
    /// A directory.
    Directory,
}

/// One thing of a mask layer; each comes after the directory it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaskStep {
    /// A directory on the way to something: a copy of the real one in mode and times, through
    /// which the real one's names show.
    Directory(PathBuf),
    /// A directory in place of a hidden one, with a mount point below: nothing shows through.
    Opaque(PathBuf),
    /// A mount point.
    Point(PathBuf, PointKind),
    /// A whiteout.
    Whiteout(PathBuf),
}

impl MaskStep {
    /// Returns its path below the mount's root.
    pub fn path(&self) -> &Path {
        match self {
            Self::Directory(path)
            | Self::Opaque(path)
            | Self::Point(path, _)
            | Self::Whiteout(path) => path,
        }
    }
}

/// A mask layer as a list of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaskPlan {
    steps: Vec<MaskStep>,
}

impl MaskPlan {
    /// Plans the mask that hides `hidden` and makes the mount points that are not there.
    ///
    /// What lies below a hidden name is hidden with it. A mount point at or below a hidden name
    /// stands, and nothing else shows there.
    ///
    /// # Errors
    /// A path that is not below the mount, or a mount point below a file.
    pub fn new<'a>(
        hidden: impl IntoIterator<Item = &'a Path>,
        points: impl IntoIterator<Item = (&'a Path, PointKind)>,
    ) -> Result<Self, MaskError> {
        let mut root = Node::default();
        for path in hidden {
            root.below(path)?.is_hidden = true;
        }
        for (path, kind) in points {
            root.below(path)?.point = Some(kind);
        }
        let mut plan = Self::default();
        plan.add_names(&root, Path::new(""), Above::Visible)?;
        Ok(plan)
    }

    /// Returns the steps, parents first.
    pub fn steps(&self) -> &[MaskStep] {
        &self.steps
    }

    /// Returns whether no layer is needed.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    fn add_names(&mut self, node: &Node, path: &Path, above: Above) -> Result<(), MaskError> {
        for (name, child) in &node.names {
            self.add(child, path.join(name), above)?;
        }
        Ok(())
    }

    fn add(&mut self, node: &Node, path: PathBuf, above: Above) -> Result<(), MaskError> {
        let is_kept = node.holds_point();
        let (step, below) = match (node.point, node.is_hidden, above) {
            (Some(PointKind::File), ..) if !node.names.is_empty() => {
                return below_file(node, &path);
            }
            // What is mounted there covers all that would show; only what is not there is made.
            (Some(kind), false, above) => (MaskStep::Point(path.clone(), kind), above),
            (Some(PointKind::Directory), true, _) => {
                (MaskStep::Opaque(path.clone()), Above::Hidden)
            }
            (Some(kind), true, _) => (MaskStep::Point(path.clone(), kind), Above::Hidden),
            (None, true, Above::Visible) if is_kept => {
                (MaskStep::Opaque(path.clone()), Above::Hidden)
            }
            (None, true, Above::Visible) => {
                self.steps.push(MaskStep::Whiteout(path));
                return Ok(());
            }
            (None, _, Above::Hidden) if !is_kept => return Ok(()),
            (None, ..) => (MaskStep::Directory(path.clone()), above),
        };
        self.steps.push(step);
        self.add_names(node, &path, below)
    }
}

/// Whether the names of the real directory show.
#[derive(Clone, Copy)]
enum Above {
    Visible,
    Hidden,
}

#[derive(Default)]
struct Node {
    names: BTreeMap<OsString, Node>,
    is_hidden: bool,
    point: Option<PointKind>,
}

impl Node {
    fn below(&mut self, path: &Path) -> Result<&mut Self, MaskError> {
        let not_below = || MaskError::NotBelow { path: path.to_owned() };
        let is_plain = |name: &OsStr| !name.as_bytes().contains(&0);
        if path.as_os_str().is_empty() {
            return Err(not_below());
        }
        let mut node = self;
        for component in path.components() {
            match component {
                Component::Normal(name) if is_plain(name) => {
                    node = node.names.entry(name.to_owned()).or_default();
                }
                _ => return Err(not_below()),
            }
        }
        Ok(node)
    }

    fn holds_point(&self) -> bool {
        self.point.is_some() || self.names.values().any(Self::holds_point)
    }
}

fn below_file(node: &Node, path: &Path) -> Result<(), MaskError> {
    let name = node.names.keys().next().map(OsString::as_os_str).unwrap_or_default();
    Err(MaskError::BelowFile { path: path.join(name) })
}
