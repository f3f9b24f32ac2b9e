//! The bridge to the user's editor: its file, its port, and nothing of other editors.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use crate::harness::{Said, World, said};

/// What is asked of the editor at a port.
const ASK: &str = "ask() { python3 -c 'import socket, sys
with socket.create_connection((\"127.0.0.1\", int(sys.argv[1])), 10) as it: it.send(bytes(1)); print(it.recv(9).decode())' \"$1\"; }; ";

/// Something that listens as an editor does, and says its name to whoever connects.
pub(crate) struct Editor {
    port: u16,
    heard: Arc<Mutex<String>>,
}

impl Editor {
    /// Starts one that has a folder open; `pid` is the process that it says it is.
    pub(crate) fn start(world: &World, name: &str, (folder, pid): (&Path, u32)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heard = Arc::new(Mutex::new(String::new()));
        let (says, hears) = (name.to_owned(), Arc::clone(&heard));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let text = talk(stream, &says);
                hears.lock().expect("nobody failed").push_str(&text);
            }
        });
        let says = json!({
            "pid": pid, "workspaceFolders": [folder], "ideName": name, "transport": "ws",
            "authToken": format!("token of {name}"),
        });
        world.write(format!("home/.claude/ide/{port}.lock"), &says.to_string());
        Self { port, heard }
    }

    fn file(&self, world: &World) -> PathBuf {
        world.home().join(format!(".claude/ide/{}.lock", self.port))
    }

    /// Returns what it was sent.
    pub(crate) fn heard(&self) -> String {
        self.heard.lock().expect("nobody failed").clone()
    }
}

fn talk(mut stream: TcpStream, says: &str) -> String {
    let mut buffer = [0; 4096];
    stream.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
    let length = stream.read(&mut buffer).unwrap_or(0);
    drop(stream.write_all(says.as_bytes()));
    String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned()
}

pub(crate) fn own() -> u32 {
    std::process::id()
}

fn run(world: &World, options: &[&str], script: &str) -> Said {
    said(world.endow(["run"]).args(options).args(["--", "sh", "-c", &format!("{ASK}{script}")]))
}

#[test]
fn editor_that_has_the_directory_open_is_reached() {
    let world = World::new();
    let (project, elsewhere) = (world.project(), world.root().join("elsewhere"));
    fs::create_dir(&elsewhere).expect("a directory");
    let here = Editor::start(&world, "here", (&project, own()));
    let other = Editor::start(&world, "other", (&elsewhere, own()));
    let script = format!(
        "ls ~/.claude/ide; grep -o 'token of [a-z]*' ~/.claude/ide/*; ask $CLAUDE_CODE_SSE_PORT; ask {} 2>&1 | grep -o Refused",
        other.port
    );
    let told = run(&world, &["--bridge", "ide"], &script);
    assert_eq!(told.ok(), format!("{}.lock\ntoken of here\nhere\nRefused\n", here.port));
    world.assert_no_run_left();
}

#[test]
fn editors_file_stays_as_it_is() {
    let world = World::new();
    let editor = Editor::start(&world, "here", (&world.project(), own()));
    let file = editor.file(&world);
    let before = fs::read(&file).expect("a file");
    let script =
        "cd ~/.claude/ide; rm -f *.lock; mv *.lock y; for it in *; do echo x >$it; done; ls";
    let told = run(&world, &["--bridge", "ide"], script);
    // An agent that sees no such process would take it away.
    assert_eq!(told.stdout, format!("{}.lock\n", editor.port));
    assert_eq!(fs::read(&file).expect("a file"), before);
    assert_eq!(fs::read_dir(file.parent().expect("a directory")).expect("listed").count(), 1);
}

#[test]
fn deepest_folder_is_taken_and_the_terminals_own_editor_before_it() {
    let world = World::new();
    let (home, project) = (world.home(), world.project());
    Editor::start(&world, "above", (&home, own()));
    Editor::start(&world, "here", (&project, own()));
    let mine = Editor::start(&world, "mine", (Path::new("/nowhere"), own()));
    let script = "ask $CLAUDE_CODE_SSE_PORT";
    assert_eq!(run(&world, &["--bridge", "ide"], script).ok(), "here\n");
    let mut endow = world.endow(["run", "--bridge", "ide", "--", "sh", "-c"]);
    endow.arg(format!("{ASK}{script}")).env("CLAUDE_CODE_SSE_PORT", mine.port.to_string());
    assert_eq!(said(&mut endow).ok(), "mine\n");
}

#[test]
fn without_an_editor_the_flag_is_refused_and_a_policy_goes_on() {
    let world = World::new();
    let project = world.project();
    Editor::start(&world, "gone", (&project, dead()));
    Editor::start(&world, "first", (&project, 1));
    let linked = Editor::start(&world, "linked", (&project, own()));
    let (file, moved) = (linked.file(&world), world.root().join("moved"));
    fs::rename(&file, &moved).and_then(|()| symlink(&moved, &file)).expect("a link");
    let mut other = std::process::Command::new("sleep").arg("60").spawn().expect("started");
    Editor::start(&world, "other process", (&project, other.id()));
    let refused = run(&world, &["--bridge", "ide"], "true");
    assert_eq!(refused.code, 125, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("no running editor has this directory open"),
        "{}",
        refused.stderr
    );
    let policy = world.write("policy.toml", "version = 1\n[bridges]\nopen = [\"ide\"]\n");
    let policy = policy.to_str().expect("text");
    let told = run(
        &world,
        &["-p", policy],
        "echo \"[$CLAUDE_CODE_SSE_PORT]\"; ls -A ~/.claude 2>&1 | wc -l",
    );
    assert!(told.ok().starts_with("[]\n"), "{}", told.stdout);
    other.kill().and_then(|()| other.wait()).expect("ended");
}

/// Returns the number of a process that has ended.
fn dead() -> u32 {
    let mut child = std::process::Command::new("true").spawn().expect("started");
    let pid = child.id();
    child.wait().expect("ended");
    pid
}
