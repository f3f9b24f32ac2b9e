//! Functions fit on a screen.

use super::tree::{Complaint, File, Tree};

/// Lines of code, without blank lines and comments.
const LIMIT: usize = 70;

/// No function has more than [`LIMIT`] lines of code.
pub(super) fn are_short(tree: &Tree) -> Vec<Complaint> {
    tree.rust().flat_map(long_functions).collect()
}

fn long_functions(file: &File) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (start, _) in file.code.match_indices("fn ") {
        let boundary = file.code[..start].ends_with(|c: char| c.is_whitespace() || c == '(');
        if start > 0 && !boundary {
            continue;
        }
        let lines =
            body(&file.code[start..]).lines().filter(|line| !line.trim().is_empty()).count();
        if lines > LIMIT {
            let message = format!("a function of {lines} lines; the limit is {LIMIT}");
            complaints.push(file.complain(start, message));
        }
    }
    complaints
}

/// From the opening brace of a function to its end; empty for a declaration.
fn body(code: &str) -> &str {
    let Some(open) = code.find(['{', ';']) else { return "" };
    if code[open..].starts_with(';') && !inside_brackets(&code[..open]) {
        return "";
    }
    let Some(open) = code.find('{') else { return "" };
    let mut depth = 0_usize;
    for (at, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &code[open..=open + at];
        }
    }
    &code[open..]
}

/// A `;` in an array type does not end a declaration.
fn inside_brackets(code: &str) -> bool {
    code.matches(['(', '[']).count() > code.matches([')', ']']).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> usize {
        are_short(&Tree::of(&[("a/src/x.rs", text)])).len()
    }

    #[test]
    fn a_long_function_is_found() {
        let long = format!("fn f() {{\n{}}}\n", "    g();\n".repeat(LIMIT));
        assert_eq!(complaints(&long), 1);
        assert_eq!(complaints(&format!("pub(crate) {long}")), 1);
        assert_eq!(complaints(&long.replace("f()", "f(x: [u8; 4])")), 1);
    }

    #[test]
    fn comments_and_declarations_do_not_count() {
        let commented = format!("fn f() {{\n{}}}\n", "    // why\n\n".repeat(LIMIT));
        assert_eq!(complaints(&commented), 0);
        let declared =
            format!("trait T {{ fn f(&self); }}\nmod m {{\n{}}}", "use x;\n".repeat(LIMIT));
        assert_eq!(complaints(&declared), 0);
    }
}
