//! `endow du`.

use std::process::ExitCode;

use endow_vfs::fs::OsFs;
use endow_vfs::state::{LAYERS, Listed, RunState, StateDir, UNDO};
use endow_vfs::tree::Measure;
use serde_json::{Value, json};

use super::runs::state;
use crate::cli::args::DuArgs;
use crate::cli::error::CommandError;
use crate::cli::output::Output;
use crate::cli::output::table;
use crate::cli::runs::Kept;

/// What one run takes.
struct Sized<'a> {
    run: &'a Listed,
    layer: Measure,
    undo: Measure,
    total: Measure,
}

/// Runs the command.
pub(crate) fn run(args: &DuArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let kept = Kept::list()?;
    let runs: Vec<&Listed> = if args.runs.is_empty() {
        kept.runs.iter().collect()
    } else {
        args.runs.iter().map(|name| kept.named(name)).collect::<Result<_, _>>()?
    };
    let mut sized = Vec::new();
    for run in runs {
        let Some(state) = kept.state() else { break };
        sized.push(measure(state, run)?);
    }
    tell(&sized, output);
    Ok(ExitCode::SUCCESS)
}

fn measure<'a>(state: &StateDir, run: &'a Listed) -> Result<Sized<'a>, CommandError> {
    let part = |name: &str| state.measure(&OsFs, &run.id, name);
    Ok(Sized { run, layer: part(LAYERS)?, undo: part(UNDO)?, total: part("")? })
}

fn tell(sized: &[Sized<'_>], output: &Output) {
    let total: u64 = sized.iter().map(|it| it.total.bytes).sum();
    if output.is_json() {
        let runs: Vec<Value> = sized.iter().map(value).collect();
        return output.json(&json!({"version": 1, "runs": runs, "total_bytes": total}));
    }
    let mut rows: Vec<[String; 6]> = sized.iter().rev().map(row).collect();
    rows.push([
        "total".to_owned(),
        String::new(),
        String::new(),
        String::new(),
        String::new(),
        table::size(total),
    ]);
    output.text(&table::render(["ID", "NAME", "STATE", "LAYER", "UNDO", "TOTAL"], &rows));
    let closed: u64 = sized.iter().map(|it| it.total.closed).sum();
    if closed > 0 {
        output.notice(&format!("{closed} directories can't be looked into and are not counted"));
    }
}

fn row(sized: &Sized<'_>) -> [String; 6] {
    let run = sized.run;
    [
        run.id.to_string(),
        run.name().unwrap_or("-").to_owned(),
        state(run).to_owned(),
        table::size(sized.layer.bytes),
        table::size(sized.undo.bytes),
        table::size(sized.total.bytes),
    ]
}

fn value(sized: &Sized<'_>) -> Value {
    json!({
        "id": sized.run.id.as_str(),
        "name": sized.run.name(),
        "state": sized.run.state().map(RunState::word),
        "layer_bytes": sized.layer.bytes,
        "undo_bytes": sized.undo.bytes,
        "total_bytes": sized.total.bytes,
        "entries": sized.total.entries,
        "closed_directories": sized.total.closed,
    })
}
