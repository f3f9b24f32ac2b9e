//! What the settings of a repository say.

use std::os::fd::OwnedFd;
use std::path::Path;

use super::Sides;
use super::sides::is_absent;
use crate::fs::Result;
use crate::git_config;
use crate::git_object::Work;
use crate::git_tree::Algorithm;

/// Returns what a repository names its objects by; `None` where that can't be told. Its settings are those
/// of the tree: others may not come there, and without any it is SHA-1.
pub(super) fn ids(sides: &Sides<'_>, git_dir: &Path, work: &Work) -> Option<Algorithm> {
    let algorithm = |settings| algorithm(settings, work);
    let tree = sides.tree_alone();
    let is_linked = tree.has(git_dir, "commondir");
    let common = if is_linked { git_dir.parent()?.parent()? } else { git_dir };
    let config = common.join("config");
    // A link is the user's: any other is held.
    let own = algorithm(tree.open_followed(&config))?;
    let new = sides.open_new(&config).map_or(Some(own), algorithm)?;
    // Settings that are held may come there later.
    (own == new).then_some(own)
}

fn algorithm(settings: Result<OwnedFd>, work: &Work) -> Option<Algorithm> {
    let settings = match settings {
        Err(errno) if is_absent(errno) => return Some(Algorithm::Sha1),
        opened => {
            let text = git_config::read(&opened.ok()?)?;
            work.take(text.len() as u64)?;
            git_config::parse(&text)?
        }
    };
    let format = settings.iter().rev().find(|it| it.name() == b"extensions.objectformat");
    match format.and_then(|it| it.value.as_deref()) {
        None | Some(b"sha1") => Some(Algorithm::Sha1),
        Some(b"sha256") => Some(Algorithm::Sha256),
        Some(_) => None,
    }
}
