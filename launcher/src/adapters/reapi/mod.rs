//! The process that speaks with a remote cache. It believes the server nothing, and is believed nothing: what
//! it fetches is compared with its digest here.

mod order;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use endow_policy::{RemoteAnswer, RemoteContent, RemoteFound, RemoteOrder, RemoteRequest};
use endow_vfs::action::{ActionResult, ResultError};
use endow_vfs::cas::{Digest, ImportError, Publishing, Store, StoreError, closure, fetch_all};
use rustix::fs::{MemfdFlags, memfd_create, statvfs};
use zeroize::Zeroize;

pub(crate) use order::order;

use super::environment::Environment;
use super::process::{Adapter, AdapterError, secret_order};
use crate::sys;

const PROGRAM: &str = "endow-reapi";
/// The most contents of one question.
const CONTENTS_MAX: usize = 500;
/// The most bytes of the contents of one question, where one content does not have more.
const BYTES_MAX: u64 = 64 << 20;
/// Contents up to this size go together, copied into one file.
const SMALL_MAX: u64 = 1 << 20;
/// The most bytes of one result, in which no content is.
const RESULT_MAX: u64 = 16 << 20;

/// The process, and the cache behind it. Dropped, it ends.
#[derive(Debug)]
pub(crate) struct RemoteCache {
    adapter: Adapter,
}

/// What came of looking one result up.
pub(crate) type Looked = Result<Option<ActionResult>, RemoteError>;

/// Why a remote cache can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoteError {
    /// Nobody answers, so that there is no use in asking more.
    #[error("{0}")]
    Gone(String),
    /// The server refuses something, or says what can't be.
    #[error("{0}")]
    Refused(String),
    /// A content can't be had, or can't be put there.
    #[error("{digest}: {why}")]
    Content {
        /// Which one.
        digest: Digest,
        /// Why.
        why: String,
    },
    /// What is there for an action is no result of one.
    #[error("it is no result of an action")]
    Result(#[from] ResultError),
    /// A tree is none, or what came is another content than its digest says.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The user's store lacks a content, or has it damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is to be fetched is more than can be taken.
    #[error(
        "no room for {bytes} bytes: the disk of the store has {free} left, of which half is taken"
    )]
    NoRoom {
        /// The bytes that are to be fetched.
        bytes: u64,
        /// The bytes that are free.
        free: u64,
    },
    /// A file for contents can't be made, read or written.
    #[error("can't use a file for contents")]
    File(#[source] io::Error),
}

impl RemoteCache {
    /// Starts the process, which connects. What is told to it is wiped here.
    pub(crate) fn start(mut order: RemoteOrder, withheld: &[String]) -> Result<Self, AdapterError> {
        let message = secret_order(&order);
        order.token.zeroize();
        if let Some((_, key)) = order.tls.as_mut().and_then(|tls| tls.identity.as_mut()) {
            key.zeroize();
        }
        let environment = Environment::Network(withheld);
        Ok(Self { adapter: Adapter::start(PROGRAM, &message?, &[], environment)? })
    }

    /// Returns the results of actions, in their order: of each when there is one that `suits` its number. Others may
    /// be large, and are not kept.
    pub(crate) fn find_all(
        &self,
        actions: &[Digest],
        suits: &dyn Fn(usize, &ActionResult) -> bool,
    ) -> Result<Vec<Looked>, RemoteError> {
        let mut all: Vec<Looked> = Vec::new();
        for part in actions.chunks(CONTENTS_MAX) {
            let file = memory()?;
            let names = part.iter().map(|action| (action.to_hex(), action.size)).collect();
            let answer = self.ask(&RemoteRequest::Results(names), Some(file.as_fd()))?;
            let RemoteAnswer::Results(found) = answer else { return Err(no_answer()) };
            if found.len() != part.len() {
                return Err(no_answer());
            }
            for it in found {
                let suits = |result: &ActionResult| suits(all.len(), result);
                let looked = looked(it, &file).map(|it| it.filter(suits));
                all.push(looked);
            }
        }
        Ok(all)
    }

