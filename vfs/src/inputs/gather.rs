//! What the threads of a walk found, put together: a tree, and what is remembered of it.

use std::sync::Arc;

use super::folder::Folder;
use super::growing::Growing;
use super::remembered::{Record, Records, Remembered};
use super::stamp::Stamp;
use super::walk::Part;
use super::{Found, InputError, Leaf};
use crate::cas::Digest;

/// What is remembered is written again when more than one record of so many is of no use any more.
const WORTH: usize = 8;

/// A file as it was found.
pub(super) struct FileFound {
    pub(super) name: String,
    pub(super) stamp: Stamp,
    pub(super) digest: Digest,
    /// Whether its times tell of all that happens from now on.
    pub(super) is_settled: bool,
}

/// Some of what is in a directory: links, or files in their order.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) path: String,
    pub(super) files: Vec<FileFound>,
    /// Names, and where they lead to.
    pub(super) links: Vec<(String, String)>,
    /// Whether all of the files are as they were.
    pub(super) is_known: bool,
}

/// Puts the parts together, and remembers what was hashed.
pub(super) fn gather(mut parts: Vec<Part>, remembered: &Remembered<'_>) -> Found {
    let faults = parts.iter_mut().flat_map(|part| std::mem::take(&mut part.faults));
    let mut faults: Vec<InputError> = faults.collect();
    faults.sort_by(|one, other| one.path().cmp(other.path()));
    let hashed = parts.iter().map(|part| part.hashed).sum();
    let mut chunks: Vec<Chunk> = parts.into_iter().flat_map(|part| part.chunks).collect();
    let first = |chunk: &Chunk| chunk.files.first().map(|file| file.name.clone());
    chunks.sort_by_cached_key(|chunk| (chunk.path.clone(), first(chunk)));
    let directories: Vec<&[Chunk]> = chunks.chunk_by(|one, next| one.path == next.path).collect();
    let tree = tree(&directories, remembered);
    let records: usize = directories.iter().map(|chunks| settled(chunks).count()).sum();
    if hashed > 0 || remembered.count() > records + records / WORTH {
        remember(&directories, &tree, remembered);
    }
    Found { tree, hashed, faults }
}

fn tree(directories: &[&[Chunk]], remembered: &Remembered<'_>) -> Arc<Folder> {
    let mut root = Growing::default();
    for chunks in directories {
        let path = path(chunks);
        let file = |it: &FileFound| {
            (
                it.name.clone(),
                Leaf::File { digest: it.digest, executable: it.stamp.is_executable() },
            )
        };
        let files = chunks.iter().flat_map(|chunk| &chunk.files).map(file);
        let link = |(name, target): &(String, String)| {
            (name.clone(), Leaf::Symlink { target: target.clone() })
        };
        let links = chunks.iter().flat_map(|chunk| &chunk.links).map(link);
        root.fill(path, files.chain(links), known(chunks, remembered));
    }
    root.done()
}

/// Returns the digest of a directory of which all files, and nothing else, are as they were.
fn known(chunks: &[Chunk], remembered: &Remembered<'_>) -> Option<Digest> {
    let files = chunks.iter().map(|chunk| chunk.files.len()).sum();
    let is_known = chunks.iter().all(|chunk| chunk.is_known);
    remembered.directory(path(chunks)).filter(|_| is_known)?.digest(files)
}

fn remember(directories: &[&[Chunk]], tree: &Folder, remembered: &Remembered<'_>) {
    let records = directories.iter().map(|chunks| records(chunks, tree));
    remembered.save(&records.collect::<Vec<_>>());
}

fn records<'c>(chunks: &'c [Chunk], tree: &Folder) -> Records<'c> {
    let files: Vec<Record<'c>> = settled(chunks).collect();
    let path = path(chunks);
    let folder = if path.is_empty() { Some(tree) } else { tree.folder(path) };
    // Of a directory that has more, the digest says more than the records do.
    let folder = folder.filter(|it| it.is_flat() && it.count() == files.len());
    Records { path, digest: folder.and_then(|it| it.digest().ok()), files }
}

fn settled(chunks: &[Chunk]) -> impl Iterator<Item = Record<'_>> {
    let files = chunks.iter().flat_map(|chunk| &chunk.files).filter(|it| it.is_settled);
    files.map(|it| Record { name: &it.name, stamp: &it.stamp, digest: &it.digest })
}

fn path(chunks: &[Chunk]) -> &str {
    chunks.first().map_or("", |chunk| &chunk.path)
}
