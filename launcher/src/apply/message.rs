//! What pid 1 says to the supervisor: one fixed-size message a packet.

/// The stage of the set-up in which something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Making the process and its namespaces.
    Clone,
    /// What is done before the view is known.
    Opening,
    /// Building the view.
    Init,
    /// Giving up power.
    Confine,
    /// The last steps of the command's process.
    Payload,
    /// Executing the command.
    Exec,
    /// Making pid 1 ready to reap.
    Reaper,
}

impl Stage {
    const ALL: [Self; 7] = [
        Self::Clone,
        Self::Opening,
        Self::Init,
        Self::Confine,
        Self::Payload,
        Self::Exec,
        Self::Reaper,
    ];
}

/// The place and error of a failed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepFailure {
    /// The stage.
    pub(crate) stage: Stage,
    /// The number of the step within its stage.
    pub(crate) step: u32,
    /// The number of the rule or candidate within the step.
    pub(crate) detail: u32,
    /// The kernel's error number.
    pub(crate) errno: i32,
}

/// What the command and its children used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// The most memory that one process held, in KiB.
    pub(crate) max_rss_kib: u64,
    /// User CPU time of all processes, in microseconds.
    pub(crate) user_us: u64,
    /// System CPU time of all processes, in microseconds.
    pub(crate) system_us: u64,
}

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// The set-up failed; nothing of the command has run.
    Failed(StepFailure),
    /// Descriptors of the user, mount and network namespaces travel with it.
    Namespaces,
    /// No session keyring could be made, for the quota of the user.
    NoKeyring,
    /// The command's process exists; its pidfd travels with it.
    Started,
    /// The command was stopped by a signal.
    Stopped { signal: i32 },
    /// The command goes on.
    Continued,
    /// The command has ended and no other process is left.
    Exited { status: i32, leftovers: u32, usage: Usage },
    /// The descriptor on which the filter announces calls travels with it.
    Listener,
    /// Sockets of the network namespace travel with it.
    Sockets,
    /// The root of an upper layer in memory travels with it, in the order of the plan.
    Layer,
    /// A directory of the view travels with it, in the order of the plan.
    Handed,
    /// The supervisor asks: end every process, politely.
    Terminate,
    /// The supervisor says: the plan is written.
    Planned,
    /// The supervisor says: steps follow, in a packet of so many bytes.
    Steps { bytes: u32 },
    /// The supervisor says: the rest of the opening follows likewise, for a network namespace of its own or not.
    Opening { bytes: u32, network: bool },
}

/// The size of every message.
pub(crate) const SIZE: usize = 48;

impl Message {
    /// Returns how many descriptors travel with it at least.
    pub(super) fn descriptors_min(self) -> usize {
        match self {
            Self::Namespaces => 3,
            Self::Started | Self::Listener | Self::Sockets | Self::Layer | Self::Handed => 1,
            _ => 0,
        }
    }

    /// Returns the bytes of the message.
    pub(crate) fn encode(self) -> [u8; SIZE] {
        let words: [u64; 6] = match self {
            Self::Failed(failure) => [
                1,
                failure.stage as u64,
                failure.step.into(),
                failure.detail.into(),
                failure.errno.cast_unsigned().into(),
                0,
            ],
            Self::Namespaces => [2, 0, 0, 0, 0, 0],
            Self::NoKeyring => [3, 0, 0, 0, 0, 0],
            Self::Started => [4, 0, 0, 0, 0, 0],
            Self::Stopped { signal } => [5, signal.cast_unsigned().into(), 0, 0, 0, 0],
            Self::Continued => [6, 0, 0, 0, 0, 0],
            Self::Exited { status, leftovers, usage } => [
                7,
                status.cast_unsigned().into(),
                leftovers.into(),
                usage.max_rss_kib,
                usage.user_us,
                usage.system_us,
            ],
            Self::Terminate => [8, 0, 0, 0, 0, 0],
            Self::Listener => [9, 0, 0, 0, 0, 0],
            Self::Planned => [10, 0, 0, 0, 0, 0],
            Self::Layer => [11, 0, 0, 0, 0, 0],
            Self::Sockets => [13, 0, 0, 0, 0, 0],
            Self::Handed => [14, 0, 0, 0, 0, 0],
            Self::Steps { bytes } => [12, bytes.into(), 0, 0, 0, 0],
            Self::Opening { bytes, network } => [15, bytes.into(), network.into(), 0, 0, 0],
        };
        let mut bytes = [0; SIZE];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// Reads a message; `None` for bytes that are none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words = [0u64; 6];
        if bytes.len() != SIZE {
            return None;
        }
        for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_ne_bytes(chunk.try_into().ok()?);
        }
        let [kind, first, second, third, fourth, fifth] = words;
        let number = |word: u64| u32::try_from(word).ok();
        let signed = |word: u64| number(word).map(u32::cast_signed);
        Some(match kind {
            1 => Self::Failed(StepFailure {
                stage: *Stage::ALL.get(usize::try_from(first).ok()?)?,
                step: number(second)?,
                detail: number(third)?,
                errno: signed(fourth)?,
            }),
            2 => Self::Namespaces,
            3 => Self::NoKeyring,
            4 => Self::Started,
            5 => Self::Stopped { signal: signed(first)? },
            6 => Self::Continued,
            7 => Self::Exited {
                status: signed(first)?,
                leftovers: number(second)?,
                usage: Usage { max_rss_kib: third, user_us: fourth, system_us: fifth },
            },
            8 => Self::Terminate,
            9 => Self::Listener,
            10 => Self::Planned,
            11 => Self::Layer,
            12 => Self::Steps { bytes: number(first)? },
            13 => Self::Sockets,
            14 => Self::Handed,
            15 => Self::Opening { bytes: number(first)?, network: second != 0 },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Message, SIZE, Stage, StepFailure, Usage};

    #[test]
    fn every_message_survives_the_trip() {
        let usage = Usage { max_rss_kib: u64::MAX, user_us: 2, system_us: 3 };
        let failure = StepFailure { stage: Stage::Exec, step: u32::MAX, detail: 7, errno: -1 };
        let messages = [
            Message::Failed(failure),
            Message::Namespaces,
            Message::NoKeyring,
            Message::Started,
            Message::Stopped { signal: 20 },
            Message::Continued,
            Message::Exited { status: 0x7f00, leftovers: 4, usage },
            Message::Terminate,
            Message::Listener,
            Message::Planned,
            Message::Layer,
            Message::Sockets,
            Message::Steps { bytes: 7 },
            Message::Opening { bytes: 7, network: true },
            Message::Opening { bytes: 0, network: false },
        ];
        for message in messages {
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
    }

    #[test]
    fn foreign_bytes_are_no_message() {
        assert_eq!(Message::decode(&[]), None);
        assert_eq!(Message::decode(&[0xff; SIZE]), None);
        assert_eq!(Message::decode(&[0; SIZE + 8]), None);
    }
}
