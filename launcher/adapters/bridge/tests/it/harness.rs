//! A directory with programs that note how they were started, and the adapter before them.

use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use endow_bridge::Request;
use endow_policy::{AdapterAnswer, BridgeNews, BridgeOrder, Nearby};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, sendmsg};

/// How long something may take that should happen at once.
const PATIENCE: Duration = Duration::from_secs(20);
/// Notes its arguments, its input, its variables and its descriptors.
const NOTES: &str = "#!/bin/sh
{ printf '%s\\n' \"${0##*/}\" \"$@\"; echo ==; cat; echo ==; env; echo ==; ls /proc/self/fd; echo ==; ps -o sid= -p $$; } >DIR/note.$$
mv DIR/note.$$ DIR/noted.$$
";

/// Programs, and what they noted.
pub(crate) struct World {
    dir: tempfile::TempDir,
    /// The directories of PATH outside, the own one first.
    pub(crate) search: Vec<String>,
}

/// The adapter, and the launcher's end of its socket.
pub(crate) struct Adapter {
    child: Child,
    launcher: Option<OwnedFd>,
    socket: PathBuf,
}

impl World {
    /// With programs of these names.
    pub(crate) fn with(programs: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let own = dir.path().join("bin").display().to_string();
        let search = vec![own, "/usr/bin".to_owned(), "/bin".to_owned()];
        let this = Self { dir, search };
        std::fs::create_dir(this.path("bin")).expect("a directory");
        for program in programs {
            let path = this.path(&format!("bin/{program}"));
            let text = NOTES.replace("DIR", this.dir.path().to_str().expect("text"));
            std::fs::write(&path, text).expect("written");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("executable");
        }
        this
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The adapter for these bridges, and what it says.
    pub(crate) fn ordered(&self, open: &[&str]) -> (Adapter, AdapterAnswer) {
        let socket = self.path("socket");
        let listener = UnixListener::bind(&socket).expect("bound");
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .expect("a pair");
        let mut command = Command::new(env!("CARGO_BIN_EXE_endow-bridge"));
        command.env("DISPLAY", ":9").env_remove("WAYLAND_DISPLAY").env_remove("BROWSER");
        command.env("SECRET_TOKEN", "x").env("LC_TEST", "y").stdin(Stdio::from(theirs));
        let child = command.spawn().expect("started");
        let text = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let order = BridgeOrder {
            open: text(open),
            published: Vec::new(),
            served: Vec::new(),
            search: self.search.clone(),
            reach: vec![self.path("live").display().to_string()],
            nearby: Nearby::default(),
        };
        send(&ours, &serde_json::to_vec(&order).expect("json"), &listener);
        let mut bytes = vec![0; 1 << 14];
        let (length, _) = recv(&ours, &mut bytes[..], RecvFlags::empty()).expect("an answer");
        let answer = serde_json::from_slice(&bytes[..length]).expect("json");
        (Adapter { child, launcher: Some(ours), socket }, answer)
    }

    /// The adapter for these bridges, which serves.
    pub(crate) fn serving(&self, open: &[&str]) -> Adapter {
        let (adapter, answer) = self.ordered(open);
        assert_eq!(answer, AdapterAnswer::Ready);
        adapter
    }

    /// Waits for so many notes; returns them.
    pub(crate) fn notes(&self, count: usize) -> Vec<Note> {
        let mut notes = Vec::new();
        eventually("the programs noted", || {
            notes = self.noted();
            notes.len() >= count
        });
        assert_eq!(notes.len(), count);
        notes
    }

    /// What was noted so far.
    pub(crate) fn noted(&self) -> Vec<Note> {
        let entries = std::fs::read_dir(self.dir.path()).expect("listed");
        let names = entries.map(|entry| entry.expect("an entry").path());
        let noted = names.filter(|path| path.display().to_string().contains("/noted."));
        noted.map(|path| Note::of(&std::fs::read_to_string(path).expect("read"))).collect()
    }
}

/// How a program was started.
#[derive(Debug)]
pub(crate) struct Note {
    /// Its name and arguments, a line each.
    pub(crate) words: String,
    pub(crate) input: String,
    pub(crate) variables: String,
    pub(crate) descriptors: String,
    pub(crate) session: String,
}

impl Note {
    fn of(text: &str) -> Self {
        let parts: Vec<&str> = text.split("==\n").collect();
        let [words, input, variables, descriptors, session] = parts[..] else { panic!("{text}") };
        let own = str::to_owned;
        Self {
            words: own(words),
            input: own(input),
            variables: own(variables),
            descriptors: own(descriptors),
            session: own(session.trim()),
        }
    }
}

impl Adapter {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends bytes as one message; returns the answer.
    pub(crate) fn say(&self, message: &[u8]) -> String {
        let mut socket = UnixStream::connect(&self.socket).expect("connected");
        socket.set_read_timeout(Some(PATIENCE)).expect("set");
        // One that is too long is not read to its end.
        drop(socket.write_all(message).and_then(|()| socket.shutdown(Shutdown::Write)));
        let mut answer = String::new();
        drop(socket.read_to_string(&mut answer));
        answer
    }

    pub(crate) fn ask(&self, request: &Request) -> String {
        self.say(&request.encode())
    }

    pub(crate) fn open(&self, url: &str) -> String {
        self.ask(&Request::Open(url.to_owned()))
    }

    /// Tells it what is near from now on.
    pub(crate) fn surround(&self, nearby: &Nearby) {
        let launcher = self.launcher.as_ref().expect("it is there");
        let text = serde_json::to_vec(nearby).expect("json");
        rustix::net::send(launcher, &text, SendFlags::empty()).expect("sent");
    }

    pub(crate) fn connect(&self) -> UnixStream {
        UnixStream::connect(&self.socket).expect("connected")
    }

    /// What the launcher is told next.
    pub(crate) fn news(&self) -> BridgeNews {
        let mut bytes = vec![0; 1 << 14];
        let launcher = self.launcher.as_ref().expect("it is there");
        let (length, _) = recv(launcher, &mut bytes[..], RecvFlags::empty()).expect("news");
        serde_json::from_slice(&bytes[..length]).expect("json")
    }

    /// The launcher says nothing more, and still listens.
    pub(crate) fn fall_silent(&self) {
        let launcher = self.launcher.as_ref().expect("it is there");
        rustix::net::shutdown(launcher, rustix::net::Shutdown::Write).expect("shut");
    }

    /// Whether the launcher is told nothing more, for the adapter is gone.
    pub(crate) fn is_gone(&self) -> bool {
        let launcher = self.launcher.as_ref().expect("it is there");
        recv(launcher, &mut [0; 1][..], RecvFlags::empty()).is_ok_and(|(length, _)| length == 0)
    }

    /// Lets the launcher go; returns how long the adapter lives on.
    pub(crate) fn end(mut self) -> Duration {
        let start = Instant::now();
        self.launcher = None;
        assert!(self.child.wait().expect("ended").success());
        start.elapsed()
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn send(to: &OwnedFd, text: &[u8], listener: &UnixListener) {
    let fds = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&fds)));
    sendmsg(to, &[IoSlice::new(text)], &mut ancillary, SendFlags::empty()).expect("sent");
}

pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
