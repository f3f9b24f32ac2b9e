//! Decisions that depend on the arguments of a call, as data.
//!
//! A test looks at one 32-bit half of one argument. Where the kernel takes an `int`, only the low
//! half is looked at: the kernel ignores the other, and a compare of all 64 bits would let
//! `TIOCSTI | 1 << 32` pass (CVE-2019-10063). Nothing that an argument points to is ever looked
//! at: another thread can change it between the test and the kernel's own look.

use super::action::{Action, Errno};
use super::requests::{DESCRIPTORS, REQUESTS, REQUESTS_AT_TERMINAL, REQUESTS_IN_PIPELINE};

/// A decision that depends on the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// `clone`: without the flags that make namespaces.
    CloneFlags,
    /// `unshare`: only what threads share, no namespace.
    UnshareFlags,
    /// `personality`: only the query and the default.
    Personality,
    /// `socket`: families, types and protocols by list.
    SocketFamilies,
    /// `socket`: the list with packet, raw and all netlink sockets.
    SocketFamiliesRaw,
    /// `socket`: the list without Unix sockets.
    SocketInternet,
    /// `socketpair`: only Unix sockets.
    SocketPair,
    /// `socketpair`: only Unix sockets that stay connected to each other.
    SocketPairConnected,
    /// `ioctl`: nothing that changes the terminal or the console for others, copies a subvolume, or hides from
    /// the looks of a run.
    Requests,
    /// `ioctl`: what [`Self::Requests`] lets through, but nothing that gives the terminal to another process group.
    RequestsInPipeline,
    /// `ioctl`: the same as [`Self::Requests`], and the supervisor gives the terminal to the caller's process group.
    RequestsAtTerminal,
    /// `fcntl`: no lease, by which others wait, and no signals by which a terminal reaches the group in front.
    Descriptors,
    /// `kill`: only job control for the caller's process group, which reaches outside.
    KillGroup,
    /// `setpriority`: not for the caller's process group, which reaches outside.
    PriorityGroup,
    /// `ioprio_set`: not for the caller's process group, which reaches outside.
    IoPriorityGroup,
    /// `setpriority`: only for the calling thread.
    OwnPriority,
    /// `ioprio_set`: only for the calling thread.
    OwnIoPriority,
    /// `sched_set*`: only for the caller.
    OwnProcess,
    /// `setrlimit`: not the limit of core dumps.
    CoreLimit,
    /// `prlimit64`: the same.
    CoreLimitOf,
    /// `prlimit64`: the same, and only for the caller.
    OwnCoreLimit,
    /// `clock_adjtime`: only the host's real-time clock, which the kernel itself guards.
    ClockAdjust,
    /// `sendto` and `sendmmsg`: nothing out of band, whose code for Unix sockets was a way out of
    /// another sandbox (CVE-2025-38236).
    OutOfBandTo,
    /// `sendmsg`: the same.
    OutOfBandMessage,
    /// `sendto` and `sendmmsg`: nor TCP fast open, which connects past Landlock's rules.
    SendToFlags,
    /// `sendmsg`: the same.
    SendMessageFlags,
    /// `setsockopt`: no upper layer protocol on TCP, one of which (SMC) connects by itself.
    SocketOption,
    /// `seccomp`: no filter with a listener.
    FilterFlags,
    /// `readlink`: seen, but for what glibc's realpath(3) asks of each directory of a path.
    LinkBuffer,
    /// `readlinkat`: the same.
    LinkBufferAt,
}

/// One half of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The low 32 bits.
    Low(u8),
    /// The high 32 bits.
    High(u8),
}

/// Holds when the half, masked, is one of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// What is looked at.
    pub half: Half,
    /// The bits that count.
    pub mask: u32,
    /// The values for which the test holds.
    pub any_of: &'static [u32],
}

/// Decides when all its tests hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// All of them must hold.
    pub when: &'static [Test],
    /// What happens then.
    pub then: Action,
}

/// The first rule that holds decides; without one, `otherwise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// In order.
    pub rules: &'static [Rule],
    /// When no rule holds.
    pub otherwise: Action,
}

