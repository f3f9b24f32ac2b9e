//! What the running kernel offers.

use std::fs::File;
use std::io::Read;

use crate::plan::host::KernelFacts;
use crate::sys;

/// Asks the kernel. Whether user namespaces work is seen when one is made, but inside another
/// endow, where no is the common answer; `doctor` asks more.
pub(super) fn facts(outer_level: Option<&str>) -> KernelFacts {
    let uname = rustix::system::uname();
    KernelFacts {
        version: version(&uname.release().to_string_lossy()),
        // What the kernel says of itself may be another's name (`setarch i686`): the processor stays this one.
        arch: std::env::consts::ARCH.to_owned(),
        landlock_abi: sys::landlock::abi(),
        userns_refused: outer_level.and_then(super::userns::refused_inside),
        seccomp: true,
        proc_mountable: true,
    }
}

/// Reads `6.18.44-something` as (6, 18).
pub(super) fn version(release: &str) -> (u32, u32) {
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).map(|it| it.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Reads a small file of the kernel's, trimmed.
pub(super) fn read_word(path: &str) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(4096).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned())
}

/// Returns whether a profile of AppArmor's is enforced on this process.
pub(super) fn is_confined() -> bool {
    read_word("/proc/self/attr/current").is_some_and(|label| label.ends_with("(enforce)"))
}

/// Returns whether a filter of system calls is in front.
pub(super) fn is_filtered() -> bool {
    let status = read_word("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.starts_with("Seccomp:") && line.ends_with('2'))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions() {
        assert_eq!(version("6.18.44-fc-v669"), (6, 18));
        assert_eq!(version("6.1.0-13-amd64"), (6, 1));
        assert_eq!(version("7.0-rc1"), (7, 0));
        assert_eq!(version("?"), (0, 0));
    }
}
