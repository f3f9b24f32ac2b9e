//! What actions see: the files of the project that match, and what others left.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use endow_policy::{Action, InputPattern, InputSet, Stated};
use endow_vfs::action::{ActionResult, LeftNode};
use endow_vfs::cas::{Digest, DigestError, Publishing, Store};
use endow_vfs::fs::{Fs, OsFs};
use endow_vfs::inputs::{
    Clash, Folder, Found, InputError, Inputs, Leaf, Selection, put_leaf, walk,
};
use endow_vfs::snapshot::Bounds;

use super::actions::Wanted;
use super::place::PREFIX;
use super::rules::Rules;
use super::settings;
use crate::cli::error::{CommandError, Kind, failed};
use crate::plan::LAYERS_MAX;

/// What a pattern matches is a layer of its own from so many files on: below, it costs less to make them anew
/// than to mount them.
const LAYER: usize = 16;
/// So many are layers of their own: what else there is is one as well, and so are mount points.
const LARGE_MAX: usize = LAYERS_MAX - 2;

/// Where digests of inputs are remembered, in the cache.
pub(super) const INPUTS: &str = "inputs";

/// So many hidden paths are remembered, to be named.
const HIDDEN_MAX: usize = 1000;

/// The files of the project that count, as they were when the build began.
pub(super) struct Sources<'w> {
    wanted: &'w Wanted,
    root: OwnedFd,
    /// What was found: inputs, and what stands at the places of outputs.
    found: Found,
    /// What would be an input, or a directory with some, if it were not hidden.
    hidden: Vec<String>,
    /// Settings of repositories that hold credentials, without these.
    cleaned: BTreeMap<String, Vec<u8>>,
    /// The places of outputs: what stands there is no input.
    outputs: InputSet,
    /// Trees of patterns: many actions have the same.
    trees: RefCell<BTreeMap<String, Part>>,
    /// Trees of which the store has all, and directories likewise.
    put: RefCell<HashSet<Digest>>,
}

/// What a pattern matches, and how many files that are.
#[derive(Clone)]
struct Part {
    tree: Arc<Folder>,
    files: usize,
}

/// What an action sees.
pub(super) struct Shown {
    /// All of it.
    pub(super) whole: Arc<Folder>,
    /// Trees that lie one over another and together are it, the topmost first: the large ones are those of
    /// patterns, which many actions have, so that each is made once.
    pub(super) layers: Vec<Arc<Folder>>,
}

impl Shown {
    /// Adds an empty directory.
    pub(super) fn directory(&mut self, path: &str) -> Result<(), Clash> {
        let directory = Folder::directory(path);
        self.whole = Folder::union(&self.whole, &directory)?;
        if let Some(top) = self.layers.first_mut() {
            *top = Folder::union(top, &directory)?;
        }
        Ok(())
    }
}

/// Whether a name is that of an output which a build was putting in place when it was killed.
fn is_half(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(PREFIX))
}

impl<'w> Sources<'w> {
    /// Reads what may count for the actions; `memory` is where digests are remembered.
    pub(super) fn read(wanted: &'w Wanted, memory: &OwnedFd) -> Result<Self, CommandError> {
        let Wanted { directory, actions, rules, .. } = wanted;
        let root = OsFs.open_canonical(directory).map_err(|errno| {
            let error = CommandError::new(Kind::Setup, "can't open the directory");
            error.about(directory.display()).cause(std::io::Error::from(errno))
        })?;
        let outputs = actions.iter().flat_map(|it| &it.outputs).map(|it| it.value.path.clone());
        let places: Vec<InputPattern> = outputs.map(InputPattern::path).collect();
        let patterns = actions.iter().flat_map(|it| &it.inputs).map(|it| &it.value);
        let set = InputSet::new(patterns.chain(&places));
        let hidden = Mutex::new(Vec::new());
        let is_shown = |path: &str| {
            let is_hidden = rules.hides(path);
            if is_hidden {
                note(&hidden, path);
            }
            !is_hidden && !is_half(path)
        };
        let inputs = Inputs {
            fs: &OsFs,
            root: root.as_fd(),
            memory: Some(memory.as_fd()),
            enters: &|path| set.enters(path) && is_shown(path),
            takes: &|path| set.takes(path) && is_shown(path),
            bounds: Bounds::default(),
        };
        let mut found = walk(&inputs).map_err(|error| refused(&error))?;
        let hidden = hidden.into_inner().unwrap_or_else(PoisonError::into_inner);
        let outputs = InputSet::new(&places);
        let cleaned = settings::clean(directory, &mut found, &outputs);
        let cleaned = cleaned.map_err(|error| refused(&error))?;
        let (trees, put) = (RefCell::default(), RefCell::default());
        Ok(Self { wanted, root, found, hidden, cleaned, outputs, trees, put })
    }