    /// Takes all that results name into the store.
    pub(crate) fn fetch(
        &self,
        results: &[&ActionResult],
        publishing: &Publishing<'_>,
    ) -> Result<(), RemoteError> {
        let contents = results.iter().flat_map(|result| result.contents().copied());
        let roots = results.iter().flat_map(|result| result.directories().copied());
        self.fetch_all(contents, roots, publishing)
    }

    /// Takes contents and all that directories name into the store.
    pub(crate) fn fetch_all(
        &self,
        contents: impl IntoIterator<Item = Digest>,
        directories: impl IntoIterator<Item = Digest>,
        publishing: &Publishing<'_>,
    ) -> Result<(), RemoteError> {
        let file = spool(publishing)?;
        fetch_all(publishing, contents, directories, &mut |lacking| {
            is_room_for(lacking, publishing)?;
            parts(lacking).try_for_each(|part| self.fetch_part(part, &file, publishing))
        })
    }

    fn fetch_part(
        &self,
        part: &[Digest],
        file: &File,
        publishing: &Publishing<'_>,
    ) -> Result<(), RemoteError> {
        let contents = placed(part);
        self.carried(part, RemoteRequest::Fetch(contents.clone()), file.as_fd())?;
        for (digest, content) in part.iter().zip(&contents) {
            let stored = publishing.put_part(file.as_fd(), content.at, digest);
            stored.map_err(|error| ImportError::Store { digest: *digest, error })?;
        }
        file.set_len(0).map_err(RemoteError::File)
    }

    /// Puts a result there, once all that it names is.
    pub(crate) fn share(
        &self,
        action: &Digest,
        result: &ActionResult,
        store: &Store<'_>,
    ) -> Result<(), RemoteError> {
        let (contents, roots) = (result.contents().copied(), result.directories().copied());
        self.put_all(&closure(store, contents, roots)?, store)?;
        let file = memory()?;
        file.write_all_at(&result.encode(), 0).map_err(RemoteError::File)?;
        let request = RemoteRequest::PutResult(action.to_hex(), action.size);
        self.ask(&request, Some(file.as_fd())).map(drop)
    }

    /// Puts those of these contents there that the server has not.
    pub(crate) fn put_all(
        &self,
        contents: &[Digest],
        store: &Store<'_>,
    ) -> Result<(), RemoteError> {
        let mut lacking: Vec<Digest> = Vec::new();
        for part in contents.chunks(CONTENTS_MAX) {
            let RemoteAnswer::Lacking(numbers) =
                self.ask(&RemoteRequest::Lacking(placed(part)), None)?
            else {
                return Err(no_answer());
            };
            lacking.extend(numbers.iter().filter_map(|number| part.get(*number)).copied());
        }
        let (small, large): (Vec<Digest>, _) =
            lacking.into_iter().partition(|digest| digest.size <= SMALL_MAX);
        let file = spool(store)?;
        for part in parts(&small) {
            let contents = placed(part);
            for (digest, content) in part.iter().zip(&contents) {
                let bytes = store.read(digest, SMALL_MAX)?;
                file.write_all_at(&bytes, content.at).map_err(RemoteError::File)?;
            }
            self.carried(part, RemoteRequest::Put(contents), file.as_fd())?;
        }
        for digest in large {
            let object = store.open_object(&digest)?;
            let part = [digest];
            self.carried(&part, RemoteRequest::Put(placed(&part)), object.as_fd())?;
        }
        Ok(())
    }

    /// Has contents carried, all of which must arrive.
    fn carried(
        &self,
        part: &[Digest],
        request: RemoteRequest,
        file: BorrowedFd<'_>,
    ) -> Result<(), RemoteError> {
        let RemoteAnswer::Done(problems) = self.ask(&request, Some(file))? else {
            return Err(no_answer());
        };
        match problems.into_iter().find_map(|it| Some((*part.get(it.number)?, it.why))) {
            Some((digest, why)) => Err(RemoteError::Content { digest, why }),
            None => Ok(()),
        }
    }

    fn ask(
        &self,
        request: &RemoteRequest,
        file: Option<BorrowedFd<'_>>,
    ) -> Result<RemoteAnswer, RemoteError> {
        let gone = || RemoteError::Gone(format!("{PROGRAM} ended"));
        let text = serde_json::to_vec(request).map_err(|_| gone())?;
        let with = file.as_slice();
        let answer = self.adapter.ask(&text, with).ok_or_else(gone)?;
        match serde_json::from_slice(&answer) {
            Ok(RemoteAnswer::Failed { why, gone: true }) => Err(RemoteError::Gone(why)),
            Ok(RemoteAnswer::Failed { why, gone: false }) => Err(RemoteError::Refused(why)),
            Ok(answer) => Ok(answer),
            Err(_) => Err(no_answer()),
        }
    }
}

