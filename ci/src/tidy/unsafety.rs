//! `unsafe` stands in one folder, and each block says why it is sound.

use super::tree::{Complaint, File, Tree};

/// The one folder.
const SYS: &str = "launcher/src/sys/";

/// `unsafe` is used below [`SYS`] only.
pub(super) fn only_in_sys(tree: &Tree) -> Vec<Complaint> {
    let outside = tree.rust().filter(|file| !file.path.starts_with(SYS));
    let complain = |file: &File| -> Vec<Complaint> {
        let message = format!("unsafe outside {SYS}");
        uses(file).map(|(at, _)| file.complain(at, message.clone())).collect()
    };
    outside.flat_map(complain).collect()
}

/// Each unsafe block and impl has a `// SAFETY:` comment above it.
pub(super) fn has_safety_comments(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in tree.rust() {
        for (at, next) in uses(file) {
            let needs = next.starts_with('{') || next.starts_with("impl");
            if needs && !is_explained(&file.text[..at]) {
                complaints.push(file.complain(at, "no SAFETY comment above"));
            }
        }
    }
    complaints
}

/// Where the word stands, and the code after it.
fn uses(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    file.code.match_indices("unsafe").filter_map(move |(at, word)| {
        let next = &file.code[at + word.len()..];
        let alone = !file.code[..at].ends_with(is_word) && !next.starts_with(is_word);
        alone.then(|| (at, next.trim_start()))
    })
}

/// Whether the comment lines right above the statement that ends here contain `SAFETY:`.
fn is_explained(before: &str) -> bool {
    let mut lines = before.lines().rev();
    let statement = lines.next().unwrap_or_default();
    if statement.contains("SAFETY:") {
        return true;
    }
    // The block may be the value of a statement that began some lines up.
    lines
        .skip_while(|line| !line.trim_start().starts_with("//") && !ends_statement(line))
        .take_while(|line| line.trim_start().starts_with("//"))
        .any(|line| line.contains("SAFETY:"))
}

fn ends_statement(line: &str) -> bool {
    line.trim().is_empty() || line.trim_end().ends_with([';', '{', '}'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_elsewhere_is_found() {
        let text = "fn f() {\n    // SAFETY: no\n    unsafe { g() }\n}\n";
        let found =
            only_in_sys(&Tree::of(&[("vfs/src/a.rs", text), ("launcher/src/sys/a.rs", text)]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), "vfs/src/a.rs:3: unsafe outside launcher/src/sys/");
    }

    #[test]
    fn words_that_only_contain_it_do_not_count() {
        let text = "#![forbid(unsafe_code)]\n// unsafe\nconst A: &str = \"unsafe\";\n";
        assert!(only_in_sys(&Tree::of(&[("vfs/src/lib.rs", text)])).is_empty());
    }

    #[test]
    fn an_unexplained_block_is_found() {
        let bad = "fn f() {\n    // calls g\n    let x = unsafe { g() };\n}\n";
        let good = "fn f() {\n    // SAFETY: g takes\n    // nothing.\n    let x =\n        unsafe { g() };\n}\n";
        let path = "launcher/src/sys/a.rs";
        assert_eq!(has_safety_comments(&Tree::of(&[(path, bad)])).len(), 1);
        assert!(has_safety_comments(&Tree::of(&[(path, good)])).is_empty());
    }

    #[test]
    fn a_comment_serves_one_block_only() {
        let text = "    // SAFETY: a\n    unsafe { a() };\n    unsafe { b() };\n";
        assert_eq!(has_safety_comments(&Tree::of(&[("launcher/src/sys/a.rs", text)])).len(), 1);
    }
}
