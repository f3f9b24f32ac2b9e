//! All that trees name, for those who send it elsewhere or have it sent.

use std::collections::HashSet;

use super::import::ENTRIES_MAX;
use super::message::{Listing, MessageError};
use super::tree::DIRECTORY_MAX;
use super::{Damage, Digest, ImportError, Publishing, Store, StoreError};
use crate::snapshot::Bounds;

/// Returns contents and all that directories name, themselves included, each once and but for what is empty,
/// which everybody has.
///
/// # Errors
/// A directory that is missing or damaged, or a failing call.
pub fn closure(
    store: &Store<'_>,
    contents: impl IntoIterator<Item = Digest>,
    directories: impl IntoIterator<Item = Digest>,
) -> Result<Vec<Digest>, StoreError> {
    let mut named = Named::default();
    contents.into_iter().for_each(|it| named.add(it));
    let mut pending: Vec<Digest> = directories.into_iter().collect();
    while let Some(root) = pending.pop() {
        if !named.seen.contains(&root) {
            named.add(root);
            let bytes = store.read(&root, DIRECTORY_MAX)?;
            let damaged = || StoreError::Damaged { digest: root, damage: Damage::Hash };
            let listing = Listing::decode(&bytes, ENTRIES_MAX).map_err(|_| damaged())?;
            listing.files().iter().for_each(|file| named.add(file.digest));
            pending.extend(listing.directories().iter().map(|it| it.digest));
        }
    }
    Ok(named.list)
}

/// Digests in the order in which they were first seen.
#[derive(Default)]
struct Named {
    seen: HashSet<Digest>,
    list: Vec<Digest>,
}

impl Named {
    fn add(&mut self, digest: Digest) {
        if self.seen.insert(digest) && digest != Digest::EMPTY {
            self.list.push(digest);
        }
    }
}

/// Takes contents and all that directories name into a store, by asking for what it has not, one level of
/// directories after the other. `fetch` puts all that it is asked for, or fails. What was taken before an error
/// stays.
///
/// # Errors
/// A directory that is none, a tree that passes the bounds of every tree, a failing call, or what `fetch` says.
pub fn fetch_all<E: From<ImportError>>(
    publishing: &Publishing<'_>,
    contents: impl IntoIterator<Item = Digest>,
    directories: impl IntoIterator<Item = Digest>,
    fetch: &mut dyn FnMut(&[Digest]) -> Result<(), E>,
) -> Result<(), E> {
    let mut level = Level::default();
    level.take(contents, directories)?;
    let limit = Bounds::default().depth;
    for _ in 0..=limit {
        if level.wanted.is_empty() {
            return Ok(());
        }
        let lacking = lacking(publishing, &level.wanted)?;
        if !lacking.is_empty() {
            fetch(&lacking)?;
        }
        level.go_down(publishing)?;
    }
    Err(ImportError::Deep { limit }.into())
}

/// What is wanted next, each content once in all.
#[derive(Default)]
struct Level {
    asked: HashSet<Digest>,
    seen: HashSet<Digest>,
    wanted: Vec<Digest>,
    directories: Vec<Digest>,
}

impl Level {
    fn take(
        &mut self,
        contents: impl IntoIterator<Item = Digest>,
        directories: impl IntoIterator<Item = Digest>,
    ) -> Result<(), ImportError> {
        let Self { asked, seen, wanted, directories: all } = self;
        wanted.extend(contents.into_iter().filter(|digest| asked.insert(*digest)));
        for digest in directories {
            if digest.size > DIRECTORY_MAX {
                let error = StoreError::TooLarge { digest, limit: DIRECTORY_MAX };
                return Err(ImportError::Store { digest, error });
            }
            wanted.extend(asked.insert(digest).then_some(digest));
            all.extend(seen.insert(digest).then_some(digest));
        }
        let (limit, digest) = (Bounds::default().entries, wanted.last().copied());
        if asked.len() > limit {
            let error = MessageError::ManyEntries { limit };
            return Err(ImportError::Message { digest: digest.unwrap_or(Digest::EMPTY), error });
        }
        Ok(())
    }

    /// Goes on to what these directories name.
    fn go_down(&mut self, publishing: &Publishing<'_>) -> Result<(), ImportError> {
        self.wanted.clear();
        for digest in std::mem::take(&mut self.directories) {
            let bytes = publishing.read(&digest, DIRECTORY_MAX);
            let bytes = bytes.map_err(|error| ImportError::Store { digest, error })?;
            let listing = Listing::decode(&bytes, ENTRIES_MAX);
            let listing = listing.map_err(|error| ImportError::Message { digest, error })?;
            let files = listing.files().iter().map(|file| file.digest);
            self.take(files, listing.directories().iter().map(|it| it.digest))?;
        }
        Ok(())
    }
}

