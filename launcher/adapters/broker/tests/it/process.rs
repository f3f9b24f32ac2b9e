//! The broker as a process, and the supervisor's side of its socket.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use endow_policy::{AdapterAnswer, BrokerOrder, BrokeredHost};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
    SocketType, recv, send, sendmsg, socketpair,
};

use tempfile::TempDir;

use crate::client::Client;
use crate::server::{self, Server};

/// The secret that nobody inside may see.
pub(crate) const SECRET: &str = "s3cret-0f-the-user";

/// The name for which the server's certificate is.
pub(crate) const HOST: &str = "api.example.com";

/// A broker that was started.
pub(crate) struct Broker {
    pub(crate) child: Child,
    pub(crate) control: Option<OwnedFd>,
    /// What it trusts, for as long as it may read it.
    roots: Option<TempDir>,
}

/// The order of most tests: one host with a key.
pub(crate) fn host(path: &str) -> BrokeredHost {
    BrokeredHost {
        host: HOST.to_owned(),
        port: 443,
        path: path.to_owned(),
        websocket: true,
        header: "X-Key".to_owned(),
        value: format!("Bearer {SECRET}"),
        secret: SECRET.to_owned(),
    }
}

/// The program: next to endow, where the runner copied both, or where cargo built it.
pub(crate) fn program() -> PathBuf {
    let built = || PathBuf::from(env!("CARGO_BIN_EXE_endow-broker"));
    let endow = std::env::var_os("ENDOW_BIN").map(PathBuf::from);
    endow.map_or_else(built, |endow| endow.with_file_name("endow-broker"))
}

impl Broker {
    /// Starts one that trusts the servers of the tests, without an order.
    pub(crate) fn start() -> Self {
        Self::trusting(&mut Command::new(program()))
    }

    /// Starts one that trusts the servers of the tests, as the command says.
    pub(crate) fn trusting(command: &mut Command) -> Self {
        let roots = server::roots();
        command.env_clear().env("SSL_CERT_FILE", roots.path().join("roots.pem"));
        let mut broker = Self::start_as(command);
        broker.roots = Some(roots);
        broker
    }

    /// Starts one as the command says.
    pub(crate) fn start_as(command: &mut Command) -> Self {
        let flags = SocketFlags::CLOEXEC;
        let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        let (control, theirs) = pair.expect("a pair");
        command.stdin(theirs).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("the broker starts");
        // The command keeps its streams, and the broker would never see the end of its socket.
        command.stdin(Stdio::null());
        Self { child, control: Some(control), roots: None }
    }

    /// Starts one that serves one host.
    pub(crate) fn serving(path: &str) -> Self {
        Self::serving_all(vec![host(path)])
    }

    /// Starts one that serves these.
    pub(crate) fn serving_all(hosts: Vec<BrokeredHost>) -> Self {
        let broker = Self::start();
        let order = serde_json::to_vec(&BrokerOrder { hosts }).expect("json");
        assert_eq!(broker.ordered(&order), AdapterAnswer::Ready);
        broker
    }

    /// Sends an order and returns the answer.
    pub(crate) fn ordered(&self, order: &[u8]) -> AdapterAnswer {
        send(self.control(), order, SendFlags::NOSIGNAL).expect("sent");
        let mut bytes = vec![0; 4096];
        let (_, length) =
            recv(self.control(), bytes.as_mut_slice(), RecvFlags::empty()).expect("an answer");
        serde_json::from_slice(&bytes[..length]).expect("json")
    }

    pub(crate) fn control(&self) -> BorrowedFd<'_> {
        self.control.as_ref().expect("the socket").as_fd()
    }

    /// Makes a connection to the first host, at this server.
    pub(crate) fn connect(&self, server: &Server) -> Client {
        Client::new(self.connect_to(server.address))
    }

    /// Makes one to whoever listens there, and returns the client's side.
    pub(crate) fn connect_to(&self, address: SocketAddr) -> UnixStream {
        let (near, far) = UnixStream::pair().expect("a pair");
        let stream = TcpStream::connect(address).expect("connected");
        self.tell(&0_u32.to_ne_bytes(), &[far.as_fd(), stream.as_fd()]);
        near
    }

    /// Sends one message with descriptors.
    pub(crate) fn tell(&self, message: &[u8], descriptors: &[BorrowedFd<'_>]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        let parts = [IoSlice::new(message)];
        sendmsg(self.control(), &parts, &mut ancillary, SendFlags::NOSIGNAL).expect("sent");
    }

    /// Closes its socket.
    pub(crate) fn let_go(&mut self) {
        drop(self.control.take());
    }

    /// Waits for its end; `None` if it takes longer.
    pub(crate) fn ended_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        while start.elapsed() < limit {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    /// One file of `/proc` about it.
    pub(crate) fn proc(&self, name: &str) -> String {
        let path = format!("/proc/{}/{name}", self.child.id());
        std::fs::read_to_string(path).expect("a file of /proc")
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
        drop(self.roots.take());
    }
}
