//! Both versions of what a command changed in a tree, as files: a confined process reads them from
//! the objects of the repository or the store, and from those that are staged for it.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use endow_policy::in_one_line;
use endow_vfs::cas::{self, Digest, Store};
use endow_vfs::fs::{Fs, OsFs};
use endow_vfs::git_tree::{Id, Repository};
use endow_vfs::state::{CasRecord, GitRecord, TreeOrigin, TreeRecord};
use endow_vfs::versions::{Export, Versions};
use endow_vfs::working_copy;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::capture::{CaptureError, STAGED, failed, places};
use crate::confined::{self, Reach};

/// The most bytes that are exported of one tree.
const BYTES_MAX: u64 = 1 << 30;

/// What of the versions is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Which paths differ, and what kinds of files these are.
    Kinds,
    /// The contents, too.
    Contents,
}

/// Exports into an empty directory what is different at and below some paths, everywhere when none is
/// named; `layer` is the path of the layer's directory, which may be gone when changes have landed.
pub(crate) fn export(
    layer: &Path,
    tree: &TreeRecord,
    dir: BorrowedFd<'_>,
    (paths, wanted): (&[PathBuf], Wanted),
) -> Result<Vec<Versions>, CaptureError> {
    let Some(captured) = &tree.captured else { return Ok(Vec::new()) };
    let staged = Staged::find(layer)?;
    let bytes = if wanted == Wanted::Contents { BYTES_MAX } else { 0 };
    let mut export = Export::new(&OsFs, dir, (paths, bytes));
    match &tree.from {
        TreeOrigin::Git(git) => of_git(git, staged, &captured.tip, (&mut export, dir)),
        TreeOrigin::Cas(cas) => of_cas(cas, staged, &captured.tip, (&mut export, dir)),
    }
}

/// Objects that have not landed.
struct Staged {
    path: PathBuf,
    dir: OwnedFd,
}

impl Staged {
    fn find(layer: &Path) -> Result<Option<Self>, CaptureError> {
        let Ok(path) = fs::canonicalize(layer.join(STAGED)) else { return Ok(None) };
        let dir = OsFs.open_canonical(&path).map_err(failed("open", &path))?;
        Ok(Some(Self { path, dir }))
    }
}

type Exporting<'e, 'a> = (&'e mut Export<'a>, BorrowedFd<'a>);

fn of_git(
    git: &GitRecord,
    staged: Option<Staged>,
    tip: &str,
    (export, dir): Exporting<'_, '_>,
) -> Result<Vec<Versions>, CaptureError> {
    let (mut places, _held) = places(git)?;
    places.objects.extend(staged.map(|staged| staged.path));
    let read = places.git.iter().chain(&places.objects).cloned().collect();
    let sides: [Id; 2] = [parsed(&git.commit)?, parsed(tip)?];
    confined(&Reach { read, write: vec![dir], ..Reach::default() }, || {
        let repository = Repository::open_at(&places).map_err(|error| in_one_line(&error))?;
        working_copy::export(&repository, sides.each_ref(), export)
            .map_err(|error| in_one_line(&error))
    })
}

fn of_cas(
    record: &CasRecord,
    staged: Option<Staged>,
    tip: &str,
    (export, dir): Exporting<'_, '_>,
) -> Result<Vec<Versions>, CaptureError> {
    let source = record.store.as_path();
    let sides: [Digest; 2] = [parsed(&record.digest)?, parsed(tip)?];
    let mut read = vec![source.to_owned()];
    read.extend(staged.iter().map(|staged| staged.path.clone()));
    let keep = staged.iter().map(|staged| staged.dir.as_fd()).collect();
    confined(&Reach { read, write: vec![dir], keep, ..Reach::default() }, || {
        let store = Store::open(&OsFs, source).map_err(|error| in_one_line(&error))?;
        let staged = staged.as_ref().map(|staged| (staged.dir.as_fd(), staged.path.as_path()));
        cas::export((&store, staged), sides, export).map_err(|error| in_one_line(&error))
    })
}

fn parsed<T: std::str::FromStr>(text: &str) -> Result<T, CaptureError> {
    text.parse().map_err(|_| CaptureError::Content(format!("no name of an object: {text}")))
}

fn confined<T: Serialize + DeserializeOwned>(
    reach: &Reach<'_>,
    work: impl FnOnce() -> Result<T, String>,
) -> Result<T, CaptureError> {
    confined::run(reach, work).map_err(CaptureError::Confined)?.map_err(CaptureError::Content)
}
