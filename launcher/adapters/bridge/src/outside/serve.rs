//! Takes clients in, one after another, until the launcher is gone.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use endow_adapter::{Control, Pace};
use endow_policy::{Bridge, BridgeKind, BridgeNews, BridgeOrder};
use rustix::event::{PollFd, PollFlags, poll};

use super::judge::Hosts;
use super::login::{Login, Logins};
use super::order::{Told, has_room, tell, told};
use super::programs::{Program, Programs};
use super::start::Started;
use super::text;
use super::url::WebUrl;
use crate::request::{MESSAGE_MAX, Request, answer};

/// How long a client has for its message: others wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);
/// The pause after a failed accept, so that a broken listener costs nothing.
const PAUSE: Duration = Duration::from_millis(50);
/// The answer to what no bridge is open for.
const CLOSED: &str = "this bridge is not open";
/// The answer to what is asked too often.
const TOO_OFTEN: &str = "too often; wait a little";
/// The answer where nobody would learn of it.
const UNHEARD: &str = "endow can't be told of more; wait a little";

/// The bridges of a run.
#[derive(Debug)]
pub(crate) struct Bridges {
    hosts: Hosts,
    logins: Logins,
    browser: Option<Way>,
    clipboard: Option<Way>,
    notify: Option<Way>,
    started: Started,
}

/// A program that does it, and how often.
#[derive(Debug)]
struct Way {
    program: Program,
    pace: Pace,
}

/// Nothing outside can do what a bridge is for.
#[derive(Debug, thiserror::Error)]
#[error("no program for `--bridge {bridge}` is found outside: {wanted}")]
pub(crate) struct NoProgram {
    bridge: &'static str,
    wanted: &'static str,
}

impl Bridges {
    /// Finds what the bridges need.
    pub(crate) fn new(order: &BridgeOrder, programs: Programs) -> Result<Self, NoProgram> {
        let words = order.open.iter();
        let open: Vec<Bridge> = words.filter_map(|word| Bridge::parse(word).ok()).collect();
        let way = |kind: BridgeKind| {
            if !open.iter().any(|bridge| bridge.kind() == Some(kind)) {
                return Ok(None);
            }
            let (program, wanted) = match kind {
                BridgeKind::Browser => (opener(&programs), "$BROWSER or xdg-open"),
                BridgeKind::Clipboard => {
                    (copier(&programs), "wl-copy, xclip or xsel, and a display")
                }
                BridgeKind::Notify => {
                    (programs.find("notify-send", &["--app-name=endow"]), "notify-send")
                }
            };
            let (most, seconds) = often(kind);
            let pace = Pace::new(most, Duration::from_secs(seconds));
            let found = program.map(|program| Some(Way { program, pace }));
            found.ok_or(NoProgram { bridge: kind.word(), wanted })
        };
        let browser = way(BridgeKind::Browser)?;
        let (clipboard, notify) = (way(BridgeKind::Clipboard)?, way(BridgeKind::Notify)?);
        let hosts = Hosts::of(&open, order.nearby.clone());
        let logins = Logins::of(&open, order.published.clone(), order.served.clone());
        let started = Started::new(programs);
        Ok(Self { hosts, logins, browser, clipboard, notify, started })
    }
}

/// How much in how many seconds.
fn often(kind: BridgeKind) -> (usize, u64) {
    match kind {
        BridgeKind::Browser => (5, 30),
        BridgeKind::Clipboard => (20, 10),
        BridgeKind::Notify => (5, 10),
    }
}

/// The first program of `BROWSER` that is found, or `xdg-open`. A `%s` is where the URL stands.
fn opener(programs: &Programs) -> Option<Program> {
    let browsers = std::env::var("BROWSER").unwrap_or_default();
    let named = browsers.split(':').find_map(|words| {
        let mut words = words.split_whitespace();
        let name = words.next()?;
        programs.find(name, &words.collect::<Vec<_>>())
    });
    named.or_else(|| programs.find("xdg-open", &[]))
}

fn copier(programs: &Programs) -> Option<Program> {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let wayland = has("WAYLAND_DISPLAY").then(|| programs.find("wl-copy", &[])).flatten();
    let x11 = || {
        let xclip = || programs.find("xclip", &["-selection", "clipboard", "-in"]);
        xclip().or_else(|| programs.find("xsel", &["--clipboard", "--input"]))
    };
    wayland.or_else(|| has("DISPLAY").then(x11).flatten())
}

