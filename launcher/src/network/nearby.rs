//! What is this machine, or beside it, now: a lease ends, a laptop moves to another network.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use endow_policy::{AddressRange, Nearby};
use rustix::io::Errno;

use crate::sys::routes::{self, Near, Nearness};

/// What is this machine or beside it, and what tells of changes.
#[derive(Debug)]
pub(crate) struct Surroundings {
    changes: OwnedFd,
    nearby: Nearby,
}

impl Surroundings {
    /// Reads what is this machine or beside it for the first time.
    pub(crate) fn new() -> Result<Self, Errno> {
        let changes = routes::changes()?;
        Ok(Self { changes, nearby: read()? })
    }

    /// Returns what becomes readable when it changes.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.changes.as_fd()
    }

    /// Returns what is near now. Where that can't be read any more, every address may be near.
    pub(crate) fn now(&mut self) -> &Nearby {
        if routes::have_changed(self.changes.as_fd()) || self.nearby.is_unread() {
            self.nearby = read().unwrap_or_else(|_| Nearby::unread());
        }
        &self.nearby
    }
}

/// Reads once what is this machine or beside it.
pub(crate) fn read() -> Result<Nearby, Errno> {
    let near = routes::near()?;
    let ranges = |nearness| {
        let those = near.iter().filter(move |it: &&Near| it.nearness == nearness);
        those.map(|it| AddressRange::around(it.address, it.prefix))
    };
    Ok(Nearby::new(ranges(Nearness::Own), ranges(Nearness::Beside)))
}
