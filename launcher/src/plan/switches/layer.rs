//! The layers that can be taken away.

use std::str::FromStr;

macro_rules! layers {
    ($($layer:ident $word:literal $about:literal,)*) => {
        /// One layer of a run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Layer {
            $(#[doc = $about] $layer,)*
        }

        impl Layer {
            /// All layers.
            pub const ALL: &[Self] = &[$(Self::$layer,)*];

            /// Returns the word by which it is taken away.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$layer => $word,)* }
            }
        }
    };
}

layers! {
    MountFlags "mount-flags" "Attributes of mounts: read-only, noexec, nodev.",
    Mounts "mounts" "The view: without it the whole host stands at `/host`.",
    Hidden "hidden" "Mask layers, and covers of denied names and of what git outside goes by.",
    ProcCovers "proc-covers" "Covers below `/proc`.",
    UsernsCount "userns-count" "The count of nested user namespaces.",
    NetworkNamespace "network-namespace" "The network namespace.",
    IpcNamespace "ipc-namespace" "The namespace of System V and POSIX queues and memory.",
    Keyring "keyring" "The new session keyring.",
    Capabilities "capabilities" "The empty capability sets: without them, all are kept.",
    NoNewPrivs "no-new-privs" "`no_new_privs`; the kernel then refuses Landlock and filters too.",
    Landlock "landlock" "The Landlock domain, files and scopes.",
    NotDumpable "not-dumpable" "Pid 1 can't be traced.",
    Seccomp "seccomp" "The filters of the command and of pid 1.",
}

impl FromStr for Layer {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|layer| layer.word() == word);
        found.copied().ok_or_else(|| {
            let words: Vec<_> = Self::ALL.iter().map(|layer| layer.word()).collect();
            format!("no such layer; there are {}", words.join(", "))
        })
    }
}
