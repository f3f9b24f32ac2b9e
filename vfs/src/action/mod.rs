//! Actions as the Remote Execution API has them, and the cache of their results.
//!
//! An action is named by the digest of its message, which names the command and the tree that it
//! sees: two that have one digest do the same. What came of one is kept under this name.

mod cache;
mod disk;
mod left;
mod requested;
mod result;

use std::collections::BTreeMap;
use std::time::Duration;

use prost::Message;

use crate::cas::Digest;
use crate::cas::message::wire;

pub use cache::{ActionCache, CacheError};
pub use disk::{DiskCache, DiskCacheError};
pub use left::{LeftError, left_at};
pub use requested::{
    RequestError, RequestedAction, RequestedCommand, RequestedEnd, RequestedOutput, RequestedResult,
};
pub use result::{ActionResult, Left, LeftNode, ResultError};

/// A command, and all that its result depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The program and its arguments.
    pub arguments: Vec<String>,
    /// The whole environment.
    pub environment: BTreeMap<String, String>,
    /// What is kept of what it leaves: paths below the input root.
    pub outputs: Vec<String>,
    /// The tree that it sees.
    pub input_root: Digest,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// Properties of where it runs.
    pub platform: BTreeMap<String, String>,
}

/// The messages of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Messages {
    /// The bytes of the `Command`.
    pub command: Vec<u8>,
    /// The bytes of the `Action`, whose digest is its name.
    pub action: Vec<u8>,
}

impl Action {
    /// Returns the canonical messages.
    pub fn messages(&self) -> Messages {
        let mut output_paths = self.outputs.clone();
        output_paths.sort_unstable();
        output_paths.dedup();
        let command = wire::Command {
            arguments: self.arguments.clone(),
            environment_variables: pairs(&self.environment),
            output_paths,
            ..wire::Command::default()
        };
        let command = command.encode_to_vec();
        let action = wire::Action {
            command_digest: Some(Digest::of(&command).into()),
            input_root_digest: Some(self.input_root.into()),
            timeout: self.timeout.map(duration),
            do_not_cache: false,
            salt: Vec::new(),
            platform: Some(wire::Platform { properties: pairs(&self.platform) }),
        };
        Messages { action: action.encode_to_vec(), command }
    }
}

impl Messages {
    /// Returns the name of the action.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.action)
    }
}

/// A map is sorted by its names, as the API wants it.
fn pairs(map: &BTreeMap<String, String>) -> Vec<wire::Pair> {
    let pair =
        |(name, value): (&String, &String)| wire::Pair { name: name.clone(), value: value.clone() };
    map.iter().map(pair).collect()
}

fn duration(time: Duration) -> wire::Duration {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    // Below a thousand million.
    wire::Duration { seconds, nanos: i32::try_from(time.subsec_nanos()).unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action() -> Action {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(one, two)| ((*one).to_owned(), (*two).to_owned())).collect()
        };
        Action {
            arguments: vec!["cc".to_owned(), "-c".to_owned(), "a.c".to_owned()],
            environment: map(&[("PATH", "/usr/bin"), ("LC_ALL", "C")]),
            outputs: vec!["b.o".to_owned(), "a.o".to_owned()],
            input_root: Digest::of(b"root"),
            timeout: Some(Duration::from_millis(1500)),
            platform: map(&[("OSFamily", "linux")]),
        }
    }

    #[test]
    fn everything_that_counts_changes_the_name() {
        let name = action().messages().digest();
        let changes: [fn(&mut Action); 6] = [
            |it| it.arguments.push(String::new()),
            |it| drop(it.environment.insert("A".to_owned(), String::new())),
            |it| drop(it.outputs.pop()),
            |it| it.input_root.size += 1,
            |it| it.timeout = None,
            |it| drop(it.platform.insert("ISA".to_owned(), "x86-64".to_owned())),
        ];
        for change in changes {
            let mut other = action();
            change(&mut other);
            assert_ne!(other.messages().digest(), name);
        }
        let mut same = action();
        same.outputs = vec!["a.o".to_owned(), "b.o".to_owned(), "a.o".to_owned()];
        assert_eq!(same.messages().digest(), name);
    }

    /// The bytes as `protoc` writes them for the same text, field by field.
    #[test]
    fn messages_are_canonical() {
        let messages = action().messages();
        let mut command = Vec::new();
        for word in ["cc", "-c", "a.c"] {
            field(&mut command, 1, word.as_bytes());
        }
        for (name, value) in [("LC_ALL", "C"), ("PATH", "/usr/bin")] {
            let mut pair = Vec::new();
            field(&mut pair, 1, name.as_bytes());
            field(&mut pair, 2, value.as_bytes());
            field(&mut command, 2, &pair);
        }
        for path in ["a.o", "b.o"] {
            field(&mut command, 7, path.as_bytes());
        }
        assert_eq!(messages.command, command);
        let mut action = Vec::new();
        field(&mut action, 1, &digest(&command));
        field(&mut action, 2, &digest(b"root"));
        // seconds = 1, nanos = 500000000
        field(&mut action, 6, &[0x08, 1, 0x10, 0x80, 0xca, 0xb5, 0xee, 0x01]);
        let mut property = Vec::new();
        field(&mut property, 1, b"OSFamily");
        field(&mut property, 2, b"linux");
        let mut platform = Vec::new();
        field(&mut platform, 1, &property);
        field(&mut action, 10, &platform);
        assert_eq!(messages.action, action);
    }

    fn field(message: &mut Vec<u8>, number: u8, bytes: &[u8]) {
        let length = u8::try_from(bytes.len()).expect("short");
        assert!(length < 0x80);
        message.extend_from_slice(&[number << 3 | 2, length]);
        message.extend_from_slice(bytes);
    }

    fn digest(bytes: &[u8]) -> Vec<u8> {
        let mut message = Vec::new();
        let of = Digest::of(bytes);
        field(&mut message, 1, of.to_hex().as_bytes());
        message.extend_from_slice(&[2 << 3, u8::try_from(of.size).expect("short")]);
        message
    }
}
