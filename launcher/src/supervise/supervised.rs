//! One sandbox: what it has that may have news, and what is decided about these.

mod act;
mod heard;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::adapters::Adapters;
use super::calls::Calls;
use super::capture::Capture;
use super::decide::{Decision, State, decide};
use super::event::{Event, Notice};
use super::guard::Guarding;
use super::left::Left;
use super::measured::Measured;
use super::outcome::Ended;
use super::renew::{Moved, PutBack, Renewal};
use super::rest::Rest;
use crate::adapters::Helper;
use crate::apply::{Descriptors, Sandbox};
use crate::network::{Inside, Served};
use crate::plan::step::SupervisePlan;
use crate::sys;
use crate::sys::signal::Arrived;

/// The time between TERM and KILL when none was said.
const GRACE_DEFAULT: Duration = Duration::from_secs(10);

/// How long what the command sent may take to arrive when the command is gone.
const LINGER: Duration = Duration::from_secs(5);

/// One sandbox under supervision.
pub(crate) struct Supervised<'a> {
    sandbox: Sandbox,
    /// Pid 1 says no more; its end is still to come.
    silent: bool,
    /// Pid 1 has ended and was reaped; it may have said more than was read.
    gone: bool,
    /// endow has just stopped itself.
    slept: bool,
    state: State,
    wake: Option<Instant>,
    renewal: Option<Renewal>,
    guarding: Option<Guarding>,
    calls: Option<Calls<'a>>,
    measured: Option<Measured>,
    capture: Option<Capture>,
    served: Option<Served>,
    adapters: Adapters,
    rest: Rest,
    ended: Option<Ended>,
}

impl<'a> Supervised<'a> {
    /// Takes a sandbox that was just spawned.
    pub(crate) fn new(
        sandbox: Sandbox,
        plan: &SupervisePlan,
        renewal: Option<Renewal>,
        own_session: bool,
    ) -> Self {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let timeout = plan.limits.timeout.map(millis);
        let grace = millis(plan.limits.grace.unwrap_or(GRACE_DEFAULT));
        let state = State::new(timeout, grace, own_session).ignoring(sys::signal::ignored());
        let state = state.keeping_what_is_ignored(sys::start::is_forgotten());
        let state = state.ended_by_interrupt(plan.interrupt_ends);
        let state = if renewal.is_some() { state.on_duty() } else { state };
        Self {
            sandbox,
            silent: false,
            gone: false,
            slept: false,
            wake: state.latest_start_ms().map(|ms| Instant::now() + Duration::from_millis(ms)),
            state,
            renewal,
            guarding: None,
            calls: None,
            measured: None,
            capture: None,
            served: None,
            adapters: Adapters::default(),
            rest: Rest::default(),
            ended: None,
        }
    }

    /// Reads what the command writes.
    pub(crate) fn capturing(mut self, capture: Option<Capture>) -> Self {
        self.capture = capture;
        self
    }

    /// Hears what is taken out of live mounts.
    pub(crate) fn guarding(mut self, guarding: Option<Guarding>) -> Self {
        self.guarding = guarding;
        self
    }

    /// Answers announced calls.
    pub(crate) fn answering(mut self, calls: Option<Calls<'a>>) -> Self {
        self.calls = calls;
        self
    }

    /// Ends the run when its layers pass their limits.
    pub(crate) fn measuring(mut self, measured: Option<Measured>) -> Self {
        self.measured = measured;
        self
    }

    /// Serves a network.
    pub(crate) fn serving(mut self, served: Option<Served>) -> Self {
        self.served = served;
        self
    }

    /// Hears what is asked for over bridges, and which process of endow's own ends.
    pub(crate) fn with_adapters(mut self, adapters: Adapters) -> Self {
        self.adapters = adapters;
        self
    }

    /// Lets go of what the start has used, where this process starts nothing else.
    pub(crate) fn resting(mut self, rests: bool) -> Self {
        self.rest = if rests { Rest::wanted() } else { Rest::default() };
        self
    }

