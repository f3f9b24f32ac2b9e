//! The watch over protected names of live mounts, beside the run and in its place when it has died.

use std::path::PathBuf;
use std::time::SystemTime;

use endow_policy::ProtectSet;
use rustix::io::Errno;

use super::not_done::NotDone;
use crate::adapters::Helper;
use crate::apply::Prepared;
use crate::cli::stages::{Planned, noted};
use crate::plan::step::Guard;
use crate::supervise::{End, Guarding, Missed, News, Notice, Watching, Why};

/// What was heard of the watch.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) not_done: NotDone,
    is_lost: bool,
}

impl Heard {
    /// Takes note; returns whether nobody knows it yet.
    pub(crate) fn is_news(&mut self, notice: &Notice) -> bool {
        if let Notice::Lost(Helper::Guard) = notice {
            return !std::mem::replace(&mut self.is_lost, true);
        }
        self.not_done.note(notice);
        true
    }
}

/// Watches the live mounts of a run that began at `since`.
pub(crate) fn watch<'p>(
    planned: &'p Planned,
    prepared: &Prepared,
    since: SystemTime,
) -> Result<Option<Watching<'p>>, Errno> {
    let protect = |guard: &Guard| planned.protecting(&guard.source);
    Watching::new(&planned.plan.supervise.guards, &protect, (&prepared.directory(), since))
}

/// Starts the process that takes protected names away.
pub(crate) fn start(
    planned: &Planned,
    watching: Option<Watching<'_>>,
) -> Result<Option<Guarding>, Errno> {
    let walk = |guard: &Guard, protect: &ProtectSet| noted(planned, guard, protect);
    watching.map(|watching| Guarding::start(watching, &walk)).transpose()
}

/// Does at the end of a run what a process that has died did not: the names are held all the same.
pub(crate) fn again(
    planned: &Planned,
    prepared: &Prepared,
    since: SystemTime,
    notify: &mut dyn FnMut(Notice),
) {
    notify(Notice::Lost(Helper::Guard));
    let guarding = watch(planned, prepared, since).and_then(|watching| start(planned, watching));
    let finished = guarding.ok().flatten().map(Guarding::finish);
    let (news, end) = finished.unwrap_or((Vec::new(), End::Early));
    let missed = (end == End::Early).then(|| all_missed(planned)).into_iter().flatten();
    news.into_iter().chain(missed).for_each(|news| notify(news.into()));
}

fn all_missed(planned: &Planned) -> impl Iterator<Item = News> {
    let numbers = 0..planned.plan.supervise.guards.len();
    let why = Why::Unsearched;
    numbers.map(move |guard| News::Missed(Missed { guard, path: PathBuf::new(), why }))
}
