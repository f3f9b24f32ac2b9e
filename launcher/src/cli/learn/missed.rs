//! One thing that a run asked for and did not get, as it is kept: by its name alone, since what holds
//! and what is there may be another by the time it is judged.

use std::path::PathBuf;

use endow_policy::Protocol;
use endow_vfs::json_path;
use serde_json::{Value, json};

use crate::cli::output::json_text;
use crate::network::{Decision, Entry};
use crate::plan::why::{Denial, Operation, Subject};

/// The port of a name of which no port is known.
const HTTPS: u16 = 443;

/// One thing that a run asked for and did not get.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Missed {
    /// A path of the view.
    Path(PathBuf, Operation),
    /// A host, as a word of the network.
    Host(String),
    /// A system call by its name.
    Call(String),
}

impl Missed {
    /// Returns what was refused; no grant is for an abstract socket.
    pub(crate) fn of_denial(denial: &Denial) -> Option<Self> {
        Some(match &denial.subject {
            Subject::Path(path) => {
                Self::Path(path.into(), denial.operation.unwrap_or(Operation::Read))
            }
            Subject::Host(word) => Self::Host(word.clone()),
            Subject::Socket(_) => return None,
            Subject::Call(name) => Self::Call(name.clone()),
        })
    }

    /// Returns the host of a connection that no rule allows.
    pub(crate) fn of_connection(entry: &Entry) -> Option<Self> {
        if !matches!(entry.decision, Decision::NotAllowed | Decision::Special(_)) {
            return None;
        }
        let protocol = if entry.protocol == Protocol::Udp { "udp:" } else { "" };
        // What no rule can name is not asked for again.
        let is_v6 = entry.host.contains(':') && !entry.host.starts_with('[');
        let host = if is_v6 { format!("[{}]", entry.host) } else { entry.host.clone() };
        Some(Self::Host(format!("{protocol}{host}:{}", entry.port.unwrap_or(HTTPS))))
    }

    /// Returns how it is kept.
    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Path(path, to) => json!({"path": json_text::path(path), "to": to.word()}),
            Self::Host(word) => json!({"host": word}),
            Self::Call(name) => json!({"call": name}),
        }
    }

    /// Reads what was kept; `None` for what this version does not know.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        if let Some(path) = value.get("path") {
            let path = json_path::deserialize(path).ok()?;
            return Some(Self::Path(path, operation(&text("to")?)?));
        }
        text("host").map(Self::Host).or_else(|| text("call").map(Self::Call))
    }
}

fn operation(word: &str) -> Option<Operation> {
    let all = [Operation::Read, Operation::Write, Operation::Execute, Operation::Connect];
    all.into_iter().find(|operation| operation.word() == word)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn kept_as_it_was() {
        let odd = OsString::from_vec(b"/a\xff".to_vec());
        assert!(odd.to_str().is_none());
        let all = [
            Missed::Path("/a b\n".into(), Operation::Write),
            Missed::Path(odd.into(), Operation::Execute),
            Missed::Host("a.example.com:80".to_owned()),
            Missed::Call("unshare".to_owned()),
        ];
        for asked in all {
            assert_eq!(Missed::read(&asked.value()), Some(asked));
        }
        assert_eq!(Missed::read(&json!({"path": "/a", "to": "fly"})), None);
        assert_eq!(Missed::read(&json!({"later": 1})), None);
    }
}
