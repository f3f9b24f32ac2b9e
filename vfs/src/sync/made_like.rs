//! The root of a layer shows as the root of its mount, and is made like what the mount shows.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;

use sha2::{Digest as _, Sha256};

use super::collect::users;
use crate::fs::{At, Attribute, Fs, Result, Status};

const SET_UID: u32 = 0o4000;
const SET_GID: u32 = 0o2000;
/// The bits beside those of access: a layer's root may lack some that the mount's has.
const SPECIAL: u32 = 0o7000;

/// Gives the root of a layer the bits, the `user.*` attributes, the ACLs and the times of what it stands for.
///
/// Set-group-id is left out where the group is another one. What the layer's file system takes no
/// attribute of is left out too: see [`digest_if_alike()`].
///
/// # Errors
/// Bits and times can't be set, or the attributes of the real one can't be read.
pub fn make_like(fs: &dyn Fs, layer: BorrowedFd<'_>, real: BorrowedFd<'_>) -> Result<()> {
    let (made, like) = (fs.status_of(layer)?, fs.status_of(real)?);
    let not_for_it = SET_UID | if made.gid == like.gid { 0 } else { SET_GID };
    fs.set_mode(layer, like.mode & !not_for_it)?;
    if made.uid == like.uid {
        let given = users(fs.attributes(root(real))?);
        // The first that is not taken tells that not all are there.
        let _ =
            given.iter().try_for_each(|(name, value)| fs.set_attribute(root(layer), name, value));
    }
    fs.set_times(layer, &like)
}

/// Returns a digest of the `user.*` attributes and ACLs of a layer's root, where it has all of what it stands for.
///
/// # Errors
/// Either's can't be read.
pub fn digest_if_alike(
    fs: &dyn Fs,
    layer: BorrowedFd<'_>,
    real: BorrowedFd<'_>,
) -> Result<Option<[u8; 32]>> {
    let of = |directory| fs.attributes(root(directory)).map(users);
    let made = of(layer)?;
    Ok((made == of(real)?).then(|| digest(&made)))
}

/// Returns a digest of the `user.*` attributes and ACLs of a layer's root, whoever gave them.
///
/// # Errors
/// The attributes can't be read.
pub fn digest_of(fs: &dyn Fs, layer: BorrowedFd<'_>) -> Result<[u8; 32]> {
    fs.attributes(root(layer)).map(|it| digest(&users(it)))
}

/// Returns a digest of attributes, which tells them from others.
pub(super) fn digest(attributes: &[Attribute]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for (name, value) in attributes {
        for part in [name.as_bytes(), value] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().into()
}

/// Returns the bits that the root of a mount shall have: its own, where the layer's root still has the bits that it
/// was `made` with; else those that the command gave the layer's root, with special bits that it could not be made
/// with.
pub(super) fn bits(layer: &Status, made: u32, real: &Status) -> u32 {
    if layer.mode == made { real.mode } else { layer.mode | real.mode & !made & SPECIAL }
}

fn root(directory: BorrowedFd<'_>) -> At<'_> {
    At { dir: directory, name: OsStr::new("") }
}
