//! Bridges to the desktop: what is asked for inside is done outside, and nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::harness::{Running, Said, World, said, send, soon};

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

/// Whoever is killed with the sandbox has asked already.
#[test]
fn report_tells_what_was_asked_for_at_the_end() {
    for _ in 0..4 {
        let desktop = Desktop::new();
        let report = desktop.world.root().join("report.json");
        let options = ["--bridge", "browser", "-v", "--report", report.to_str().expect("text")];
        let script = "for i in 1 2 3 4; do xdg-open https://a.example/$i & done; sleep 0.02";
        let ran = desktop.run(&options, script);
        assert_eq!(ran.code, 0, "{ran:?}");
        // A program that was started notes it a moment later.
        std::thread::sleep(Duration::from_millis(500));
        let opened = desktop.noted().len();
        let told = ran.stderr.matches("bridge browser: https://a.example/").count();
        let report: Value = serde_json::from_slice(&fs::read(report).expect("read")).expect("json");
        let listed = report["bridges"]["list"].as_array().map(Vec::len);
        assert_eq!((told, listed), (opened, Some(opened)));
    }
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

/// A program that a run may have written would be a way out, also in a run that only reads it.
#[test]
fn program_that_a_command_may_change_is_not_taken() {
    let desktop = Desktop::new();
    desktop.program("home/project/bin/xdg-open");
    let bin = desktop.world.project().join("bin");
    let path = bin.display().to_string();
    for access in ["rw", "cow", "ro"] {
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
    // The control: where it can't have been written it is taken, and the planted one is passed over.
    fs::write(bin.join("xdg-open"), "#!/bin/sh\n").expect("written");
    let safe = desktop.world.root().join("desktop");
    let path = format!("{}:{}:/usr/bin:/bin", bin.display(), safe.display());
    let mut command = desktop
        .command(&["--workspace", "ro", "--bridge", "browser"], &format!("xdg-open '{URL}'"));
    said(command.env("PATH", &path)).ok();
    desktop.note();
}

/// `xdg-open` starts what `BROWSER` names, and what files of the desktop in its directories do.
#[test]
fn program_that_is_taken_is_not_led_to_another() {
    let desktop = Desktop::new();
    let (root, project) = (desktop.world.root(), desktop.world.project());
    let note = root.join("noted.1").display().to_string();
    let notes = "#!/bin/sh\nenv >NOTE.new && mv NOTE.new NOTE\n".replace("NOTE", &note);
    desktop.world.write("desktop/xdg-open", &notes);
    let (bin, ours) = (project.join("bin/browser"), root.join("share"));
    desktop.program("home/project/bin/browser");
    let script = format!("xdg-open '{URL}'");
    let mut command = desktop.command(&["--bridge", "browser"], &script);
    command.env("BROWSER", bin).env("XDG_CONFIG_HOME", project.join("etc"));
    command.env("XDG_DATA_DIRS", format!("{}:{}", ours.display(), project.display()));
    said(command.env("XDG_DATA_HOME", &ours)).ok();
    let note = desktop.note();
    let has = |start: &str| note.lines().any(|line| line.starts_with(start));
    assert!(!has("BROWSER=") && !has("XDG_CONFIG_HOME=") && !has("XDG_DATA_DIRS="), "{note}");
    assert!(has(&format!("XDG_DATA_HOME={}", ours.display())), "control: {note}");
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

/// Waits for a login at a port, any without one, and says what comes. Twice, for it may be repeated.
const LOGIN: &str = "import http.server, subprocess, sys, urllib.parse
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print(self.path, flush=True); self.send_response(200); self.end_headers()
    def log_message(self, *x): pass
s = http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), H)
s.timeout = 20
back = urllib.parse.quote(f'http://localhost:{s.server_port}/cb', safe='')
for _ in range(2):
    subprocess.run(['xdg-open', f'https://a.example/login?redirect_uri={back}&x=y'], check=True)
    s.handle_request()
";

/// A browser in which the user is logged in already: it goes to where the URL says.
const COMES_BACK: &str = "#!/usr/bin/env python3
import sys, urllib.parse, urllib.request
query = urllib.parse.parse_qs(urllib.parse.urlsplit(sys.argv[1]).query)
urllib.request.urlopen(query['redirect_uri'][0] + '?code=42')
";

fn with_login() -> Desktop {
    let desktop = Desktop::new();
    fs::write(desktop.world.root().join("desktop/xdg-open"), COMES_BACK).expect("written");
    desktop.world.write("home/project/login.py", LOGIN);
    desktop
}

/// A login: the browser outside comes back to the port at which the command waits.
#[test]
fn login_comes_back_to_its_port() {
    let (desktop, port) = (with_login(), free_port());
    let bridge = format!("oauth:{port}");
    let told = desktop.run(&["--bridge", &bridge], &format!("python3 login.py {port}"));
    assert_eq!(told.ok(), "/cb?code=42\n/cb?code=42\n");
}

/// Nothing else can be published in the place of a port that is in use.
#[test]
fn port_of_a_login_that_is_in_use_is_told() {
    let desktop = with_login();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = taken.local_addr().expect("an address").port();
    let bridge = format!("oauth:{port}");
    let told = desktop.run(&["--bridge", &bridge], "echo started").fails(125).to_owned();
    assert!(told.contains(&format!("that of `{bridge}`")) && !told.contains("--publish"), "{told}");
    // The control: a port that is published.
    let publish = format!("{port}:80");
    let told = desktop.run(&["--publish", &publish], "echo started").fails(125).to_owned();
    assert!(told.contains("--publish 0:PORT"), "{told}");
}

#[test]
fn login_comes_back_to_a_port_that_it_names() {
    for network in [&[][..], &["--net", "a.example"], &["--net", "host"]] {
        let desktop = with_login();
        let report = desktop.world.root().join("report");
        let report_to = report.display().to_string();
        let options = ["--bridge", "oauth", "--report", &report_to];
        let told = desktop.run(&[&options[..], network].concat(), "python3 login.py 0");
        assert_eq!(told.ok(), "/cb?code=42\n/cb?code=42\n", "{network:?}");
        let report: Value =
            serde_json::from_str(&fs::read_to_string(report).expect("read")).expect("json");
        for asked in report["bridges"]["list"].as_array().expect("a list") {
            let is_own = !network.contains(&"host");
            assert_eq!(
                asked["login"].as_u64().is_some_and(|port| port >= 32_768),
                is_own,
                "{asked}"
            );
        }
    }
}

/// Without the bridge nothing leads inside, whatever a URL says; with it, only what is given out at
/// random, and never what another has.
#[test]
fn no_other_port_is_opened_for_a_login() {
    let (socket, random) =
        (std::net::TcpListener::bind("127.0.0.1:0").expect("bound"), free_port());
    let taken = socket.local_addr().expect("an address").port();
    let script = |port: u16| {
        format!(
            "python3 -m http.server {port} >/dev/null 2>&1 & \
            xdg-open 'https://a.example/?redirect_uri=http://localhost:{port}/'"
        )
    };
    let desktop = Desktop::new();
    for (port, why) in [(3131, "--bridge oauth:3131"), (taken, "can't be had outside")] {
        let told = desktop.run(&["--bridge", "oauth"], &script(port));
        assert!(told.fails(4).contains(why), "{port}: {told:?}");
        assert_eq!(desktop.noted(), Vec::<String>::new(), "{port}");
    }
    drop(socket);
    let waits = format!("{}; sleep 3", script(random));
    let mut running = desktop.command(&["--bridge", "browser"], &waits).spawn().expect("started");
    desktop.note();
    assert!(std::net::TcpStream::connect(("127.0.0.1", random)).is_err(), "nothing leads inside");
    assert!(running.wait().expect("ended").success());
}

#[test]
fn end_of_the_bridges_is_told() {
    let desktop = Desktop::new();
    let options = ["--bridge", "browser", "--bridge", "notify"];
    let mut command = desktop.command(&options, "echo ready; read line");
    let told = desktop.world.root().join("told");
    command.stderr(fs::File::create(&told).expect("a file")).stdin(Stdio::piped());
    let mut running = Running::start(&mut command);
    running.expect("ready");
    let (pid, comm) = (running.pid(), |pid: i32| fs::read_to_string(format!("/proc/{pid}/comm")));
    let started = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("alive");
    let mut started = started.split_whitespace().map(|pid| pid.parse().expect("a number"));
    let is_it = |pid: &i32| comm(*pid).is_ok_and(|name| name == "endow-bridge\n");
    send(9, started.find(is_it).expect("it serves"));
    let line =
        "endow-bridge has ended before the run; not available any more: bridges: browser, notify";
    soon("it is told", || fs::read_to_string(&told).expect("text").contains(line));
    running.say("\n");
    assert_eq!(running.end(), 0);
}

fn free_port() -> u16 {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    socket.local_addr().expect("an address").port()
}
