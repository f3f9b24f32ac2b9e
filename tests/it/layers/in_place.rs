//! Level `landlock`, where one layer has to hold what two hold elsewhere: without it, the attack
//! works. The scope of signals can't be taken away: a run that can't prove it does not start.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener};

use super::alone::Attack;
use crate::escape::shared::Holder;
use crate::harness::World;
use crate::in_place::shared::Victim;

const CHANGE: &str = include_str!("../escape/probes/change.py");
const CONNECT: &str = include_str!("../escape/probes/connect.py");
const IPC: &str = include_str!("../escape/probes/ipc.py");
const OPTIONS: &[&str] = &["--require", "landlock"];

#[track_caller]
fn check(world: &World, probe: &str, about: &[&str], (attempt, layers): (&str, &[&str])) {
    let attack = Attack { options: OPTIONS, probe, about, attempt, works: "ok" };
    attack.is_refused_by_each(world, layers, &[]);
}

const READ: &str = "
tree, secret = sys.argv[1], sys.argv[2]
attempt('open', lambda: os.close(os.open(secret, os.O_RDONLY)))
attempt('open-write', lambda: os.close(os.open(secret, os.O_WRONLY)))
attempt('list', lambda: os.listdir(tree) and None)
";

#[test]
fn landlock_alone_keeps_files_that_are_not_granted() {
    let world = World::new();
    let secret = world.write("secret/file", "secret").display().to_string();
    let tree = world.root().join("secret").display().to_string();
    for attempt in ["open", "open-write", "list"] {
        check(&world, READ, &[&tree, &secret], (attempt, &["landlock"]));
    }
}

#[test]
fn landlock_alone_keeps_a_read_only_grant() {
    for attempt in ["write", "append", "truncate", "create", "mkdir", "symlink"] {
        let world = World::new();
        world.write("tree/file", "content");
        world.write("tree/sub/other", "content");
        let tree = world.root().join("tree").display().to_string();
        let options = &["--require", "landlock", "--ro", &tree];
        let about = &[tree.as_str()];
        let attack = Attack { options, probe: CHANGE, about, attempt, works: "ok" };
        attack.is_refused_by_each(&world, &["landlock"], &[]);
    }
}

const INTERNET: &str = "
import socket as so
attempt('tcp', lambda: so.create_connection(('127.0.0.1', int(sys.argv[1])), 3).close())
attempt('udp', lambda: so.socket(2, 2).sendto(b'x', ('127.0.0.1', int(sys.argv[2]))) and None)
";

#[test]
fn seccomp_and_landlock_keep_the_network() {
    let world = World::new();
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let ports = [tcp.local_addr(), udp.local_addr()];
    let ports = ports.map(|address| address.expect("bound").port().to_string());
    let about = [ports[0].as_str(), ports[1].as_str()];
    check(&world, INTERNET, &about, ("tcp", &["seccomp", "landlock"]));
    check(&world, INTERNET, &about, ("udp", &["seccomp"]));
}

#[test]
fn seccomp_alone_keeps_sockets_with_a_path() {
    let world = World::new();
    let path = world.root().join("socket");
    let _stream = UnixListener::bind(&path).expect("bound");
    let _datagram = UnixDatagram::bind(path.with_extension("dgram")).expect("bound");
    let about = [path.display().to_string()];
    for attempt in ["stream:socket", "dgram:socket"] {
        check(&world, CONNECT, &[&about[0]], (attempt, &["seccomp"]));
    }
}

#[test]
fn seccomp_alone_keeps_shared_memory_and_queues() {
    let world = World::new();
    let holder = Holder::new(&world);
    let about: Vec<&str> = holder.about.iter().map(String::as_str).collect();
    for attempt in ["shmat", "shmget"] {
        check(&world, IPC, &about, (attempt, &["seccomp"]));
    }
    check(&world, IPC, &about, ("mq_open", &["seccomp", "landlock"]));
}

const AIMED: &str = "
import resource
target = int(sys.argv[1])
attempt('prlimit', lambda: resource.prlimit(target, resource.RLIMIT_CORE, (0, 0)) and None)
";

#[test]
fn seccomp_alone_keeps_the_limits_of_others() {
    let world = World::new();
    let victim = Victim::new(&world);
    check(&world, AIMED, &[&victim.about()], ("prlimit", &["seccomp"]));
}
