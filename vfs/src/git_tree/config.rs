//! The format of a repository, from its configuration. Nothing else of it is used: what it includes
//! is not read (neither does git when it looks for the format), and no program it names is run.

use std::path::{Path, PathBuf};

use super::files::Dir;
use super::{Algorithm, GitError};
use crate::git_config::{Setting, may_be_on, parse};

const CONFIG: &str = "config";
/// The largest configuration that is read.
const SIZE: u64 = 16 << 20;
/// Extensions that change nothing about how objects and references are read.
const HARMLESS: &[&str] =
    &["noop", "noop-v1", "preciousobjects", "relativeworktrees", "worktreeconfig"];

/// How a repository stores what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) algorithm: Algorithm,
    /// Whether objects may be missing, to be fetched when they are wanted.
    pub(super) is_partial: bool,
    /// Whether references stand in a reftable, which is not read here.
    pub(super) has_reftable: bool,
}

/// Returns the file that says it.
pub(super) fn path(common: &Dir) -> PathBuf {
    common.path().join(CONFIG)
}

/// Reads the format; a repository without a configuration has the oldest.
pub(super) fn format(common: &Dir) -> Result<Format, GitError> {
    let path = path(common);
    let text = common.read(Path::new(CONFIG), SIZE)?.unwrap_or_default();
    let settings = parse(&text).ok_or_else(|| GitError::Damaged { path: path.clone() })?;
    let algorithm = Algorithm::Sha1;
    let mut format = Format { algorithm, is_partial: false, has_reftable: false };
    let is_new = check_version(&settings, &path)?;
    for Setting { section, subsection, key, value } in &settings {
        match (section.as_str(), subsection, key.as_str()) {
            ("extensions", None, "partialclone") => format.is_partial = true,
            ("remote", Some(_), "promisor") => format.is_partial |= may_be_on(value.as_deref()),
            ("extensions", None, "objectformat") => {
                format.algorithm = objects(value.as_deref(), &path)?;
            }
            ("extensions", None, "refstorage") => {
                format.has_reftable = is_reftable(value.as_deref(), &path)?;
            }
            ("extensions", None, name) if is_new && !HARMLESS.contains(&name) => {
                return Err(GitError::Extension { path, name: name.to_owned() });
            }
            _ => {}
        }
    }
    Ok(format)
}

/// Returns whether unknown extensions count (gitrepository-layout(5): from version 1 on).
fn check_version(settings: &[Setting], path: &Path) -> Result<bool, GitError> {
    let is_version = |it: &&Setting| {
        it.section == "core" && it.subsection.is_none() && it.key == "repositoryformatversion"
    };
    let version = settings.iter().rfind(is_version).and_then(|it| it.value.as_deref());
    match version {
        None | Some(b"0") => Ok(false),
        Some(b"1") => Ok(true),
        Some(_) => Err(GitError::Version { path: path.to_owned() }),
    }
}

fn objects(value: Option<&[u8]>, path: &Path) -> Result<Algorithm, GitError> {
    match value {
        Some(b"sha1") => Ok(Algorithm::Sha1),
        Some(b"sha256") => Ok(Algorithm::Sha256),
        _ => Err(GitError::ObjectFormat { path: path.to_owned() }),
    }
}

fn is_reftable(value: Option<&[u8]>, path: &Path) -> Result<bool, GitError> {
    match value {
        Some(b"files") => Ok(false),
        Some(b"reftable") => Ok(true),
        _ => Err(GitError::Extension { path: path.to_owned(), name: "refstorage".to_owned() }),
    }
}
