//! `endow learn`.

use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::stdio::{dup2_stdout, stderr, stdout};
use serde_json::{Value, json};

use super::run::{Purpose, supervised};
use crate::cli::args::LearnArgs;
use crate::cli::diff::Look;
use crate::cli::error::{CommandError, Kind};
use crate::cli::learn::{Kept, Lessons, Proposed, propose};
use crate::cli::output::words::count;
use crate::cli::output::{Output, printable};
use crate::cli::report;
use crate::cli::run::descriptors;
use crate::cli::run::outcome;
use crate::cli::sources::surroundings;

/// Runs a command of which nothing remains, and proposes what it asked for and did not get.
pub(crate) fn run(args: &LearnArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let surroundings = surroundings::read(args.policy.directory.as_deref())?;
    let lessons = Lessons::of(&surroundings);
    if args.forget {
        return forget(&lessons, output);
    }
    let args = &args.clone().there();
    let ended = if args.command.is_empty() { None } else { Some(rehearse(args, output)?) };
    let runs = lessons.all();
    let proposed = propose(&args.policy, &runs)?;
    let written = args.write && proposed.is_change();
    if written {
        proposed.target.write(&proposed.text)?;
    }
    let told = Told { ended, runs: &runs, proposed: &proposed, written };
    told.tell(output);
    Ok(ExitCode::SUCCESS)
}

fn forget(lessons: &Lessons, output: &Output) -> Result<ExitCode, CommandError> {
    let forgotten = lessons.forget().map_err(not_kept)?;
    if output.is_json() {
        output.json(&json!({"forgotten": forgotten}));
    } else {
        let runs = count(forgotten, "run");
        output.text(&format!("forgot what {runs} of this project asked for\n"));
    }
    Ok(ExitCode::SUCCESS)
}

fn not_kept(error: io::Error) -> CommandError {
    CommandError::new(Kind::Setup, "can't remember what runs asked for").cause(error)
}

/// Runs the command over layers that are dropped, and remembers what it asked for. Returns how it
/// ended.
fn rehearse(args: &LearnArgs, output: &Output) -> Result<Value, CommandError> {
    let run = args.run();
    let passed = descriptors::take(&run, &[])?;
    let aside = Aside::begin().map_err(|errno| {
        CommandError::new(Kind::Setup, "can't lead the command's output to stderr")
            .cause(io::Error::from(errno))
    })?;
    let finished = supervised(&run, output, (passed.events, Purpose::Learn), None);
    aside.end();
    let finished = finished?;
    outcome::tell(&finished.planned, &finished.ran.ended, output)?;
    let observed = finished.ran.observed.as_ref().ok_or_else(unseen)?;
    let kept = Kept::of(&finished, observed);
    let surroundings = &finished.planned.surroundings;
    Lessons::of(surroundings).add(finished.planned.id.as_str(), &kept).map_err(not_kept)?;
    Ok(report::outcome(&finished.ran.ended))
}

fn unseen() -> CommandError {
    CommandError::new(
        Kind::Unenforceable,
        "nothing can be learnt: no call can be listened to in this place",
    )
    .hint("it is so at level `landlock`, inside of another endow, and with `--allow userfaultfd`")
    .hint("`endow why` answers single questions")
}

/// What the command writes to stdout goes to stderr: stdout is for the proposal.
struct Aside(OwnedFd);

impl Aside {
    fn begin() -> Result<Self, Errno> {
        let kept = fcntl_dupfd_cloexec(stdout(), 3)?;
        dup2_stdout(stderr())?;
        Ok(Self(kept))
    }

    fn end(self) {
        // It was open a moment ago.
        let _ = dup2_stdout(self.0);
    }
}

/// What is told at the end.
struct Told<'a> {
    /// How the command ended, when there was one.
    ended: Option<Value>,
    runs: &'a [Kept],
    proposed: &'a Proposed,
    written: bool,
}

impl Told<'_> {
    fn tell(&self, output: &Output) {
        if output.is_json() {
            return output.json(&self.value());
        }
        let (escaped, color) = output.data_look();
        let look = Look { color, escaped, ..Look::default() };
        if self.written {
            output.text(&format!("wrote {}\n", printable(&self.proposed.target.name())));
        } else {
            output.bytes(&self.proposed.diff(look));
        }
        for line in self.words() {
            output.remark(&line);
        }
    }

    fn value(&self) -> Value {
        let proposed = self.proposed;
        let diff = proposed.diff(Look::default());
        json!({
            "outcome": self.ended,
            "runs": self.runs.len(),
            "file": proposed.target.name(),
            "written": self.written,
            "lines": proposed.lines(),
            "left_out": proposed.proposal.left_out,
            "beyond": self.beyond(),
            "diff": String::from_utf8_lossy(&diff),
        })
    }

    /// One line for each thing that a user should know.
    fn words(&self) -> Vec<String> {
        let proposed = self.proposed;
        let runs = count(self.runs.len(), "run");
        let mut words = Vec::new();
        words.extend(self.ended.as_ref().and_then(how));
        words.push(match (self.runs.len(), proposed.is_change()) {
            (0, _) => {
                "nothing is known yet: `endow learn -- COMMAND` runs one without effect".to_owned()
            }
            (_, false) => format!("by {runs} of this project, {}", self.nothing()),
            (_, true) => format!("by {runs} of this project; read each line before you take it"),
        });
        words.extend(self.not_given());
        if self.written {
            words.push("`endow trust` accepts the file as it is now".to_owned());
        }
        words
    }

    /// What no line gives is told behind it.
    fn nothing(&self) -> String {
        let target = &self.proposed.target;
        match (self.beyond(), target.is_there()) {
            (0, true) => format!("nothing is missing in {}", target.name()),
            (0, false) => "nothing is missing, without a policy file".to_owned(),
            _ => "there is no line to propose".to_owned(),
        }
    }

    /// Returns how many things no line gives.
    fn beyond(&self) -> usize {
        self.proposed.beyond + self.proposed.proposal.unwritable
    }

    fn not_given(&self) -> Vec<String> {
        let proposed = self.proposed;
        let beyond = self.beyond();
        let told = [
            (proposed.dangerous(), "line", "commented out: it would be dangerous"),
            (beyond, "thing", "not proposed: no line of a policy gives it; `endow why` tells more"),
            (proposed.proposal.left_out, "line", "left out: there are too many"),
        ];
        let some = told.iter().filter(|(number, ..)| *number > 0);
        some.map(|(number, what, words)| format!("{} {words}", count(*number, what))).collect()
    }
}

/// Says how the command ended, when it did not succeed: it may have asked for more otherwise.
fn how(ended: &Value) -> Option<String> {
    let code = ended.get("code").and_then(Value::as_i64).filter(|code| *code != 0);
    let signal = ended.get("signal").and_then(Value::as_i64);
    let how = match (signal, code) {
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(code)) => format!("ended with {code}"),
        (None, None) => return None,
    };
    Some(format!("the command {how}: it may ask for more when it has this"))
}
