//! Changes of trees, as changes that are shown. Their versions stand as files in the run's directory
//! while they are.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use endow_policy::{GuestPath, is_invisible};
use endow_vfs::fs::{Errno, Fs, Kind, OsFs};
use endow_vfs::git_tree::{Algorithm, Id};
use endow_vfs::state::{RunDir, TreeOrigin, TreeRecord};
use endow_vfs::sync::{ChangeKind, Seen, Time};
use endow_vfs::versions::{Version, VersionKind, Versions};
use serde_json::{Value, json};

use super::change::{Form, Shown, Side};
use crate::cli::diff::quoted;
use crate::cli::error::{CommandError, Kind as ErrorKind};
use crate::cli::output::Output;
use crate::cli::output::json_text;
use crate::cli::runs::locked::Picked;
use crate::trees::{self, Wanted};

/// Where versions stand in a run's directory.
const PLACE: &str = "shown";
/// The most paths of a list in JSON.
const LIST_MAX: usize = 10_000;

/// Changes of the trees of a run; what was exported goes with the value.
pub(crate) struct ShownTrees<'a> {
    run: &'a RunDir,
    all: Vec<ShownTree>,
}

struct ShownTree {
    at: GuestPath,
    dir: OwnedFd,
    versions: Vec<Versions>,
    left_out: Vec<LeftOut>,
    /// What the result is called.
    result: &'static str,
    algorithm: Algorithm,
}

/// A path that is not in the result.
struct LeftOut {
    path: PathBuf,
    /// `None` for what git ignores.
    why: Option<String>,
}

impl<'a> ShownTrees<'a> {
    /// Exports what is to be shown of all trees.
    pub(crate) fn export(picked: &'a Picked, wanted: Wanted) -> Result<Self, CommandError> {
        let mut this = Self { run: &picked.run, all: Vec::new() };
        let has_trees = picked.record.trees.iter().any(|tree| !tree.undone);
        if has_trees {
            // What one that was killed left.
            this.run.remove_part(&OsFs, Path::new(PLACE))?;
            OsFs.make_dir(this.run.as_fd(), PLACE.as_ref(), 0o700).map_err(unusable)?;
        }
        for (number, tree) in picked.record.trees.iter().enumerate().filter(|it| !it.1.undone) {
            if let Some(paths) = picked.selected_in(tree) {
                this.all.push(ShownTree::export(this.run, (number, tree), (&paths, wanted))?);
            }
        }
        Ok(this)
    }

    pub(crate) fn shown(&self) -> Vec<Shown<'_>> {
        self.all.iter().flat_map(|tree| tree.versions.iter().map(|it| tree.shown(it))).collect()
    }

    /// Returns what is in no result, as lines that git skips.
    pub(crate) fn beside(&self) -> String {
        self.all.iter().flat_map(ShownTree::lines).collect()
    }

    /// Says how much is in no result.
    pub(crate) fn tell(&self, id: &str, output: &Output) {
        for tree in &self.all {
            let refused = tree.left_out.iter().filter(|it| it.why.is_some()).count();
            let ignored = tree.left_out.len() - refused;
            let (at, result) = (&tree.at, tree.result);
            let json = format!("`endow diff {id} --json`");
            if refused > 0 {
                output.notice(&format!("{at}: {refused} in no {result} ({json})"));
            }
            if ignored > 0 {
                output.notice(&format!("{at}: {ignored} left out, git ignores them ({json})"));
            }
        }
    }

    /// Returns the list `trees` of the JSON form.
    pub(crate) fn value(&self) -> Value {
        self.all.iter().map(ShownTree::value).collect()
    }
}

impl Drop for ShownTrees<'_> {
    fn drop(&mut self) {
        // What stays goes with the next `diff`, or with the run.
        drop(self.run.remove_part(&OsFs, Path::new(PLACE)));
    }
}

