//! From a tree object to all that is below it, without a recursion and within bounds.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread;

use gix_object::Kind;

use super::reader::{Limit, Reader, wrong_kind};
use super::revision::STRUCTURE_MAX;
use super::tree::{self, DIRECTORY, SUBMODULE};
use super::{GitError, Id, Repository};
use crate::snapshot::{Bounds, Builder, Naming, Node, Snapshot, SnapshotError};

/// The longest target of a symbolic link (PATH_MAX of limits.h, without its NUL).
const TARGET_MAX: u64 = 4095;
/// Bytes of tree objects that are kept, in case they occur again.
const KEPT: usize = 64 << 20;
/// How many objects are asked for before a second thread is worth it.
const ALONE: usize = 64;

/// What a snapshot is to be.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How large it may be.
    pub bounds: Bounds,
}

/// The content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blob {
    /// Its name.
    pub id: Id,
    /// Its size in bytes, as the repository claims it; [`Reader::read`] sees to it that it is true.
    pub size: u64,
}

/// Reads a tree.
pub(super) fn snapshot(
    repository: &Repository,
    id: &Id,
    options: &Options,
) -> Result<Snapshot<Blob>, GitError> {
    let places = Flattening::new(repository, options.bounds).run(id)?;
    assembled(repository, &places, options.bounds)
}

/// Learns what is to be known of the contents, and puts the tree together.
pub(super) fn assembled(
    repository: &Repository,
    places: &[Place],
    bounds: Bounds,
) -> Result<Snapshot<Blob>, GitError> {
    let facts = facts(repository, wanted(places));
    let facts = facts.map_err(|error| first_of(repository, places, error))?;
    assemble(places, &facts, bounds)
}

/// A path of the tree, before anything is known of its content.
pub(super) struct Place {
    /// The place of the directory it is in, one more than its number; zero is the root.
    directory: usize,
    name: Box<[u8]>,
    what: What,
    id: Id,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum What {
    Directory,
    /// A commit of another repository: what is in it is not known here.
    Submodule,
    File,
    Executable,
    Link,
}

impl What {
    /// Git has written 100664 in its first months.
    pub(super) fn of(mode: u32) -> Option<Self> {
        match mode {
            DIRECTORY => Some(Self::Directory),
            SUBMODULE => Some(Self::Submodule),
            0o100_644 | 0o100_664 => Some(Self::File),
            0o100_755 => Some(Self::Executable),
            0o120_000 => Some(Self::Link),
            _ => None,
        }
    }

    fn is_content(self) -> bool {
        matches!(self, Self::File | Self::Executable | Self::Link)
    }
}

/// Lists all places, parents before what is in them.
pub(super) struct Flattening<'a> {
    reader: Reader<'a>,
    bounds: Bounds,
    pub(super) places: Vec<Place>,
    trees: HashMap<Id, Rc<[u8]>>,
    kept: usize,
}

/// A tree object of which a part is listed.
pub(super) struct Open {
    pub(super) bytes: Rc<[u8]>,
    pub(super) at: usize,
    pub(super) directory: usize,
    pub(super) id: Id,
}

impl<'a> Flattening<'a> {
    pub(super) fn new(repository: &'a Repository, bounds: Bounds) -> Self {
        let (reader, places, trees) = (repository.reader(), Vec::new(), HashMap::new());
        Self { reader, bounds, places, trees, kept: 0 }
    }

    fn run(mut self, root: &Id) -> Result<Vec<Place>, GitError> {
        let mut open = vec![self.open(root, 0)?];
        while let Some(top) = open.last_mut() {
            let fault = |fault| GitError::Tree { id: top.id, fault };
            let bytes = top.bytes.clone();
            let next = tree::entry(&bytes, top.at, root.algorithm()).map_err(fault)?;
            let Some((entry, at)) = next else {
                open.pop();
                continue;
            };
            top.at = at;
            let directory = top.directory;
            let what = self.add(directory, &entry)?;
            if what == What::Directory {
                self.check_depth(open.len())?;
                open.push(self.open(&entry.id, self.places.len())?);
            }
        }
        Ok(self.places)
    }

