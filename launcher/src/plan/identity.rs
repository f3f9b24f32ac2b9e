//! What a source is and how it is reached, so that it is known again when it is mounted.

use serde::Serialize;

/// What a source is, compared again inside the sandbox's mount namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct FileId {
    /// The device number as `stat` gives it.
    pub dev: u64,
    /// The inode number.
    pub ino: u64,
    /// When it was made, in nanoseconds since 1970, which tells it from a later file of its number; or 0.
    pub born: u64,
}

impl From<(u64, u64, u64)> for FileId {
    /// Takes device, inode and birth.
    fn from((dev, ino, born): (u64, u64, u64)) -> Self {
        Self { dev, ino, born }
    }
}

/// What the host's mount of a source takes away, beyond what every mount of a view does. The same
/// file may be reached by another mount that does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub struct HostMount {
    /// Nothing in it can be changed.
    #[serde(skip_serializing_if = "is_false")]
    pub readonly: bool,
    /// No program in it can be started.
    #[serde(skip_serializing_if = "is_false")]
    pub noexec: bool,
}

impl HostMount {
    /// Returns whether a mount takes away nothing.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

impl From<(bool, bool)> for HostMount {
    /// Takes whether a mount is read-only, and whether no program in it can be started.
    fn from((readonly, noexec): (bool, bool)) -> Self {
        Self { readonly, noexec }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(is: &bool) -> bool {
    !is
}
