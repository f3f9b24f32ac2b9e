//! Logins that come back to a port inside: the URL that begins one names it (RFC 6749, RFC 8252).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Instant;

use endow_policy::{Bridge, LOGIN_LASTS};

use super::url::{Host, WebUrl};

/// The first port that is given out at random: those below are chosen, and waited for by others.
const RANDOM_FIRST: u16 = 32_768;
/// The most logins at once.
const LOGINS_MAX: usize = 4;
/// What stands before the place to which a login comes back.
const REDIRECT: &str = "redirect_uri";

/// The logins of a run.
#[derive(Debug, Default)]
pub(crate) struct Logins {
    /// Whether a port may be opened for one.
    any: bool,
    /// Ports that are open anyway.
    published: Vec<u16>,
    /// Ports inside that are not the command's.
    served: Vec<u16>,
    open: Vec<(SocketAddr, Instant)>,
}

/// One that may begin.
#[derive(Debug)]
pub(crate) struct Login {
    /// Where it comes back to: the host's loopback, and the same port inside.
    pub(crate) at: SocketAddr,
    /// What takes the browser's connection, unless the launcher has it already.
    pub(crate) socket: Option<TcpListener>,
}

/// Why a login can't come back.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoginFault {
    /// The port belongs to some service, or may.
    #[error(
        "the login comes back to port {0}, which is none of those given out at random: start with \
         `--bridge oauth:{0}`"
    )]
    Chosen(u16),
    /// Secrets, the proxy or the host's services are at the port inside: outside, everybody would reach them.
    #[error("the login comes back to port {0}, at which endow serves inside; try again")]
    Served(u16),
    /// Too many are under way.
    #[error("{LOGINS_MAX} logins are under way; each has {} minutes", LOGIN_LASTS.as_secs() / 60)]
    TooMany,
    /// Somebody has the port.
    #[error("the login comes back to port {0}, which can't be had outside: {1}; try again")]
    Taken(u16, io::Error),
}

impl Logins {
    /// Takes what bridges say of it, the ports that lead inside anyway, and those that must not.
    pub(crate) fn of(open: &[Bridge], published: Vec<u16>, served: Vec<u16>) -> Self {
        let any = open.contains(&Bridge::Oauth(None));
        Self { any, published, served, open: Vec::new() }
    }

    /// Has the port to which a URL's login comes back, if the URL begins one and the port is not
    /// open anyway.
    pub(crate) fn prepare(
        &mut self,
        url: &WebUrl<'_>,
        now: Instant,
    ) -> Result<Option<Login>, LoginFault> {
        let Some(at) = returns_to(url).filter(|at| self.is_ours(at.port())) else {
            return Ok(None);
        };
        if at.port() < RANDOM_FIRST {
            return Err(LoginFault::Chosen(at.port()));
        }
        if self.served.contains(&at.port()) {
            return Err(LoginFault::Served(at.port()));
        }
        self.open.retain(|(_, since)| now.duration_since(*since) < LOGIN_LASTS);
        let is_known = self.open.iter().any(|(known, _)| *known == at);
        if !is_known && self.open.len() >= LOGINS_MAX {
            return Err(LoginFault::TooMany);
        }
        let listener = || listen(at).map_err(|error| LoginFault::Taken(at.port(), error));
        let socket = (!is_known).then(listener).transpose()?;
        Ok(Some(Login { at, socket }))
    }

    /// Notes that a login began, and that the launcher knows.
    pub(crate) fn began(&mut self, login: &Login, now: Instant) {
        self.open.retain(|(at, _)| *at != login.at);
        self.open.push((login.at, now));
    }

    fn is_ours(&self, port: u16) -> bool {
        self.any && !self.published.contains(&port)
    }
}

