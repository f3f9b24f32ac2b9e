//! Bridges to the desktop: what is asked for inside is done outside, and nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Said, World, said, soon};

const URL: &str = "https://a.example/x?y=$(id)&z=1";
/// Notes its arguments and its input.
const NOTES: &str = "#!/bin/sh
{ printf '%s\\n' \"${0##*/}\" \"$@\"; cat; } >DIR/note.$$ && mv DIR/note.$$ DIR/noted.$$
";

/// A world whose user has a browser, a clipboard and notifications: programs that note how they are
/// started.
struct Desktop {
    world: World,
}

impl Desktop {
    fn new() -> Self {
        let this = Self { world: World::new() };
        for program in ["xdg-open", "xclip", "notify-send"] {
            this.program(&format!("desktop/{program}"));
        }
        this
    }

    fn program(&self, path: &str) {
        let text = NOTES.replace("DIR", self.world.root().to_str().expect("text"));
        let path = self.world.write(path, &text);
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("executable");
    }

    /// Returns `endow run` with options and a script, where the desktop's programs are in the PATH.
    fn command(&self, options: &[&str], script: &str) -> Command {
        let mut endow = self.world.endow(["run"]);
        let desktop = self.world.root().join("desktop");
        endow.args(options).args(["--", "sh", "-c", script]).env("DISPLAY", ":9");
        endow.env("PATH", format!("{}:/usr/bin:/bin", desktop.display()));
        endow
    }

    fn run(&self, options: &[&str], script: &str) -> Said {
        said(&mut self.command(options, script))
    }

    fn noted(&self) -> Vec<String> {
        let entries =
            fs::read_dir(self.world.root()).expect("listed").map(|it| it.expect("an entry"));
        let notes = entries.filter(|it| it.file_name().to_string_lossy().starts_with("noted."));
        notes.map(|note| fs::read_to_string(note.path()).expect("read")).collect()
    }

    /// Waits for one note; returns it.
    #[track_caller]
    fn note(&self) -> String {
        soon("a program was started", || !self.noted().is_empty());
        let mut notes = self.noted();
        assert_eq!(notes.len(), 1);
        notes.remove(0)
    }
}

#[test]
fn url_is_opened_outside() {
    for script in [
        format!("xdg-open '{URL}'"),
        format!("\"$BROWSER\" '{URL}'"),
        format!("python3 -c 'import sys, webbrowser; assert webbrowser.open(sys.argv[1])' '{URL}'"),
    ] {
        let desktop = Desktop::new();
        desktop.run(&["--bridge", "browser"], &script).ok();
        assert_eq!(desktop.note(), format!("xdg-open\n{URL}\n"), "{script}");
        desktop.world.assert_no_run_left();
    }
}

#[test]
fn browser_of_the_user_is_taken_first() {
    let desktop = Desktop::new();
    desktop.program("desktop/my-browser");
    let mut command = desktop.command(&["--bridge", "browser"], &format!("xdg-open '{URL}'"));
    said(command.env("BROWSER", "missing:my-browser --new %s x")).ok();
    assert_eq!(desktop.note(), format!("my-browser\n--new\n{URL}\nx\n"));
}

#[test]
fn text_is_copied_outside() {
    for script in [
        "printf 'a\\nb' | xclip -selection clipboard",
        "printf 'a\\nb' | wl-copy",
        "printf 'a\\nb' | xsel -bi",
    ] {
        let desktop = Desktop::new();
        desktop.run(&["--bridge", "clipboard"], script).ok();
        assert_eq!(desktop.note(), "xclip\n-selection\nclipboard\n-in\na\nb", "{script}");
    }
}

#[test]
fn notification_is_shown_outside() {
    let desktop = Desktop::new();
    desktop.run(&["--bridge", "notify"], "notify-send -u critical 'it is <b>done</b>' below").ok();
    let shown = "sandbox: it is ‹b›done‹/b›\nbelow\n";
    assert_eq!(desktop.note(), format!("notify-send\n--app-name=endow\n--\n{shown}"));
}

#[test]
fn policy_opens_them_too() {
    let desktop = Desktop::new();
    let policy = "version = 1\n[bridges]\nopen = [\"browser:a.example\", \"notify\"]\n";
    let policy = desktop.world.write("policy.toml", policy);
    let options = ["-p", policy.to_str().expect("text"), "--bridge", "!notify"];
    let told = desktop.run(&options, &format!("xdg-open '{URL}' && ls /run/endow/bin"));
    assert_eq!(told.ok(), "sensible-browser\nx-www-browser\nxdg-open\n");
    let other = desktop.run(&options, "xdg-open https://b.example/");
    assert!(other.fails(4).contains("not among those"), "{other:?}");
    assert_eq!(desktop.note(), format!("xdg-open\n{URL}\n"));
}

#[test]
fn project_opens_none_untrusted() {
    let desktop = Desktop::new();
    desktop
        .world
        .write("home/project/endow.toml", "version = 1\n[bridges]\nopen = [\"browser\"]\n");
    let told = desktop.run(&[], "true");
    assert!(told.fails(120).contains("bridges.open = \"browser\""), "{told:?}");
}

#[test]
fn report_tells_what_was_asked_for() {
    let desktop = Desktop::new();
    let script = format!("xdg-open '{URL}'; xdg-open http://localhost:631/; true");
    let report = desktop.world.root().join("report.json");
    let report = report.to_str().expect("text");
    let told = desktop.run(&["-v", "--bridge", "browser", "--report", report], &script);
    assert!(told.stderr.contains("bridge browser: https://a.example/x\n"), "{told:?}");
    let report: Value = serde_json::from_slice(&fs::read(report).expect("read")).expect("json");
    let list = &report["bridges"]["list"];
    assert_eq!(list[0]["what"], "https://a.example/x");
    assert_eq!(list[0]["refused"], Value::Null);
    assert_eq!(list[1]["what"], "http://localhost:631/");
    assert!(list[1]["refused"].as_str().is_some_and(|why| why.contains("own services")));
}

/// Whatever is asked, by whom it is asked.
const ATTACKS: &[&str] = &[
    "xdg-open file:///etc/passwd",
    "xdg-open http://127.0.0.1:631/admin",
    "xdg-open http://2130706433/",
    "xdg-open 'https://a.example@10.0.0.1/'",
    "xdg-open \"$(printf 'https://a.example/\\n--flag')\"",
    "xdg-open ./script.desktop",
    "xclip -o",
    "xsel -bo",
    "printf '\\033[201~rm -rf ~\\n' | xclip",
    "notify-send --action=run=x a",
];

#[test]
fn bridges_do_nothing_else() {
    let desktop = Desktop::new();
    let options = ["--bridge", "browser", "--bridge", "clipboard", "--bridge", "notify"];
    let script = ATTACKS.iter().map(|it| format!("({it}) 2>/dev/null && echo \"{it:?}\""));
    let script = script.collect::<Vec<_>>().join("\n");
    let raw = "python3 - <<'E'
import socket
def say(bytes):
    s = socket.socket(socket.AF_UNIX); s.connect('/run/endow/bridges.sock')
    s.sendall(bytes); s.shutdown(socket.SHUT_WR); return s.recv(100)
for bytes in [b'', b'open', b'run\\nid', b'open\\nfile:///x', b'open\\n-x', b'copy\\n', b'\\xff' * 9]:
    if say(bytes).startswith(b'done'): print(bytes)
E";
    let told = desktop.run(&options, &format!("{script}\n{raw}\ntrue"));
    assert_eq!(told.ok(), "", "{told:?}");
    assert!(desktop.noted().is_empty(), "{:?}", desktop.noted());
    // The control: the same programs take what is meant for them.
    desktop.run(&options, &format!("xdg-open '{URL}'")).ok();
    desktop.note();
}

#[test]
fn nothing_is_open_unless_it_is_asked_for() {
    let desktop = Desktop::new();
    let told = desktop.run(&[], "ls /run/endow; echo \"${BROWSER-none}\"; echo \"$PATH\"");
    assert!(!told.ok().contains("bridges.sock") && told.stdout.contains("none\n"), "{told:?}");
    assert!(!told.stdout.contains("/run/endow/bin"), "{told:?}");
    // One that is open opens no other.
    let told = desktop.run(
        &["--bridge", "notify"],
        "python3 - <<'E'
import socket
s = socket.socket(socket.AF_UNIX); s.connect('/run/endow/bridges.sock')
s.sendall(b'open\\nhttps://a.example/'); s.shutdown(socket.SHUT_WR); print(s.recv(100).decode())
E",
    );
    assert!(told.ok().starts_with("refused: this bridge is not open"), "{told:?}");
    assert!(desktop.noted().is_empty());
}

/// A program that a run may have written would be a way out.
#[test]
fn program_that_a_command_may_change_is_not_taken() {
    let desktop = Desktop::new();
    desktop.program("home/project/bin/xdg-open");
    let bin = desktop.world.project().join("bin");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    for access in ["rw", "cow"] {
        let mut command = desktop.command(&["--workspace", access, "--bridge", "browser"], "true");
        let told = said(command.env("PATH", &path));
        assert!(
            told.fails(125).contains("no program for `--bridge browser`"),
            "{access}: {told:?}"
        );
        let mut command = desktop.command(&["--workspace", access, "--bridge", "browser"], "true");
        let told = said(command.env("PATH", &path).env("BROWSER", bin.join("xdg-open")));
        assert!(told.fails(125).contains("no program"), "{access}: {told:?}");
    }
    // The control: where it can't be written it is taken.
    let mut command = desktop
        .command(&["--workspace", "ro", "--bridge", "browser"], &format!("xdg-open '{URL}'"));
    said(command.env("PATH", &path)).ok();
    desktop.note();
}

#[test]
fn nobody_inside_can_put_another_program_in_its_place() {
    let desktop = Desktop::new();
    let script = "cd /run/endow/bin; for it in 'rm -f xdg-open' 'mv xdg-open y' 'echo x >xdg-open' \
        'cp -f /bin/true xdg-open'; do (eval \"$it\") 2>/dev/null && echo \"$it\"; done; true";
    assert_eq!(desktop.run(&["--bridge", "browser"], script).ok(), "");
}

#[test]
fn words_that_open_nothing_are_refused() {
    let desktop = Desktop::new();
    for (word, why) in [
        ("browsr", "did you mean `browser`"),
        ("clipboard:read", "never read"),
        ("oauth:0", "not a port"),
        ("browser:https://a.example", "a host is written"),
    ] {
        let told = desktop.run(&["--bridge", word], "true");
        assert!(told.fails(125).contains(why), "{word}: {told:?}");
    }
    let landlock = desktop.run(&["--require", "landlock", "--bridge", "browser"], "true");
    assert!(landlock.fails(122).contains("--bridge browser: no Unix socket"), "{landlock:?}");
}

/// A login: the browser outside comes back to the port at which the command waits.
#[test]
fn login_comes_back_to_its_port() {
    let desktop = Desktop::new();
    let port = free_port();
    let opener = desktop.world.root().join("desktop/xdg-open");
    let script = format!(
        "#!/bin/sh\nexec python3 -c \"import urllib.request as r; r.urlopen('http://127.0.0.1:{port}/cb?code=42')\"\n"
    );
    fs::write(&opener, script).expect("written");
    let waits = format!(
        "import http.server, subprocess, threading
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print(self.path, flush=True); self.send_response(200); self.end_headers()
    def log_message(self, *x): pass
s = http.server.HTTPServer(('127.0.0.1', {port}), H)
subprocess.run(['xdg-open', 'https://a.example/login?redirect_uri=x'], check=True)
s.timeout = 20
s.handle_request()"
    );
    desktop.world.write("home/project/login.py", &waits);
    let told = desktop.run(&["--bridge", &format!("oauth:{port}")], "python3 login.py");
    assert_eq!(told.ok(), "/cb?code=42\n");
}

fn free_port() -> u16 {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    socket.local_addr().expect("an address").port()
}
