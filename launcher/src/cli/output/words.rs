//! Short texts that several commands share.

use std::path::Path;

use endow_policy::{AllowWord, Secret, SecretUse, Stated};

use crate::adapters::Helper;
use crate::cli::report::connections;
use crate::cli::report::denials;
use crate::cli::run::bridges;
use crate::cli::stages::Planned;
use crate::supervise::{Back, Moved, Notice};

/// Returns the list that `--allow help` prints.
pub(crate) fn allow_help() -> String {
    AllowWord::ALL.iter().map(|word| format!("{:<14}{}\n", word.word(), word.help())).collect()
}

/// Returns one line for what happened.
pub(crate) fn notice(notice: &Notice, planned: &Planned) -> String {
    match notice {
        Notice::Started => format!("run {} started", planned.id.as_str()),
        Notice::Stopped(signal) => format!("stopped by signal {signal}"),
        Notice::Continued => "continued".to_owned(),
        Notice::TimeLimit => "time limit: the processes were asked to end".to_owned(),
        Notice::LayerLimit(_) => "layer limit: the processes were asked to end".to_owned(),
        Notice::Killed => "killed".to_owned(),
        Notice::Renewed(number) => {
            format!("covered again after the host replaced it: {}", covered(*number, planned))
        }
        Notice::Uncovered(number) => {
            let at = covered(*number, planned);
            format!("can be seen inside since the host replaced it, and can't be covered yet: {at}")
        }
        Notice::Moved(moved) => put_back(moved, planned),
        Notice::Held(name) => {
            let guard = planned.plan.supervise.guards.get(name.guard);
            let at = guard.map(|guard| guard.at.as_path().join(&name.path).display().to_string());
            format!("held, protected by {}: {}", name.rule, at.unwrap_or_default())
        }
        Notice::Missed(missed) => {
            format!("{}: {}", missed.why.text(), missed.place(&planned.plan).display())
        }
        Notice::Published(at, port) => format!("port {} is published at {at}", port.port),
        Notice::Connection(entry) => connections::line(entry),
        Notice::Denied(denied) => denials::line(denied),
        Notice::Bridge(news) => bridges::line(news),
        Notice::Lost(helper) => lost(*helper, planned),
    }
}

/// Says what is not there any more without a process of endow's own.
fn lost(helper: Helper, planned: &Planned) -> String {
    let plan = &planned.plan;
    let what = match helper {
        Helper::Broker => {
            let added = |it: &&Stated<Secret>| matches!(it.value.to, SecretUse::Header(_));
            let names = plan.secrets.iter().filter(added).map(|it| it.value.name.clone());
            format!("secrets that it added: {}", listed(names))
        }
        Helper::SshAgent => "keys of the ssh-agent".to_owned(),
        Helper::Bridges => {
            let open = plan.bridges.iter().flat_map(|it| &it.open);
            format!("bridges: {}", listed(open.map(|it| it.value.to_string())))
        }
        Helper::Guard => {
            return "what takes new protected names out of live mounts has ended before the run; \
                    they are looked for again when it is over"
                .to_owned();
        }
    };
    format!("{} has ended before the run; not available any more: {what}", helper.name())
}

fn listed(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// Says what became of a hidden name that the command has moved.
fn put_back(moved: &Moved, planned: &Planned) -> String {
    let Moved { number, to, back } = moved;
    let (was, to) = (covered(*number, planned), to.display());
    match back {
        Ok(Back::Free) => format!(
            "moved back, for it is hidden where it was: {was} (the command had moved it to {to})"
        ),
        Ok(Back::For(aside)) => format!(
            "moved back, for it is hidden where it was: {was} (the command had moved it to {to}; what stood in its place is now {})",
            aside.display()
        ),
        Err(errno) if is_mount(*number, &moved.to, planned) => format!(
            "hidden no more, and can't be moved back ({errno}): {was} (the command has moved it to somewhere in {to}, or it is in what this run holds)"
        ),
        Err(errno) => format!(
            "hidden no more, and can't be moved back ({errno}): {was} (the command has moved it to {to})"
        ),
    }
}

/// Whether a name's new place is not known closer.
fn is_mount(number: usize, to: &Path, planned: &Planned) -> bool {
    let renewed = planned.plan.supervise.renew.get(number);
    renewed.is_some_and(|renew| renew.at.as_path() == to)
}

/// Returns the place of a name that is kept covered.
fn covered(number: usize, planned: &Planned) -> String {
    let renewed = planned.plan.supervise.renew.get(number);
    let at = renewed.map(|renew| renew.at.as_path().join(&renew.path).display().to_string());
    at.unwrap_or_default()
}

/// Returns a number of things in words.
pub(crate) fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}
