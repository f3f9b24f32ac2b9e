//! The part of a policy file that is wrong, with the place marked.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use endow_policy::ParseError;

/// Renders each problem with its line.
pub(crate) fn render(error: &ParseError, text: &[u8]) -> String {
    let source = String::from_utf8_lossy(text);
    let problems = error.problems.iter().map(|problem| {
        let end = problem.span.end.min(source.len());
        let start = problem.span.start.min(end);
        let place = format!("{}:{}:{}", problem.file, problem.line, problem.column);
        let annotation = AnnotationKind::Primary.span(start..end).label(&problem.message);
        let snippet = Snippet::source(source.as_ref()).line_start(1).annotation(annotation);
        let title = format!("{place}: {}", problem.message);
        let group = Level::ERROR.primary_title(title.as_str()).element(snippet);
        Renderer::plain().render(&[group])
    });
    problems.collect::<Vec<_>>().join("\n")
}
