//! What is told of a run beside how it ended: before it starts, while it goes on, and of what it leaves.

use std::path::PathBuf;

use crate::apply::Prepared;
use crate::cli::output::{Output, words};
use crate::cli::report::{denials, write_back};
use crate::cli::run::unseen_git;
use crate::cli::stages::{Planned, Settled};
use crate::finish::left_at_home;
use crate::plan::Plan;
use crate::plan::seccomp::Observe;
use crate::plan::step::Buffered;
use crate::probe::small_file::is_absent;
use crate::supervise::{Notice, Observed};

/// Says that the workspace is one of git's no more: git works in another around it, if there is one.
pub(crate) fn headless(settled: &Settled, output: &Output) {
    let root = settled.surroundings().vars.git_root.as_ref();
    let directories = root.map(|root| root.as_path().join(".git")).filter(|it| it.is_dir());
    if let Some(git) = directories.filter(|git| is_absent(&git.join("HEAD"))) {
        output.caution(&format!("{} is no repository: it has no HEAD", git.display()));
        output.hint("`git init` makes it one; without the directory one around it counts");
    }
}

/// Says before the start what the command will not see or can't change, though it is granted.
pub(crate) fn limits(planned: &Planned, output: &Output) {
    unchangeable(&planned.plan, output);
    unsearched(&planned.plan, output);
    unseen_git::tell(planned, output);
}

fn unchangeable(plan: &Plan, output: &Output) {
    let place = |mount: &Buffered, name: &PathBuf| mount.at.as_path().join(name);
    let names = plan.layered().flat_map(|it| it.foreign.iter().map(|name| place(it, name)));
    let names: Vec<String> = names.map(|path| path.display().to_string()).collect();
    if !names.is_empty() {
        output.notice(&write_back::unchangeable(&names));
    }
}

/// Says what is hidden because the walk of names could not look there.
fn unsearched(plan: &Plan, output: &Output) {
    for walk in &plan.walks {
        let count = walk.unsearched.len();
        if let Some(first) = walk.unsearched.first() {
            let first = walk.source.as_path().join(first);
            output.detail(&format!(
                "hidden, since they can't be looked through for names to hide (they can't be read, or are nested \
                 too deep): {} ({count} in all)",
                first.display()
            ));
        }
    }
}

/// Says what happens while the command runs.
pub(crate) fn meanwhile(notice: &Notice, planned: &Planned, output: &Output) {
    let told = words::notice(notice, planned);
    match notice {
        Notice::Lost(_) | Notice::Moved(_) | Notice::Missed(_) | Notice::Uncovered(_) => {
            output.warning(&told);
        }
        // Nobody knows a port that was chosen before it is told.
        Notice::Published(_, port) if port.host_port == 0 => output.notice(&told),
        _ => output.detail(&told),
    }
}

/// Says what the command wrote into a home of its own, before that goes.
pub(crate) fn dropped(planned: &Planned, prepared: &Prepared, output: &Output) {
    let Some(home) = &planned.surroundings.vars.home else { return };
    if !output.shows_notices() {
        return;
    }
    let left = left_at_home(&planned.plan, prepared, home, &planned.found.policy.mounts);
    if !left.is_empty() {
        let names: Vec<String> = left.iter().map(|it| it.display().to_string()).collect();
        output.notice(&format!(
            "gone with the run's own home: {} (--rw DIR keeps what is written there)",
            write_back::some(&names)
        ));
    }
}

/// Says what was refused, or that nobody could see it who wanted to.
pub(crate) fn denied(asked: Observe, observed: Option<&Observed>, output: &Output) {
    match observed {
        Some(observed) => denials::tell(observed, asked, output),
        None if asked == Observe::Paths => {
            output.caution("nothing was observed: calls can't be listened to in this place");
            output.hint("nor can they be with `--allow userfaultfd`");
        }
        None => {}
    }
}
