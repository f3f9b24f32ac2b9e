//! `endow why`.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::ExitCode;

use endow_policy::learn::danger;
use endow_policy::{HostName, Nearby};
use serde::Serialize;

use crate::cli::args::{Operation as Asked, WhyArgs};
use crate::cli::error::{CommandError, Kind};
use crate::cli::helper::questions::{self, Question};
use crate::cli::helper::{self, Task};
use crate::cli::output::{Output, printable};
use crate::cli::stages::{self, Planned, Request};
use crate::network::nearby;
use crate::plan::why::{self, Answer, Operation, Questions, Refusal, Verdict};
use crate::probe::{HostObjects, protects_links};

/// Not allowed: what was asked about is refused or absent.
const NOT_ALLOWED: u8 = 1;

/// An answer, and the kernel's own where it was asked.
#[derive(Debug, Serialize)]
struct Told {
    #[serde(flatten)]
    answer: Answer,
    /// Why what would allow it is nothing to do lightly.
    #[serde(skip_serializing_if = "Option::is_none")]
    danger: Option<String>,
    /// What the kernel said, and whether it says the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<Verified>,
}

/// What the kernel said in the sandbox.
#[derive(Debug, Serialize)]
struct Verified {
    errno: Option<String>,
    agrees: bool,
}

/// One question.
#[derive(Debug)]
enum Subject {
    Path(OsString, Operation),
    Connection(String, u16),
    Call(String),
}

/// Runs the command.
pub(crate) fn run(args: &WhyArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let many = args.subject == "-";
    let (subjects, wrong) =
        if many { from_stdin()? } else { (vec![subject(&args.subject, args.to)], None) };
    if let (true, Some(wrong)) = (subjects.is_empty(), &wrong) {
        return Err(wrong.clone());
    }
    let argv = if args.command.is_empty() { vec!["true".into()] } else { args.command.clone() };
    let mut planned = stages::plan(&args.policy, Request { argv, ..Request::default() })?;
    let answers = answers(&planned, &subjects)?;
    let kernel = if args.verify { ask_kernel(&mut planned, &subjects)? } else { Vec::new() };
    let mut kernel = kernel.into_iter();
    let told: Vec<Told> = answers
        .into_iter()
        .zip(&subjects)
        .map(|((answer, danger), subject)| {
            let said = matches!(subject, Subject::Path(..)).then(|| kernel.next()).flatten();
            let verified = said.map(|said| Verified::new(said, &answer));
            Told { answer, danger, verified }
        })
        .collect();
    print(&told, many, output);
    if let Some(host) = args.subject.to_str().filter(|word| is_host_without_port(word, args.to)) {
        output.hint(&format!("a connection is asked for with its port: `endow why {host}:443`"));
    }
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    let allowed = told.iter().all(Told::is_allowed);
    Ok(ExitCode::from(if allowed { 0 } else { NOT_ALLOWED }))
}

fn print(told: &[Told], many: bool, output: &Output) {
    for told in told {
        match (output.is_json(), many) {
            (true, true) => output.json_line(told),
            (true, false) => output.json(told),
            (false, _) => output.text(&text(told)),
        }
    }
}

/// Understands what is asked about: a name with a slash is always a path.
fn subject(text: &OsStr, to: Option<Asked>) -> Subject {
    let word = text.to_str();
    if let Some(name) = word.and_then(|word| word.strip_prefix("call:")) {
        return Subject::Call(name.to_owned());
    }
    let network = matches!(to, None | Some(Asked::Connect));
    if let Some(connection) = word.filter(|_| network).and_then(connection) {
        return connection;
    }
    let operation = match to {
        None | Some(Asked::Read) => Operation::Read,
        Some(Asked::Write) => Operation::Write,
        Some(Asked::Execute) => Operation::Execute,
        Some(Asked::Connect) => Operation::Connect,
    };
    Subject::Path(text.to_owned(), operation)
}

/// Understands `HOST:PORT`.
fn connection(word: &str) -> Option<Subject> {
    let (host, port) = word.rsplit_once(':').filter(|_| !word.contains('/'))?;
    Some(Subject::Connection(host.to_owned(), port.parse().ok()?))
}

/// Whether a name that no file has is one of a host: as `--net` takes it, without a port.
fn is_host_without_port(word: &str, to: Option<Asked>) -> bool {
    let is_host = word.contains('.') && HostName::parse(word).is_ok();
    is_host
        && matches!(to, None | Some(Asked::Connect))
        && Path::new(word).symlink_metadata().is_err()
}

/// Returns the questions up to the first line that is none, and what is wrong with that.
fn from_stdin() -> Result<(Vec<Subject>, Option<CommandError>), CommandError> {
    let mut text = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut text)
        .map_err(|error| CommandError::new(Kind::Usage, "can't read the questions").cause(error))?;
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    let mut subjects = Vec::new();
    for (before, text) in lines.filter(|(_, text)| !text.is_empty()) {
        match line(before + 1, text) {
            Ok(subject) => subjects.push(subject),
            Err(wrong) => return Ok((subjects, Some(wrong))),
        }
    }
    Ok((subjects, None))
}

fn line(number: usize, line: &[u8]) -> Result<Subject, CommandError> {
    let mut parts = line.splitn(2, |byte| *byte == b' ');
    let (word, path) = (parts.next().unwrap_or_default(), parts.next());
    let all = [Operation::Read, Operation::Write, Operation::Execute, Operation::Connect];
    let operation = all.into_iter().find(|operation| operation.word().as_bytes() == word);
    match (operation, path) {
        (Some(operation), Some(path)) => {
            let to_connect = operation == Operation::Connect;
            let word = std::str::from_utf8(path).ok().filter(|_| to_connect);
            let path = || Subject::Path(OsString::from_vec(path.to_vec()), operation);
            Ok(word.and_then(connection).unwrap_or_else(path))
        }
        _ => Err(CommandError::new(Kind::Usage, "not a question")
            .about(format!("line {number}, {}", String::from_utf8_lossy(line)))
            .hint("write `read PATH`, `write PATH`, `execute PATH`, `connect PATH` or `connect HOST:PORT`")),
    }
}

