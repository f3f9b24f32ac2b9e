//! What it costs to see what a run is refused, on a build: many programs, many names.

use anyhow::Result;
use serde_json::{Value, json};

use super::bound::Bound;
use super::compile;
use super::rounds::{self, Contestant};
use super::scratch::Scratch;
use super::table;
use super::view::View;

const UNSEEN: &str = "--no-observe";
const CALLS: &str = "calls, as always";
const PATHS: &str = "--explain";
/// Each directory that is searched in vain for a program is a call that is seen: the machine's own
/// search path would decide the result. This is Debian's, for users.
const SEARCH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games";

/// Measures the same build three times a round.
pub(super) fn run(scratch: &Scratch, rounds: usize) -> Result<Vec<Value>> {
    let project = scratch.on_disk("project")?;
    compile::generate(&project)?;
    let mut view = View::system();
    view.rw(&project, &project);
    let endow = scratch.endow(&view)?;
    let with = |name: &str, flag: Option<&str>| {
        let mut one = Contestant { name: name.to_owned(), ..endow.clone() };
        let end = one.launcher.len().saturating_sub(1);
        one.launcher.splice(end..end, flag.map(str::to_owned));
        one.env.push(("PATH".to_owned(), SEARCH.to_owned()));
        one
    };
    let contestants =
        [with(UNSEEN, Some("--no-observe")), with(CALLS, None), with(PATHS, Some("--explain"))];
    let place = project.display().to_string();
    let command = ["make", "-s", "-j2", "-C", &place];
    let series = rounds::measure(&contestants, rounds, &command, &|| compile::clean(&project))?;
    let title = format!("make -j2 of {} C files, {rounds} rounds", compile::FILES);
    let shown = table::show(&title, &series, UNSEEN);
    let bounds = vec![
        Bound::ratio("seeing calls, to nothing", &series, CALLS, &[UNSEEN], 1.1).show(),
        Bound::ratio("seeing names of files, to nothing", &series, PATHS, &[UNSEEN], 3.0).show(),
    ];
    Ok(vec![shown, json!({ "title": "bounds", "bounds": bounds })])
}
