//! Groups of system calls that are decided together, and the word that lifts each.

use endow_policy::AllowWord;
use serde::Serialize;

use super::action::{Action, Errno};
use super::check::Check;
use super::leaf::Leaf;

/// What is decided about a group of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRule {
    /// One line that says what the calls do, or why they are refused.
    pub about: &'static str,
    /// What happens without the word.
    pub default: Leaf,
    /// When the default applies; at other times the group is allowed.
    pub applies: Applies,
    /// The word that changes it, and to what.
    pub lift: Option<Lift>,
}

/// When the rule of a group applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applies {
    /// In every run.
    Always,
    /// Where Landlock can't keep signals inside.
    WithoutSignalScope,
    /// When Landlock rules TCP ports.
    WithTcpRules,
    /// In every run; when Landlock rules TCP ports, this instead.
    StricterWithTcpRules(Leaf),
    /// In every run, by who may put a process group in front.
    ByForeground {
        /// When nobody may.
        refused: Leaf,
        /// When the supervisor does for the caller's group.
        announced: Leaf,
    },
    /// Never by itself: the calls are seen when the run is observed.
    WhenObserved,
    /// When addresses are served on demand; seen when the run is observed.
    WhenConnecting,
    /// Never by itself: the calls are seen when names of files are observed.
    WhenExplained,
    /// When there are copy-on-write mounts; seen when names of files are observed.
    WhenBuffered,
}

/// What a word makes of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lift {
    /// The word.
    pub word: AllowWord,
    /// What happens with it.
    pub leaf: Leaf,
}

macro_rules! groups {
    ($($group:ident $name:literal $about:literal $rule:expr;)*) => {
        /// A group of system calls that are decided together.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Group {
            $(#[doc = $about] $group,)*
        }

        impl Group {
            /// All groups, in the order in which reports list them.
            pub const ALL: &[Self] = &[$(Self::$group,)*];

            /// Returns the name that reports use.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$group => $name,)* }
            }

            /// Returns what is decided about the group.
            pub const fn rule(self) -> GroupRule {
                match self { $(Self::$group => GroupRule { about: $about, ..$rule },)* }
            }
        }
    };
}

