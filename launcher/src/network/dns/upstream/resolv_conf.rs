//! Which servers to ask and how, resolv.conf(5).
//!
//! `search` and `ndots` say which other names may be meant by a name. Here a name is that of a
//! rule, which means itself.

use std::net::IpAddr;

/// As many servers as the C library takes.
const SERVERS_MAX: usize = 3;

/// The longest wait and the most attempts the C library takes.
const TIMEOUT_MAX: u8 = 30;
const ATTEMPTS_MAX: u8 = 5;

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResolvConf {
    pub(super) servers: Vec<Server>,
    /// Seconds to wait for a server.
    pub(super) timeout: u8,
    /// How often each server is asked.
    pub(super) attempts: u8,
    pub(super) order: Order,
    pub(super) transport: Transport,
    pub(super) edns: Extension,
}

/// A server: port 53 of an address, which may be one of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) address: IpAddr,
    /// The interface, by name or number.
    pub(super) scope: Option<String>,
}

/// Which server is asked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Always the first.
    Listed,
    /// Each in turn.
    Rotating,
}

/// How a server is asked at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// In one packet; by a stream when the answer is cut.
    Udp,
    /// By a stream at once.
    Tcp,
}

/// Whether a question says that it takes larger answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extension {
    /// It does not.
    Plain,
    /// It does, by an OPT record.
    Edns,
}

impl Default for ResolvConf {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            timeout: 5,
            attempts: 2,
            order: Order::Listed,
            transport: Transport::Udp,
            edns: Extension::Plain,
        }
    }
}

/// Reads the text. What is not understood is left out, as the C library does.
pub(super) fn parse(text: &str) -> ResolvConf {
    let mut conf = ResolvConf::default();
    // What is indented is no keyword to the C library.
    for line in text.lines().filter(|line| !line.starts_with([' ', '\t'])) {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("nameserver") if conf.servers.len() < SERVERS_MAX => {
                conf.servers.extend(words.next().and_then(Server::parse));
            }
            Some("options") => words.for_each(|word| conf.set(word)),
            _ => {}
        }
    }
    conf
}

impl ResolvConf {
    fn set(&mut self, option: &str) {
        match option.split_once(':') {
            Some(("timeout", value)) => set_number(&mut self.timeout, value, TIMEOUT_MAX),
            Some(("attempts", value)) => set_number(&mut self.attempts, value, ATTEMPTS_MAX),
            Some(_) => {}
            None => self.set_word(option),
        }
    }

    fn set_word(&mut self, option: &str) {
        match option {
            "rotate" => self.order = Order::Rotating,
            "use-vc" => self.transport = Transport::Tcp,
            "edns0" => self.edns = Extension::Edns,
            _ => {}
        }
    }
}

fn set_number(number: &mut u8, value: &str, most: u8) {
    if let Ok(value) = value.parse::<u32>() {
        *number = u8::try_from(value).unwrap_or(most).clamp(1, most);
    }
}

impl Server {
    fn parse(word: &str) -> Option<Self> {
        let (address, scope) = match word.split_once('%') {
            Some((address, scope)) => (address, Some(scope.to_owned())),
            None => (word, None),
        };
        let address = address.parse().ok()?;
        (scope.is_none() || matches!(address, IpAddr::V6(_))).then_some(Self { address, scope })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(text: &str) -> Vec<String> {
        let shown = |server: &Server| match &server.scope {
            Some(scope) => format!("{}%{scope}", server.address),
            None => server.address.to_string(),
        };
        parse(text).servers.iter().map(shown).collect()
    }

    #[test]
    fn servers_are_the_first_three() {
        let text = "nameserver 10.0.0.1\nnameserver\t::1 x\nnameserver fe80::1%eth0\n\
                    nameserver 10.0.0.4\n";
        assert_eq!(servers(text), ["10.0.0.1", "::1", "fe80::1%eth0"]);
    }

    #[test]
    fn lines_that_are_no_servers_are_left_out() {
        let text = "#nameserver 10.0.0.1\n nameserver 10.0.0.1\n;nameserver 10.0.0.1\nnameserver\nnameserver a.test\n\
                    nameserver 10.0.0.1%lo\nnameserver10.0.0.1\nsearch a.test\ndomain a.test\n\0";
        assert_eq!(parse(text), ResolvConf::default());
    }

    #[test]
    fn options_of_all_lines_count() {
        let text = "options timeout:7 rotate ndots:2\noptions attempts:3 edns0 use-vc trust-ad\n";
        let expected = ResolvConf {
            servers: Vec::new(),
            timeout: 7,
            attempts: 3,
            order: Order::Rotating,
            transport: Transport::Tcp,
            edns: Extension::Edns,
        };
        assert_eq!(parse(text), expected);
    }

    #[test]
    fn numbers_are_limited() {
        let limits = |text: &str| (parse(text).timeout, parse(text).attempts);
        assert_eq!(limits("options timeout:0 attempts:0\n"), (1, 1));
        assert_eq!(limits("options timeout:300 attempts:4294967295\n"), (30, 5));
        assert_eq!(limits("options timeout:-1 attempts:x timeout:\n"), (5, 2));
    }
}
