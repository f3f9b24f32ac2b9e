//! `endow build --verify`: the rules of the sandboxes of actions, tried in them. No action is executed.

use std::process::ExitCode;

use endow_policy::Action;
use endow_vfs::cas::{Publishing, Store};
use endow_vfs::fs::OsFs;
use serde::Serialize;

use super::actions::{self, Wanted};
use super::inputs::{self, Sources};
use super::order::Order;
use super::perform::{Performer, Wish};
use super::root;
use crate::cli::args::BuildArgs;
use crate::cli::error::{CommandError, of_store};
use crate::cli::helper::trials::{self, Trials, Verified};
use crate::cli::output::{Output, printable};
use crate::cli::sources::surroundings;
#[cfg(feature = "test-switches")]
use crate::cli::stages;
use crate::cli::stages::Request;
use crate::trees;

/// What is printed.
#[derive(Debug, Serialize)]
struct Told<'a> {
    version: u32,
    /// Whether every rule of every sandbox that was tried holds.
    holds: bool,
    sandboxes: Vec<Sandbox<'a>>,
}

/// One sandbox.
#[derive(Debug, Serialize)]
struct Sandbox<'a> {
    /// The actions of which each has one like it.
    actions: Vec<&'a str>,
    #[serde(flatten)]
    verified: Verified,
}

/// What the rules of a sandbox depend on: that, and whether its tree is a single one.
type Rules = (Wish, bool);

/// Tries each sandbox of the actions that are asked for. Those that differ by what is in their trees and by their
/// commands alone have the same rules: they count as one.
pub(super) fn run(args: &BuildArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let surroundings = surroundings::read(args.directory.as_deref())?;
    let wanted = actions::wanted(args, &surroundings)?;
    let cache = &surroundings.dirs.cache;
    let store = Store::open(&OsFs, &trees::store(cache)).map_err(|error| of_store(&error))?;
    let memory = inputs::memory(cache)?;
    let sources = Sources::read(&wanted, &memory)?;
    let publishing = store.publish().map_err(|error| of_store(&error))?;
    let root = root::tree(&wanted, (&surroundings, &memory), &publishing)?;
    let mut performer = Performer::new(&surroundings.dirs);
    let mut sandboxes: Vec<(Rules, Sandbox<'_>)> = Vec::new();
    for action in wanted.chosen() {
        let order = order((&wanted, action, root.as_deref()), &sources, &publishing)?;
        let rules = (Wish::of(&order), order.layers.is_empty());
        if let Some((_, alike)) = sandboxes.iter_mut().find(|(it, _)| *it == rules) {
            alike.actions.push(&action.name);
            continue;
        }
        let (actions, verified) = (vec![action.name.as_str()], verified(&mut performer, &order)?);
        sandboxes.push((rules, Sandbox { actions, verified }));
    }
    let sandboxes: Vec<Sandbox<'_>> = sandboxes.into_iter().map(|(_, it)| it).collect();
    let holds = sandboxes.iter().all(|it| it.verified.holds);
    if output.is_json() {
        output.json(&Told { version: 1, holds, sandboxes });
    } else {
        for sandbox in &sandboxes {
            output.text(&text(sandbox, output));
        }
    }
    Ok(trials::code(holds))
}

/// Shows an action its own inputs: what others leave for it may not be there yet, and changes no rule.
fn order(
    (wanted, action, root): (&Wanted, &Action, Option<&str>),
    sources: &Sources<'_>,
    publishing: &Publishing<'_>,
) -> Result<Order, CommandError> {
    let tree = sources.tree(action, &[], publishing)?;
    let shown = sources.show(action, tree, publishing)?;
    Order::new((0, action), (root, &wanted.allowance), &shown)
}

fn verified(performer: &mut Performer<'_>, order: &Order) -> Result<Verified, CommandError> {
    let planned = performer.sandbox(order, Request::default())?;
    let trials = Trials::of(&planned);
    #[cfg(feature = "test-switches")]
    let planned = planned.without(&stages::taken_away(&[]));
    trials.make(planned)
}

fn text(sandbox: &Sandbox<'_>, output: &Output) -> String {
    let text = trials::text(&sandbox.verified, output);
    let (first, more) = (sandbox.actions.first(), sandbox.actions.len().saturating_sub(1));
    let first = printable(first.copied().unwrap_or_default());
    match more {
        0 => format!("{first}:\n{text}"),
        _ => format!("{first} and {more} more like it:\n{text}"),
    }
}