groups! {
    Ordinary "ordinary" "what every program needs, and what the other layers hold"
        always(Leaf::ALLOW);
    Observed "observed" "starting programs"
        only(Applies::WhenObserved, Leaf::Do(Action::Notify));
    Paths "paths" "names of files"
        only(Applies::WhenExplained, Leaf::Do(Action::Notify));
    Links "links" "reading links; `endow learn` sees all of it"
        only(Applies::WhenExplained, Leaf::Check(Check::LinkBuffer));
    LinksAt "links-at" "reading links in a directory; `endow learn` sees all of it"
        only(Applies::WhenExplained, Leaf::Check(Check::LinkBufferAt));
    Connect "connect" "connecting; an address that only a range or any port allows is served first"
        only(Applies::WhenConnecting, Leaf::Do(Action::Notify));
    Rename "rename" "renaming; a directory of a copy-on-write mount is made ready for it first"
        only(Applies::WhenBuffered, Leaf::Do(Action::Notify));
    Mounts "mounts" "the view itself: mounts, roots, entering namespaces, their names"
        lifted(EPERM, AllowWord::Userns);
    Clone "clone" "processes and threads; namespaces only by the word"
        lifted(Leaf::Check(Check::CloneFlags), AllowWord::Userns);
    Unshare "unshare" "what threads share; namespaces only by the word"
        lifted(Leaf::Check(Check::UnshareFlags), AllowWord::Userns);
    Clone3 "clone3" "its flags are in memory, which no filter sees; libraries fall back to clone"
        lifted(ENOSYS, AllowWord::Userns);
    IoUring "io-uring" "calls on a ring that no filter sees"
        lifted(ENOSYS, AllowWord::IoUring);
    Keyring "keyring" "the user's keyrings, which are no part of any namespace"
        lifted(ENOSYS, AllowWord::Keyring);
    Perf "perf" "counters of the whole machine"
        lifted(EPERM, AllowWord::Perf);
    Userfaultfd "userfaultfd" "stops the kernel in the middle of a copy"
        lifted(EPERM, AllowWord::Userfaultfd);
    Bpf "bpf" "programs that run in the kernel"
        lifted(EPERM, AllowWord::Bpf);
    Segments "segments" "16-bit and 32-bit segments of old programs"
        lifted(ENOSYS, AllowWord::ForeignArch);
    Personality "personality" "other behaviours of the kernel, such as no address randomization"
        lifted(Leaf::Check(Check::Personality), AllowWord::Personality);
    Socket "socket" "sockets by family, type and protocol"
        GroupRule {
            lift: Some(Lift {
                word: AllowWord::RawSockets,
                leaf: Leaf::Check(Check::SocketFamiliesRaw),
            }),
            ..always(Leaf::Check(Check::SocketFamilies))
        };
    SocketPair "socket-pair" "pairs of sockets"
        always(Leaf::Check(Check::SocketPair));
    HostControl "host-control" "what acts on the whole machine"
        lifted(EPERM, AllowWord::HostControl);
    Clock "clock" "reads the state of the clock; adjusting acts on the whole machine"
        lifted(Leaf::Check(Check::ClockAdjust), AllowWord::HostControl);
    DeviceControl "device-control" "requests to open files; none may reach others by the terminal, or copy a subvolume"
        GroupRule {
            applies: Applies::ByForeground {
                refused: Leaf::Check(Check::RequestsInPipeline),
                announced: Leaf::Check(Check::RequestsAtTerminal),
            },
            ..always(Leaf::Check(Check::Requests))
        };
    Descriptors "descriptors" "flags and locks of open files; no lease, and no signal by a terminal"
        always(Leaf::Check(Check::Descriptors));
    Kill "kill" "signals; the caller's process group reaches outside"
        only(Applies::WithoutSignalScope, Leaf::Check(Check::KillGroup));
    Priority "priority" "priorities; the caller's process group reaches outside"
        always(Leaf::Check(Check::PriorityGroup));
    IoPriority "io-priority" "priorities of input and output; the group reaches outside"
        always(Leaf::Check(Check::IoPriorityGroup));
    SharedMemory "shared-memory" "System V and POSIX queues, semaphores and shared memory"
        always(Leaf::ALLOW);
    CoreLimit "core-limit" "limits; that of core dumps keeps these from programs outside"
        always(Leaf::Check(Check::CoreLimit));
    Limits "limits" "limits of processes, by their number; that of core dumps stays as well"
        always(Leaf::Check(Check::CoreLimitOf));
    Scheduling "scheduling" "scheduling of processes, by their number"
        always(Leaf::ALLOW);
    SendTo "send-to" "data, not out of band; a fast open would connect past the rules on ports"
        stricter(Check::OutOfBandTo, Check::SendToFlags);
    SendMessage "send-message" "data, not out of band; a fast open would connect past the rules"
        stricter(Check::OutOfBandMessage, Check::SendMessageFlags);
    SocketOption "socket-option" "options; an upper layer protocol could connect past the rules"
        only(Applies::WithTcpRules, Leaf::Check(Check::SocketOption));
    Filter "filter" "further filters, which only narrow; a listener could answer for the kernel"
        always(Leaf::Check(Check::FilterFlags));
    Obsolete "obsolete" "calls that Linux no longer has"
        always(ENOSYS);
}

impl Group {
    /// Returns whether a refusal is worth telling of. Libraries try the others all the time, and go
    /// another way.
    pub const fn is_told(self) -> bool {
        !matches!(self, Self::Clone3 | Self::Obsolete)
    }
}

const EPERM: Leaf = Leaf::Do(Action::Errno(Errno::EPERM));
const ENOSYS: Leaf = Leaf::Do(Action::Errno(Errno::ENOSYS));

const fn always(default: Leaf) -> GroupRule {
    GroupRule { about: "", default, applies: Applies::Always, lift: None }
}

const fn only(applies: Applies, default: Leaf) -> GroupRule {
    GroupRule { about: "", default, applies, lift: None }
}

const fn stricter(default: Check, with_tcp_rules: Check) -> GroupRule {
    only(Applies::StricterWithTcpRules(Leaf::Check(with_tcp_rules)), Leaf::Check(default))
}

const fn lifted(default: Leaf, word: AllowWord) -> GroupRule {
    let lift = Some(Lift { word, leaf: Leaf::ALLOW });
    GroupRule { about: "", default, applies: Applies::Always, lift }
}
