//! Which process holds what, as `/proc` tells of it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The most processes that are looked at for one socket.
const PROCESSES_MAX: usize = 256;

/// Looks for a socket at a process and its descendants; `left` is how many entries may be looked at.
pub(crate) fn search(top: i32, link: &Path, left: &mut usize) -> Option<i32> {
    let mut waiting = vec![top];
    for _ in 0..PROCESSES_MAX {
        let pid = waiting.pop()?;
        if has(pid, link, left) {
            return Some(pid);
        }
        waiting.extend(children(pid, left));
    }
    None
}

/// What a directory or a tree of processes has, unless that is too much.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Listing<T> {
    Whole(Vec<T>),
    Cut,
}

/// Returns the descendants of a process; some may be missed while they change parents.
pub(crate) fn descendants(top: i32, most: usize) -> Listing<i32> {
    let mut left = most;
    // Not every kernel has this list (CONFIG_PROC_CHILDREN).
    let is_told = Path::new(&format!("/proc/{top}/task/{top}/children")).exists();
    if !is_told && Path::new(&format!("/proc/{top}")).exists() {
        return Listing::Cut;
    }
    let mut found = children(top, &mut left);
    let mut looked = 0;
    while let Some(pid) = found.get(looked).copied() {
        looked += 1;
        found.extend(children(pid, &mut left));
    }
    if left == 0 { Listing::Cut } else { Listing::Whole(found) }
}

/// Returns the names in a directory.
pub(crate) fn listing(directory: &str) -> io::Result<Vec<OsString>> {
    fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
}

/// Returns whether two threads have the same table of descriptors; false where that can't be told.
pub(crate) fn shares_descriptors(one: i32, other: i32) -> bool {
    // linux/kcmp.h
    const KCMP_FILES: libc::c_int = 2;
    // SAFETY: the call takes numbers only, and any.
    let result = unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_FILES, 0, 0) };
    result == 0
}

/// Every thread has children of its own.
fn children(pid: i32, left: &mut usize) -> Vec<i32> {
    let threads = entries(format!("/proc/{pid}/task"), left);
    let lists = threads.filter_map(|it| fs::read_to_string(it.join("children")).ok());
    lists.flat_map(|list| numbers(&list)).collect()
}

/// Returns what is in a directory, as long as more may be looked at.
fn entries(directory: String, left: &mut usize) -> impl Iterator<Item = PathBuf> {
    let found = fs::read_dir(directory).into_iter().flatten().flatten();
    let may_look = move |_: &fs::DirEntry| {
        let less = left.checked_sub(1);
        *left = less.unwrap_or_default();
        less.is_some()
    };
    found.take_while(may_look).map(|it| it.path())
}

/// Returns the numbers of a line.
pub(crate) fn numbers(text: &str) -> Vec<i32> {
    text.split_whitespace().filter_map(|it| it.parse().ok()).collect()
}

/// Returns whether a process has a descriptor of this socket.
pub(crate) fn has(pid: i32, link: &Path, left: &mut usize) -> bool {
    let descriptors = entries(format!("/proc/{pid}/fd"), left);
    descriptors.filter_map(|it| fs::read_link(it).ok()).any(|it| it == link)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn thread_with_a_table_of_its_own_is_told_apart() {
        let (own, thread) = (rustix::process::getpid(), rustix::thread::gettid());
        let [own, thread] = [own, thread].map(|it| it.as_raw_nonzero().get());
        assert!(shares_descriptors(own, thread));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("started");
        let other = i32::try_from(child.id()).expect("a number");
        assert!(!shares_descriptors(own, other));
        assert!(matches!(descendants(own, 1 << 20), Listing::Whole(all) if all.contains(&other)));
        assert_eq!(descendants(own, 1), Listing::Cut);
        child.kill().expect("killed");
        child.wait().expect("ended");
    }

    #[test]
    fn search_ends_when_it_has_looked_at_enough() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let link = format!("/proc/self/fd/{}", listener.as_raw_fd());
        let link = fs::read_link(link).expect("a link");
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let search = |mut left| (search(own, &link, &mut left), left);
        assert_eq!(search(1 << 20).0, Some(own));
        assert_eq!(search(1), (None, 0));
    }
}
