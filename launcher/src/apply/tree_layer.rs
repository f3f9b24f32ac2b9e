//! The layer of a copy-on-write mount of a tree, with the git directory of a working copy in it.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use endow_vfs::fs::{At, Errno, Fs, OsFs, write_all};
use endow_vfs::git_tree::{Algorithm, Head, Id};
use endow_vfs::materialize::MODIFIED;
use endow_vfs::state::{RunDir, StateError};
use endow_vfs::working_copy::{self, CopyError, REFERENCES, Start};

use crate::plan::GitStart;
use crate::plan::step::{UPPER, WORK};

/// Why a layer can't be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeLayerError {
    /// Its directories can't be made.
    #[error(transparent)]
    State(StateError),
    /// The git directory can't be made.
    #[error("can't make the git directory")]
    Git(#[source] CopyError),
    /// A call failed.
    #[error("can't make the layer")]
    Io(#[source] Errno),
    /// The plan has an object that is none: a bug.
    #[error("no name of an object: {0}")]
    Name(String),
}

/// Makes an upper and a work directory. The upper one shows as the root of the mount, so it is like
/// that of a tree.
pub(super) fn make(
    run: &mut RunDir,
    at: &Path,
    git: Option<&GitStart>,
) -> Result<(), TreeLayerError> {
    for name in [WORK, UPPER] {
        run.make_dir(&OsFs, &at.join(name), 0o755).map_err(TreeLayerError::State)?;
    }
    let layer = OsFs.open_dir(run.as_fd(), at.as_os_str()).map_err(TreeLayerError::Io)?;
    let upper = OsFs.open_dir(layer.as_fd(), UPPER.as_ref()).map_err(TreeLayerError::Io)?;
    if let Some(git) = git {
        let references = references(git)?;
        let head = Head { branch: git.branch.clone(), commit: Some(id(&git.commit)?) };
        let sha256 = git.algorithm == Algorithm::Sha256.to_string();
        let borrowed = git.borrowed.iter().map(|path| path.as_path().to_owned());
        let start = Start {
            algorithm: if sha256 { Algorithm::Sha256 } else { Algorithm::Sha1 },
            head: &head,
            references: &references,
            borrowed: &borrowed.collect::<Vec<PathBuf>>(),
            exclude: &git.exclude,
            shallow: &git.shallow.iter().map(|text| id(text)).collect::<Result<Vec<_>, _>>()?,
        };
        working_copy::make(&OsFs, upper.as_fd(), &start).map_err(TreeLayerError::Git)?;
        // Out of the command's reach: what it began with decides what is new.
        let kept = OsFs.create_file(layer.as_fd(), REFERENCES.as_ref());
        let text = working_copy::packed(&references);
        let kept = kept.and_then(|file| write_all(&OsFs, file.as_fd(), text.as_bytes()));
        kept.map_err(TreeLayerError::Io)?;
    }
    let root = At { dir: upper.as_fd(), name: "".as_ref() };
    OsFs.set_modified(root, MODIFIED).map_err(TreeLayerError::Io)
}

fn references(git: &GitStart) -> Result<BTreeMap<String, Id>, TreeLayerError> {
    git.references.iter().map(|(name, text)| Ok((name.clone(), id(text)?))).collect()
}

fn id(text: &str) -> Result<Id, TreeLayerError> {
    text.parse().map_err(|_| TreeLayerError::Name(text.to_owned()))
}
