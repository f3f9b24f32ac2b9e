//! `endow profile trim`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use endow_policy::learn::{Lesson, Unused, unused};
use endow_policy::{Origin, Policy};
use serde_json::{Value, json};

use crate::cli::args::PolicyArgs;
use crate::cli::error::{CommandError, Kind};
use crate::cli::learn::{Lessons, grants};
use crate::cli::output::words::count;
use crate::cli::output::{Output, printable};
use crate::cli::sources;
use crate::cli::sources::surroundings;
use crate::cli::stages;

/// Names grants of a profile, or of the project's policy, that no observed run used. It changes nothing.
pub(crate) fn run(name: Option<&str>, output: &Output) -> Result<ExitCode, CommandError> {
    let surroundings = surroundings::read(None)?;
    let (args, of) = if let Some(name) = name {
        (PolicyArgs::of_profile(name), Of::Profile(name.to_owned()))
    } else {
        let file = sources::project_file(&surroundings.vars).ok_or_else(no_policy)?;
        (PolicyArgs::default(), Of::File(file.display().to_string()))
    };
    let settled = stages::settle(&args, None)?;
    let own = own(settled.policy(), &of);
    let lessons: Vec<Lesson> =
        Lessons::of(&surroundings).all().into_iter().map(|run| run.lesson).collect();
    // Runs of which only the needs are known had no observer of what they used.
    let lessons: Vec<Lesson> = lessons.into_iter().filter(|it| !it.grants.is_empty()).collect();
    Trim { of, runs: lessons.len(), own: &own, lessons: &lessons }.tell(output);
    Ok(ExitCode::SUCCESS)
}

fn no_policy() -> CommandError {
    CommandError::new(Kind::Usage, "there is no endow.toml here")
        .hint("`endow profile trim NAME` is about a profile")
}

/// Whose grants are meant.
enum Of {
    Profile(String),
    File(String),
}

impl Of {
    fn name(&self) -> &str {
        let (Self::Profile(name) | Self::File(name)) = self;
        name
    }

    fn wrote(&self, origin: &Origin) -> bool {
        match (self, origin) {
            (_, Origin::Word { entry, .. }) => self.wrote(entry),
            (Self::Profile(own), Origin::Profile { name })
            | (Self::File(own), Origin::File { name, .. }) => **name == **own,
            // A profile that the user wrote is a file of that name.
            (Self::Profile(own), Origin::File { name, .. }) => {
                name.ends_with(&format!("/profiles/{own}.toml"))
            }
            _ => false,
        }
    }
}

/// Returns the grants of a source, each with its place.
fn own(policy: &Policy, of: &Of) -> BTreeMap<String, String> {
    let all = grants(policy).into_iter().filter(|(_, origin)| of.wrote(origin));
    all.map(|(grant, origin)| (grant, origin.to_string())).collect()
}

struct Trim<'a> {
    of: Of,
    runs: usize,
    own: &'a BTreeMap<String, String>,
    lessons: &'a [Lesson],
}

impl Trim<'_> {
    fn tell(&self, output: &Output) {
        let grants: BTreeSet<String> = self.own.keys().cloned().collect();
        let unused = unused(&grants, self.lessons);
        let known = |grant: &String| self.lessons.iter().any(|it| it.grants.contains_key(grant));
        let unknown: Vec<&String> = grants.iter().filter(|grant| !known(grant)).collect();
        if output.is_json() {
            output.json(&json!({
                "of": self.of.name(), "runs": self.runs,
                "unused": unused.iter().map(|it| self.value(it)).collect::<Vec<Value>>(),
                "unknown": unknown,
            }));
            return;
        }
        for it in &unused {
            output.text(&self.line(it));
        }
        output.remark(&self.words(unused.len(), unknown.len()));
    }

    fn origin(&self, grant: &str) -> &str {
        self.own.get(grant).map_or("", String::as_str)
    }

    fn value(&self, unused: &Unused) -> Value {
        json!({"grant": unused.grant, "origin": self.origin(&unused.grant), "runs": unused.runs})
    }

    fn line(&self, unused: &Unused) -> String {
        let (grant, runs) = (&unused.grant, count(unused.runs, "run"));
        let line = format!("{grant}  never used in {runs}  ({})", self.origin(grant));
        printable(&line) + "\n"
    }

    fn words(&self, unused: usize, unknown: usize) -> String {
        let (runs, all, name) = (self.runs, self.own.len(), self.of.name());
        if runs == 0 {
            return String::from(
                "no run of this project was observed yet: `endow learn -- COMMAND` or `endow run --explain -- \
                 COMMAND` is",
            );
        }
        let runs = count(runs, "observed run");
        let unknown = match unknown {
            0 => String::new(),
            1 => "; 1 was not part of any".to_owned(),
            unknown => format!("; {unknown} were not part of any"),
        };
        format!("{unused} of {all} grants of {name} were never used in {runs}{unknown}")
    }
}