impl Check {
    /// All checks.
    pub const ALL: &[Self] = &[
        Self::CloneFlags,
        Self::UnshareFlags,
        Self::Personality,
        Self::SocketFamilies,
        Self::SocketFamiliesRaw,
        Self::SocketInternet,
        Self::SocketPair,
        Self::SocketPairConnected,
        Self::Requests,
        Self::RequestsInPipeline,
        Self::RequestsAtTerminal,
        Self::Descriptors,
        Self::KillGroup,
        Self::PriorityGroup,
        Self::IoPriorityGroup,
        Self::OwnPriority,
        Self::OwnIoPriority,
        Self::OwnProcess,
        Self::CoreLimit,
        Self::CoreLimitOf,
        Self::OwnCoreLimit,
        Self::ClockAdjust,
        Self::OutOfBandTo,
        Self::OutOfBandMessage,
        Self::SendToFlags,
        Self::SendMessageFlags,
        Self::SocketOption,
        Self::FilterFlags,
        Self::LinkBuffer,
        Self::LinkBufferAt,
    ];

    /// Returns the rules.
    pub const fn decision(self) -> Decision {
        match self {
            Self::CloneFlags => Decision { rules: CLONE, otherwise: EPERM },
            Self::UnshareFlags => Decision { rules: UNSHARE, otherwise: EPERM },
            Self::Personality => Decision { rules: PERSONALITY, otherwise: EPERM },
            Self::SocketFamilies => Decision { rules: SOCKET, otherwise: EAFNOSUPPORT },
            Self::SocketFamiliesRaw => Decision { rules: SOCKET_RAW, otherwise: EAFNOSUPPORT },
            Self::SocketInternet => Decision { rules: SOCKET_INTERNET, otherwise: EAFNOSUPPORT },
            Self::SocketPair => Decision { rules: SOCKET_PAIR, otherwise: EAFNOSUPPORT },
            Self::SocketPairConnected => {
                Decision { rules: SOCKET_PAIR_CONNECTED, otherwise: EAFNOSUPPORT }
            }
            Self::Requests => Decision { rules: REQUESTS, otherwise: Action::Allow },
            Self::RequestsInPipeline => {
                Decision { rules: REQUESTS_IN_PIPELINE, otherwise: Action::Allow }
            }
            Self::RequestsAtTerminal => {
                Decision { rules: REQUESTS_AT_TERMINAL, otherwise: Action::Allow }
            }
            Self::Descriptors => Decision { rules: DESCRIPTORS, otherwise: Action::Allow },
            Self::KillGroup => Decision { rules: KILL, otherwise: Action::Allow },
            Self::PriorityGroup => Decision { rules: PRIORITY, otherwise: Action::Allow },
            Self::IoPriorityGroup => Decision { rules: IO_PRIORITY, otherwise: Action::Allow },
            Self::OwnPriority => Decision { rules: OWN_PRIORITY, otherwise: EPERM },
            Self::OwnIoPriority => Decision { rules: OWN_IO_PRIORITY, otherwise: EPERM },
            Self::OwnProcess => Decision { rules: OWN_PROCESS, otherwise: EPERM },
            Self::CoreLimit => Decision { rules: CORE, otherwise: Action::Allow },
            Self::CoreLimitOf => Decision { rules: CORE_OF, otherwise: Action::Allow },
            Self::OwnCoreLimit => Decision { rules: OWN_CORE, otherwise: EPERM },
            Self::ClockAdjust => Decision { rules: CLOCK, otherwise: EPERM },
            Self::OutOfBandTo => Decision { rules: OOB_TO, otherwise: Action::Allow },
            Self::OutOfBandMessage => Decision { rules: OOB_MESSAGE, otherwise: Action::Allow },
            Self::SendToFlags => Decision { rules: SEND_TO, otherwise: Action::Allow },
            Self::SendMessageFlags => Decision { rules: SEND_MESSAGE, otherwise: Action::Allow },
            Self::SocketOption => Decision { rules: SOCKET_OPTION, otherwise: Action::Allow },
            Self::FilterFlags => Decision { rules: FILTER, otherwise: Action::Allow },
            Self::LinkBuffer => Decision { rules: LINK, otherwise: Action::Notify },
            Self::LinkBufferAt => Decision { rules: LINK_AT, otherwise: Action::Notify },
        }
    }

