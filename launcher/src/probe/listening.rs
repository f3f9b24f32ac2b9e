//! Who listens on this machine.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::sys::{holders, sockets};

/// The most descriptors and threads that are looked at.
const ENTRIES_MAX: usize = 1 << 16;

/// Where the kernel lists the sockets of this network (proc_pid_net(5)).
const NET: &str = "/proc/self/net";

/// Returns whether anybody on this machine listens where a TCP connection to an address arrives.
pub(crate) fn listens_outside(to: SocketAddr) -> bool {
    sockets::listens(Path::new(NET), to).unwrap_or(false)
}

/// Returns whether this machine has an abstract Unix socket of a name.
pub(crate) fn has_abstract_outside(name: &[u8]) -> bool {
    sockets::has_abstract(Path::new(NET), name).unwrap_or(false)
}

/// Returns whether process `top`, which is user `uid`'s, or a process below it has a socket that
/// listens at TCP port `port`.
pub(crate) fn listens(top: i32, uid: u32, port: u16) -> bool {
    let is_users = fs::metadata(format!("/proc/{top}")).is_ok_and(|found| found.uid() == uid);
    // All processes are below the first.
    if top <= 1 || !is_users {
        return false;
    }
    let (tables, mut left) =
        (["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string), ENTRIES_MAX);
    let inodes = tables.iter().flatten().flat_map(|table| sockets::listeners(table, port));
    let mut links = inodes.map(|inode| PathBuf::from(format!("socket:[{inode}]")));
    links.any(|link| holders::search(top, &link, &mut left).is_some())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn own() -> (i32, u32) {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        (pid, rustix::process::getuid().as_raw())
    }

    #[test]
    fn own_socket_is_found_from_here_and_from_above() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (pid, uid) = own();
        assert!(listens(pid, uid, port));
        let parent = rustix::process::getppid().expect("a parent").as_raw_nonzero().get();
        assert!(listens(parent, uid, port));
        drop(listener);
        assert!(!listens(pid, uid, port));
    }

    #[test]
    fn others_and_the_first_process_are_not_believed() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (pid, uid) = own();
        let mut other = std::process::Command::new("sleep").arg("30").spawn().expect("started");
        let other_pid = i32::try_from(other.id()).expect("a number");
        for (pid, uid) in [(1, 0), (other_pid, uid), (pid, uid + 1), (0, uid), (-1, uid)] {
            assert!(!listens(pid, uid, port), "{pid} {uid}");
        }
        other.kill().and_then(|()| other.wait()).expect("ended");
    }
}
