//! The Landlock ruleset, derived from the same mounts as the view.
//!
//! Rights and ABI versions are those of landlock(7). Rules are opened inside the finished view; where
//! there is none, at level `landlock`, on the host, and compared with what was seen before.

use endow_policy::GuestPath;
use serde::Serialize;

use super::step::FileId;

/// The first ABI with scopes for signals and abstract sockets.
pub(super) const ABI_WITH_SCOPES: u32 = 6;

/// File-system rights, as the kernel numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rights(pub u64);

impl Rights {
    pub(super) const EXECUTE: Self = Self(1);
    pub(super) const WRITE_FILE: Self = Self(1 << 1);
    pub(super) const READ_FILE: Self = Self(1 << 2);
    pub(super) const READ_DIR: Self = Self(1 << 3);
    pub(super) const TRUNCATE: Self = Self(1 << 14);
    pub(super) const IOCTL_DEV: Self = Self(1 << 15);
    /// Rights that only directories can carry: READ_DIR, REMOVE_*, MAKE_* and REFER.
    pub(super) const DIRECTORY: Self = Self(0x3ff8);
    /// Making character and block devices.
    pub(super) const MAKE_DEVICE: Self = Self(1 << 6 | 1 << 11);
    /// Reading and listing.
    pub const READ: Self = Self(Self::READ_FILE.0 | Self::READ_DIR.0);
    /// Reading, listing and executing.
    pub const READ_EXECUTE: Self = Self(Self::READ.0 | Self::EXECUTE.0);
    /// Everything that changes a tree: writing, truncating, making, removing and renaming.
    pub const CHANGE: Self = Self(Self::WRITE_FILE.0 | Self::TRUNCATE.0 | 0x3ff0);
    /// Reading and writing one file.
    pub const READ_WRITE_FILE: Self =
        Self(Self::READ_FILE.0 | Self::WRITE_FILE.0 | Self::TRUNCATE.0);

    /// Returns the rights of either.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the rights of both.
    pub const fn within(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the rights without those of `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns whether every right of `other` is here.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns every right that an ABI version knows.
    pub const fn of_abi(abi: u32) -> Self {
        match abi {
            0 => Self(0),
            1 => Self(0x1fff),
            2 => Self(0x3fff),
            3 | 4 => Self(0x7fff),
            _ => Self(0xffff),
        }
    }

    fn letters(self) -> String {
        let named: [(Self, &str); 9] = [
            (Self::READ_FILE, "r"),
            (Self::READ_DIR, "l"),
            (Self::EXECUTE, "x"),
            (Self::WRITE_FILE, "w"),
            (Self::TRUNCATE, "t"),
            (Self(0x1780), "m"),
            (Self(0x30), "d"),
            (Self(1 << 13), "f"),
            (Self::IOCTL_DEV, "i"),
        ];
        named.iter().filter(|(right, _)| self.contains(*right)).map(|(_, letter)| *letter).collect()
    }
}

impl std::fmt::Display for Rights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.letters())
    }
}

impl Serialize for Rights {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.letters())
    }
}

/// One rule: what may be done at and below a path of the view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The path in the finished view.
    pub at: GuestPath,
    /// What is allowed there.
    pub rights: Rights,
    /// What must be there when the rule is made; `None` in a view of endow's own making.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<FileId>,
}

/// A rule on the very file behind a standard stream, so that it can be opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StreamRule {
    /// The descriptor's number.
    pub number: i32,
    /// What its descriptor already allows.
    pub rights: Rights,
}

/// What Landlock enforces in this run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LandlockPlan {
    /// The ABI that is used.
    pub abi: u32,
    /// File-system rights that are refused where no rule allows them.
    pub handled: Rights,
    /// What is allowed where.
    pub rules: Vec<Rule>,
    /// The standard streams.
    pub streams: Vec<StreamRule>,
    /// TCP is refused altogether (only where no network namespace does it).
    pub refuse_tcp: bool,
    /// Signals to processes outside are refused (ABI 6).
    pub scope_signal: bool,
    /// Abstract Unix sockets of processes outside are refused (ABI 6).
    pub scope_abstract: bool,
}
