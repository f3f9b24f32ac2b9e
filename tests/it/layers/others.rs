//! What processes share without files: namespaces, scopes, keyrings, the terminal.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use super::alone::Attack;
use crate::escape::prober::{Attempts, script};
use crate::escape::shared::{Holder, with_keys};
use crate::harness::{World, endow};

const CONNECT: &str = include_str!("../escape/probes/connect.py");
const IPC: &str = include_str!("../escape/probes/ipc.py");
const TERMINAL: &str = include_str!("../escape/probes/terminal.py");
const RW: &[&str] = &["--workspace", "rw"];

#[test]
fn network_namespace_and_scope_alone_keep_abstract_sockets() {
    let world = World::new();
    let name = format!("endow-layer-{}", std::process::id());
    let address = |name: &str| SocketAddr::from_abstract_name(name).expect("a name");
    let _stream = UnixListener::bind_addr(&address(&name)).expect("bound");
    let _datagram = UnixDatagram::bind_addr(&address(&format!("{name}.dgram"))).expect("bound");
    let about = [format!("@{name}")];
    for kind in ["stream", "dgram"] {
        let attempt = format!("{kind}:{}", about[0]);
        let about = &[about[0].as_str()];
        let attack = Attack { options: RW, probe: CONNECT, about, attempt: &attempt, works: "ok" };
        attack.is_refused_by_each(&world, &["network-namespace", "landlock"], &[]);
    }
}

/// Landlock has no scope for these, and every program may call them.
#[test]
fn ipc_namespace_alone_keeps_shared_memory_and_queues() {
    let world = World::new();
    let holder = Holder::new(&world);
    let about: Vec<&str> = holder.about.iter().map(String::as_str).collect();
    for attempt in ["shmat", "shmget", "mq_open"] {
        let attack = Attack { options: RW, probe: IPC, about: &about, attempt, works: "ok" };
        attack.is_refused_by_each(&world, &["ipc-namespace"], &["landlock"]);
    }
}

#[test]
fn seccomp_and_a_session_of_its_own_alone_keep_the_session_keyring() {
    let world = World::new();
    let search = |without: &[&str]| {
        let mut line = vec![endow().into(), "run".into(), "--workspace".into(), "rw".into()];
        line.extend(without.iter().flat_map(|layer| ["--test-without".into(), (*layer).into()]));
        line.push("--".into());
        with_keys(&world, line).get("search-session").to_owned()
    };
    assert_eq!(search(&[]), "ENOSYS");
    assert_eq!(search(&["keyring"]), "ENOSYS");
    assert_eq!(search(&["seccomp"]), "ENOKEY");
    assert_eq!(search(&["seccomp", "keyring"]), "ok");
}

/// The command stays in the caller's session: the filter alone keeps the terminal.
#[test]
fn seccomp_alone_keeps_the_terminal_from_being_typed_into() {
    let world = World::new();
    let typed = |without: &[&str]| {
        let endow = endow().display().to_string();
        let mut line = vec![endow.as_str(), "run", "--workspace", "rw"];
        line.extend(without.iter().flat_map(|layer| ["--test-without", layer]));
        line.push("--");
        let mut command = world.command("/usr/bin/python3");
        command.args(script(TERMINAL, &line).into_iter().skip(1));
        Attempts::of(&mut command)
    };
    typed(&[]).all("EPERM");
    typed(&["landlock"]).all("EPERM");
    let legacy = std::fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti").unwrap_or_default();
    let expected = if legacy.trim() == "0" { "EIO" } else { "ok" };
    assert_eq!(typed(&["seccomp"]).get("sti-high"), expected);
}