    /// Adds a place. Names are checked here already, so that long ones take no memory.
    pub(super) fn add(
        &mut self,
        directory: usize,
        entry: &tree::Entry<'_>,
    ) -> Result<What, GitError> {
        let name: Box<[u8]> = entry.name.into();
        let path = |it: &Self| path_of(&it.places, directory).join(OsStr::from_bytes(entry.name));
        if let Some(fault) = Naming::Git.fault(entry.name) {
            let path = path(self);
            return Err(SnapshotError::Name { path, fault }.into());
        }
        if self.places.len() >= self.bounds.entries {
            let limit = self.bounds.entries as u64;
            let of = "files and directories";
            return Err(SnapshotError::TooLarge { path: path(self), of, limit }.into());
        }
        let mode = entry.mode;
        let what = What::of(mode).ok_or_else(|| GitError::Mode { path: path(self), mode })?;
        self.places.push(Place { directory, name, what, id: entry.id });
        Ok(what)
    }

    pub(super) fn check_depth(&self, depth: usize) -> Result<(), GitError> {
        if depth <= self.bounds.depth {
            return Ok(());
        }
        let path = path_of(&self.places, self.places.len());
        let (of, limit) = ("directories above one another", self.bounds.depth as u64);
        Err(SnapshotError::TooLarge { path, of, limit }.into())
    }

    /// Reads a tree object, or takes one that was read before.
    pub(super) fn open(&mut self, id: &Id, directory: usize) -> Result<Open, GitError> {
        let bytes = match self.trees.get(id) {
            Some(bytes) => Ok(bytes.clone()),
            None => self.read(id),
        };
        let needed = || path_of(&self.places, directory);
        let bytes = bytes.map_err(|error| error.needed_for(needed))?;
        Ok(Open { bytes, at: 0, directory, id: *id })
    }

    fn read(&mut self, id: &Id) -> Result<Rc<[u8]>, GitError> {
        let mut bytes = Vec::new();
        self.reader.object(id, Kind::Tree, STRUCTURE_MAX, &mut bytes)?;
        let checked = tree::check(&bytes, id.algorithm());
        checked.map_err(|fault| GitError::Tree { id: *id, fault })?;
        let bytes: Rc<[u8]> = bytes.into();
        if self.kept + bytes.len() <= KEPT {
            self.kept += bytes.len();
            self.trees.insert(*id, bytes.clone());
        }
        Ok(bytes)
    }
}

/// Returns the path of a directory, counted as in [`Place::directory`].
pub(super) fn path_of(places: &[Place], directory: usize) -> PathBuf {
    let mut names = Vec::new();
    let mut at = directory;
    while let Some(place) = at.checked_sub(1).and_then(|at| places.get(at)) {
        names.push(&*place.name);
        at = place.directory;
    }
    names.iter().rev().map(|name| OsStr::from_bytes(name)).collect()
}

/// What has to be asked of the objects, each once.
fn wanted(places: &[Place]) -> Vec<(Id, Fact)> {
    let fact = |place: &Place| match place.what {
        What::File | What::Executable => Some((place.id, Fact::Size(0))),
        What::Link => Some((place.id, Fact::Target(PathBuf::new()))),
        What::Directory | What::Submodule => None,
    };
    let mut wanted: HashMap<(Id, bool), Fact> = HashMap::new();
    for (id, fact) in places.iter().filter_map(fact) {
        wanted.entry((id, matches!(fact, Fact::Target(_)))).or_insert(fact);
    }
    wanted.into_iter().map(|((id, _), fact)| (id, fact)).collect()
}