/// Returns the answers, each with the danger of what would allow it.
fn answers(
    planned: &Planned,
    subjects: &[Subject],
) -> Result<Vec<(Answer, Option<String>)>, CommandError> {
    let (plan, policy) = (&planned.plan, &planned.found.policy);
    let tree = HostObjects::new();
    let questions = Questions::new(plan, policy, &planned.host, &tree, protects_links());
    let danger = |path: &Path, operation| {
        let at = questions.to_grant(path, operation)?;
        danger(&at, operation == Operation::Write, &planned.surroundings.vars, policy)
    };
    let answer = |subject: &Subject| match subject {
        Subject::Path(path, operation) => {
            let path = Path::new(path);
            Ok((questions.path(path, *operation), danger(path, *operation)))
        }
        Subject::Connection(host, port) => {
            let nearby = nearby::read().unwrap_or_else(|_| Nearby::unread());
            Ok((why::connection(plan, policy, (host, *port), &nearby), None))
        }
        Subject::Call(name) => {
            why::call(plan, name).map(|answer| (answer, None)).ok_or_else(|| {
                CommandError::new(Kind::Usage, "Linux has no such system call").about(name)
            })
        }
    };
    subjects.iter().map(answer).collect()
}

/// Tries every path in the sandbox; returns the error numbers, 0 for what worked.
fn ask_kernel(planned: &mut Planned, subjects: &[Subject]) -> Result<Vec<i32>, CommandError> {
    let paths = subjects.iter().filter_map(|subject| match subject {
        Subject::Path(path, operation) => Some(Question::Path(path, *operation)),
        _ => None,
    });
    let paths: Vec<_> = paths.collect();
    if paths.is_empty() {
        return Err(CommandError::new(Kind::Usage, "only paths can be verified")
            .hint("`endow verify` tries the network and system calls, too"));
    }
    let text = questions::write(paths.iter().copied());
    let said = helper::run(planned, Task::Probe(&text))?;
    questions::read(&said, paths.len()).map(|(answers, _)| answers)
}

impl Told {
    /// Where the kernel was asked it has the word, and an answer that it does not give is none to rely on.
    fn is_allowed(&self) -> bool {
        self.verified.as_ref().map_or(self.answer.answer == Verdict::Allowed, |kernel| {
            kernel.agrees && kernel.errno.is_none()
        })
    }
}

impl Verified {
    fn new(number: i32, answer: &Answer) -> Self {
        let expected = answer.errno.map_or(0, Refusal::number);
        Self {
            errno: questions::errno(number),
            agrees: number == expected || answer.answer == Verdict::Unknown,
        }
    }
}

fn text(told: &Told) -> String {
    let answer = &told.answer;
    let operation = answer.operation.map(|operation| format!("{} ", operation.word()));
    let errno = answer.errno.map(|errno| format!(" ({errno})")).unwrap_or_default();
    let subject = format!("{}{}", operation.unwrap_or_default(), answer.subject);
    let mut lines = vec![format!("{}: {}{errno}\n", answer.answer.words(), printable(&subject))];
    let mut line = |word: &str, value: &Option<String>| {
        if let Some(value) = value {
            lines.push(format!("  {word:<9}{}\n", printable(value)));
        }
    };
    line("leads to", &answer.leads_to);
    line("because", &Some(answer.reason.clone()));
    line("rule", &answer.rule);
    let layers: Vec<&str> = answer.layers.iter().map(|layer| layer.word()).collect();
    line("kept by", &(!layers.is_empty()).then(|| layers.join(", ")));
    let word = if answer.answer == Verdict::Allowed { "forbid" } else { "allow" };
    line(word, &answer.remedy);
    line("danger", &told.danger);
    let kernel = told.verified.as_ref().map(|verified| {
        let said = verified.errno.as_deref().unwrap_or("it works");
        format!(
            "{said}, {}",
            if verified.agrees {
                "as answered"
            } else {
                "which is not what was answered: please report it"
            }
        )
    });
    line("kernel", &kernel);
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_that_was_asked_decides() {
        let (works, denied) = (0, Refusal::Denied.number());
        for (answer, refusal, said, is_allowed) in [
            (Verdict::Allowed, None, None, true),
            (Verdict::Denied, Some(Refusal::Denied), None, false),
            (Verdict::Unknown, None, None, false),
            (Verdict::Allowed, None, Some(works), true),
            (Verdict::Allowed, None, Some(denied), false),
            (Verdict::Denied, Some(Refusal::Denied), Some(denied), false),
            (Verdict::Denied, Some(Refusal::Denied), Some(works), false),
            (Verdict::Unknown, None, Some(works), true),
            (Verdict::Unknown, None, Some(denied), false),
        ] {
            let answer = Answer {
                subject: "x".to_owned(),
                operation: Some(Operation::Read),
                answer,
                errno: refusal,
                leads_to: None,
                reason: String::new(),
                rule: None,
                layers: Vec::new(),
                remedy: None,
            };
            let verified = said.map(|said| Verified::new(said, &answer));
            let told = Told { answer, danger: None, verified };
            assert_eq!(told.is_allowed(), is_allowed, "{told:?}");
        }
    }
}
