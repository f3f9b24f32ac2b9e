//! `endow build --check`: what two executions of one action differ in, and what neither read.

use std::collections::{BTreeMap, BTreeSet};

use endow_vfs::action::{ActionResult, Left};
use endow_vfs::inputs::{Folder, Leaf};

use super::outcome::{Failure, listed};

/// What makes results differ.
const DIFFERENT: &str = "times, the host's name, the number of processors or chance are in them";
/// As many links as the kernel follows.
const LINKS_MAX: usize = 40;

/// Returns a failure when two results of one action are not the same; the second is told.
pub(super) fn failure(first: &ActionResult, second: &ActionResult) -> Option<Failure> {
    let differences = differences(first, second);
    (!differences.is_empty()).then(|| Failure {
        what: format!("executed twice, it left something else: {}", listed(&differences)),
        hints: vec![DIFFERENT.to_owned()],
        streams: Some([second.stdout, second.stderr]),
    })
}

/// Names what is not the same in two results.
fn differences(one: &ActionResult, other: &ActionResult) -> Vec<String> {
    let by_path = |result: &ActionResult| -> BTreeMap<String, Left> {
        result.outputs.iter().map(|left| (left.path.clone(), left.clone())).collect()
    };
    let (left, right) = (by_path(one), by_path(other));
    let paths: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let outputs = paths.into_iter().filter(|path| left.get(*path) != right.get(*path)).cloned();
    let streams = [
        (one.stdout != other.stdout, "standard output"),
        (one.stderr != other.stderr, "standard error"),
    ];
    let streams = streams.iter().filter(|(differs, _)| *differs);
    outputs.chain(streams.map(|(_, what)| (*what).to_owned())).collect()
}

/// Names the files of a tree that nobody asked for; `asked` are paths in it, however they were written.
pub(super) fn unread(tree: &Folder, asked: &[String]) -> Vec<String> {
    let leaves: BTreeMap<String, Leaf> =
        tree.leaves().into_iter().map(|(path, leaf)| (path, leaf.clone())).collect();
    let mut read = BTreeSet::new();
    for path in asked {
        follow(&leaves, path, &mut read);
    }
    leaves.into_keys().filter(|path| !read.contains(path)).collect()
}

/// Takes a path as the kernel does, and notes each file and link on its way.
fn follow(leaves: &BTreeMap<String, Leaf>, path: &str, read: &mut BTreeSet<String>) {
    let mut here: Vec<String> = Vec::new();
    let mut rest: Vec<String> = path.rsplit('/').map(str::to_owned).collect();
    let mut links = 0;
    while let Some(name) = rest.pop() {
        match name.as_str() {
            "" | "." => continue,
            ".." => {
                here.pop();
                continue;
            }
            _ => here.push(name),
        }
        let at = here.join("/");
        match leaves.get(&at) {
            None => {}
            Some(Leaf::File { .. }) => drop(read.insert(at)),
            Some(Leaf::Symlink { target }) => {
                read.insert(at);
                here.pop();
                links += 1;
                // What lies outside of the tree is no input.
                if links > LINKS_MAX || target.starts_with('/') {
                    return;
                }
                rest.extend(target.rsplit('/').map(str::to_owned));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use endow_vfs::action::LeftNode;
    use endow_vfs::cas::Digest;

    use super::*;

    fn result(outputs: &[(&str, &str)], stdout: &str) -> ActionResult {
        let output = |(path, text): &(&str, &str)| Left {
            path: (*path).to_owned(),
            node: LeftNode::File { digest: Digest::of(text.as_bytes()), executable: false },
        };
        ActionResult {
            exit_code: 0,
            stdout: Digest::of(stdout.as_bytes()),
            stderr: Digest::EMPTY,
            outputs: outputs.iter().map(output).collect(),
        }
    }

    #[test]
    fn what_differs_is_named() {
        let one = result(&[("a", "1"), ("b", "2")], "said");
        assert_eq!(differences(&one, &one), [""; 0]);
        let other = result(&[("a", "1"), ("b", "3")], "said else");
        assert_eq!(differences(&one, &other), ["b", "standard output"]);
        assert_eq!(differences(&one, &result(&[("a", "1")], "said")), ["b"]);
    }

    #[test]
    fn what_was_asked_for_is_read_by_whatever_way() {
        let file = Leaf::File { digest: Digest::EMPTY, executable: false };
        let link = |target: &str| Leaf::Symlink { target: target.to_owned() };
        let leaves = [
            ("inc/a.h", file.clone()),
            ("inc/b.h", file.clone()),
            ("inc/sub/c.h", file.clone()),
            ("short", link("inc/sub")),
            ("loop", link("loop")),
            ("out", link("/etc/passwd")),
        ];
        let tree = Folder::new(leaves.iter().map(|(path, leaf)| (*path, leaf))).expect("a tree");
        let unread = |asked: &[&str]| {
            let asked: Vec<String> = asked.iter().map(|it| (*it).to_owned()).collect();
            super::unread(&tree, &asked).join(" ")
        };
        assert_eq!(unread(&[]), "inc/a.h inc/b.h inc/sub/c.h loop out short");
        assert_eq!(
            unread(&["inc/../inc/./a.h", "gone/x", "inc"]),
            "inc/b.h inc/sub/c.h loop out short"
        );
        assert_eq!(unread(&["short/c.h", "inc/a.h"]), "inc/b.h loop out");
        assert_eq!(unread(&["short/../b.h", "loop", "out"]), "inc/a.h inc/sub/c.h");
    }
}
