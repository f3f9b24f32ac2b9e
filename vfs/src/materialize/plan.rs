//! What is made in which order: pure.

use std::collections::HashMap;
use std::path::Path;

use crate::snapshot::{Entry, Node, Snapshot};

/// All that is made of a tree.
#[derive(Debug)]
pub struct Materialization<'a, C> {
    /// The directories below the root, parents first.
    pub directories: Vec<&'a Path>,
    /// Files and links by the directory they are in: a worker opens it once.
    pub groups: Vec<Group<'a, C>>,
}

/// Files and links of one directory.
#[derive(Debug)]
pub struct Group<'a, C> {
    /// The directory, below the root of the tree; empty for the root itself.
    pub directory: &'a Path,
    /// What is in it, but for directories.
    pub entries: Vec<&'a Entry<C>>,
}

/// Plans a tree.
pub fn plan<C>(snapshot: &Snapshot<C>) -> Materialization<'_, C> {
    let mut plan = Materialization { directories: Vec::new(), groups: Vec::new() };
    let mut known: HashMap<&Path, usize> = HashMap::new();
    for entry in snapshot.entries() {
        if matches!(entry.node, Node::Directory) {
            plan.directories.push(&entry.path);
            continue;
        }
        let directory = entry.path.parent().unwrap_or(Path::new(""));
        let at = *known.entry(directory).or_insert_with(|| {
            plan.groups.push(Group { directory, entries: Vec::new() });
            plan.groups.len() - 1
        });
        plan.groups.get_mut(at).into_iter().for_each(|group| group.entries.push(entry));
    }
    plan
}
