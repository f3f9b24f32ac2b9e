//! The bridges of a run: what is asked for inside is done outside, by a process of its own.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use endow_policy::{BridgeNews, BridgeOrder, Nearby};
use rustix::io::Errno;

use super::environment::Environment;
use super::process::{Adapter, AdapterError, End, Helper};

/// The most requests of one bridge that are kept of those that were done, and of those that were refused: refusals
/// cost nothing, and push nothing else out. What came after them is counted.
const NEWS_MAX: usize = 1_000;
/// The longest order with all addresses: a message has room for as much (net.core.wmem_default, socket(7)).
const ORDER_MAX: usize = 128 << 10;

/// The process that serves bridges, and what it told. Dropped, it ends.
#[derive(Debug)]
pub(crate) struct Bridges {
    adapter: Adapter,
    asked: Asked,
}

/// What was asked for.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// Each request, in order.
    pub(crate) list: Vec<BridgeNews>,
    /// How many more there were.
    pub(crate) left_out: usize,
}

impl Bridges {
    /// Starts the process. From then on nobody else has the socket that listens.
    pub(crate) fn start(
        order: &BridgeOrder,
        listener: OwnedFd,
        withheld: &[String],
    ) -> Result<Self, AdapterError> {
        let refused = |error: serde_json::Error| AdapterError::Refused(error.to_string());
        let mut message = serde_json::to_vec(order).map_err(refused)?;
        if message.len() > ORDER_MAX {
            let order = BridgeOrder { nearby: Nearby::unread(), ..order.clone() };
            message = serde_json::to_vec(&order).map_err(refused)?;
        }
        let (program, with) = (Helper::Bridges.name(), [listener.as_fd()]);
        let adapter = Adapter::start(program, &message, &with, Environment::Programs(withheld))?;
        Ok(Self { adapter, asked: Asked::default() })
    }

    /// Returns what tells that the process has ended.
    pub(crate) fn end(&self) -> Option<End> {
        self.adapter.end(Helper::Bridges)
    }

    /// Tells the process what is this machine, or beside it, now. What is too long to tell is not known.
    pub(crate) fn surround(&self, nearby: &Nearby) -> Result<(), Errno> {
        let tell = |nearby: &Nearby| {
            let message = serde_json::to_vec(nearby).map_err(|_| Errno::INVAL)?;
            self.adapter.send(&message, &[])
        };
        tell(nearby).or_else(|_| tell(&Nearby::unread()))
    }

    /// Returns what becomes readable with news.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.adapter.descriptor()
    }

    /// Returns what was asked for since the last call, each with the socket of a login if one came.
    pub(crate) fn news(&mut self) -> Vec<(BridgeNews, Option<OwnedFd>)> {
        let heard = std::iter::from_fn(|| self.adapter.heard()).take(NEWS_MAX);
        let news: Vec<_> = heard.filter_map(read).collect();
        for (news, _) in &news {
            self.asked.add(news);
        }
        news
    }

    /// Ends the process, and returns what was asked for; tells what of it was done or refused since the last call.
    /// No login comes back any more.
    pub(crate) fn finish(mut self, told: &mut dyn FnMut(BridgeNews)) -> Asked {
        for (news, _) in self.adapter.last_words().filter_map(read) {
            self.asked.add(&news);
            told(news);
        }
        self.asked
    }
}

fn read((text, with): (Vec<u8>, Vec<OwnedFd>)) -> Option<(BridgeNews, Option<OwnedFd>)> {
    Some((serde_json::from_slice(&text).ok()?, with.into_iter().next()))
}

impl Asked {
    fn add(&mut self, news: &BridgeNews) {
        let is_alike = |it: &&BridgeNews| {
            it.bridge == news.bridge && it.refused.is_some() == news.refused.is_some()
        };
        if self.list.iter().filter(is_alike).count() < NEWS_MAX {
            self.list.push(news.clone());
        } else {
            self.left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_push_out_nothing_that_was_done() {
        let news = |bridge: &str, refused: Option<&str>| BridgeNews {
            bridge: bridge.to_owned(),
            what: String::new(),
            refused: refused.map(str::to_owned),
            login: None,
        };
        let mut asked = Asked::default();
        for _ in 0..NEWS_MAX + 2 {
            asked.add(&news("browser", Some("no")));
            asked.add(&news("clipboard", None));
        }
        asked.add(&news("browser", None));
        assert_eq!(asked.list.last(), Some(&news("browser", None)));
        assert_eq!((asked.list.len(), asked.left_out), (2 * NEWS_MAX + 1, 4));
    }
}
