//! What a command that failed may have lacked, and nothing else tells of: a profile, and variables.

use std::collections::BTreeSet;
use std::path::Path;

use endow_policy::{NetworkMode, Origin, builtin};

use crate::cli::output::Output;
use crate::cli::report::write_back::some;
use crate::cli::stages::Planned;
use crate::supervise::{Ended, Outcome};

/// How names of variables end that clients of a service are told where and as whom to speak by.
const OF_SERVICES: [&str; 4] = ["_API_KEY", "_TOKEN", "_BASE_URL", "_API_BASE"];
/// What the profiles of agents extend.
const AGENT: &str = "agent";

/// Says to whoever looks which profile or variables a command may have lacked that ended with a code other than 0.
pub(crate) fn tell(planned: &Planned, ended: &Ended, output: &Output) {
    let has_failed = matches!(ended.outcome, Outcome::Exited(code) if code != 0);
    if !has_failed || !output.shows_notices() || has_profile(planned) {
        return;
    }
    if let Some(name) = unused_profile(planned) {
        output.notice(&format!("the profile `{name}` is not used here (--profile {name})"));
    }
    if planned.found.policy.network.mode != NetworkMode::None {
        let names = withheld(planned);
        if !names.is_empty() {
            output.notice(&format!("set outside and not passed: {} (--env NAME)", some(&names)));
        }
    }
}

/// Whether a profile of an agent is in use.
fn has_profile(planned: &Planned) -> bool {
    let mounts = planned.found.policy.mounts.iter();
    let names: BTreeSet<&str> = mounts.filter_map(|spec| profile(&spec.origin)).collect();
    names.into_iter().any(is_of_agent)
}

fn profile(origin: &Origin) -> Option<&str> {
    match origin {
        Origin::Profile { name } => Some(name),
        _ => None,
    }
}

/// Returns the profile that the command's file is called like.
fn unused_profile(planned: &Planned) -> Option<String> {
    let name = Path::new(planned.plan.command_name()).file_name()?.to_str()?;
    is_of_agent(name).then(|| name.to_owned())
}

fn is_of_agent(name: &str) -> bool {
    let profile = builtin::profile(name).and_then(Result::ok);
    profile.is_some_and(|profile| profile.extends.iter().any(|it| it.value == AGENT))
}

fn withheld(planned: &Planned) -> Vec<String> {
    let names = planned.plan.environment.withheld.iter().map(|it| it.to_string_lossy());
    let names = names.filter(|name| OF_SERVICES.iter().any(|end| name.ends_with(end)));
    names.map(std::borrow::Cow::into_owned).collect()
}