/// Reads a result from the file that has it.
fn looked(found: RemoteFound, file: &File) -> Looked {
    match found {
        RemoteFound::Nothing => Ok(None),
        RemoteFound::Problem(why) => Err(RemoteError::Refused(why)),
        RemoteFound::Result { at, length } if length <= RESULT_MAX => {
            let mut bytes = vec![0; usize::try_from(length).map_err(|_| no_answer())?];
            file.read_exact_at(&mut bytes, at).map_err(RemoteError::File)?;
            Ok(Some(ActionResult::decode(&bytes)?))
        }
        RemoteFound::Result { .. } => Err(no_answer()),
    }
}

fn no_answer() -> RemoteError {
    RemoteError::Refused(format!("{PROGRAM} answered something else"))
}

/// Sizes are what the server says they are: more than half of what is free on the disk is not fetched.
fn is_room_for(contents: &[Digest], store: &Store<'_>) -> Result<(), RemoteError> {
    let bytes = contents.iter().fold(0, |sum: u64, it| sum.saturating_add(it.size));
    let there = statvfs(store.path());
    let there = there.map_err(|errno| RemoteError::File(errno.into()))?;
    let free = there.f_bavail.saturating_mul(there.f_frsize);
    if bytes > free / 2 { Err(RemoteError::NoRoom { bytes, free }) } else { Ok(()) }
}

/// Divides contents into those of one question each.
fn parts(digests: &[Digest]) -> impl Iterator<Item = &[Digest]> {
    let mut rest = digests;
    std::iter::from_fn(move || {
        let mut bytes = 0_u64;
        let fits = |digest: &&Digest| {
            bytes = bytes.saturating_add(digest.size);
            bytes <= BYTES_MAX
        };
        let length = rest.iter().take(CONTENTS_MAX).take_while(fits).count();
        let (part, behind) = rest.split_at_checked(length.max(1))?;
        rest = behind;
        Some(part)
    })
}

/// Gives each content its place in a file, one behind the other.
fn placed(part: &[Digest]) -> Vec<RemoteContent> {
    let mut next = 0_u64;
    let place = |digest: &Digest| {
        let at = next;
        next = next.saturating_add(digest.size);
        RemoteContent { hash: digest.to_hex(), size: digest.size, at }
    };
    part.iter().map(place).collect()
}

/// A file without a name for contents.
fn spool(store: &Store<'_>) -> Result<File, RemoteError> {
    let file = sys::fd::unnamed(&store.path().join("tmp"));
    file.map(File::from).map_err(|errno| RemoteError::File(errno.into()))
}

fn memory() -> Result<File, RemoteError> {
    let file = memfd_create(c"endow-result", MemfdFlags::CLOEXEC);
    file.map(File::from).map_err(|errno| RemoteError::File(errno.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_bounded_and_leave_nothing_out() {
        let digest = |size| Digest { size, ..Digest::of(b"") };
        let sizes = (0..1_200).map(|it| if it % 400 == 7 { 1 << 40 } else { it << 12 });
        let digests: Vec<Digest> = sizes.map(digest).collect();
        let found: Vec<&[Digest]> = parts(&digests).collect();
        assert_eq!(found.concat(), digests);
        for part in found {
            let bytes: u64 = part.iter().map(|it| it.size).sum();
            assert!(!part.is_empty() && part.len() <= CONTENTS_MAX);
            assert!(bytes <= BYTES_MAX || part.len() == 1);
        }
        assert_eq!(parts(&[]).count(), 0);
    }

    #[test]
    fn contents_lie_one_behind_the_other() {
        let digest = |size| Digest { size, ..Digest::of(b"") };
        let places = placed(&[digest(3), digest(0), digest(5)]);
        assert_eq!(places.iter().map(|it| it.at).collect::<Vec<_>>(), [0, 3, 3]);
    }
}