/// Names what a partial clone lacks first, whichever thread asked for what.
fn first_of(repository: &Repository, places: &[Place], error: GitError) -> GitError {
    let GitError::PartialClone { .. } = error else { return error };
    let mut reader = repository.reader();
    let mut lacking = |(number, place): (usize, &Place)| match reader.header(&place.id) {
        Err(error @ GitError::PartialClone { .. }) => {
            Some(error.needed_for(|| path_of(places, number + 1)))
        }
        _ => None,
    };
    let contents = places.iter().enumerate().filter(|(_, place)| place.what.is_content());
    let first = contents.into_iter().find_map(&mut lacking);
    first.unwrap_or(error)
}

/// What is known of a content.
enum Fact {
    Size(u64),
    Target(PathBuf),
}

/// Facts by object; a link and a file may have the same one.
#[derive(Default)]
struct Facts {
    sizes: HashMap<Id, u64>,
    targets: HashMap<Id, PathBuf>,
}

/// Asks two threads.
fn facts(repository: &Repository, mut wanted: Vec<(Id, Fact)>) -> Result<Facts, GitError> {
    let middle = if wanted.len() < ALONE { 0 } else { wanted.len() / 2 };
    let other = wanted.split_off(middle);
    let ask = |part: &[(Id, Fact)]| {
        let mut reader = repository.reader();
        part.iter().map(|(id, fact)| learn(&mut reader, *id, fact)).collect::<Result<_, _>>()
    };
    let (one, other): (Result<Vec<_>, _>, Result<Vec<_>, _>) = thread::scope(|scope| {
        let begin = || thread::Builder::new().spawn_scoped(scope, || ask(&wanted));
        let begun = (!wanted.is_empty()).then(begin);
        let other = ask(&other);
        let one = match begun {
            Some(Ok(thread)) => thread.join().expect("a panic ends the process"),
            // The user may have no more threads.
            Some(Err(_)) => ask(&wanted),
            None => Ok(Vec::new()),
        };
        (one, other)
    });
    let mut facts = Facts::default();
    for (id, fact) in one?.into_iter().chain(other?) {
        match fact {
            Fact::Size(size) => drop(facts.sizes.insert(id, size)),
            Fact::Target(target) => drop(facts.targets.insert(id, target)),
        }
    }
    Ok(facts)
}

fn learn(reader: &mut Reader<'_>, id: Id, fact: &Fact) -> Result<(Id, Fact), GitError> {
    let fact = match fact {
        Fact::Size(_) => match reader.header(&id)? {
            (Kind::Blob, size) => Fact::Size(size),
            _ => return Err(wrong_kind(&id, Kind::Blob)),
        },
        Fact::Target(_) => {
            let mut target = Vec::new();
            reader.object(&id, Kind::Blob, Limit(TARGET_MAX), &mut target)?;
            Fact::Target(std::ffi::OsString::from_vec(target).into())
        }
    };
    Ok((id, fact))
}

fn assemble(places: &[Place], facts: &Facts, bounds: Bounds) -> Result<Snapshot<Blob>, GitError> {
    let mut builder = Builder::new(Naming::Git, bounds);
    let mut directories: HashMap<usize, PathBuf> = HashMap::from([(0, PathBuf::new())]);
    for (number, place) in places.iter().enumerate() {
        let above = directories.get(&place.directory).map_or(Path::new(""), PathBuf::as_path);
        let path = builder.push(above, &place.name, node(place, facts)?)?;
        if place.what == What::Directory {
            let path = path.to_owned();
            directories.insert(number + 1, path);
        }
    }
    Ok(builder.finish())
}

fn node(place: &Place, facts: &Facts) -> Result<Node<Blob>, GitError> {
    let id = place.id;
    let missing = GitError::Missing { id };
    match place.what {
        What::Directory | What::Submodule => Ok(Node::Directory),
        What::Link => {
            let target = facts.targets.get(&id).ok_or(missing)?.clone();
            Ok(Node::Symlink { target })
        }
        What::File | What::Executable => {
            let size = *facts.sizes.get(&id).ok_or(missing)?;
            let executable = place.what == What::Executable;
            Ok(Node::File { content: Blob { id, size }, size, executable })
        }
    }
}
