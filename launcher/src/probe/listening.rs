//! Whether a process of the user, or one that it started, listens at a port of the loopback.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::sys::holders;

/// The state of a listening socket in `/proc/net/tcp`.
const LISTENS: &str = "0A";
/// The most descriptors and threads that are looked at.
const ENTRIES_MAX: usize = 1 << 16;

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
    let inodes = tables.iter().flatten().flat_map(|table| listeners(table, port));
    let mut links = inodes.map(|inode| PathBuf::from(format!("socket:[{inode}]")));
    links.any(|link| holders::search(top, &link, &mut left).is_some())
}

/// Returns the inodes of the sockets that listen at a port.
fn listeners(table: &str, port: u16) -> Vec<String> {
    let end = format!(":{port:04X}");
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<&str>>());
    let is_it = |row: &Vec<&str>| {
        row.get(1).is_some_and(|local| local.ends_with(&end)) && row.get(3) == Some(&LISTENS)
    };
    rows.filter(is_it).filter_map(|row| row.get(9).map(ToString::to_string)).collect()
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

    #[test]
    fn rows_are_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 x\n\
            \x20  1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 x\n\
            \x20  2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4713 1 x\n";
        assert_eq!(listeners(table, 8080), ["4711"]);
        assert!(listeners("", 8080).is_empty());
    }
}
