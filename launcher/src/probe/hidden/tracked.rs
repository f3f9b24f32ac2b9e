//! What git tracks of the names that built-in patterns hide.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::HostPath;
use endow_vfs::{git_blob, git_index};

use super::rules::Rules;
use crate::probe::small_file;

/// The largest file whose content is compared with what git tracks.
const CONTENT: u64 = 1 << 20;

/// Returns what the work tree's index tracks of the names that built-in patterns hide below a directory of it, relative to
/// that directory, with the hidden directories above. Entries that nobody wants are not looked at. An index that can't be
/// read spares nothing.
pub(super) fn below(
    (work_tree, prefix): (&HostPath, &Path),
    rules: &Rules<'_>,
    wanted: &dyn Fn(&[u8]) -> bool,
) -> BTreeSet<PathBuf> {
    let (tracked, _) = git_index::load(work_tree.as_path(), wanted);
    let contents = LazyCell::new(|| git_index::load_blobs(work_tree.as_path(), wanted));
    let is_own = |path: &Path| {
        // What a link leads to is judged by itself.
        let file = work_tree.as_path().join(path);
        file.is_symlink() || is_tracked_content(&contents, &file, path)
    };
    let known = tracked.iter().map(|path| Path::new(OsStr::from_bytes(path)));
    let denied = known.filter(|path| rules.hides(path) && rules.is_builtin(path));
    let files: Vec<PathBuf> = denied.filter(|path| is_own(path)).map(Path::to_owned).collect();
    let above = files.iter().flat_map(|file| file.ancestors()).filter(|path| rules.hides(path));
    above.filter_map(|path| path.strip_prefix(prefix).ok().map(Path::to_owned)).collect()
}

/// An entry alone spares nothing: a command that may write the index could add the name of a secret that it can't see,
/// with its times too, which are those of what was made beside it. What is in the index by its content is no secret to
/// whoever has the repository: who knows the name of a content knows the content.
fn is_tracked_content(
    tracked: &git_index::Tracked<git_index::Blob>,
    file: &Path,
    path: &Path,
) -> bool {
    let Some(blob) = tracked.remembered(path.as_os_str().as_bytes()) else { return false };
    let Ok(content) = small_file::read(file, CONTENT) else { return false };
    // By `core.autocrlf` a line ends in another way than in its blob.
    git_blob::name(&content) == blob.id || git_blob::name(&with_plain_ends(&content)) == blob.id
}

fn with_plain_ends(content: &[u8]) -> Vec<u8> {
    let is_before_end = |at: usize| content.get(at + 1) == Some(&b'\n');
    let bytes = content.iter().enumerate();
    bytes
        .filter(|(at, byte)| **byte != b'\r' || !is_before_end(*at))
        .map(|(_, byte)| *byte)
        .collect()
}