    /// Returns one phrase for tables: what is refused, and how.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::CloneFlags | Self::UnshareFlags => "EPERM with flags that make namespaces",
            Self::Personality => "EPERM unless 0 or the query 0xffffffff",
            Self::SocketFamilies => {
                "Unix, TCP, UDP, ICMP over IPv4 and IPv6, and route netlink; raw EPERM, \
                 other protocols EPROTONOSUPPORT, other families EAFNOSUPPORT"
            }
            Self::SocketFamiliesRaw => {
                "the list, and packet, raw and all netlink; other protocols EPROTONOSUPPORT, \
                 other families EAFNOSUPPORT"
            }
            Self::SocketInternet => {
                "TCP, UDP, ICMP over IPv4 and IPv6, and route netlink; raw EPERM, other protocols \
                 EPROTONOSUPPORT, other families EAFNOSUPPORT"
            }
            Self::SocketPair => "EAFNOSUPPORT unless Unix",
            Self::SocketPairConnected => "EAFNOSUPPORT unless Unix streams and packets",
            Self::Requests => {
                "EPERM for TIOCSTI, TIOCLINUX, TIOCSETD, TIOCEXCL, TCOOFF, changes of a console, \
                 subvolumes and snapshots, keys of fscrypt, and exchanged content; nothing done for FIOASYNC"
            }
            Self::RequestsInPipeline => "EPERM for TIOCSPGRP, and the same",
            Self::RequestsAtTerminal => "notify for TIOCSPGRP, and the same",
            Self::Descriptors => "EPERM for F_SETLEASE, F_SETDELEG, and F_SETFL with O_ASYNC",
            Self::KillGroup => "EPERM for the caller's group (pid 0), except job control",
            Self::PriorityGroup | Self::IoPriorityGroup => "EPERM for the caller's group (0)",
            Self::OwnPriority | Self::OwnIoPriority => "EPERM unless for the calling thread (0)",
            Self::OwnProcess => "EPERM unless for the caller (0)",
            Self::CoreLimit | Self::CoreLimitOf => "nothing done for RLIMIT_CORE",
            Self::OwnCoreLimit => "EPERM unless for the caller (0); nothing done for RLIMIT_CORE",
            Self::ClockAdjust => "EPERM unless CLOCK_REALTIME",
            Self::OutOfBandTo | Self::OutOfBandMessage => "EOPNOTSUPP with MSG_OOB",
            Self::SendToFlags | Self::SendMessageFlags => "EOPNOTSUPP with MSG_OOB or MSG_FASTOPEN",
            Self::SocketOption => "ENOENT for TCP_ULP",
            Self::FilterFlags => "EPERM for a filter with a listener",
            Self::LinkBuffer | Self::LinkBufferAt => "notify, but for realpath(3) of glibc",
        }
    }
}

impl Decision {
    /// Returns whether the supervisor sees any of the calls.
    pub(super) fn notifies(&self) -> bool {
        let actions = self.rules.iter().map(|rule| rule.then).chain([self.otherwise]);
        actions.into_iter().any(|action| action == Action::Notify)
    }

    /// Decides about a call with these arguments: what the compiled filter must do as well.
    pub fn decide(&self, args: [u64; 6]) -> Action {
        let holds = |rule: &&Rule| rule.when.iter().all(|test| test.holds(args));
        self.rules.iter().find(holds).map_or(self.otherwise, |rule| rule.then)
    }
}

impl Test {
    pub(super) const fn low(arg: u8, any_of: &'static [u32]) -> Self {
        Self { half: Half::Low(arg), mask: u32::MAX, any_of }
    }

    const fn high(arg: u8, any_of: &'static [u32]) -> Self {
        Self { half: Half::High(arg), mask: u32::MAX, any_of }
    }

    pub(super) const fn bits(arg: u8, mask: u32, any_of: &'static [u32]) -> Self {
        Self { half: Half::Low(arg), mask, any_of }
    }

    fn holds(&self, args: [u64; 6]) -> bool {
        let (arg, shift) = match self.half {
            Half::Low(arg) => (arg, 0),
            Half::High(arg) => (arg, 32),
        };
        let half = args[usize::from(arg)] >> shift & u64::from(u32::MAX);
        let masked = half & u64::from(self.mask);
        self.any_of.iter().any(|value| u64::from(*value) == masked)
    }
}

pub(super) const EPERM: Action = Action::Errno(Errno::EPERM);
const EPROTONOSUPPORT: Action = Action::Errno(Errno::EPROTONOSUPPORT);
const EAFNOSUPPORT: Action = Action::Errno(Errno::EAFNOSUPPORT);

pub(super) const fn rule(when: &'static [Test], then: Action) -> Rule {
    Rule { when, then }
}

/// NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. clone(2) drops the high half, and
/// its lowest byte is a signal, so a time namespace can't be asked for.
const NEW_NAMESPACES: u32 = 0x7e02_0000;
const CLONE: &[Rule] = &[rule(&[Test::bits(0, NEW_NAMESPACES, &[0])], Action::Allow)];

/// VM, FS, FILES, SIGHAND, THREAD, SYSVSEM: a list of what passes, because new kernels add
/// namespace flags here.
const SHARED_BY_THREADS: u32 = 0x0005_0f00;
const UNSHARE: &[Rule] =
    &[rule(&[Test::bits(0, !SHARED_BY_THREADS, &[0]), Test::high(0, &[0])], Action::Allow)];