    /// Waits until nothing changes the tree any more, in a process that stands beside a supervisor that
    /// died: pid 1 follows that one, and live mounts are looked through when all is gone.
    pub(super) fn outlive(&self) {
        self.sandbox.let_end();
        let mut pid_1 = [PollFd::new(&self.sandbox.pidfd, PollFlags::IN)];
        while poll(&mut pid_1, None) == Err(Errno::INTR) {}
        self.guarding.iter().for_each(Guarding::look_last);
    }

    /// Moves hidden names back, when nothing runs inside any more.
    pub(crate) fn put_back(&self, rules: &PutBack<'_>) -> Vec<Moved> {
        self.renewal.iter().flat_map(|renewal| renewal.put_back(rules)).collect()
    }

    /// Returns what is left, when nothing changes it any more.
    pub(crate) fn into_parts(mut self, notify: &mut dyn FnMut(Notice)) -> Left {
        self.capture.iter_mut().for_each(Capture::finish);
        self.guarding.iter().for_each(Guarding::stop);
        // On some hosts nobody can listen.
        let is_seen = self.sandbox.descriptors.listener.is_some();
        let observed = self.calls.and_then(Calls::finish).filter(|_| is_seen);
        let connections = self.served.map(|served| served.finish(LINGER));
        let bridges = self.adapters.finish(&mut |news| notify(Notice::Bridge(news)));
        let Descriptors { layers, handed, user, mount, network, .. } = self.sandbox.descriptors;
        let mut namespaces: Vec<OwnedFd> = [user, mount, network].into_iter().flatten().collect();
        if self.guarding.is_some() {
            // The kernel takes the sandbox apart while live mounts are looked through.
            namespaces.clear();
        }
        let held = self.guarding.map(Guarding::finish);
        let (captured, renewal) = (self.capture, self.renewal);
        Left { captured, layers, handed, connections, bridges, held, renewal, observed, namespaces }
    }
}

