//! Takes clients in, a thread for each and not too many at once, until the launcher is gone.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use endow_adapter::Control;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::filter::Filter;

/// The most clients at once; more of them wait. It is the sandbox's own loss when it holds them all.
const CLIENTS_MAX: usize = 64;
/// The pause after a failed accept, so that a broken listener costs nothing.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves all who connect. Returns when the launcher has closed its end; the threads that are left
/// end with the process.
pub(crate) fn until_gone(control: Control, listener: UnixListener, filter: Filter) {
    let filter = Arc::new(filter);
    let taken = Arc::clone(&filter);
    let accepting = thread::Builder::new().spawn(move || accept(&listener, &taken));
    if accepting.is_ok() {
        wait_for_end(control);
    }
    filter.end();
}

/// Reads what the launcher says, which is nothing, to its end.
fn wait_for_end(control: Control) {
    loop {
        // It may have been made to not block.
        let _ = wait_readable(control.as_fd());
        match control.receive(&mut [0_u8; 16]) {
            Ok((1.., _)) | Err(Errno::AGAIN | Errno::INTR) => {}
            Ok((0, _)) | Err(_) => return,
        }
    }
}

fn accept(listener: &UnixListener, filter: &Arc<Filter>) {
    let places = Arc::new(Places::default());
    loop {
        let place = Places::take(&places);
        // The sandbox can make its socket non-blocking, which costs nothing this way.
        let _ = wait_readable(listener.as_fd());
        match listener.accept() {
            Ok((client, _)) => begin(client, place, Arc::clone(filter)),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn begin(client: UnixStream, place: Place, filter: Arc<Filter>) {
    let serve = move || {
        // The client sees its connection closed, whatever the reason.
        drop(filter.serve(client));
        drop(place);
    };
    // Without a thread the connection is closed, too.
    drop(thread::Builder::new().spawn(serve));
}

fn wait_readable(descriptor: BorrowedFd<'_>) -> Result<usize, Errno> {
    poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)], None)
}

/// The places for clients.
#[derive(Default)]
struct Places {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// A place, free again when it is dropped.
struct Place(Arc<Places>);

impl Places {
    /// Takes a place, as soon as there is one.
    fn take(places: &Arc<Self>) -> Place {
        let taken = places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |taken: &mut usize| *taken >= CLIENTS_MAX;
        let mut taken =
            places.freed.wait_while(taken, full).unwrap_or_else(PoisonError::into_inner);
        *taken += 1;
        Place(Arc::clone(places))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.0.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken -= 1;
        self.0.freed.notify_one();
    }
}
