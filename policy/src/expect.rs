//! What a policy expects to hold in the running sandbox, for `endow verify`.

use serde::Serialize;

use crate::Origin;

/// What is tried in the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Probe {
    /// Reading a path.
    Read,
    /// Writing a path.
    Write,
    /// Executing a path.
    Execute,
    /// Connecting to `HOST:PORT`.
    Connect,
}

/// What shall come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The name does not exist inside (ENOENT).
    Absent,
    /// The kernel refuses (EACCES, EPERM, EROFS), or the name is absent.
    Denied,
    /// It works.
    Allowed,
}

impl Probe {
    /// All probes with the key that asks for each.
    pub const ALL: &[(&'static str, Self)] = &[
        ("read", Self::Read),
        ("write", Self::Write),
        ("execute", Self::Execute),
        ("connect", Self::Connect),
    ];
}

impl Verdict {
    /// All verdicts with the word of `is` for each.
    pub const ALL: &[(&'static str, Self)] =
        &[("absent", Self::Absent), ("denied", Self::Denied), ("allowed", Self::Allowed)];
}

/// One `[[expect]]` table: `read = "~/.ssh/id_rsa", is = "absent"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Expectation {
    /// What is tried.
    pub probe: Probe,
    /// On which path or host, as written; paths are the guest's.
    pub object: String,
    /// What shall come of it.
    pub is: Verdict,
    /// Who expects it.
    pub origin: Origin,
}
