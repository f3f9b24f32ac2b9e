//! Stubs: files with bits, a size and a time, and none of their bytes. An overlay takes these from a
//! layer of data below it, by the name that an attribute of the stub tells.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;

use super::ContentName;
use crate::cas::Digest;
use crate::fs::{At, Attribute, Fs};
use crate::materialize::{ContentError, create_file, finish_file};

/// The directory of contents, beside the root of a tree.
pub(super) const DATA: &str = "data";

/// The size from which a content is linked: below, a copy costs less than link and stub.
pub const STUB_FROM: u64 = 32 << 10;

/// The digits of a content's name. With one of this length both attributes have room in an inode of
/// ext4 (256 bytes); with all digits each stub would take a block of the disk.
const DIGITS: usize = 22;

const OVERLAY: &[u8] = b"user.overlay.";
/// The attribute that makes a file a stub.
pub const METACOPY: &str = "user.overlay.metacopy";
const REDIRECT: &str = "user.overlay.redirect";

/// Returns what a content is called in the directory of contents.
///
/// The name is a part of the digest, so another content may have it, too: whoever finds it taken
/// compares the bytes.
pub fn stub_content(digest: &Digest) -> OsString {
    digest.to_hex().get(..DIGITS).unwrap_or_default().into()
}

/// Makes a file whose bytes are those of a content.
///
/// # Errors
/// A failing call.
pub fn make_stub(
    fs: &dyn Fs,
    at: At<'_>,
    executable: bool,
    digest: &Digest,
) -> Result<(), ContentError> {
    let failed = |action| move |errno| ContentError::Io { action, errno };
    let file = create_file(fs, at, executable)?;
    fs.set_size(file.as_fd(), digest.size).map_err(failed("set the size"))?;
    for (name, value) in attributes(digest) {
        fs.set_attribute(at, &name, &value).map_err(failed("set an attribute"))?;
    }
    finish_file(fs, file.as_fd())
}

/// What a file of a tree of stubs is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// It has its bytes.
    Whole,
    /// It is the stub of its content, which has this name.
    Stub(OsString),
    /// An overlay would show something else in its place.
    Forged,
}

/// Tells what the attributes make of a file that is to have this content.
pub(super) fn form(found: &[Attribute], content: &ContentName) -> Form {
    use std::os::unix::ffi::OsStrExt as _;
    let steers = |it: &&Attribute| it.0.as_bytes().starts_with(OVERLAY);
    let found: Vec<&Attribute> = found.iter().filter(steers).collect();
    match content {
        _ if found.is_empty() => Form::Whole,
        ContentName::Cas(digest) if found.iter().copied().eq(&attributes(digest)) => {
            Form::Stub(stub_content(digest))
        }
        ContentName::Cas(_) | ContentName::Git(_) => Form::Forged,
    }
}

/// The attributes of a stub, sorted.
fn attributes(digest: &Digest) -> [Attribute; 2] {
    let mut redirect = OsString::from("/");
    redirect.push(stub_content(digest));
    let attribute = |name: &str, value| (OsStr::new(name).to_owned(), value);
    [attribute(METACOPY, Vec::new()), attribute(REDIRECT, redirect.into_encoded_bytes())]
}

#[cfg(test)]
mod tests;
