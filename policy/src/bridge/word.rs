//! The words by which bridges are opened.

use std::fmt;

use serde::{Serialize, Serializer};

use super::BridgeKind;
use crate::nearest::did_you_mean;
use crate::network::WordFault;
use crate::port::port;
use crate::{HostPattern, HostRule, Protocol};

const BROWSER: &str = "browser";
const OAUTH: &str = "oauth";
/// Words that this version has.
const KNOWN: &[&str] = &[BROWSER, OAUTH, "clipboard", "notify", "ide", "ssh-agent"];

/// One bridge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bridge {
    /// URLs are opened outside: those of this host, or of every host of the internet.
    Browser(Option<HostRule>),
    /// A browser outside can bring a login back to this port inside, or to the one that the login's
    /// URL names.
    Oauth(Option<u16>),
    /// Text is copied to the clipboard.
    Clipboard,
    /// Notifications are shown.
    Notify,
    /// The editor that has the directory open can be asked and told.
    Ide,
}

/// Why a word opens no bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeFault {
    /// There is none of this name.
    #[error("unknown word")]
    Unknown,
    /// Something stands behind a word that takes nothing, or nothing where something must.
    #[error("not written like this")]
    Form,
    /// What stands behind `browser:` is no host of the web.
    #[error(transparent)]
    Host(WordFault),
    /// What stands behind `oauth:` is no port.
    #[error("not a port from 1 to 65535")]
    Port,
    /// Keys have a table of their own.
    #[error("keys of the ssh-agent have a table of their own")]
    SshAgent,
}

impl Bridge {
    /// Reads `browser`, `browser:HOST[:PORT]`, `oauth[:PORT]`, `clipboard`, `notify` or `ide`.
    ///
    /// # Errors
    /// What is wrong with the word.
    pub fn parse(word: &str) -> Result<Self, BridgeFault> {
        match word.split_once(':').map_or((word, None), |(it, rest)| (it, Some(rest))) {
            (BROWSER, None) => Ok(Self::Browser(None)),
            (BROWSER, Some(host)) => browser(host),
            (OAUTH, None) => Ok(Self::Oauth(None)),
            (OAUTH, Some(digits)) => {
                port(digits).map(|port| Self::Oauth(Some(port))).ok_or(BridgeFault::Port)
            }
            ("clipboard", None) => Ok(Self::Clipboard),
            ("notify", None) => Ok(Self::Notify),
            ("ide", None) => Ok(Self::Ide),
            ("clipboard" | "notify" | "ide", Some(_)) => Err(BridgeFault::Form),
            ("ssh-agent", _) => Err(BridgeFault::SshAgent),
            _ => Err(BridgeFault::Unknown),
        }
    }

    /// Returns what a process outside does for it, if anything.
    pub fn kind(&self) -> Option<BridgeKind> {
        match self {
            Self::Browser(_) => Some(BridgeKind::Browser),
            Self::Oauth(_) | Self::Ide => None,
            Self::Clipboard => Some(BridgeKind::Clipboard),
            Self::Notify => Some(BridgeKind::Notify),
        }
    }
}

impl BridgeFault {
    /// Returns what to write instead of a word.
    pub(crate) fn hint(self, word: &str) -> String {
        let hint = match self {
            Self::Unknown => return did_you_mean(word.split(':').next().unwrap_or(word), KNOWN),
            Self::Form if word.starts_with("clipboard") => {
                "write `clipboard`: it is written only, never read"
            }
            Self::Form => "write the word alone",
            Self::Host(_) => {
                "write `browser:HOST`, `browser:HOST:PORT` or `browser:localhost:PORT`"
            }
            Self::SshAgent => "write `keys = [...]` under [ssh_agent]",
            Self::Port => "write `oauth` alone for logins that come back to a random port",
        };
        hint.to_owned()
    }
}

fn browser(host: &str) -> Result<Bridge, BridgeFault> {
    let rule = HostRule::parse(host).map_err(|error| BridgeFault::Host(error.fault))?;
    let is_web = rule.protocol == Protocol::Tcp && !matches!(rule.host, HostPattern::Registry(_));
    if is_web { Ok(Bridge::Browser(Some(rule))) } else { Err(BridgeFault::Form) }
}

impl fmt::Display for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Browser(None) => f.write_str(BROWSER),
            Self::Browser(Some(rule)) => write!(f, "{BROWSER}:{rule}"),
            Self::Oauth(None) => f.write_str(OAUTH),
            Self::Oauth(Some(port)) => write!(f, "{OAUTH}:{port}"),
            Self::Clipboard => f.write_str("clipboard"),
            Self::Notify => f.write_str("notify"),
            Self::Ide => f.write_str("ide"),
        }
    }
}

impl Serialize for Bridge {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_written() {
        for word in [
            "browser",
            "browser:a.example:443",
            "browser:*.a.example:*",
            "oauth",
            "oauth:1455",
            "clipboard",
            "notify",
        ] {
            assert_eq!(Bridge::parse(word).expect(word).to_string(), word);
        }
        assert_eq!(
            Bridge::parse("browser:a.example").expect("read").to_string(),
            "browser:a.example:443"
        );
    }

    #[test]
    fn other_words_are_refused() {
        for (word, fault) in [
            ("", BridgeFault::Unknown),
            ("browsers", BridgeFault::Unknown),
            ("clipboard:read", BridgeFault::Form),
            ("notify:", BridgeFault::Form),
            ("browser:udp:a.example:1", BridgeFault::Form),
            ("browser:registry:npm", BridgeFault::Form),
            ("oauth:", BridgeFault::Port),
            ("oauth:0", BridgeFault::Port),
            ("oauth:65536", BridgeFault::Port),
            ("oauth:+1455", BridgeFault::Port),
            ("oauth:01455", BridgeFault::Port),
            ("ssh-agent:x", BridgeFault::SshAgent),
        ] {
            assert_eq!(Bridge::parse(word), Err(fault), "{word}");
        }
        assert!(matches!(Bridge::parse("browser:localhost"), Err(BridgeFault::Host(_))));
        assert!(matches!(Bridge::parse("browser:"), Err(BridgeFault::Host(_))));
    }
}