const PERSONALITY: &[Rule] = &[rule(&[Test::low(0, &[0, 0xffff_ffff])], Action::Allow)];

const AF_UNIX: u32 = 1;
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;
const AF_NETLINK: u32 = 16;
const AF_PACKET: u32 = 17;
const NETLINK_ROUTE: u32 = 0;
/// The kernel takes the type from these bits; above them are flags.
const SOCK_TYPE_MASK: u32 = 0xf;
const SOCK_STREAM: u32 = 1;
const SOCK_DGRAM: u32 = 2;
const SOCK_RAW: u32 = 3;
const SOCK_SEQPACKET: u32 = 5;
/// Makes a packet socket out of an Internet one.
const SOCK_PACKET: u32 = 10;
/// The default, and TCP. MPTCP, SCTP and SMC are not under Landlock's TCP rules.
const STREAM_PROTOCOLS: &[u32] = &[0, 6];
/// The default, UDP, ICMP and ICMP for IPv6: ping needs no privileges.
const DATAGRAM_PROTOCOLS: &[u32] = &[0, 17, 1, 58];

const INTERNET: Test = Test::low(0, &[AF_INET, AF_INET6]);
const UNIX_SOCKET: Rule = rule(&[Test::low(0, &[AF_UNIX])], Action::Allow);
const STREAM_SOCKET: Rule = rule(
    &[INTERNET, Test::bits(1, SOCK_TYPE_MASK, &[SOCK_STREAM]), Test::low(2, STREAM_PROTOCOLS)],
    Action::Allow,
);
const DATAGRAM_SOCKET: Rule = rule(
    &[INTERNET, Test::bits(1, SOCK_TYPE_MASK, &[SOCK_DGRAM]), Test::low(2, DATAGRAM_PROTOCOLS)],
    Action::Allow,
);
const RAW_SOCKET: &[Test] = &[INTERNET, Test::bits(1, SOCK_TYPE_MASK, &[SOCK_RAW, SOCK_PACKET])];

/// What refused protocols answer is what a kernel without them answers: Go asks for MPTCP and
/// falls back on exactly that.
const SOCKET: &[Rule] = &[
    UNIX_SOCKET,
    STREAM_SOCKET,
    DATAGRAM_SOCKET,
    rule(RAW_SOCKET, EPERM),
    rule(&[INTERNET], EPROTONOSUPPORT),
    rule(&[Test::low(0, &[AF_NETLINK]), Test::low(2, &[NETLINK_ROUTE])], Action::Allow),
    rule(&[Test::low(0, &[AF_NETLINK])], EPROTONOSUPPORT),
];
const SOCKET_INTERNET: &[Rule] = &[
    STREAM_SOCKET,
    DATAGRAM_SOCKET,
    rule(RAW_SOCKET, EPERM),
    rule(&[INTERNET], EPROTONOSUPPORT),
    rule(&[Test::low(0, &[AF_NETLINK]), Test::low(2, &[NETLINK_ROUTE])], Action::Allow),
    rule(&[Test::low(0, &[AF_NETLINK])], EPROTONOSUPPORT),
];
const SOCKET_RAW: &[Rule] = &[
    rule(&[Test::low(0, &[AF_UNIX, AF_NETLINK, AF_PACKET])], Action::Allow),
    STREAM_SOCKET,
    DATAGRAM_SOCKET,
    rule(RAW_SOCKET, Action::Allow),
    rule(&[INTERNET], EPROTONOSUPPORT),
];
const SOCKET_PAIR: &[Rule] = &[UNIX_SOCKET];
/// A datagram socket of a pair can be connected anew, and sent to any path from; these can't.
const SOCKET_PAIR_CONNECTED: &[Rule] = &[rule(
    &[Test::low(0, &[AF_UNIX]), Test::bits(1, SOCK_TYPE_MASK, &[SOCK_STREAM, SOCK_SEQPACKET])],
    Action::Allow,
)];

/// The probe, and CONT, STOP, TSTP, TTIN, TTOU: a shell that is suspended must stop the whole
/// pipeline it is in.
const JOB_CONTROL: &[u32] = &[0, 18, 19, 20, 21, 22];
const KILL: &[Rule] =
    &[rule(&[Test::low(1, JOB_CONTROL)], Action::Allow), rule(&[Test::low(0, &[0])], EPERM)];