impl ShownTree {
    fn export(
        run: &RunDir,
        (number, tree): (usize, &TreeRecord),
        selected: (&[PathBuf], Wanted),
    ) -> Result<Self, CommandError> {
        let place = OsFs.open_dir(run.as_fd(), PLACE.as_ref()).map_err(unusable)?;
        let name = number.to_string();
        OsFs.make_dir(place.as_fd(), name.as_ref(), 0o700).map_err(unusable)?;
        let dir = OsFs.open_dir(place.as_fd(), name.as_ref()).map_err(unusable)?;
        let versions = trees::export(&run.path().join(&tree.layer), tree, dir.as_fd(), selected);
        let versions = versions.map_err(|error| {
            CommandError::new(ErrorKind::Setup, error.to_string()).because(&error).about(&tree.at)
        })?;
        let captured = tree.captured.iter();
        let takes = |path: &Path| {
            selected.0.is_empty() || selected.0.iter().any(|above| path.starts_with(above))
        };
        let refused = captured.clone().flat_map(|it| &it.refused);
        let refused =
            refused.map(|it| LeftOut { path: it.path.clone(), why: Some(it.why.clone()) });
        let ignored = captured.flat_map(|it| &it.ignored);
        let ignored = ignored.map(|path| LeftOut { path: path.clone(), why: None });
        let left_out = refused.chain(ignored).filter(|it| takes(&it.path)).collect();
        let (result, algorithm) = match &tree.from {
            TreeOrigin::Git(git) => ("commit", git.commit.parse().map(|id: Id| id.algorithm())),
            TreeOrigin::Cas(_) => ("tree", Ok(Algorithm::default())),
        };
        let algorithm = algorithm.unwrap_or_default();
        Ok(Self { at: tree.at.clone(), dir, versions, left_out, result, algorithm })
    }

    fn shown(&self, versions: &Versions) -> Shown<'_> {
        let path = versions.path();
        Shown {
            path: path.to_owned(),
            place: self.at.as_path().join(path),
            kind: kind(versions),
            old: side(self.dir.as_fd(), versions.old),
            new: side(self.dir.as_fd(), versions.new),
            conflict: None,
            refused: None,
            is_changed_since: false,
            is_held: false,
            algorithm: self.algorithm,
        }
    }

    fn lines(&self) -> impl Iterator<Item = String> {
        self.left_out.iter().map(|LeftOut { path, why }| {
            let why = why.as_deref().unwrap_or("git ignores it");
            let why = why.replace(is_invisible, "?");
            format!("# {}: left out, {why}\n", quoted("", path))
        })
    }

    fn value(&self) -> Value {
        let refused = self.left_out.iter().filter_map(|it| Some((&it.path, it.why.as_ref()?)));
        let refused =
            refused.map(|(path, why)| json!({"path": json_text::path(path), "reason": why}));
        let ignored = self.left_out.iter().filter(|it| it.why.is_none());
        json!({
            "at": json_text::path(self.at.as_path()),
            "refused": refused.take(LIST_MAX).collect::<Vec<_>>(),
            "ignored": ignored.take(LIST_MAX).map(|it| json_text::path(&it.path)).collect::<Vec<_>>(),
        })
    }
}

fn kind(versions: &Versions) -> ChangeKind {
    match (&versions.old, &versions.new) {
        (None, _) => ChangeKind::Created,
        (_, None) => ChangeKind::Deleted,
        (Some(old), Some(new)) if node(*old) != node(*new) => ChangeKind::Replaced(node(*old)),
        _ if versions.is_same_content => ChangeKind::Attributes,
        _ => ChangeKind::Modified,
    }
}

fn node(version: Version) -> Kind {
    match version.kind {
        VersionKind::File | VersionKind::Executable => Kind::File,
        VersionKind::Symlink => Kind::Symlink,
        VersionKind::Directory => Kind::Directory,
        VersionKind::Submodule => Kind::Other,
    }
}

fn side(dir: BorrowedFd<'_>, version: Option<Version>) -> Side<'_> {
    let path = version.and_then(|it| it.file).map(|name| name.to_string()).unwrap_or_default();
    Side { seen: version.map(seen), dir, path: path.into(), form: Form::Exported }
}

/// Trees know kinds and the bit for execution.
fn seen(version: Version) -> Seen {
    let mode = match version.kind {
        VersionKind::File => 0o644,
        VersionKind::Executable | VersionKind::Directory => 0o755,
        VersionKind::Symlink => 0o777,
        VersionKind::Submodule => 0,
    };
    let never = Time { seconds: 0, nanoseconds: 0 };
    let (kind, size) = (node(version), version.size);
    Seen { kind, ino: 0, born: None, size, mode, modified: never, changed: never }
}

fn unusable(errno: Errno) -> CommandError {
    let message = "can't export what is to be shown into the run's directory";
    CommandError::new(ErrorKind::Setup, message).because(&errno)
}
