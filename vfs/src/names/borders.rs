//! Where a walk ends: what is mounted in a tree is seen with it, but for file systems that hold nobody's files.

use std::os::fd::BorrowedFd;

use crate::fs::{Result, magic};

/// What automounts stand in, where each name that is looked at would be mounted.
const AUTOFS: u64 = 0x0000_0187;

/// File systems in which the kernel shows itself, by the numbers of statfs(2) and `linux/magic.h`.
const KERNELS: [u64; 17] = [
    0x0000_1cd1, // devpts
    0x0000_9fa0, // proc
    0x0027_e0eb, // cgroup
    0x1980_0202, // mqueue
    0x4249_4e4d, // binfmt_misc
    0x6165_676c, // pstore
    0x6265_6570, // configfs
    0x6265_6572, // sysfs
    0x6367_7270, // cgroup2
    0x6462_6720, // debugfs
    0x6573_5543, // fusectl
    0x6e73_6673, // nsfs
    0x7363_6673, // securityfs
    0x7472_6163, // tracefs
    0xcafe_4a11, // bpf
    0xde5e_81e4, // efivarfs
    0xf97c_ff8c, // selinuxfs
];

/// Returns whether a walk of names goes no further than this directory.
pub(super) fn ends_walks(directory: BorrowedFd<'_>) -> Result<bool> {
    let magic = magic(directory)?;
    Ok(magic == AUTOFS || is_kernels(magic))
}

/// Returns whether a directory is in a file system in which the kernel shows itself. Below automounts stand files of
/// others.
pub(crate) fn is_the_kernels(directory: BorrowedFd<'_>) -> Result<bool> {
    magic(directory).map(is_kernels)
}

fn is_kernels(magic: u64) -> bool {
    KERNELS.binary_search(&magic).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_file_systems_are_sorted_and_known() {
        assert!(KERNELS.is_sorted());
        let is = |path: &str| {
            let directory = std::fs::File::open(path).expect("open");
            is_the_kernels(std::os::fd::AsFd::as_fd(&directory)).expect("a kind")
        };
        assert!(is("/proc") && is("/sys") && !is("/dev/shm") && !is("/"));
        assert!(!is_kernels(AUTOFS));
    }
}
