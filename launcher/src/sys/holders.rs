//! Which process holds a socket, as `/proc` tells of it.

use std::fs;
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
