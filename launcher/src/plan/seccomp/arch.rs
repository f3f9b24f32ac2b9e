//! The architectures a filter can be built for.

use serde::Serialize;

/// An architecture of the running kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arch {
    /// 64-bit x86.
    #[serde(rename = "x86_64")]
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

impl Arch {
    /// All architectures that the table of calls knows.
    pub const ALL: &[Self] = &[Self::X86_64, Self::Aarch64];

    /// Returns the architecture this program was built for, if the table of calls knows it.
    pub const fn native() -> Option<Self> {
        if cfg!(all(target_arch = "x86_64", target_pointer_width = "64")) {
            Some(Self::X86_64)
        } else if cfg!(target_arch = "aarch64") {
            Some(Self::Aarch64)
        } else {
            None
        }
    }

    /// Returns the name as `uname -m` prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Returns the `AUDIT_ARCH_*` value that the kernel puts into `seccomp_data.arch`.
    pub const fn audit(self) -> u32 {
        match self {
            Self::X86_64 => 0xc000_003e,
            Self::Aarch64 => 0xc000_00b7,
        }
    }

    /// Returns the `AUDIT_ARCH_*` value of the 32-bit programs that this architecture runs.
    pub const fn audit_32bit(self) -> u32 {
        match self {
            Self::X86_64 => 0x4000_0003,
            Self::Aarch64 => 0x4000_0028,
        }
    }

    /// Returns the bit that marks x32 calls, which have the audit value of `x86_64`.
    pub const fn x32_bit(self) -> Option<u32> {
        match self {
            Self::X86_64 => Some(0x4000_0000),
            Self::Aarch64 => None,
        }
    }

    /// Tells whether the number is one of x32. -1 isn't: tracers set it to skip a call.
    pub fn is_x32(self, number: u32) -> bool {
        number != u32::MAX && self.x32_bit().is_some_and(|bit| number & bit != 0)
    }
}
