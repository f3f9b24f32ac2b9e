//! Whether a process of the user, or one that it started, listens at a port of the loopback.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// The state of a listening socket in `/proc/net/tcp`.
const LISTENS: &str = "0A";

/// Returns whether process `top`, which is user `uid`'s, or a process below it has a socket that
/// listens at TCP port `port`.
pub(crate) fn listens(top: i32, uid: u32, port: u16) -> bool {
    let is_users = fs::metadata(format!("/proc/{top}")).is_ok_and(|found| found.uid() == uid);
    // All processes are below the first.
    if top <= 1 || !is_users {
        return false;
    }
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let inodes: HashSet<String> =
        tables.iter().flatten().flat_map(|table| listeners(table, port)).collect();
    !inodes.is_empty() && below(top, &parents()).into_iter().any(|pid| has_one(pid, &inodes))
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

/// Returns the parent of each process.
fn parents() -> HashMap<i32, i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| Some((pid, parent(pid)?))).collect()
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Returns a process and all below it.
fn below(top: i32, parents: &HashMap<i32, i32>) -> Vec<i32> {
    let mut found = vec![top];
    let mut next = 0;
    while let Some(above) = found.get(next).copied() {
        let children = parents.iter().filter(|(pid, parent)| **parent == above && **pid != top);
        found.extend(children.map(|(pid, _)| *pid));
        next += 1;
    }
    found
}

fn has_one(pid: i32, inodes: &HashSet<String>) -> bool {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut links = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.any(|link| {
        let name = link.to_str().and_then(|it| it.strip_prefix("socket:[")?.strip_suffix(']'));
        name.is_some_and(|inode| inodes.contains(inode))
    })
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
        assert!(below(parent(pid).expect("a parent"), &parents()).contains(&pid));
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