/// `PRIO_PGRP` is 1, `IOPRIO_WHO_PGRP` is 2. The group 0 is the caller's own, which began outside
/// the pid namespace and may have members there; no other number names it inside.
const PRIORITY: &[Rule] = &[rule(&[Test::low(0, &[1]), Test::low(1, &[0])], EPERM)];
const IO_PRIORITY: &[Rule] = &[rule(&[Test::low(0, &[2]), Test::low(1, &[0])], EPERM)];

/// `PRIO_PROCESS` is 0, `IOPRIO_WHO_PROCESS` is 1.
const OWN_PRIORITY: &[Rule] = &[rule(&[Test::low(0, &[0]), Test::low(1, &[0])], Action::Allow)];
const OWN_IO_PRIORITY: &[Rule] = &[rule(&[Test::low(0, &[1]), Test::low(1, &[0])], Action::Allow)];
const OWN_PROCESS: &[Rule] = &[rule(&[Test::low(0, &[0])], Action::Allow)];

/// The limit is 1, by which alone the kernel keeps a dump from a program that core_pattern names
/// (fs/coredump.c); with any other such a program starts outside, whatever the limit. Programs that want
/// no dumps set it to 0, and some end where they can't.
const RLIMIT_CORE: u32 = 4;
const CORE: &[Rule] = &[rule(&[Test::low(0, &[RLIMIT_CORE])], Action::Done)];
/// EPERM for whoever asks for the old limit in the same call: nobody would fill that in.
const CORE_OF: &[Rule] = &[
    rule(&[OF_CORE, Test::low(2, &[0]), Test::high(2, &[0])], Action::Allow),
    rule(&[OF_CORE, Test::low(3, &[0]), Test::high(3, &[0])], Action::Done),
    rule(&[OF_CORE], EPERM),
];
const OF_CORE: Test = Test::low(1, &[RLIMIT_CORE]);
const OWN: Test = Test::low(0, &[0]);
const OWN_CORE: &[Rule] = &[
    rule(&[OWN, OF_CORE, Test::low(2, &[0]), Test::high(2, &[0])], Action::Allow),
    rule(&[OWN, OF_CORE, Test::low(3, &[0]), Test::high(3, &[0])], Action::Done),
    rule(&[OWN, OF_CORE], EPERM),
    rule(&[OWN], Action::Allow),
];

/// `CLOCK_REALTIME`: glibc's `adjtimex` and `ntp_gettime` read by it. Clocks of devices ask for no
/// capability.
const CLOCK: &[Rule] = &[rule(&[Test::low(0, &[0])], Action::Allow)];

/// The room that glibc's realpath(3) gives a link (2.33 and later: a scratch buffer of 1,024 bytes less
/// one). It asks that of each directory of each path: seven in ten calls of a C compiler with names in
/// them (measured, gcc 12).
const REALPATH: u32 = 1023;
const LINK: &[Rule] = &[rule(&[Test::low(2, &[REALPATH])], Action::Allow)];
const LINK_AT: &[Rule] = &[rule(&[Test::low(3, &[REALPATH])], Action::Allow)];

const MSG_FASTOPEN: u32 = 0x2000_0000;
const MSG_OOB: u32 = 1;
const SEND_FLAGS: u32 = MSG_FASTOPEN | MSG_OOB;
/// What a kernel answers that was built or set up without them.
const NO_FLAG: Action = Action::Errno(Errno::EOPNOTSUPP);
const OOB_TO: &[Rule] = &[rule(&[Test::bits(3, MSG_OOB, &[MSG_OOB])], NO_FLAG)];
const OOB_MESSAGE: &[Rule] = &[rule(&[Test::bits(2, MSG_OOB, &[MSG_OOB])], NO_FLAG)];
const SEND_TO: &[Rule] =
    &[rule(&[Test::bits(3, SEND_FLAGS, &[MSG_FASTOPEN, MSG_OOB, SEND_FLAGS])], NO_FLAG)];
const SEND_MESSAGE: &[Rule] =
    &[rule(&[Test::bits(2, SEND_FLAGS, &[MSG_FASTOPEN, MSG_OOB, SEND_FLAGS])], NO_FLAG)];

const IPPROTO_TCP: u32 = 6;
const TCP_ULP: u32 = 31;
const SOCKET_OPTION: &[Rule] = &[rule(
    &[Test::low(1, &[IPPROTO_TCP]), Test::low(2, &[TCP_ULP])],
    Action::Errno(Errno::ENOENT),
)];

const SECCOMP_SET_MODE_FILTER: u32 = 1;
const NEW_LISTENER: u32 = 8;
const FILTER: &[Rule] = &[rule(
    &[Test::low(0, &[SECCOMP_SET_MODE_FILTER]), Test::bits(1, NEW_LISTENER, &[NEW_LISTENER])],
    EPERM,
)];
