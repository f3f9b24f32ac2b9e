//! What a file system can't keep, however much room there is.

use super::{At, Attribute, Errno, Fs, Result};

/// Returns whether an error says so: of attributes, or of a file of that size.
pub(crate) fn is_beyond(errno: Errno) -> bool {
    matches!(errno, Errno::TOOBIG | Errno::RANGE | Errno::OPNOTSUPP | Errno::FBIG)
}

/// Sets an attribute. Where all of a name's must have room in one block, as on ext4, a full block is no full disk.
pub(crate) fn set_attribute(fs: &dyn Fs, at: At<'_>, (name, value): &Attribute) -> Result<()> {
    match fs.set_attribute(at, name, value) {
        Err(Errno::NOSPC | Errno::DQUOT) => Err(Errno::TOOBIG),
        result => result,
    }
}
