//! The part of a policy file that is wrong, with the place marked.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use endow_policy::ParseError;

/// Renders each problem with its line.
pub(crate) fn render(error: &ParseError, text: &[u8]) -> String {
    let source = String::from_utf8_lossy(text);
    let problems = error.problems.iter().map(|problem| {
        let start = place(text, problem.span.start);
        let end = place(text, problem.span.end).max(start);
        let place = format!("{}:{}:{}", problem.file, problem.line, problem.column);
        let annotation = AnnotationKind::Primary.span(start..end).label(&problem.message);
        let snippet = Snippet::source(source.as_ref()).line_start(1).annotation(annotation);
        let title = format!("{place}: {}", problem.message);
        let group = Level::ERROR.primary_title(title.as_str()).element(snippet);
        Renderer::plain().render(&[group])
    });
    problems.collect::<Vec<_>>().join("\n")
}

/// Where a byte of the file is in the text that is shown: bytes that are no text take more room
/// there.
fn place(text: &[u8], byte: usize) -> usize {
    String::from_utf8_lossy(text.get(..byte).unwrap_or(text)).len()
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn places_are_borders_of_characters() {
        for text in [&b"caf\xe9\n"[..], "café\n".as_bytes(), b"\xff\xff\xff", b""] {
            let shown = String::from_utf8_lossy(text);
            for byte in 0..=text.len() + 1 {
                let cut = std::str::from_utf8(text.get(..byte).unwrap_or(text));
                let inside = cut.is_err_and(|error| error.error_len().is_none());
                let place = place(text, byte);
                assert!(inside || shown.is_char_boundary(place), "{text:?} at {byte}");
            }
        }
    }
}
