//! Malformed policy files: each is refused, at the right place, with the right words.

use endow_policy::{ComposeError, FileKind, PolicyText, Sources, compose, parse, resolve};

use crate::harness::{files, host, vars};

/// Returns the name and the bytes of every bad file.
pub(crate) fn fixtures() -> Vec<(String, Vec<u8>)> {
    files("bad")
}

/// Renders what is wrong with a file, one line for each problem.
fn complaints(name: &str, text: &[u8]) -> Vec<String> {
    let source = PolicyText { name, kind: FileKind::Explicit, directory: Some(vars().cwd), text };
    let file = match parse(source) {
        Ok(file) => file,
        Err(error) => {
            return error
                .problems
                .iter()
                .map(|problem| {
                    let written = String::from_utf8_lossy(&text[problem.span.clone()]).into_owned();
                    let hint = problem.hint.as_deref().unwrap_or("-");
                    let key = problem.key.as_deref().unwrap_or("-");
                    format!("{problem} | {hint} | {key} | {written:?}")
                })
                .collect();
        }
    };
    let sources = Sources { explicit: Some(file), ..Sources::default() };
    match compose(&sources, &vars()) {
        Ok(composed) => match resolve(&composed, &vars()) {
            Ok(_) => Vec::new(),
            Err(error) => vec![format!("{error} | {}", error.hints().join("; "))],
        },
        Err(ComposeError::UnknownProfile { name, hint, origin }) => {
            vec![format!("{origin}: no such profile: {name} | {hint}")]
        }
        Err(ComposeError::Place { path, origin, source }) => {
            vec![format!("{origin}: path can't be used: {path} | {source}")]
        }
        Err(ComposeError::MountedTwice { at, first, second }) => {
            vec![format!("mounted twice: {at} | {first} {second}")]
        }
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn bad_files_are_refused() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 80, "{}", fixtures.len());
    let mut report = String::new();
    for (name, text) in &fixtures {
        let complaints = complaints(name, text);
        assert!(!complaints.is_empty(), "{name} is accepted");
        report.push_str(&complaints.join("\n"));
        report.push('\n');
    }
    insta::assert_snapshot!("bad_files", report);
}

#[test]
fn bad_files_are_distinct() {
    let mut texts: Vec<_> = fixtures().into_iter().map(|(_, text)| text).collect();
    let count = texts.len();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), count);
}

#[test]
fn bad_files_point_into_the_text() {
    for (name, text) in fixtures() {
        let source = PolicyText {
            name: &name,
            kind: FileKind::Explicit,
            directory: Some(host("/x")),
            text: &text,
        };
        let Err(error) = parse(source) else { continue };
        for problem in error.problems {
            assert!(problem.span.end <= text.len(), "{name}: {problem:?}");
            assert!(problem.line >= 1 && problem.column >= 1, "{name}");
            assert!(problem.message.chars().count() <= 80, "{name}: {}", problem.message);
            assert!(!problem.message.ends_with('.'), "{name}: {}", problem.message);
        }
    }
}

/// Each is small enough for itself: what reads a stranger's file takes neither its memory nor its time.
#[test]
fn many_patterns_are_refused_where_they_are_too_many() {
    let bomb = format!("{}/x", "{a*,b*c}".repeat(9));
    for (list, pattern, last) in [
        ("[deny]\npatterns", bomb.as_str(), 40),
        ("[protect]\nnames", &"*/x".repeat(1000), 1),
        ("[sync]\nonly", &bomb, 40),
        ("[deny]\npatterns", &"{a,b}".repeat(20), 21),
    ] {
        let patterns = format!("{pattern:?},\n").repeat(10_000);
        let text = format!("version = 1\n{list} = [\n{patterns}]\n");
        let source = PolicyText {
            name: "x",
            kind: FileKind::Project,
            directory: None,
            text: text.as_bytes(),
        };
        let problems = parse(source).expect_err("too many").problems;
        let problem = problems.last().expect("one");
        let expected = format!(
            "x:{}:1: patterns up to this one stand for more than 20000, or 1 MiB, in all",
            last + 3
        );
        assert_eq!(problem.to_string(), expected);
        assert!(problems.len() <= last + 1, "{}", problems.len());
    }
}