/// Serves all who connect. Returns when the launcher has closed its end.
pub(crate) fn until_gone(control: Control, listener: &UnixListener, bridges: &mut Bridges) {
    // The sandbox can make its socket non-blocking, or blocking again: nothing here waits in it.
    drop(listener.set_nonblocking(true));
    loop {
        let mut polled =
            [PollFd::new(&control, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
        if poll(&mut polled, None).is_err() {
            sleep(PAUSE);
            continue;
        }
        let [heard, asked] = [0, 1].map(|number| !polled[number].revents().is_empty());
        if heard {
            match told(control) {
                Told::Nearby(nearby) => bridges.hosts.surround(nearby),
                Told::Nothing => {}
                Told::End => return,
            }
        }
        if asked {
            match listener.accept() {
                Ok((client, _)) => bridges.hear(client, control),
                Err(_) => sleep(PAUSE),
            }
        }
    }
}

impl Bridges {
    /// Does what one client asks for, and answers.
    fn hear(&mut self, mut client: UnixStream, control: Control) {
        let Some(message) = message(&mut client) else { return };
        let result = match Request::parse(&message) {
            // Nothing is done that is not told.
            Ok(_) if !has_room(control) => Err(UNHEARD.to_owned()),
            Ok(request) => {
                let result = self.serve(&request);
                let login = result.as_ref().ok().and_then(Option::as_ref);
                let socket = login.and_then(|login| login.socket.as_ref()).map(AsFd::as_fd);
                let is_told = tell(control, &news(&request, &result), socket);
                if let Some(login) = login.filter(|_| is_told) {
                    self.logins.began(login, Instant::now());
                }
                result.map(|_| ())
            }
            Err(malformed) => Err(malformed.to_string()),
        };
        let line = answer(result.as_ref().copied().map_err(String::as_str));
        // A client that does not listen misses it.
        drop(client.set_nonblocking(true));
        drop(client.write_all(line.as_bytes()));
    }

    fn serve(&mut self, request: &Request) -> Result<Option<Login>, String> {
        let done = match request {
            Request::Open(url) => return self.open(url),
            Request::Copy(text) => {
                text::check_copied(text).map_err(|fault| fault.to_string())?;
                let Self { clipboard, started, .. } = self;
                done(clipboard, started, &[], text)
            }
            Request::Notify { title, body } => {
                let (title, body) = (text::title(title), text::body(body));
                let Self { notify, started, .. } = self;
                done(notify, started, &["--", &title, &body], "")
            }
        };
        done.map(|()| None)
    }

    /// Opens a URL. A login's way back is there before the browser is.
    fn open(&mut self, url: &str) -> Result<Option<Login>, String> {
        if self.browser.is_none() {
            return Err(CLOSED.to_owned());
        }
        let url = WebUrl::parse(url).map_err(|fault| fault.to_string())?;
        self.hosts.judge(&url)?;
        let now = Instant::now();
        let paced = self.browser.as_mut().is_some_and(|way| way.pace.step(now));
        // Before a port is tried: how many tell of ports is bounded, too.
        if !paced {
            return Err(TOO_OFTEN.to_owned());
        }
        let login = self.logins.prepare(&url, now).map_err(|fault| fault.to_string())?;
        self.browse(&url)?;
        Ok(login)
    }

    fn browse(&mut self, url: &WebUrl<'_>) -> Result<(), &'static str> {
        let Some(way) = &self.browser else { return Err(CLOSED) };
        if has_place(&way.program) {
            return self.started.start(&placed(&way.program, url.text), &[], "");
        }
        self.started.start(&way.program, &[url.text], "")
    }
}

fn has_place(program: &Program) -> bool {
    program.arguments.iter().any(|word| word.contains("%s"))
}

fn placed(program: &Program, url: &str) -> Program {
    let arguments = program.arguments.iter().map(|word| word.replace("%s", url)).collect();
    Program { arguments, ..program.clone() }
}

fn done(
    way: &mut Option<Way>,
    started: &mut Started,
    arguments: &[&str],
    input: &str,
) -> Result<(), String> {
    let Some(way) = way else { return Err(CLOSED.to_owned()) };
    if !way.pace.step(Instant::now()) {
        return Err(TOO_OFTEN.to_owned());
    }
    Ok(started.start(&way.program, arguments, input)?)
}

/// Reads one message to its end, or a byte more than one may have.
fn message(client: &mut UnixStream) -> Option<Vec<u8>> {
    let end = Instant::now() + PATIENCE;
    let (mut message, mut part) = (Vec::new(), [0; 16 << 10]);
    while message.len() <= MESSAGE_MAX {
        let left = end.saturating_duration_since(Instant::now());
        client.set_nonblocking(false).ok()?;
        client.set_read_timeout(Some(left).filter(|left| !left.is_zero())).ok()?;
        if left.is_zero() {
            return None;
        }
        match client.read(&mut part).ok()? {
            0 => return Some(message),
            read => message.extend_from_slice(part.get(..read)?),
        }
    }
    Some(message)
}

/// What is told outside: which place of the web or how much, never what stands in it.
fn news(request: &Request, result: &Result<Option<Login>, String>) -> BridgeNews {
    let (kind, what) = match request {
        Request::Open(url) => {
            let place = WebUrl::parse(url).map(|url| url.place.to_owned());
            (BridgeKind::Browser, place.unwrap_or_else(|_| "no URL".to_owned()))
        }
        Request::Copy(text) => (BridgeKind::Clipboard, format!("{} bytes", text.len())),
        Request::Notify { title, .. } => (BridgeKind::Notify, text::title(title)),
    };
    let login = result.as_ref().ok().and_then(|login| Some(login.as_ref()?.at.port()));
    BridgeNews {
        bridge: kind.word().to_owned(),
        what,
        refused: result.as_ref().err().cloned(),
        login,
    }
}
