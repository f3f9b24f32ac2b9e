//! How far confined work has come, told through a pipe that never makes the work wait.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The least time between two messages, in milliseconds.
const PAUSE: u64 = 50;
/// The bytes of a message: four numbers. A pipe takes it whole or not at all.
const MESSAGE: usize = 32;

/// How much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    /// Files, or whatever is counted one by one.
    pub(crate) files: u64,
    /// The bytes in them; zero when these are not known.
    pub(crate) bytes: u64,
}

/// How far work has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// What is done.
    pub(crate) done: Amount,
    /// All there is to do, where that is known.
    pub(crate) of: Option<Amount>,
}

/// Tells the caller, from the confined process. Its threads share it.
pub(crate) struct Teller {
    pipe: File,
    begun: Instant,
    next: AtomicU64,
    files: AtomicU64,
    bytes: AtomicU64,
    of: OnceLock<Amount>,
}

impl Teller {
    /// Tells through a pipe that does not block.
    pub(super) fn new(pipe: OwnedFd) -> Self {
        let zero = || AtomicU64::new(0);
        let (begun, of) = (Instant::now(), OnceLock::new());
        Self { pipe: File::from(pipe), begun, next: zero(), files: zero(), bytes: zero(), of }
    }

    /// One to which nobody listens.
    #[cfg(test)]
    pub(crate) fn silent() -> Self {
        let null = std::fs::OpenOptions::new().write(true).open("/dev/null");
        Self::new(null.expect("opened").into())
    }

    /// Says how much there is to do.
    pub(crate) fn expect(&self, of: Amount) {
        self.of.get_or_init(|| of);
    }

    /// Says that so much more is done.
    pub(crate) fn add(&self, more: Amount) {
        let files = self.files.fetch_add(more.files, Ordering::Relaxed) + more.files;
        let bytes = self.bytes.fetch_add(more.bytes, Ordering::Relaxed) + more.bytes;
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let next = self.next.load(Ordering::Relaxed);
        let order = Ordering::Relaxed;
        if now >= next && self.next.compare_exchange(next, now + PAUSE, order, order).is_ok() {
            self.tell(Amount { files, bytes });
        }
    }

    fn tell(&self, done: Amount) {
        let of = self.of.get().copied().unwrap_or_default();
        let numbers = [done.files, done.bytes, of.files, of.bytes];
        let message: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        // Whoever reads too slowly misses one and reads the next.
        drop((&self.pipe).write(&message));
    }
}

/// Returns what the last message says.
pub(super) fn last(messages: &[u8]) -> Option<Progress> {
    let message = messages.get(messages.len().checked_sub(MESSAGE)?..)?;
    let mut numbers = message.as_chunks().0.iter().map(|bytes| u64::from_ne_bytes(*bytes));
    let mut amount = || Some(Amount { files: numbers.next()?, bytes: numbers.next()? });
    let (done, of) = (amount()?, amount()?);
    Some(Progress { done, of: Some(of).filter(|of| *of != Amount::default()) })
}
