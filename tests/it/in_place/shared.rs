//! What namespaces keep apart elsewhere: sockets, queues, other processes. Each attack has a control.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::{Child, Stdio};

use crate::escape::prober::{inside, outside};
use crate::escape::shared::Holder;
use crate::harness::World;

const SOCKETS: &str = include_str!("../escape/probes/sockets.py");
const CONNECT: &str = include_str!("../escape/probes/connect.py");
const IPC: &str = include_str!("../escape/probes/ipc.py");
const PROCESS: &str = include_str!("../escape/probes/process.py");

const OPTIONS: &[&str] = &["--require", "landlock"];
const NETWORK: &[&str] = &["--require", "landlock", "--net", "host"];

/// The process file system as it is: what of it is nobody's alone is open in any case.
const PROC: &str = "/proc=/proc,nodeny";

const INTERNET: &str = "
import socket as so
tcp, udp = int(sys.argv[1]), int(sys.argv[2])
attempt('tcp', lambda: so.create_connection(('127.0.0.1', tcp), 3).close())
attempt('udp', lambda: so.socket(2, 2).sendto(b'x', ('127.0.0.1', udp)) and None)
attempt('listen', lambda: so.create_server(('127.0.0.1', 0)).close())
attempt('udp6', lambda: so.socket(10, 2).close())
attempt('routes', lambda: so.socket(16, 3, 0).close())
";

#[test]
fn network_none_leaves_no_socket_of_it() {
    let world = World::new();
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = |address: std::net::SocketAddr| address.port().to_string();
    let about = [port(tcp.local_addr().expect("bound")), port(udp.local_addr().expect("bound"))];
    let about = [about[0].as_str(), about[1].as_str()];
    outside(&world, INTERNET, &about).all("ok");
    inside(&world, OPTIONS, INTERNET, &about).all("EAFNOSUPPORT");
    inside(&world, NETWORK, INTERNET, &about).all("ok");
}

#[test]
fn every_family_is_closed_without_the_network() {
    let world = World::new();
    let mut closed = inside(&world, OPTIONS, SOCKETS, &[]);
    for out_of_band in ["oob", "oob-among-flags", "oob-message", "oob-messages"] {
        assert_eq!(closed.get(out_of_band), "ENOTSUP");
        closed = closed.but(out_of_band);
    }
    closed.all("EAFNOSUPPORT");
    let open = inside(&world, NETWORK, SOCKETS, &[]);
    open.succeed(&["inet", "inet-udp", "inet6", "route"]);
    for family in ["unix", "vsock", "packet", "alg", "high-bits", "pair-tipc"] {
        assert_eq!(open.get(family), "EAFNOSUPPORT", "{family}");
    }
}

const PAIR: &str = "
import socket as so
def pair():
    one, other = so.socketpair()
    one.send(b'x')
def sent(kind):
    one, other = so.socketpair(so.AF_UNIX, kind)
    one.sendto(b'x', sys.argv[2])
    return other.recv(9).decode() if kind == so.SOCK_SEQPACKET else 'ok'
def again(closed):
    one, other = so.socketpair()
    if closed: other.close()
    one.connect(sys.argv[1])
attempt('stream-pair', pair)
attempt('datagram-pair', lambda: sent(so.SOCK_DGRAM))
attempt('raw-pair', lambda: sent(so.SOCK_RAW))
attempt('packet-pair', lambda: sent(so.SOCK_SEQPACKET))
attempt('again', lambda: again(False))
attempt('again-closed', lambda: again(True))
attempt('fresh', lambda: so.socket(so.AF_UNIX).connect(sys.argv[1]))
";

#[test]
fn sockets_with_a_path_or_a_name_are_out_of_reach() {
    let world = World::new();
    let path = world.root().join("home/project/socket");
    let _stream = UnixListener::bind(&path).expect("bound");
    let _datagram = UnixDatagram::bind(path.with_extension("dgram")).expect("bound");
    let name = format!("endow-in-place-{}", std::process::id());
    let address = |name: &str| SocketAddr::from_abstract_name(name).expect("a name");
    let _abstract = UnixListener::bind_addr(&address(&name)).expect("bound");
    let _other = UnixDatagram::bind_addr(&address(&format!("{name}.dgram"))).expect("bound");
    let about = [path.display().to_string(), format!("@{name}")];
    let about: Vec<&str> = about.iter().map(String::as_str).collect();
    outside(&world, CONNECT, &about).all("ok");
    for options in [OPTIONS, NETWORK] {
        inside(&world, options, CONNECT, &about).all("EAFNOSUPPORT");
    }
    let datagram = path.with_extension("dgram").display().to_string();
    let about = [about[0], datagram.as_str()];
    let control = outside(&world, PAIR, &about);
    control.succeed(&["stream-pair", "datagram-pair", "raw-pair", "fresh"]);
    inside(&world, NETWORK, PAIR, &about).are(&[
        ("stream-pair", "ok"),
        ("datagram-pair", "EAFNOSUPPORT"),
        ("raw-pair", "EAFNOSUPPORT"),
        // To the other side, whatever address is named.
        ("packet-pair", "x"),
        ("again", "EISCONN"),
        ("again-closed", "EISCONN"),
        ("fresh", "EAFNOSUPPORT"),
    ]);
}

