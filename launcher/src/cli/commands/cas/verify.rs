//! `endow cas verify`.

use std::process::ExitCode;

use endow_vfs::cas::{Digest, StoreError};
use endow_vfs::fs::OsFs;
use endow_vfs::trees::Verified;
use serde_json::json;

use super::{Cas, digest, failed, of_store};
use crate::cli::error::CommandError;
use crate::cli::output::Output;
use crate::cli::output::progress::ProgressLine;
use crate::trees::{self, Amount, Progress};

/// What was compared, and what of it is damaged.
#[derive(Default)]
struct Compared {
    contents: usize,
    trees: usize,
    /// Lines that name what was removed.
    damaged: Vec<String>,
}

pub(super) fn run(
    cas: &Cas,
    digests: &[String],
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let mut compared = Compared::default();
    let all = cas.store.list().map_err(|error| of_store(&error))?;
    if digests.is_empty() {
        compared.contents(cas, &all, output)?;
        compared.all_trees(cas, output)?;
    }
    for text in digests {
        let asked = digest(text)?;
        let stored = as_stored(&all, asked)?;
        let before = compared.damaged.len();
        compared.content(cas, &stored)?;
        // It is sound, and not what was asked about.
        if stored != asked && compared.damaged.len() == before {
            return Err(of_store(&StoreError::Missing { digest: asked }));
        }
    }
    compared.tell(output);
    Ok(if compared.damaged.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Returns the name of the content that the store has under these digits: the digest may be damaged
/// and have another size, or the question may have a wrong one, and then nothing is touched.
fn as_stored(all: &[Digest], asked: Digest) -> Result<Digest, CommandError> {
    let found = all.iter().find(|object| object.hash == asked.hash);
    let missing = || of_store(&StoreError::Missing { digest: asked });
    found.copied().ok_or_else(missing)
}

/// Says that so many of all were compared.
fn show(line: &ProgressLine<'_>, done: usize, all: usize) {
    let amount = |count: usize| Amount { files: count as u64, bytes: 0 };
    line.show(Progress { done: amount(done), of: Some(amount(all)) });
}

impl Compared {
    fn contents(&mut self, cas: &Cas, all: &[Digest], output: &Output) -> Result<(), CommandError> {
        let line = ProgressLine::begin(output, "comparing contents");
        for (number, object) in all.iter().enumerate() {
            show(&line, number, all.len());
            self.content(cas, object)?;
        }
        Ok(())
    }

    fn content(&mut self, cas: &Cas, object: &Digest) -> Result<(), CommandError> {
        self.contents += 1;
        match cas.store.verify(object) {
            // Somebody collected it meanwhile.
            Ok(()) | Err(StoreError::Missing { .. }) => return Ok(()),
            Err(StoreError::Damaged { .. }) => {}
            Err(error) => return Err(of_store(&error)),
        }
        self.damaged.push(format!("{object}: its bytes are not what its digest says"));
        match cas.store.remove(object) {
            Ok(()) | Err(StoreError::Missing { .. }) => Ok(()),
            Err(error) => Err(of_store(&error)),
        }
    }

    fn all_trees(&mut self, cas: &Cas, output: &Output) -> Result<(), CommandError> {
        let said = |error| failed("can't use the cache of trees", &error);
        let boot = trees::boot();
        let line = ProgressLine::begin(output, "comparing cached trees");
        let all = cas.trees.trees(&OsFs).map_err(said)?;
        for (number, tree) in all.iter().enumerate() {
            show(&line, number, all.len());
            self.trees += 1;
            if let Verified::Damaged(found) =
                cas.trees.verify(&OsFs, &tree.key, &boot).map_err(said)?
            {
                let path = found.path.display();
                self.damaged.push(format!("cached tree {}: {path}: {}", tree.key, found.what));
            }
        }
        Ok(())
    }

    fn tell(&self, output: &Output) {
        if output.is_json() {
            return output.json(&json!({
                "version": 1, "contents": self.contents, "trees": self.trees,
                "damaged": self.damaged,
            }));
        }
        for line in &self.damaged {
            output.warning(&format!("damaged and removed: {line}"));
        }
        let ending = |count, one: &str, many: &str| {
            format!("{count} {}", if count == 1 { one } else { many })
        };
        let contents = ending(self.contents, "content", "contents");
        let trees = ending(self.trees, "tree", "trees");
        output.text(&format!("{contents}, {trees}, {} damaged\n", self.damaged.len()));
    }
}
