//! `endow cas import`: contents of other stores.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;

use endow_vfs::cas::{Digest, ImportError, Imported, Other, Root, Store, StoreError, import_all};
use endow_vfs::fs::OsFs;
use serde_json::{Value, json};

use super::{Cas, digest, failed, of_store};
use crate::cli::cache;
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::Output;
use crate::confined::{self, Reach};

/// What was copied: what each digest is, how many contents there are and how many are new.
type Done = (Vec<String>, usize, usize);

pub(super) fn run(
    cas: &Cas,
    from: &Path,
    digests: &[String],
    output: &Output,
) -> Result<ExitCode, CommandError> {
    detect(from)?;
    let roots: Vec<Digest> = digests.iter().map(|it| digest(it)).collect::<Result<_, _>>()?;
    // Nothing of it is collected before it has a lease.
    let publishing = cas.store.publish().map_err(|error| of_store(&error))?;
    let path = cas.store.path();
    let store = File::open(path).map_err(|error| failed("can't open the store", &error))?;
    let (read, write) = (vec![from.to_owned()], vec![store.as_fd()]);
    let done =
        confined::run(&Reach { read, write, ..Reach::default() }, || import(path, from, &roots));
    let done: Done = done.map_err(|error| failed("can't read the other store", &error))??;
    cas.store.sync().map_err(|error| of_store(&error))?;
    let _lease = cas.store.lease(&roots).map_err(|error| of_store(&error))?;
    drop(publishing);
    tell(&roots, &done, output);
    cache::keep_store(&cas.store, &cas.surroundings, output)?;
    Ok(ExitCode::SUCCESS)
}

fn detect(from: &Path) -> Result<Other<'static>, CommandError> {
    let other = Other::detect(&OsFs, from).map_err(|error| of_store(&error))?;
    other.ok_or_else(|| {
        CommandError::new(Kind::Usage, "not a store")
            .about(from.display())
            .hint("known are Bazel's disk cache, a BuildBox store and an OCI image layout")
    })
}

/// Copies all that is reachable from digests.
fn import(path: &Path, from: &Path, roots: &[Digest]) -> Result<Done, CommandError> {
    let store = Store::open(&OsFs, path).map_err(|error| of_store(&error))?;
    let publishing = store.publish().map_err(|error| of_store(&error))?;
    let (other, mut imported) = (detect(from)?, Imported::default());
    let mut kinds = Vec::new();
    for root in roots {
        let kind = import_all(&publishing, &other, root, &mut imported);
        kinds.push(word(kind.map_err(|error| refused(&error))?).to_owned());
    }
    Ok((kinds, imported.contents.len(), imported.new))
}

fn word(kind: Root) -> &'static str {
    match kind {
        Root::File => "file",
        Root::Directory => "directory",
        Root::Tree => "tree",
    }
}

fn refused(error: &ImportError) -> CommandError {
    match error {
        ImportError::Store { error: StoreError::Missing { digest }, .. } => {
            CommandError::new(Kind::Usage, "not in the other store").about(digest)
        }
        ImportError::Store { digest, error: error @ StoreError::Damaged { .. } } => {
            failed("the other store is damaged", error).about(digest)
        }
        error => failed("can't import", error),
    }
}

fn tell(roots: &[Digest], (kinds, all, new): &Done, output: &Output) {
    let named = roots.iter().zip(kinds);
    if output.is_json() {
        let imported: Vec<Value> =
            named.map(|(root, kind)| json!({"digest": root.to_string(), "kind": kind})).collect();
        let value = json!({"version": 1, "imported": imported, "contents": all, "new": new});
        return output.json(&value);
    }
    let lines: String = named.map(|(root, kind)| format!("{root}\t{kind}\n")).collect();
    output.text(&format!("{lines}{all} contents, {new} new\n"));
}