/// Returns where on the machine's loopback a login comes back, when there is one such place.
fn returns_to(url: &WebUrl<'_>) -> Option<SocketAddr> {
    let query = url.text.split('#').next()?.split_once('?')?.1;
    let named = |(name, place)| (name == REDIRECT).then_some(place);
    let places: Vec<_> = form_urlencoded::parse(query.as_bytes()).filter_map(named).collect();
    let [place] = &places[..] else { return None };
    let place = WebUrl::parse(place).ok().filter(|place| place.host == Host::Loopback)?;
    let is_sixth = place.text.split_once("://")?.1.starts_with("[::1]");
    let address: IpAddr =
        if is_sixth { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
    Some(SocketAddr::new(address, place.port))
}

/// Listens where the launcher never waits. Who has the port at the other of the loopback's addresses
/// has the name `localhost`, too: programs may come to either.
fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    let other: IpAddr =
        if at.is_ipv4() { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
    let socket = TcpListener::bind(at)?;
    match TcpListener::bind((other, at.port())) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
        // It is free, or there is no such address.
        _ => {}
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(logins: &mut Logins, port: u16, now: Instant) -> Result<bool, LoginFault> {
        let url = format!("https://a.example/x?redirect_uri=http://localhost:{port}/cb");
        let login = logins.prepare(&WebUrl::parse(&url).expect("a URL"), now)?;
        let login = login.expect("a login");
        logins.began(&login, now);
        Ok(login.socket.is_some())
    }

    /// Ports that nobody has now.
    fn free(count: usize) -> Vec<u16> {
        let bound = || TcpListener::bind("127.0.0.1:0").expect("bound");
        let sockets: Vec<TcpListener> = (0..count).map(|_| bound()).collect();
        sockets.iter().map(|it| it.local_addr().expect("an address").port()).collect()
    }

    fn logins() -> Logins {
        Logins::of(&[Bridge::Oauth(None)], vec![40_000], Vec::new())
    }

    #[test]
    fn port_at_which_endow_serves_inside_is_refused() {
        let port = free(1)[0];
        let mut logins = Logins::of(&[Bridge::Oauth(None)], Vec::new(), vec![port]);
        let begun = begin(&mut logins, port, Instant::now());
        assert!(matches!(begun, Err(LoginFault::Served(it)) if it == port));
    }

    #[test]
    fn url_says_where_a_login_comes_back() {
        let local = |port| Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let sixth = |port| Some(SocketAddr::from((Ipv6Addr::LOCALHOST, port)));
        for (query, expected) in [
            ("a=b&redirect_uri=http%3A%2F%2Flocalhost%3A54545%2Fcallback&c", local(54_545)),
            ("redirect_uri=http://127.0.0.1:40000", local(40_000)),
            ("redirect_uri=http%3a%2f%2f[::1]:1#x", sixth(1)),
            ("redirect_uri=http://localhost:40000/x//[::1]", local(40_000)),
            ("redirect_uri=http://[::ffff:127.0.0.1]:40000", local(40_000)),
            ("redirect_uri=http://localhost/", local(80)),
            ("redirect_uri=https://b.example:40000/", None),
            ("redirect_uri=http://localhost.example:40000/", None),
            ("redirect_uri=http://localhost:40000@b.example/", None),
            ("redirect_uri=app:40000", None),
            ("redirect_uri=http://localhost:1&redirect_uri=http://localhost:2", None),
            ("x=1#redirect_uri=http://localhost:40000", None),
            ("", None),
        ] {
            let text = format!("https://a.example/login?{query}");
            let url = WebUrl::parse(&text).expect("a URL");
            assert_eq!(returns_to(&url), expected, "{query}");
        }
    }

    #[test]
    fn port_is_had_once_and_lasts() {
        let (mut logins, start, port) = (logins(), Instant::now(), free(1)[0]);
        assert!(begin(&mut logins, port, start).expect("begun"));
        let later = start + LOGIN_LASTS / 2;
        assert!(!begin(&mut logins, port, later).expect("begun"), "the launcher has it");
        let over = later + LOGIN_LASTS;
        assert!(begin(&mut logins, port, over).expect("begun"), "it was closed meanwhile");
    }

    #[test]
    fn no_more_are_under_way() {
        let (mut logins, start, ports) = (logins(), Instant::now(), free(LOGINS_MAX + 1));
        for port in &ports[..LOGINS_MAX] {
            begin(&mut logins, *port, start).expect("begun");
        }
        let last = ports[LOGINS_MAX];
        assert!(matches!(begin(&mut logins, last, start), Err(LoginFault::TooMany)));
        begin(&mut logins, last, start + LOGIN_LASTS).expect("the others are over");
    }

    #[test]
    fn chosen_and_taken_ports_are_refused() {
        let (mut logins, now) = (logins(), Instant::now());
        for port in [80, 1455, RANDOM_FIRST - 1] {
            assert!(
                matches!(begin(&mut logins, port, now), Err(LoginFault::Chosen(it)) if it == port)
            );
        }
        // Whoever has one address of the loopback is found by its name.
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(taken) = TcpListener::bind(address) else { continue };
            let port = taken.local_addr().expect("an address").port();
            assert!(matches!(begin(&mut logins, port, now), Err(LoginFault::Taken(..))));
        }
    }

    #[test]
    fn nothing_is_opened_for_others() {
        let url = WebUrl::parse("https://a.example/?redirect_uri=http://localhost:40000");
        let url = url.expect("a URL");
        for (open, published) in [
            (Bridge::Browser(None), vec![]),
            (Bridge::Oauth(Some(1455)), vec![1455]),
            (Bridge::Oauth(None), vec![40_000]),
        ] {
            let prepared = Logins::of(&[open], published, Vec::new()).prepare(&url, Instant::now());
            assert!(prepared.expect("opened").is_none());
        }
    }
}
