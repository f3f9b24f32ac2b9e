//! What this host can enforce and what is missing, one question each: `endow doctor`.
//!
//! Everything here only reads. Whether a sandbox really starts is tried by the command itself.

mod kernel;
mod landlock;
mod limits;
mod place;
mod user;

use std::path::Path;

use serde::Serialize;

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What was asked about.
    pub(crate) name: &'static str,
    /// Whether it is as it should be.
    pub(crate) status: Status,
    /// What was found.
    pub(crate) detail: String,
    /// The one command or step that mends it.
    pub(crate) remedy: Option<String>,
}

/// Whether something is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Nothing to do.
    Ok,
    /// Good to know; every promise of the level is kept.
    Note,
    /// Something that can be asked for does not work here.
    Limited,
    /// No sandbox of level `full` without it.
    Missing,
}

impl Finding {
    pub(crate) fn new(name: &'static str, status: Status, detail: impl Into<String>) -> Self {
        Self { name, status, detail: detail.into(), remedy: None }
    }

    pub(crate) fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, Status::Ok, detail)
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// Asks everything; `state` is endow's state directory.
pub(crate) fn ask(state: &Path) -> Vec<Finding> {
    let mut findings = kernel::findings();
    findings.extend(landlock::findings());
    findings.extend(limits::findings());
    findings.extend(user::findings());
    findings.push(place::state(state));
    findings.push(build());
    findings
}

/// A build in which layers can be taken away is for tests alone.
fn build() -> Finding {
    if cfg!(feature = "test-switches") {
        Finding::new("build", Status::Missing, "built with test switches: layers can be taken away")
            .remedy("install a release build")
    } else {
        Finding::ok("build", env!("CARGO_PKG_VERSION"))
    }
}
