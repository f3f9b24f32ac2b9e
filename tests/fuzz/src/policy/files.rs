//! Policy files.

use endow_policy::{Diagnostic, FileKind, HostPath, PolicyText, parse};

use super::{resolved, vars};

const KINDS: &[FileKind] =
    &[FileKind::User, FileKind::Project, FileKind::Explicit, FileKind::Profile];

/// What is wrong with a file is said with its place; what is accepted means something.
pub(super) fn files(door: u8, input: &[u8]) {
    let kind = KINDS[usize::from(door >> 3) % KINDS.len()];
    let directory = HostPath::new("/home/u/app").expect("an absolute path");
    let read =
        |text| parse(PolicyText { name: "p.toml", kind, directory: Some(directory.clone()), text });
    // Most inputs are no file of a version: what is behind that needs it.
    let with_version = [b"version = 1\n", input].concat();
    let text = if door & 7 == 3 { input } else { &with_version };
    match read(text) {
        Ok(file) => {
            assert_eq!(read(text).as_ref(), Ok(&file));
            resolved(file, &vars());
        }
        Err(error) => {
            assert!(!error.problems.is_empty() && error.file == "p.toml");
            assert!(error.problems.is_sorted_by_key(|problem| problem.span.start));
            error.problems.iter().for_each(|problem| assert_place(problem, text));
        }
    }
}

/// The place is in the text, and line and column are those of its beginning.
fn assert_place(problem: &Diagnostic, text: &[u8]) {
    let Diagnostic { line, column, span, message, .. } = problem;
    assert!(span.start <= span.end && span.end <= text.len(), "{problem:?}");
    let lines: Vec<&[u8]> = text[..span.start].split(|byte| *byte == b'\n').collect();
    let last = String::from_utf8_lossy(lines[lines.len() - 1]).into_owned();
    assert_eq!((*line, *column), (lines.len(), last.chars().count() + 1));
    assert!(!message.is_empty() && !message.ends_with('.'), "{message:?}");
    assert!(problem.hint.as_ref().is_none_or(|hint| !hint.is_empty()));
}