    /// Returns the open directory.
    pub(super) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// Returns what holds for files of the project.
    pub(super) fn rules(&self) -> &'w Rules {
        &self.wanted.rules
    }

    /// Returns what stood at a path, and below it.
    pub(super) fn standing(&self, path: &str) -> Vec<(String, &Leaf)> {
        let tree = &self.found.tree;
        if let Some(leaf) = tree.leaf(path) {
            return vec![(path.to_owned(), leaf)];
        }
        let leaves = tree.folder(path).map(Folder::leaves).unwrap_or_default();
        leaves.into_iter().map(|(below, leaf)| (format!("{path}/{below}"), leaf)).collect()
    }

    /// Returns the directory that stood at a path.
    pub(super) fn folder(&self, path: &str) -> Option<&Folder> {
        self.found.tree.folder(path)
    }

    /// Returns the tree that an action sees: its own inputs, and what those left that it needs.
    pub(super) fn tree(
        &self,
        action: &Action,
        needs: &[&ActionResult],
        store: &Store<'_>,
    ) -> Result<Shown, CommandError> {
        let (mut tree, mut large) = (Arc::<Folder>::default(), Vec::<Part>::new());
        for pattern in &action.inputs {
            let part = self.part(pattern)?;
            if part.files < LAYER || large.len() == LARGE_MAX {
                tree = Folder::union(&tree, &part.tree).map_err(|it| clashes(action, &it))?;
            } else if !large.iter().any(|it| Arc::ptr_eq(&it.tree, &part.tree)) {
                large.push(part);
            }
        }
        for left in needs.iter().flat_map(|result| &result.outputs) {
            let part = match &left.node {
                LeftNode::File { digest, executable } => {
                    one(&left.path, Leaf::File { digest: *digest, executable: *executable })
                }
                LeftNode::Symlink { target } => {
                    one(&left.path, Leaf::Symlink { target: target.clone() })
                }
                LeftNode::Directory { root, .. } => {
                    let tree = Folder::of_store(store, root, Bounds::default());
                    let tree = tree.map_err(|error| failed("can't read an output", &error))?;
                    Ok(Folder::below(&left.path, tree))
                }
            };
            let part = part.map_err(|it| clashes(action, &it))?;
            tree = Folder::union(&tree, &part).map_err(|it| clashes(action, &it))?;
        }
        // The lowest may have stubs in the place of large files, so it is the largest.
        large.sort_by_key(|part| part.files);
        let mut whole = Arc::clone(&tree);
        for part in &large {
            whole = Folder::union(&whole, &part.tree).map_err(|it| clashes(action, &it))?;
        }
        let layers = std::iter::once(tree).chain(large.into_iter().map(|part| part.tree));
        Ok(Shown { whole, layers: layers.collect() })
    }

    /// Puts into the store what an action sees: its tree, with the directories that its outputs are in.
    pub(super) fn show(
        &self,
        action: &Action,
        mut tree: Shown,
        publishing: &Publishing<'_>,
    ) -> Result<Shown, CommandError> {
        for output in &action.outputs {
            let Some((above, _)) = output.value.path.as_str().rsplit_once('/') else { continue };
            tree.directory(above).map_err(|it| clashes(action, &it))?;
        }
        self.put(&tree, publishing)?;
        Ok(tree)
    }

    /// Of the project's files those are put that the store lacks.
    fn put(&self, shown: &Shown, publishing: &Publishing<'_>) -> Result<(), CommandError> {
        let mut put = self.put.borrow_mut();
        for layer in &shown.layers {
            let digest = layer.digest().map_err(|error| failed("can't name the inputs", &error))?;
            if !put.contains(&digest) {
                self.put_files(layer, publishing)?;
            }
            layer.put(publishing, &mut put)?;
        }
        Ok(shown.whole.put(publishing, &mut put)?)
    }

    fn put_files(&self, tree: &Folder, publishing: &Publishing<'_>) -> Result<(), CommandError> {
        // What stands at the place of an output may be what a result is: of that the store may lack a part.
        let is_ours = |path: &str, leaf: &Leaf| {
            self.found.tree.leaf(path) == Some(leaf) && !self.cleaned.contains_key(path)
        };
        let leaves = tree.leaves();
        for text in leaves.iter().filter_map(|(path, _)| self.cleaned.get(path)) {
            publishing.put_bytes(text)?;
        }
        let ours = leaves.iter().filter(|(path, leaf)| is_ours(path, leaf));
        put_missing(&self.root, ours.map(|(path, leaf)| (path.as_str(), *leaf)), publishing)
    }

    fn part(&self, pattern: &Stated<InputPattern>) -> Result<Part, CommandError> {
        if let Some(known) = self.trees.borrow().get(pattern.value.as_str()) {
            return Ok(known.clone());
        }
        if let Some(fault) = self.fault(&pattern.value) {
            return Err(refused(fault).cause(format!("asked for by {}", pattern.origin)));
        }
        let selected = &pattern.value;
        let tree = self.found.tree.select(&Selection {
            below: selected.fixed().map_or("", |it| it.as_str()),
            has_all: &|path| selected.has_all(path) && !self.outputs.enters(path),
            takes: &|path| selected.matches(path) && !self.is_output(path),
        });
        if tree.is_empty() {
            return Err(self.missing(pattern));
        }
        let part = Part { files: tree.count(), tree };
        self.trees.borrow_mut().insert(pattern.value.as_str().to_owned(), part.clone());
        Ok(part)
    }

    /// Returns why something that a pattern asks for can't be an input.
    fn fault(&self, pattern: &InputPattern) -> Option<&InputError> {
        let asks_for = |fault: &&InputError| {
            let path = fault.path().to_string_lossy();
            let is_directory = matches!(fault, InputError::List { .. });
            let is_asked_for =
                if is_directory { pattern.enters(&path) } else { pattern.matches(&path) };
            is_asked_for && !self.is_output(&path)
        };
        self.found.faults.iter().find(asks_for)
    }

    fn is_output(&self, path: &str) -> bool {
        self.outputs.takes(path)
    }

    fn missing(&self, pattern: &Stated<InputPattern>) -> CommandError {
        let text = pattern.value.as_str();
        let error = CommandError::new(Kind::Policy, "no such input");
        let error = error.about(text).cause(format!("asked for by {}", pattern.origin));
        if self.is_output(text) {
            return error.hint(
                "it is the output of an action: name that in `needs`, and not its output here",
            );
        }
        if let Some(path) = self.hidden(&pattern.value) {
            return error.hint(format!("`{path}` is hidden from every command: `[deny]` says so"));
        }
        if let Some(link) = pattern.value.fixed().and_then(|it| self.link_above(it.as_str())) {
            return error.hint(format!("`{link}` is a link, which is not followed: name it, and what it leads to, by their own paths"));
        }
        error.hint("an input is a file, a directory with files, or a pattern that matches some")
    }

    /// Returns something hidden that a pattern asks for.
    fn hidden(&self, pattern: &InputPattern) -> Option<&str> {
        let is_asked_for = |path: &&String| pattern.matches(path) || pattern.enters(path);
        self.hidden.iter().filter(is_asked_for).min().map(String::as_str)
    }

    /// Returns the uppermost directory above a path that is a link.
    fn link_above(&self, path: &str) -> Option<String> {
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        let mut above = ends.filter_map(|end| path.get(..end));
        above.find(|it| self.wanted.directory.join(it).is_symlink()).map(str::to_owned)
    }
}

