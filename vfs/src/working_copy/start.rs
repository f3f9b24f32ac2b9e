//! The git directory that a command begins with.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::CopyError;
use super::objects::failed;
use super::work_tree::GIT;
use crate::fs::{Fs, Open, write_all};
use crate::git_tree::{Algorithm, Head, Id};

/// Where the object directories that are borrowed from stand, each by its number.
pub const BORROWED: &str = ".git/borrowed";
/// The file of a layer that has the references at the start.
pub const REFERENCES: &str = "references";
/// The name of the index.
pub(super) const INDEX: &str = "index";
/// The largest index that is read.
pub(super) const INDEX_MAX: u64 = 256 << 20;

/// What a git directory begins with.
#[derive(Debug)]
pub struct Start<'a> {
    /// How objects are named.
    pub algorithm: Algorithm,
    /// What `HEAD` is to say; it has a commit.
    pub head: &'a Head,
    /// All references.
    pub references: &'a BTreeMap<String, Id>,
    /// Where the command finds the objects that it borrows.
    pub borrowed: &'a [PathBuf],
    /// The patterns of `info/exclude`.
    pub exclude: &'a [u8],
    /// The commits at which the host's repository ends, when it is shallow.
    pub shallow: &'a [Id],
}

/// Makes the git directory in a layer that has nothing yet.
///
/// # Errors
/// A failing call.
pub fn make(fs: &dyn Fs, upper: BorrowedFd<'_>, start: &Start<'_>) -> Result<(), CopyError> {
    let directories = [
        GIT,
        BORROWED,
        ".git/info",
        ".git/objects",
        ".git/objects/info",
        ".git/objects/pack",
        ".git/refs",
        ".git/refs/heads",
        ".git/refs/tags",
    ];
    for path in directories {
        make_directory(fs, upper, Path::new(path))?;
    }
    for number in 0..start.borrowed.len() {
        make_directory(fs, upper, &Path::new(BORROWED).join(number.to_string()))?;
    }
    let files = [
        (".git/HEAD", head(start.head).into_bytes()),
        (".git/config", config(start.algorithm).into_bytes()),
        (".git/packed-refs", packed(start.references).into_bytes()),
        (".git/info/exclude", start.exclude.to_vec()),
        (".git/objects/info/alternates", alternates(start.borrowed)),
    ];
    let shallow = start.shallow.iter().map(|id| format!("{id}\n")).collect::<String>();
    // An empty one would say that the repository is shallow, too.
    let shallow = (!shallow.is_empty()).then_some((".git/shallow", shallow.into_bytes()));
    let mut files = files.into_iter().chain(shallow);
    files.try_for_each(|(path, text)| make_file(fs, upper, Path::new(path), &text))
}

fn head(head: &Head) -> String {
    match (&head.branch, &head.commit) {
        (Some(branch), _) => format!("ref: {branch}\n"),
        (None, Some(commit)) => format!("{commit}\n"),
        (None, None) => String::new(),
    }
}

/// All files of a tree have one time, so a file is known as unchanged by that and its size. A
/// collection would copy into the layer what is borrowed.
fn config(algorithm: Algorithm) -> String {
    let (version, extensions) = match algorithm {
        Algorithm::Sha1 => (0, ""),
        Algorithm::Sha256 => (1, "[extensions]\n\tobjectformat = sha256\n"),
    };
    format!(
        "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n\
         \tlogallrefupdates = true\n\ttrustctime = false\n\tcheckStat = minimal\n\
         [gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n{extensions}"
    )
}

/// Returns references as a file `packed-refs` has them.
pub fn packed(references: &BTreeMap<String, Id>) -> String {
    let mut text = String::from("# pack-refs with: sorted \n");
    for (name, id) in references {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{id} {name}");
    }
    text
}

fn alternates(borrowed: &[PathBuf]) -> Vec<u8> {
    let lines = borrowed.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\n"]);
    lines.flatten().copied().collect()
}

fn make_directory(fs: &dyn Fs, upper: BorrowedFd<'_>, path: &Path) -> Result<(), CopyError> {
    let (above, name) = place(fs, upper, path)?;
    fs.make_dir(above.as_fd(), name, 0o755).map_err(failed("make", path))
}

fn make_file(
    fs: &dyn Fs,
    upper: BorrowedFd<'_>,
    path: &Path,
    text: &[u8],
) -> Result<(), CopyError> {
    let (above, name) = place(fs, upper, path)?;
    let file = fs.create_file(above.as_fd(), name).map_err(failed("create", path))?;
    write_all(fs, file.as_fd(), text).map_err(failed("write", path))?;
    fs.set_mode(file.as_fd(), 0o644).map_err(failed("set the bits of", path))
}

fn place<'p>(
    fs: &dyn Fs,
    upper: BorrowedFd<'_>,
    path: &'p Path,
) -> Result<(OwnedFd, &'p OsStr), CopyError> {
    let above = path.parent().unwrap_or(Path::new(""));
    let above = fs.open_below(upper, above, Open::Handle);
    Ok((
        above.map_err(failed("open the directory of", path))?,
        path.file_name().unwrap_or_default(),
    ))
}
