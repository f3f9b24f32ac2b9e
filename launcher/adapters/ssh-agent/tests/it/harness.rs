//! A directory with keys, a real agent that holds some of them, and the filter before it.

use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use endow_policy::{AdapterAnswer, SshAgentOrder};
use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, sendmsg};

/// How long something may take that should happen at once.
const PATIENCE: Duration = Duration::from_secs(20);
/// What an agent says to what it refuses.
pub(crate) const FAILURE: &[u8] = &[5];

/// A directory with keys, and an agent at `agent` in it.
pub(crate) struct World {
    dir: tempfile::TempDir,
    agent: Option<Child>,
}

/// The program under test, and the launcher's end of its socket.
pub(crate) struct Filter {
    pub(crate) child: Child,
    pub(crate) launcher: Option<OwnedFd>,
}

impl World {
    /// With an agent that holds new keys with these comments.
    pub(crate) fn with(comments: &[&str]) -> Self {
        let mut world = Self { dir: tempfile::tempdir().expect("a directory"), agent: None };
        let mut command = world.command("ssh-agent", "agent");
        command.arg("-D").arg("-a").arg(world.path("agent"));
        let agent =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("ssh-agent starts");
        world.agent = Some(agent);
        eventually("the agent listens", || UnixStream::connect(world.path("agent")).is_ok());
        for comment in comments {
            world.make_key(comment);
            world.ok("agent", &["ssh-add", "-q", comment]);
        }
        world
    }

    /// Makes a key in a file of that name.
    pub(crate) fn make_key(&self, comment: &str) {
        self.ok(
            "agent",
            &["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", comment],
        );
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("written");
    }

    /// What `ssh-keygen -l` says of a key.
    pub(crate) fn fingerprint(&self, name: &str) -> String {
        let line = self.ok("agent", &["ssh-keygen", "-l", "-f", name]);
        line.split_whitespace().nth(1).expect("a fingerprint").to_owned()
    }

    /// A program that talks to the agent at a socket of this directory.
    pub(crate) fn command(&self, program: &str, socket: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.dir.path()).env("SSH_AUTH_SOCK", self.path(socket));
        command.env("HOME", self.dir.path()).env_remove("SSH_ASKPASS").stdin(Stdio::null());
        command
    }

    pub(crate) fn output(&self, socket: &str, words: &[&str]) -> Output {
        let mut command = self.command(words[0], socket);
        command.args(&words[1..]).output().expect("openssh-client is installed")
    }

    /// What a program prints that must succeed.
    pub(crate) fn ok(&self, socket: &str, words: &[&str]) -> String {
        let output = self.output(socket, words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    pub(crate) fn fails(&self, socket: &str, words: &[&str]) {
        let output = self.output(socket, words);
        assert!(!output.status.success(), "{words:?}: {output:?}");
    }

    /// The order for some of the agent's keys.
    pub(crate) fn order(&self, keys: &[&str]) -> SshAgentOrder {
        SshAgentOrder {
            agent: self.path("agent").display().to_string(),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            confirm: Vec::new(),
            search: ["/usr/bin", "/bin"].map(str::to_owned).to_vec(),
        }
    }

    /// A filter for these keys at the socket `sandbox`, which serves.
    pub(crate) fn filter(&self, keys: &[&str]) -> Filter {
        self.serving(&self.order(keys))
    }

    /// The same, with a shell script that asks.
    pub(crate) fn asking_filter(&self, keys: &[&str], script: &str) -> Filter {
        let confirm = ["sh", "-c", script, "sh"].map(str::to_owned).to_vec();
        self.serving(&SshAgentOrder { confirm, ..self.order(keys) })
    }

    fn serving(&self, order: &SshAgentOrder) -> Filter {
        let (filter, answer) = self.ordered(order);
        assert_eq!(answer, AdapterAnswer::Ready);
        filter
    }

    /// A filter that got an order, and its answer.
    pub(crate) fn ordered(&self, order: &SshAgentOrder) -> (Filter, AdapterAnswer) {
        let filter = Filter::start(&mut program());
        let text = serde_json::to_vec(order).expect("encoded");
        filter.tell(&text, &[self.listener().as_fd()]);
        let answer = filter.answer();
        (filter, answer)
    }

    /// The sandbox's listening socket.
    pub(crate) fn listener(&self) -> UnixListener {
        UnixListener::bind(self.path("sandbox")).expect("bound")
    }

    /// A connection to the filter.
    pub(crate) fn client(&self) -> UnixStream {
        let client = UnixStream::connect(self.path("sandbox")).expect("connected");
        client.set_read_timeout(Some(PATIENCE)).expect("set");
        client
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(agent) = &mut self.agent {
            drop(agent.kill());
            drop(agent.wait());
        }
    }
}

/// The program: beside `endow` where the runner has put it, or as cargo built it.
pub(crate) fn program() -> Command {
    let built = || PathBuf::from(env!("CARGO_BIN_EXE_endow-ssh-agent"));
    let beside = |endow: PathBuf| endow.with_file_name("endow-ssh-agent");
    let endow = std::env::var_os("ENDOW_BIN").map(PathBuf::from);
    Command::new(endow.map_or_else(built, beside))
}

impl Filter {
    /// Starts the program as the launcher does.
    pub(crate) fn start(command: &mut Command) -> Self {
        let flags = SocketFlags::CLOEXEC;
        let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        let (launcher, inner) = pair.expect("a pair");
        // Room for an order that is too long.
        set_socket_send_buffer_size(&launcher, 512 << 10).expect("set");
        command.stdin(inner).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { child: command.spawn().expect("the filter starts"), launcher: Some(launcher) }
    }

    /// Sends a message with descriptors.
    pub(crate) fn tell(&self, message: &[u8], descriptors: &[BorrowedFd<'_>]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        let launcher = self.launcher.as_ref().expect("open");
        let parts = [IoSlice::new(message)];
        sendmsg(launcher, &parts, &mut ancillary, SendFlags::NOSIGNAL).expect("sent");
    }

    pub(crate) fn answer(&self) -> AdapterAnswer {
        let mut bytes = vec![0; 1 << 16];
        let launcher = self.launcher.as_ref().expect("open");
        let (_, length) = recv(launcher, &mut bytes[..], RecvFlags::empty()).expect("an answer");
        serde_json::from_slice(&bytes[..length]).expect("JSON")
    }

    /// The exit code when it ends, and that it printed nothing.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let mut status = None;
        eventually("the filter ends", || {
            status = self.child.try_wait().expect("waited");
            status.is_some()
        });
        let mut said = String::new();
        self.child.stdout.take().expect("a pipe").read_to_string(&mut said).expect("read");
        self.child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("read");
        assert_eq!(said, "");
        status?.code()
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Sends a message and receives one, as an agent's client does.
pub(crate) fn ask(stream: &mut UnixStream, message: &[u8]) -> std::io::Result<Vec<u8>> {
    let length = u32::try_from(message.len()).expect("short");
    stream.write_all(&[&length.to_be_bytes(), message].concat())?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut answer = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

/// A string as ssh writes it.
pub(crate) fn string(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("short");
    [&length.to_be_bytes(), bytes].concat()
}

/// The first key in an agent's list.
pub(crate) fn first_key(stream: &mut UnixStream) -> Vec<u8> {
    let list = ask(stream, &[11]).expect("listed");
    let (length, rest) = list[5..].split_first_chunk().expect("a key");
    rest[..u32::from_be_bytes(*length) as usize].to_vec()
}

/// Waits until something holds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a file is there.
pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
