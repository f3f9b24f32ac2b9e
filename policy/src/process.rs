//! What the processes of a run may ask of the kernel beyond the default.

use std::collections::BTreeSet;

use serde::Serialize;

macro_rules! allow_words {
    ($($variant:ident $word:literal $doc:literal),* $(,)?) => {
        /// A word of `--allow`: one group of kernel services that the default refuses.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "kebab-case")]
        #[expect(clippy::doc_markdown, reason = "the texts are printed by `--allow help`")]
        pub enum AllowWord {
            $(#[doc = $doc] $variant,)*
        }

        impl AllowWord {
            /// All words, in the order in which help lists them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the word as it is written.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// Returns one line that says what it lifts.
            pub const fn help(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }
        }
    };
}

allow_words! {
    Userns "userns" "nested user namespaces and mounts; drops Landlock's file rules and the masks of /proc; not as root",
    IoUring "io-uring" "io_uring, whose requests no seccomp filter sees",
    Keyring "keyring" "kernel keyrings (keyctl, add_key, request_key)",
    Perf "perf" "perf_event_open",
    Userfaultfd "userfaultfd" "userfaultfd",
    Bpf "bpf" "bpf",
    ForeignArch "foreign-arch" "system calls of another architecture of this machine (32-bit programs)",
    Personality "personality" "personality changes such as disabling address randomization",
    RawSockets "raw-sockets" "packet sockets, raw sockets and all netlink families",
    HostControl "host-control" "clock, syslog, quota and similar calls that act on the host",
}

impl std::str::FromStr for AllowWord {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.iter().copied().find(|known| known.word() == word).ok_or(())
    }
}

/// Rules for the processes of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProcessRules {
    /// The groups of kernel services that are lifted.
    pub allow: BTreeSet<AllowWord>,
    /// The command starts in a session of its own, without a controlling terminal.
    pub new_session: bool,
    /// The host name inside; `None` leaves the host's name.
    pub hostname: Option<String>,
    /// The numbers that user and group have inside; `None` leaves their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Ids>,
    /// SIGINT does to the command what SIGTERM does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupt_ends: bool,
}

/// The numbers of a user and its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ids {
    /// The user's.
    pub uid: u32,
    /// The group's.
    pub gid: u32,
}

impl Ids {
    /// The number of whoever has none inside, which `user_namespaces(7)` calls the overflow id.
    pub const NOBODY: u32 = 65534;
}