#[test]
fn shared_memory_and_queues_are_out_of_reach() {
    let world = World::new();
    let holder = Holder::new(&world);
    let about: Vec<&str> = holder.about.iter().map(String::as_str).collect();
    outside(&world, IPC, &about).all("ok");
    inside(&world, OPTIONS, IPC, &about).are(&[
        ("shmat", "ENOSYS"),
        ("shmget", "ENOSYS"),
        ("mq_open", "ENOSYS"),
        ("shm_open", "EACCES"),
    ]);
}

/// A process of the user's outside, ended when it is dropped.
pub(crate) struct Victim(Child);

impl Victim {
    pub(crate) fn new(world: &World) -> Self {
        let mut command = world.command("sleep");
        Self(command.arg("600").stdout(Stdio::null()).spawn().expect("sleep starts"))
    }

    pub(crate) fn about(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

const AIMED: &str = "
import resource, signal
target = int(sys.argv[1])
attempt('kill-0', lambda: os.kill(target, 0))
attempt('kill-cont', lambda: os.kill(target, signal.SIGCONT))
attempt('tgkill', lambda: call(234, 131, target, target, 0) and None)
attempt('queue', lambda: signal.pidfd_send_signal(os.pidfd_open(target), 0))
attempt('prlimit', lambda: resource.prlimit(target, resource.RLIMIT_CORE, (0, 0)) and None)
attempt('nice', lambda: os.setpriority(os.PRIO_PROCESS, target, 1))
attempt('affinity', lambda: os.sched_setaffinity(target, os.sched_getaffinity(0)))
attempt('scheduler', lambda: os.sched_setscheduler(target, os.SCHED_BATCH, os.sched_param(0)))
";

#[test]
fn other_processes_are_out_of_reach() {
    let world = World::new();
    let victim = Victim::new(&world);
    let about = [victim.about()];
    let about = [about[0].as_str()];
    outside(&world, AIMED, &about).all("ok");
    inside(&world, OPTIONS, AIMED, &about).all("EPERM");
    // Were /proc granted, the memory and descriptors of others would stay closed all the same.
    let control = outside(&world, PROCESS, &about);
    control.succeed(&["mem-read", "environ", "maps", "pidfd_getfd", "ptrace-attach"]);
    let options = [OPTIONS, &["--ro", PROC]].concat();
    let attempts = inside(&world, &options, PROCESS, &about);
    for name in ["mem-read", "mem-write", "environ", "maps", "pidfd_getfd", "process_vm_readv"] {
        assert!(["EACCES", "EPERM"].contains(&attempts.get(name)), "{name}: {attempts:?}");
    }
    for name in ["ptrace-seize", "ptrace-attach"] {
        assert_eq!(attempts.get(name), "EPERM", "{attempts:?}");
    }
}

const REAPER: &str = "
import signal
import ctypes
target = os.getppid()
forked('kill', lambda: os.kill(target, signal.SIGKILL))
forked('stop', lambda: os.kill(target, signal.SIGSTOP))
forked('seize', lambda: call(101, 117, 0x4206, target, 0, 0) and None)
forked('limit', lambda: call(302, 261, target, 7, None, None) and None)
forked('others', lambda: os.kill(os.getppid(), 0))
";

/// Who ends the run must not be ended by it.
#[test]
fn command_can_not_touch_what_reaps_it() {
    let world = World::new();
    inside(&world, OPTIONS, REAPER, &[]).are(&[
        ("kill", "EPERM"),
        ("stop", "EPERM"),
        ("seize", "EPERM"),
        ("limit", "EPERM"),
        ("others", "ok"),
    ]);
}

/// As root as well: no capability is left, and `no_new_privs` gives none back.
#[test]
fn no_capability_is_left() {
    let world = World::new();
    let script = "grep -E '^(CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status";
    let said = super::run(&world, &["--ro", PROC], script);
    let none = "0000000000000000";
    let expected = format!(
        "CapInh:\t{none}\nCapPrm:\t{none}\nCapEff:\t{none}\nCapAmb:\t{none}\nNoNewPrivs:\t1\nSeccomp:\t2\n"
    );
    assert_eq!(said.ok(), expected);
}