/// Returns what the store has not; what is empty it has from now on.
fn lacking(publishing: &Publishing<'_>, wanted: &[Digest]) -> Result<Vec<Digest>, ImportError> {
    let mut lacking = Vec::new();
    for digest in wanted {
        let failed = |error| ImportError::Store { digest: *digest, error };
        if *digest == Digest::EMPTY {
            publishing.put_bytes(&[]).map_err(failed)?;
        } else if !publishing.has_used(digest).map_err(failed)? {
            lacking.push(*digest);
        }
    }
    Ok(lacking)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cas::message::{ListedDirectory, ListedFile};
    use crate::cas::testing::{path, store};
    use crate::testing::Scratch;

    /// A tree of two directories and three files, two of which are one content.
    fn tree(publishing: &Publishing<'_>) -> Digest {
        let file = |name: &str, content: &[u8]| ListedFile {
            name: name.to_owned(),
            digest: publishing.put_bytes(content).expect("put").digest,
            executable: false,
        };
        let put = |listing: Listing| publishing.put_bytes(&listing.encode()).expect("put").digest;
        let below = vec![file("a", b"one"), file("b", b"two")];
        let below = put(Listing::new(below, vec![], vec![]).expect("a directory"));
        let named = vec![ListedDirectory { name: "below".to_owned(), digest: below }];
        let top = vec![file("c", b"one"), file("empty", b"")];
        put(Listing::new(top, named, vec![]).expect("a directory"))
    }

    #[test]
    fn all_that_is_named_comes_over_by_levels_and_once() {
        let (here, there) = (Scratch::new(), Scratch::new());
        let (mine, theirs) = (store(&here), store(&there));
        let from = theirs.publish().expect("the lock");
        let (root, other) = (tree(&from), from.put_bytes(b"beside").expect("put").digest);
        let all = closure(&theirs, [other, other], [root]).expect("all");
        assert_eq!(all.len(), 5);
        let publishing = mine.publish().expect("the lock");
        let mut asked = Vec::new();
        let mut fetch = |digests: &[Digest]| {
            asked.push(digests.to_vec());
            for digest in digests {
                publishing.put_bytes(&from.read(digest, 1_000).expect("there")).expect("put");
            }
            Ok::<(), ImportError>(())
        };
        fetch_all(&publishing, [other], [root], &mut fetch).expect("all");
        assert_eq!(asked.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
        assert_eq!(closure(&mine, [other], [root]).expect("all"), all);
        assert!(mine.has(&Digest::EMPTY).expect("asked"));
        // What is there is not asked for, but what is below it is.
        let lost = Digest::of(b"two");
        std::fs::remove_file(path(&mine, &lost)).expect("removed");
        let mut asked = Vec::new();
        let mut note = |digests: &[Digest]| {
            asked.extend_from_slice(digests);
            publishing
                .put_bytes(b"two")
                .map(drop)
                .map_err(|error| ImportError::Store { digest: lost, error })
        };
        fetch_all(&publishing, [other], [root], &mut note).expect("the rest");
        assert_eq!(asked, [lost]);
    }

    #[test]
    fn what_is_no_directory_is_told() {
        let scratch = Scratch::new();
        let store = store(&scratch);
        let publishing = store.publish().expect("the lock");
        let file = publishing.put_bytes(b"no directory").expect("put").digest;
        let nothing = &mut |_: &[Digest]| Ok::<(), ImportError>(());
        let error = fetch_all(&publishing, [], [file], nothing).expect_err("refused");
        assert!(matches!(error, ImportError::Message { digest, .. } if digest == file));
        assert!(closure(&store, [], [file]).is_err());
    }

    /// Whoever sends a tree says how large it is, and how deep.
    #[test]
    fn bounds_hold_before_anything_is_fetched() {
        let scratch = Scratch::new();
        let store = store(&scratch);
        let publishing = store.publish().expect("the lock");
        let nothing = &mut |_: &[Digest]| -> Result<(), ImportError> { panic!("fetched") };
        let large = Digest { size: DIRECTORY_MAX + 1, ..Digest::of(b"") };
        let error = fetch_all(&publishing, [], [large], nothing).expect_err("refused");
        assert!(matches!(error, ImportError::Store { error: StoreError::TooLarge { .. }, .. }));
        // A tree that goes on for ever, as long as somebody asks.
        let mut depth = 0;
        let mut next = Digest::EMPTY;
        for number in 0..Bounds::default().depth + 10 {
            let named = ListedDirectory { name: number.to_string(), digest: next };
            let listing = Listing::new(vec![], vec![named], vec![]).expect("a directory");
            next = publishing.put_bytes(&listing.encode()).expect("put").digest;
            depth += 1;
        }
        assert!(depth > Bounds::default().depth);
        let error = fetch_all(&publishing, [], [next], nothing).expect_err("refused");
        assert!(matches!(error, ImportError::Deep { .. }), "{error:?}");
    }
}
