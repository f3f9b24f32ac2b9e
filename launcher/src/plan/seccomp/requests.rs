//! `ioctl` and `fcntl`: what of the requests to open files reaches beyond the view.

use super::action::Action;
use super::check::{EPERM, Rule, Test, rule};

const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541c;
/// Loads line disciplines (`n_gsm`, `n_hdlc`), a rich source of kernel bugs.
const TIOCSETD: u32 = 0x5423;
/// Nobody else opens the terminal then, also when the command is over: `/dev/tty` is `EBUSY` to all.
const TIOCEXCL: u32 = 0x540c;
/// With another group in front, a read of the command's stops the group that it shares. The caller's own has no number
/// inside, so that only the supervisor can put it in front again.
const TIOCSPGRP: u32 = 0x5410;
const TERMINAL: Rule = rule(&[Test::low(1, &[TIOCSTI, TIOCLINUX, TIOCSETD, TIOCEXCL])], EPERM);
const TERMINAL_IN_PIPELINE: Rule =
    rule(&[Test::low(1, &[TIOCSTI, TIOCLINUX, TIOCSETD, TIOCEXCL, TIOCSPGRP])], EPERM);
const FOREGROUND: Rule = rule(&[Test::low(1, &[TIOCSPGRP])], Action::Notify);

/// Output that is stopped (`TCOOFF`) stays so after the end: whoever writes there next waits for ever.
const STOPPED: Rule = rule(&[Test::low(1, &[0x540a]), Test::low(2, &[0])], EPERM);

/// What asks a Linux console for its state (`linux/kd.h`, `linux/vt.h`). All else of these two ranges changes the
/// keyboard, the screen, fonts, or which console is seen, for everybody and after the end.
const CONSOLE_ASKED: Rule = rule(
    &[Test::low(
        1,
        &[0x4b31, 0x4b33, 0x4b3b, 0x4b44, 0x4b46, 0x4b48, 0x4b62, 0x4b64, 0x5600, 0x5601, 0x5603],
    )],
    Action::Allow,
);
const CONSOLE: Rule = rule(&[Test::bits(1, 0xffff_ff00, &[0x4b00, 0x5600])], EPERM);

/// `FIOASYNC`: from then on a terminal sends a signal of the caller's choice to the whole group in front, past the pid
/// namespace and seccomp. Programs ask for it on sockets (nginx) and go on without.
const ASYNC: Rule = rule(&[Test::low(1, &[0x5452])], Action::Done);

/// All of a request but the size of what it points to, which is another one in 32-bit programs (`asm-generic/ioctl.h`).
const SIZELESS: u32 = 0xc000_ffff;

/// Requests of btrfs to make, copy, remove or close a subvolume (`linux/btrfs.h`: magic 0x94, 1, 14, 15, 23, 24, 26, 63),
/// and of bcachefs (magic 0xbc, 16, 17, 29, 30). A snapshot shows all names of its source again, with those that the view hides.
const SUBVOLUMES: Rule = rule(
    &[Test::bits(
        1,
        SIZELESS,
        &[
            0x4000_9401,
            0x4000_940e,
            0x4000_940f,
            0x4000_9417,
            0x4000_9418,
            0x4000_941a,
            0x4000_943f,
            0x4000_bc10,
            0x4000_bc11,
            0x4000_bc1d,
            0x4000_bc1e,
        ],
    )],
    EPERM,
);

/// Keys of fscrypt: to add one, to remove one (for all users), to have a directory encrypted (`linux/fscrypt.h`). Without the
/// key names are encoded, and protected ones are not known when the end of a run looks.
const ENCRYPTION: Rule =
    rule(&[Test::low(1, &[0xc050_6617, 0xc040_6618, 0xc040_6619, 0x800c_6613])], EPERM);

/// `EXT4_IOC_MOVE_EXT`, `XFS_IOC_SWAPEXT`, `XFS_IOC_EXCHANGE_RANGE`, `XFS_IOC_COMMIT_RANGE`, `F2FS_IOC_MOVE_RANGE`: content changes without the times that tell.
const EXCHANGED: Rule = rule(
    &[Test::bits(1, SIZELESS, &[0xc000_660f, 0xc000_586d, 0x4000_5881, 0x4000_5883, 0xc000_f509])],
    EPERM,
);

pub(super) const REQUESTS: &[Rule] =
    &[TERMINAL, STOPPED, CONSOLE_ASKED, CONSOLE, ASYNC, SUBVOLUMES, ENCRYPTION, EXCHANGED];
pub(super) const REQUESTS_IN_PIPELINE: &[Rule] = &[
    TERMINAL_IN_PIPELINE,
    STOPPED,
    CONSOLE_ASKED,
    CONSOLE,
    ASYNC,
    SUBVOLUMES,
    ENCRYPTION,
    EXCHANGED,
];
pub(super) const REQUESTS_AT_TERMINAL: &[Rule] = &[
    TERMINAL,
    FOREGROUND,
    STOPPED,
    CONSOLE_ASKED,
    CONSOLE,
    ASYNC,
    SUBVOLUMES,
    ENCRYPTION,
    EXCHANGED,
];

/// `F_SETLEASE` and `F_SETDELEG`: everybody's open(2) of a file with a lease waits, for 45 s at a time, and one that can only
/// be read takes a lease as well.
const LEASE: Rule = rule(&[Test::low(1, &[1024, 1040])], EPERM);
/// `F_SETFL` with `O_ASYNC`: as `FIOASYNC`.
const ASYNC_FLAG: Rule = rule(&[Test::low(1, &[4]), Test::bits(2, O_ASYNC, &[O_ASYNC])], EPERM);
const O_ASYNC: u32 = 0x2000;
pub(super) const DESCRIPTORS: &[Rule] = &[LEASE, ASYNC_FLAG];
