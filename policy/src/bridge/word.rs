//! The words by which bridges are opened.

use std::fmt;

use serde::{Serialize, Serializer};

use super::BridgeKind;
use crate::nearest::did_you_mean;
use crate::network::WordFault;
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
    /// A browser outside can bring a login back to this port inside.
    Oauth(u16),
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
    /// It is not built yet.
    #[error("not available in this version")]
    Later,
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
    /// Reads `browser`, `browser:HOST[:PORT]`, `oauth:PORT`, `clipboard`, `notify` or `ide`.
    ///
    /// # Errors
    /// What is wrong with the word.
    pub fn parse(word: &str) -> Result<Self, BridgeFault> {
        match word.split_once(':').map_or((word, None), |(it, rest)| (it, Some(rest))) {
            (BROWSER, None) => Ok(Self::Browser(None)),
            (BROWSER, Some(host)) => browser(host),
            (OAUTH, Some(port)) => {
                let port = port.parse().ok().filter(|port| *port != 0);
                port.map(Self::Oauth).ok_or(BridgeFault::Port)
            }
            ("clipboard", None) => Ok(Self::Clipboard),
            ("notify", None) => Ok(Self::Notify),
            ("ide", None) => Ok(Self::Ide),
            ("clipboard" | "notify" | "ide", Some(_)) => Err(BridgeFault::Form),
            (OAUTH, None) => Err(BridgeFault::Later),
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
    pub(crate) fn hint(self, word: &str) -> Option<String> {
        match self {
            Self::Unknown => Some(did_you_mean(word.split(':').next().unwrap_or(word), KNOWN)),
            Self::Form if word.starts_with("clipboard") => {
                Some("write `clipboard`: it is written only, never read".to_owned())
            }
            Self::Form => Some("write the word alone".to_owned()),
            Self::Host(_) => Some(
                "write `browser:HOST`, `browser:HOST:PORT` or `browser:localhost:PORT`".to_owned(),
            ),
            Self::SshAgent => Some("write `keys = [...]` under [ssh_agent]".to_owned()),
            Self::Later | Self::Port => None,
        }
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
            Self::Oauth(port) => write!(f, "{OAUTH}:{port}"),
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
            ("ssh-agent:x", BridgeFault::SshAgent),
        ] {
            assert_eq!(Bridge::parse(word), Err(fault), "{word}");
        }
        assert!(matches!(Bridge::parse("browser:localhost"), Err(BridgeFault::Host(_))));
        assert!(matches!(Bridge::parse("browser:"), Err(BridgeFault::Host(_))));
    }
}
