//! Reading what a command left in a working copy: in a confined process, since all of it may be
//! made to harm whoever reads it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use endow_policy::in_one_line;
use endow_vfs::fs::{Errno, Fs, Kind, Open, OsFs};
use endow_vfs::git_dir::packed_refs;
use endow_vfs::git_tree::{Id, Places, Repository};
use endow_vfs::state::{GitRecord, Place, TreeOrigin};
use endow_vfs::tree::{RemoveError, remove_tree};
use endow_vfs::working_copy::{self, Captured, REFERENCES, Source};

use super::cas_capture::is_sound;
use crate::confined::{self, ConfinedError, Reach};

/// The objects that are to be added to the repository, beside the layer: an object directory, as
/// git calls it.
pub(crate) const STAGED: &str = "objects";
/// The layer itself.
pub(super) const UPPER: &str = "upper";
/// The git directory of a working copy.
const GIT: &str = ".git";

/// Why it can't be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CaptureError {
    /// The host's repository is another one by now.
    #[error("{}: it is not what it was when the run began", .0.display())]
    Replaced(PathBuf),
    /// A call failed.
    #[error("can't {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// What an earlier try staged can't be removed.
    #[error("can't remove what was staged before")]
    Staged(#[source] RemoveError),
    /// The process that reads can't be confined, or died.
    #[error("can't read what the command left")]
    Confined(#[source] ConfinedError),
    /// What it found can't be taken over.
    #[error("{0}")]
    Content(String),
}

/// What the commit of a run says, and when it was made.
pub(crate) struct Signed<'a> {
    /// Seconds since 1970.
    pub(crate) time: i64,
    /// The text.
    pub(crate) message: &'a str,
}

/// Stages what a command left; `layer` is the path of its layer's directory. What an earlier try
/// staged goes.
pub(crate) fn capture(
    layer: &Path,
    git: &GitRecord,
    signed: &Signed<'_>,
) -> Result<Captured, CaptureError> {
    let (places, _held) = places(git)?;
    let Layer { path: layer, upper, staging } = layer_at(layer)?;
    let git_dir = OsFs.open_below(upper.as_fd(), Path::new(GIT), Open::Handle);
    // Without objects it has made none.
    let has_git = git_dir.is_ok_and(|git| is_directory(git.as_fd(), STAGED));
    let own = layer.join(UPPER).join(GIT);
    let read = [layer.join(UPPER), layer.join(REFERENCES)];
    let reach = Reach {
        read: places.git.iter().chain(&places.objects).cloned().chain(read).collect(),
        write: vec![staging.as_fd()],
        keep: vec![upper.as_fd()],
        ..Reach::default()
    };
    let answer = confined::run(&reach, || {
        let references = fs::read(layer.join(REFERENCES)).map_err(|error| error.to_string())?;
        let place = Placed { upper: upper.as_fd(), staging: staging.as_fd(), references };
        let captured = read_it(&places, has_git.then_some(own.as_path()), &place, (git, signed));
        captured.and_then(|captured| serde_json::to_vec(&captured).map_err(|it| it.to_string()))
    });
    let answer = answer.map_err(CaptureError::Confined)?.map_err(CaptureError::Content)?;
    let captured = serde_json::from_slice(&answer);
    let captured = captured.map_err(|error| CaptureError::Content(error.to_string()))?;
    written_out(staging.as_fd(), captured)
}

/// Writes what is staged to the disk, before a record says that it is.
pub(super) fn written_out(
    staging: BorrowedFd<'_>,
    captured: Captured,
) -> Result<Captured, CaptureError> {
    if captured.objects > 0 {
        OsFs.sync_all(staging).map_err(failed("write out", Path::new(STAGED)))?;
    }
    Ok(captured)
}

/// The layer of a command's changes, opened.
pub(super) struct Layer {
    /// Its directory, without links in the path.
    pub(super) path: PathBuf,
    /// What the command left.
    pub(super) upper: OwnedFd,
    /// An empty directory for objects, [`STAGED`].
    pub(super) staging: OwnedFd,
}

