//! Bridges: their programs in the view, the process that serves them, and what was asked for.

use endow_policy::{
    Access, BRIDGE_PROGRAMS, BackendSpec, Bridge, BridgeKind, BridgeNews, BridgeOrder, GuestPath,
    HostPath, Level, MountClass, MountOptions, MountSpec, Nearby, Origin, Policy, Stated,
};
use serde_json::{Value, json};

use crate::adapters::{AdapterError, Asked, Bridges};
use crate::apply::Prepared;
use crate::cli::error::{CommandError, Kind};
use crate::network::nearby::Surroundings;
use crate::plan::{OpenBridges, Plan, bridges};
use crate::supervise::Bridging;

/// The program that stands at both ends of bridges.
const PROGRAM: &str = "endow-bridge";

/// Adds a read-only mount of that program for each name by which programs look for a bridge.
pub(crate) fn grant(policy: &mut Policy) -> Result<(), CommandError> {
    let served = policy.bridges.iter().filter(|it| it.value.kind().is_some());
    let served: Vec<Stated<Bridge>> = served.cloned().collect();
    if served.is_empty() || policy.require.level == Level::Landlock {
        return Ok(());
    }
    let program = beside_endow()?;
    for bridge in &served {
        let names = bridge.value.kind().map(BridgeKind::programs).unwrap_or_default();
        let mounts = names.iter().filter_map(|name| mount(name, &program, &bridge.origin));
        policy.mounts.extend(mounts);
    }
    policy.mounts.sort_by(|a, b| a.at.cmp(&b.at));
    policy.mounts.dedup_by(|a, b| a.at == b.at);
    Ok(())
}

fn beside_endow() -> Result<HostPath, CommandError> {
    let failed = |what: &str| CommandError::new(Kind::Setup, what).lacking(PROGRAM);
    let own = std::env::current_exe().and_then(|own| own.with_file_name(PROGRAM).canonicalize());
    let path =
        own.map_err(|error| failed("can't open bridges: no program endow-bridge").cause(error))?;
    HostPath::new(path).map_err(|_| failed("can't open bridges"))
}

fn mount(name: &str, program: &HostPath, origin: &Origin) -> Option<MountSpec> {
    Some(MountSpec {
        at: GuestPath::new(format!("{BRIDGE_PROGRAMS}/{name}")).ok()?,
        backend: BackendSpec::Physical { host: program.clone() },
        access: Access::Ro,
        options: MountOptions { nodeny: true, ..MountOptions::default() },
        class: MountClass::System,
        origin: origin.clone(),
    })
}

/// Starts the process that serves a plan's bridges, if there are any.
pub(crate) fn serve(
    plan: &Plan,
    prepared: &mut Prepared,
) -> Result<Option<Bridging>, CommandError> {
    let Some(open) = &plan.bridges else { return Ok(None) };
    let Some(listener) = prepared.take_listener(bridges::SOCKET) else { return Ok(None) };
    let mut surroundings = surroundings(open);
    let nearby = surroundings.as_mut().map_or_else(Nearby::unread, |it| it.now().clone());
    let order = order(open, nearby.clone());
    let started = Bridges::start(&order, listener, &plan.withheld_outside);
    let started = started.map_err(|error| not_served(&error, &plan.withheld_outside))?;
    Ok(Some(Bridging::new(started, surroundings, nearby)))
}

/// What is near matters to URLs alone. Where it can't be read, no address is opened that no bridge
/// names by itself.
fn surroundings(bridges: &OpenBridges) -> Option<Surroundings> {
    let opens = |it: &Stated<Bridge>| it.value.kind() == Some(BridgeKind::Browser);
    bridges.open.iter().any(opens).then(|| Surroundings::new().ok()).flatten()
}

fn order(bridges: &OpenBridges, nearby: Nearby) -> BridgeOrder {
    let paths = |paths: &[HostPath]| paths.iter().map(ToString::to_string).collect();
    BridgeOrder {
        open: bridges.open.iter().map(|bridge| bridge.value.to_string()).collect(),
        published: bridges.published.clone(),
        served: bridges.served.clone(),
        search: paths(&bridges.search),
        reach: paths(&bridges.reach),
        nearby,
    }
}

fn not_served(error: &AdapterError, withheld: &[String]) -> CommandError {
    let this = CommandError::new(Kind::Setup, "can't open bridges").cause(error).because(error);
    match error {
        AdapterError::Missing(_) => this.lacking(PROGRAM),
        AdapterError::Refused(_) => {
            let this = this.hint(
                "programs are taken from directories of PATH that no mount of this run lets be written",
            );
            let without = format!("it was started without {}", withheld.join(", "));
            if withheld.is_empty() { this } else { this.hint(without) }
        }
        AdapterError::Start { .. } | AdapterError::TooLong | AdapterError::NoAnswer(_) => this,
    }
}

/// Returns one line for a request.
pub(crate) fn line(news: &BridgeNews) -> String {
    let BridgeNews { bridge, what, refused, login } = news;
    match (refused, login) {
        (None, None) => format!("bridge {bridge}: {what}"),
        (None, Some(port)) => format!("bridge {bridge}: {what} (comes back to port {port})"),
        (Some(why), _) => format!("bridge {bridge} refused {what}: {why}"),
    }
}

/// Returns the object of the report.
pub(crate) fn value(news: &BridgeNews) -> Value {
    let BridgeNews { bridge, what, refused, login } = news;
    json!({"bridge": bridge, "what": what, "refused": refused, "login": login})
}

/// Returns what the report says; nothing where no bridge was open.
pub(crate) fn list(asked: Option<&Asked>) -> Value {
    let list = |asked: &Asked| asked.list.iter().map(value).collect::<Vec<Value>>();
    asked.map_or(
        Value::Null,
        |it| json!({"list": list(it), "truncated": it.left_out > 0, "left_out": it.left_out}),
    )
}