impl Supervised<'_> {
    /// Begins to watch what is covered.
    pub(super) fn begin(&mut self, is_in_front: bool) -> Result<(), Errno> {
        self.state.set_in_front(is_in_front);
        self.renewal.as_mut().map_or(Ok(()), Renewal::start)
    }

    /// Returns how it ended, once it has.
    pub(super) fn ended(&self) -> Option<Ended> {
        self.ended
    }

    pub(super) fn next_time(&self) -> Option<Instant> {
        let measure = self.measured.as_ref().map(Measured::next);
        let served = self.served.as_ref().and_then(Served::deadline);
        let times = self.wake.into_iter().chain(measure).chain(served).chain(self.rest.next());
        times.min().filter(|_| self.ended.is_none())
    }

    /// Returns where calls are announced, as long as any may be.
    pub(super) fn listens(&self) -> Option<BorrowedFd<'_>> {
        let listener = self.sandbox.descriptors.listener.as_ref().map(AsFd::as_fd);
        listener.and_then(|listener| self.calls.as_ref()?.listens(listener))
    }

    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let socket = (!self.silent).then(|| self.sandbox.socket.as_fd());
        let pid_1 = socket.into_iter().chain([self.sandbox.pidfd.as_fd()]);
        let captured = self.capture.iter().flat_map(Capture::descriptors);
        let renewal = self.renewal.as_ref().and_then(Renewal::descriptor);
        let listener = self.sandbox.descriptors.listener.as_ref().map(AsFd::as_fd);
        let calls = self.calls.as_ref().zip(listener).into_iter();
        let calls = calls.flat_map(|(calls, listener)| calls.descriptors(listener));
        let served = self.served.as_ref().map(Served::descriptor);
        let guarding = self.guarding.as_ref().and_then(Guarding::descriptor);
        let watched = pid_1.chain(renewal).chain(guarding).chain(calls);
        watched.chain(captured).chain(served).chain(self.adapters.descriptors())
    }

    /// Returns whether a signal tells of a watched directory, and is nobody else's matter.
    pub(super) fn takes(&mut self, arrived: Arrived) -> bool {
        self.renewal.as_mut().is_some_and(|renewal| renewal.take(arrived))
    }

    /// Looks at everything that may have news of this sandbox.
    pub(super) fn look(&mut self, notify: &mut dyn FnMut(Notice)) {
        self.gone = self.gone || self.is_gone();
        let heard_all = self.hear(notify);
        if self.wake.is_some_and(|at| at <= Instant::now()) {
            self.wake = None;
            self.on(Event::Time, notify);
        }
        self.rest.come(false);
        let pid_1 = self.sandbox.pid;
        if let Some(counted) = self.measured.as_mut().and_then(|it| it.passed(pid_1)) {
            self.on(Event::LayerLimit(counted), notify);
        }
        let renewed = self.renewal.as_mut().map(|renewal| renewal.renew(&self.sandbox, notify));
        if renewed == Some(Err(Errno::MFILE)) {
            self.on(Event::Short, notify);
        }
        self.guarding.iter_mut().flat_map(Guarding::read).for_each(|news| notify(news.into()));
        self.answer_calls();
        let denied = self.calls.iter_mut().flat_map(Calls::news);
        denied.for_each(|denied| notify(Notice::Denied(denied.clone())));
        self.capture.iter_mut().for_each(Capture::read);
        if self.capture.as_ref().and_then(Capture::failed).is_some() {
            self.on(Event::Unkept, notify);
        }
        self.serve(notify);
        self.bridge(notify);
        // Asked for before the messages were read: pid 1's last words are not lost.
        if self.gone && heard_all {
            self.on(Event::Gone, notify);
        }
    }

    /// Prepares what calls that wait are about, and lets them go on.
    pub(super) fn answer_calls(&mut self) {
        let descriptors = &self.sandbox.descriptors;
        let (Some(calls), Some(listener)) = (&mut self.calls, &descriptors.listener) else {
            return;
        };
        let (served, inside) = (&mut self.served, inside(&self.sandbox));
        calls.look(listener.as_fd(), &mut |address| {
            if let Some(served) = served {
                served.expect(address, inside);
            }
        });
        self.rest.come(calls.has_begun());
    }

    /// Does what there is to do in the sandbox's network.
    fn serve(&mut self, notify: &mut dyn FnMut(Notice)) {
        let Some(served) = &mut self.served else { return };
        for socket in self.sandbox.descriptors.sockets.drain(..) {
            // A socket that can't be watched answers nobody: the command sees that.
            let _ = served.take(socket);
        }
        served.look(inside(&self.sandbox));
        served.news().iter().for_each(|entry| notify(Notice::Connection(entry.clone())));
    }

    /// Hears what is asked for over bridges, and lets logins come back; tells what serves no more.
    fn bridge(&mut self, notify: &mut dyn FnMut(Notice)) {
        let is_unguarded = self.guarding.as_mut().is_some_and(Guarding::is_lost);
        let lost = self.adapters.lost().chain(is_unguarded.then_some(Helper::Guard));
        lost.for_each(|helper| notify(Notice::Lost(helper)));
        for (news, socket) in self.adapters.look() {
            if let (Some(port), Some(served)) = (news.login, &mut self.served) {
                served.login(port, socket);
            }
            notify(Notice::Bridge(news));
        }
    }

    pub(super) fn on(&mut self, event: Event, notify: &mut dyn FnMut(Notice)) {
        if self.ended.is_some() {
            return;
        }
        let Decision { action, notice, wake_ms, ended } = decide(&mut self.state, event);
        if let Some(notice) = notice {
            self.rest.hear(&notice);
            notify(notice);
        }
        if let Some(ms) = wake_ms {
            self.wake = Some(Instant::now() + Duration::from_millis(ms));
        }
        if let Some(action) = action {
            self.act(action);
        }
        self.ended = ended;
    }
}

fn inside(sandbox: &Sandbox) -> Option<Inside<'_>> {
    let descriptors = &sandbox.descriptors;
    let (user, network) = (descriptors.user.as_ref()?, descriptors.network.as_ref()?);
    Some(Inside { user: user.as_fd(), network: network.as_fd(), pid_1: sandbox.pid })
}