/// Notes a path, as long as there are few.
fn note(paths: &Mutex<Vec<String>>, path: &str) {
    let mut paths = paths.lock().unwrap_or_else(PoisonError::into_inner);
    if paths.len() < HIDDEN_MAX {
        paths.push(path.to_owned());
    }
}

/// Puts the files of a directory into the store that it lacks.
pub(super) fn put_missing<'l>(
    root: &OwnedFd,
    leaves: impl IntoIterator<Item = (&'l str, &'l Leaf)>,
    publishing: &Publishing<'_>,
) -> Result<(), CommandError> {
    for (path, leaf) in leaves {
        let Leaf::File { digest, .. } = leaf else { continue };
        if !publishing.has(digest)? {
            let put = put_leaf(&OsFs, root.as_fd(), path, digest, publishing);
            put.map_err(|error| refused(&error))?;
        }
    }
    Ok(())
}

fn one(path: &str, leaf: Leaf) -> Result<Arc<Folder>, Clash> {
    Folder::new([(path, &leaf)])
}

fn clashes(action: &Action, clash: &Clash) -> CommandError {
    let error = CommandError::new(Kind::Policy, format!("{}: {clash}", action.name));
    error.hint("an output can't stand at the place of an input")
}

fn refused(error: &InputError) -> CommandError {
    let this = failed("can't read the inputs", error);
    match error {
        InputError::List { .. } | InputError::Read { .. } => {
            this.hint("make it readable, or leave it out of the inputs")
        }
        InputError::Changed { .. } => this.hint("build again"),
        InputError::Kind { .. } | InputError::Text { .. } => {
            this.hint("leave it out of the inputs: no tree of contents can have it")
        }
        _ => this,
    }
}

/// Reads a digest that a worker names.
pub(super) fn digest(text: &str) -> Result<Digest, CommandError> {
    text.parse().map_err(|error: DigestError| {
        CommandError::new(Kind::Bug, "no digest").about(text).cause(error)
    })
}

/// Opens the directory where digests of inputs are remembered.
pub(super) fn memory(cache: &Path) -> Result<OwnedFd, CommandError> {
    private(&cache.join(INPUTS), "can't use the cache")
}

/// Opens a directory of this user's, closed to others, and makes it where it is missing.
pub(super) fn private(path: &Path, unusable: &str) -> Result<OwnedFd, CommandError> {
    endow_vfs::state::make_private(&OsFs, path).map_err(|error| failed(unusable, &error))?;
    let opened = OsFs.open_canonical(&path.canonicalize().unwrap_or(path.to_owned()));
    opened.map_err(|errno| {
        let error = CommandError::new(Kind::Setup, unusable).about(path.display());
        error.cause(std::io::Error::from(errno))
    })
}