/// Opens a layer; what an earlier try staged goes.
pub(super) fn layer_at(layer: &Path) -> Result<Layer, CaptureError> {
    let path = fs::canonicalize(layer).map_err(|error| {
        failed("find", layer)(Errno::from_io_error(&error).unwrap_or(Errno::IO))
    })?;
    let dir = OsFs.open_canonical(&path).map_err(failed("open", &path))?;
    let upper = OsFs.open_below(dir.as_fd(), Path::new(UPPER), Open::Handle);
    let upper = upper.map_err(failed("open", &path))?;
    let staging = staging(&dir, &path)?;
    Ok(Layer { path, upper, staging })
}

struct Placed<'a> {
    upper: BorrowedFd<'a>,
    staging: BorrowedFd<'a>,
    references: Vec<u8>,
}

fn read_it(
    places: &Places,
    own: Option<&Path>,
    placed: &Placed<'_>,
    (git, signed): (&GitRecord, &Signed<'_>),
) -> Result<Captured, String> {
    let host = Repository::open_at(places).map_err(|error| in_one_line(&error))?;
    // One that was turned into a reftable meanwhile gets no reference as a file.
    host.check_references().map_err(|error| in_one_line(&error))?;
    let guest = own.map(|own| {
        let places = Places {
            root: own.to_owned(),
            git: [own.to_owned(), own.to_owned()],
            // What it borrows from is the host's, wherever its own list leads to by now.
            objects: vec![own.join("objects")],
        };
        Repository::open_like(&places, &host).map_err(|error| in_one_line(&error))
    });
    let guest = guest.transpose()?;
    let source = Source {
        upper: placed.upper,
        staging: placed.staging,
        host: &host,
        guest: guest.as_ref(),
        base: git.commit.parse().map_err(|_| git.commit.clone())?,
        references: &references(&placed.references),
        ignored: git.taken,
        author: &git.author,
        time: signed.time,
        message: signed.message,
    };
    working_copy::capture(&OsFs, &source).map_err(|error| in_one_line(&error))
}

fn references(text: &[u8]) -> BTreeMap<String, Id> {
    let text_of = |bytes| std::str::from_utf8(bytes).ok();
    let one = |(name, id)| Some((text_of(name)?.to_owned(), text_of(id)?.parse().ok()?));
    packed_refs(text).filter_map(one).collect()
}

/// Returns whether a commit has another one among its ancestors, staged objects counted.
pub(crate) fn descends(
    layer: &Path,
    git: &GitRecord,
    (commit, old): (&str, &str),
) -> Result<bool, CaptureError> {
    let (mut places, _held) = places_left(git)?;
    places.objects.push(layer.join(STAGED));
    let read = places.git.iter().chain(&places.objects).cloned().collect();
    let reach = Reach { read, ..Reach::default() };
    let id = |text: &str| text.parse::<Id>().map_err(|error| error.to_string());
    let answer = confined::run(&reach, || {
        let repository = Repository::open_at(&places).map_err(|error| in_one_line(&error))?;
        working_copy::descends(&repository, &id(commit)?, &id(old)?)
            .map_err(|error| in_one_line(&error))
    });
    answer.map_err(CaptureError::Confined)?.map_err(CaptureError::Content)
}

/// Returns whether what was staged some time ago can land as it is.
pub(crate) fn is_whole(
    layer: &Path,
    from: &TreeOrigin,
    captured: &Captured,
) -> Result<bool, CaptureError> {
    match from {
        TreeOrigin::Git(git) => is_whole_in(layer, git, captured),
        TreeOrigin::Cas(cas) => is_sound(layer, cas, &captured.tip),
    }
}

fn is_whole_in(layer: &Path, git: &GitRecord, captured: &Captured) -> Result<bool, CaptureError> {
    let (mut places, _held) = places_left(git)?;
    let staged = layer.join(STAGED);
    let Ok(staging) = OsFs.open_canonical(&staged) else { return Ok(false) };
    places.objects.push(staged);
    let tips = captured.references.values().chain([&captured.tip]).map(|it| it.parse::<Id>());
    let Ok(tips) = tips.collect::<Result<Vec<_>, _>>() else { return Ok(false) };
    let read = places.git.iter().chain(&places.objects).cloned().collect();
    let reach = Reach { read, keep: vec![staging.as_fd()], ..Reach::default() };
    let answer = confined::run(&reach, || {
        let repository = Repository::open_at(&places).map_err(|error| in_one_line(&error))?;
        Ok(working_copy::is_whole(&OsFs, staging.as_fd(), &repository, &tips))
    });
    answer.map_err(CaptureError::Confined)?.map_err(CaptureError::Content)
}

/// Opens the directories of a repository that are those of the start; they are held open, so that
/// no other gets their numbers.
pub(super) fn places(git: &GitRecord) -> Result<(Places, Vec<OwnedFd>), CaptureError> {
    let all = git.places.iter().chain(&git.objects);
    let held = all.map(open).collect::<Result<Vec<_>, _>>()?;
    Ok((of(git, git.places.each_ref(), git.objects.iter()), held))
}

/// As [`places`], without what may be gone by the time that a result lands: a linked work tree, and objects that were
/// borrowed.
fn places_left(git: &GitRecord) -> Result<(Places, Vec<OwnedFd>), CaptureError> {
    let [own, common] = &git.places;
    let mut held = vec![open(common)?];
    let mut is_left = |place: &&Place| open(place).map(|dir| held.push(dir)).is_ok();
    let own = Some(own).filter(&mut is_left).unwrap_or(common);
    let objects: Vec<&Place> = git.objects.iter().filter(is_left).collect();
    Ok((of(git, [own, common], objects.into_iter()), held))
}

fn of<'p>(
    git: &GitRecord,
    dirs: [&'p Place; 2],
    objects: impl Iterator<Item = &'p Place>,
) -> Places {
    let path = |place: &Place| place.path.as_path().to_owned();
    let root = git.repository.as_path().to_owned();
    Places { root, git: dirs.map(path), objects: objects.map(path).collect() }
}

/// Opens a directory of the host if it is still the one of the start.
pub(crate) fn open(place: &Place) -> Result<OwnedFd, CaptureError> {
    let path = place.path.as_path();
    let dir = OsFs.open_canonical(path).map_err(failed("open", path))?;
    let node = OsFs.node(dir.as_fd(), OsStr::new("")).map_err(failed("look at", path))?;
    let born = node.born.filter(|_| node.keeps_birth).map(endow_vfs::state::Moment::from);
    let (id, found) = (place.id, node.status.id);
    let is_it = found.ino == id.ino && born == id.born && (born.is_some() || found.dev == id.dev);
    if is_it { Ok(dir) } else { Err(CaptureError::Replaced(path.to_owned())) }
}

fn staging(dir: &OwnedFd, layer: &Path) -> Result<OwnedFd, CaptureError> {
    let name = OsStr::new(STAGED);
    if is_directory(dir.as_fd(), STAGED) {
        remove_tree(&OsFs, dir.as_fd(), name).map_err(CaptureError::Staged)?;
    }
    OsFs.make_dir(dir.as_fd(), name, 0o700).map_err(failed("make a directory in", layer))?;
    OsFs.open_dir(dir.as_fd(), name).map_err(failed("open a directory in", layer))
}

fn is_directory(dir: BorrowedFd<'_>, name: &str) -> bool {
    OsFs.status(dir, name.as_ref()).is_ok_and(|status| status.kind == Kind::Directory)
}

pub(super) fn failed(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(Errno) -> CaptureError + use<> {
    let path = path.to_owned();
    move |errno| CaptureError::Io { action, path, errno }
}
