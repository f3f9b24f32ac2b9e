//! The resolver against servers that are right, wrong, late, silent and hostile.

mod asked;
mod lookups;
mod messages;
mod server;

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{LookUp, LookupId, Outcome, ResolverConfig, Upstream};

/// How long a server is waited for here.
const TIMEOUT: Duration = Duration::from_millis(400);

fn upstream_with(servers: &[SocketAddr], options: &str) -> Upstream {
    let mut config = ResolverConfig::new("192.0.2.99 table.test\n", options);
    config.nameservers = servers.to_vec();
    config.timeout = TIMEOUT;
    Upstream::new(config).unwrap()
}

fn upstream(servers: &[SocketAddr]) -> Upstream {
    upstream_with(servers, "")
}

/// Waits as a loop does, until something is done.
fn wait(upstream: &mut Upstream) -> Vec<(LookupId, String, Outcome)> {
    loop {
        let done = upstream.take_done();
        if !done.is_empty() {
            return done;
        }
        let deadline = upstream.deadline().expect("something is under way");
        let left = deadline.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        let left = Timespec::try_from(left).unwrap();
        let descriptor = upstream.descriptor();
        let _ = poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&left));
        upstream.ready(Instant::now());
        upstream.expire(Instant::now());
    }
}

/// Looks a name up to the end.
fn find(upstream: &mut Upstream, name: &str) -> Outcome {
    match upstream.look_up(name, Instant::now()) {
        LookUp::Done(outcome) => outcome,
        LookUp::Waiting(id) => {
            let [(of, found, outcome)] = wait(upstream).try_into().unwrap();
            assert_eq!((of, found.as_str()), (id, name));
            outcome
        }
    }
}

/// The addresses that a name has, and how many seconds they are believed from now on.
fn found(outcome: &Outcome) -> (Vec<String>, u64) {
    let Outcome::Addresses { addresses, expires } = outcome else { panic!("{outcome:?}") };
    let left = expires.saturating_duration_since(Instant::now()) + Duration::from_millis(900);
    (addresses.iter().map(IpAddr::to_string).collect(), left.as_secs())
}
