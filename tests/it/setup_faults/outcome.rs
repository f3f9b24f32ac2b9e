//! What may come of a fault, and what must not.

use std::collections::BTreeSet;
use std::path::Path;

use super::facts::{self, Compared};
use super::seen;
use super::sweep::{Injection, Ran, Sound};
use super::tracer::Fault;

const KILLED: i32 = 137;
/// Calls whose effect the command can't see: a run without it must be told of.
const UNSEEN: [&str; 1] = ["keyctl"];
/// What endow says of a loss that it accepts.
const TOLD: [&str; 1] = ["no session keyring"];

/// What came of a fault.
#[derive(Debug)]
pub(super) enum Outcome {
    /// endow said what went wrong, and the command did not start.
    Refused,
    /// endow or the command's process was killed, and everything ended with it.
    Ended,
    /// The command ran, confined as without the fault.
    Equal,
    /// It ran with less, and endow said what is lost.
    Told,
    /// It ran with fewer grants.
    Narrower,
    /// The call was not made.
    Missed,
    /// Not all of it ended in time.
    Hung(String),
    /// Anything else.
    Wrong(String),
}

impl Outcome {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Ended => "killed with all its processes",
            Self::Equal => "ran equally confined",
            Self::Told => "told of the loss",
            Self::Narrower => "ran with fewer grants",
            Self::Missed => "not reached",
            Self::Hung(_) => "hung",
            Self::Wrong(_) => "wrong",
        }
    }

    pub(super) fn wrong(self) -> Option<String> {
        match self {
            Self::Hung(trees) => Some(format!("hung\n{trees}")),
            Self::Wrong(what) => Some(what),
            _ => None,
        }
    }
}

/// Says what came of a run with a fault.
pub(super) fn judge(sound: &Sound, ran: &Ran, injection: Option<&Injection>) -> Outcome {
    if let Some(trees) = &ran.traced.hung {
        return Outcome::Hung(trees.clone());
    }
    let left = left(sound, ran);
    if !left.is_empty() {
        return Outcome::Wrong(format!("left on the host: {left:?}\n{}", seen::said(&ran.world)));
    }
    if injection.is_some() && !ran.traced.reached {
        return Outcome::Missed;
    }
    match (seen::facts(&ran.world), injection) {
        (Some(facts), _) => match compared(sound, &facts, ran) {
            Outcome::Equal if injection.is_some_and(|it| UNSEEN.contains(&it.call.name())) => {
                Outcome::Wrong(format!("nothing is told\n{}", seen::said(&ran.world)))
            }
            outcome => outcome,
        },
        (None, Some(Injection { fault: Fault::Kill, .. })) if ran.traced.code == KILLED => {
            Outcome::Ended
        }
        (None, _) => refused(sound, ran),
    }
}

/// What is on the host that was not there, or is otherwise.
fn left(sound: &Sound, ran: &Ran) -> Vec<String> {
    let (now, kept) = (seen::files(&ran.world), seen::kept(&ran.world));
    let paths: BTreeSet<_> = ran.before.keys().chain(now.keys()).collect();
    let changed = paths.into_iter().filter(|path| ran.before.get(*path) != now.get(*path));
    let staged = kept.difference(&sound.kept);
    let paths = changed.chain(staged).filter(|path| !is_known(path));
    let paths = paths.map(|path| path.display().to_string());
    paths.chain(seen::mounts(&ran.world)).collect()
}

/// Whether a name may be there: a run that was killed while it was made is taken away when it is old, a
/// tree that was not finished by the next run, and what endow keeps goes to `TMPDIR` where it may not open its own directories.
/// Where the kernel can't be asked whether it takes layers of data, a stored tree is copied whole. A lease that
/// can't be removed holds nothing once its owner is gone, and a content that was begun while somebody else seemed to
/// take it away is taken away by the next who looks.
fn is_known(path: &Path) -> bool {
    let unfinished = [
        "state/runs/.new-",
        "cache/trees/v1/.new-",
        "cache/trees/v1/.lock-",
        "cache/cas/leases/endow-",
        "cache/cas/tmp/endow-",
    ];
    let copied = "cache/trees/v1/sha256-";
    let name = path.to_string_lossy();
    path.starts_with("tmp/endow")
        || unfinished.iter().any(|it| name.starts_with(it))
        || name.starts_with(copied)
}

/// The command has run: as confined as it is without a fault, or less and that was told.
fn compared(sound: &Sound, facts: &BTreeSet<String>, ran: &Ran) -> Outcome {
    let said = seen::said(&ran.world);
    let wrong = match facts::compare(&sound.facts, facts) {
        Compared::Equal if TOLD.iter().any(|told| said.contains(told)) => return Outcome::Told,
        Compared::Equal => return Outcome::Equal,
        Compared::Narrower => return Outcome::Narrower,
        Compared::Wider(wrong) => wrong,
    };
    Outcome::Wrong(format!("code {}\n{wrong:#?}\n{said}", ran.traced.code))
}

/// The command has not come to its end. One that had begun was ended with pid 1.
fn refused(sound: &Sound, ran: &Ran) -> Outcome {
    let (code, said) = (ran.traced.code, seen::said(&ran.world));
    let mut lines = said.lines().skip_while(|line| !is_failure(line));
    let is_told = lines.next().is_some() && lines.next().is_some_and(|line| line.contains(": "));
    match (sound.refusals.contains(&code) && is_told, ran.traced.executed) {
        (true, false) => Outcome::Refused,
        (true, true) => Outcome::Ended,
        (false, _) => Outcome::Wrong(format!("code {code}\n{said}")),
    }
}

/// Whether a line is endow's last word, and not one of its details.
fn is_failure(line: &str) -> bool {
    let details = ["run ", "refused ", "refused:", "level ", "connected "];
    let said = line.strip_prefix("endow: ");
    said.is_some_and(|said| !details.iter().any(|detail| said.starts_with(detail)))
}
