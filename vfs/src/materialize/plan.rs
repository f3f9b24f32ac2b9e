//! What is made in which order: pure.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::snapshot::{Entry, Node, Snapshot};

/// All that is made of a tree.
#[derive(Debug)]
pub struct Materialization<'a, C> {
    /// The directories below the root, parents first.
    pub directories: Vec<&'a Path>,
    /// Files and links by the directory they are in: a worker opens it once.
    pub groups: Vec<Group<'a, C>>,
    /// Names that a tree below is not to show: whiteouts, as overlayfs has them.
    pub gone: &'a [PathBuf],
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
    plan_layer(snapshot, &[])
}

/// Plans a layer, which stands over another tree and hides what is gone of it.
pub fn plan_layer<'a, C>(snapshot: &'a Snapshot<C>, gone: &'a [PathBuf]) -> Materialization<'a, C> {
    let mut plan = Materialization { directories: Vec::new(), groups: Vec::new(), gone };
    let mut known: HashMap<&Path, usize> = HashMap::new();
    for entry in snapshot.entries() {
        if matches!(entry.node, Node::Directory) {
            plan.directories.push(&entry.path);
            continue;
        }
        let directory = entry.path.parent().unwrap_or(Path::new(""));
        // Most stand beside the one before.
        if let Some(group) = plan.groups.last_mut().filter(|group| is_same(group, directory)) {
            group.entries.push(entry);
            continue;
        }
        let at = *known.entry(directory).or_insert_with(|| {
            plan.groups.push(Group { directory, entries: Vec::new() });
            plan.groups.len() - 1
        });
        plan.groups.get_mut(at).into_iter().for_each(|group| group.entries.push(entry));
    }
    plan
}

fn is_same<C>(group: &Group<'_, C>, directory: &Path) -> bool {
    group.directory.as_os_str() == directory.as_os_str()
}
