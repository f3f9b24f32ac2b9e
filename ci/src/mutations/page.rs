//! The page of the documentation: for each layer, the tests that notice its loss.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result};

use super::Noticed;
use crate::workspace;

const PAGE: &str = "docs/reference/layers.md";
const HEAD: &str = "\
# What each layer is tested by

A build with the feature `test-switches`, which release builds refuse, can take one layer away from a run.
`cargo ci mutations --write` does that to the tests of attacks and to those of single layers, as an ordinary user (as root
where nothing fails for one), and lists what fails then and does not with all layers. Most attacks are refused by more than one
layer: that each of these holds alone is what the tests of `layers` show, in which all others are off.

| layer | what it is | tests that notice its loss |
|---|---|---|
";

/// Writes the page.
pub(super) fn write(all: &[Noticed]) -> Result<()> {
    fs::write(workspace::root().join(PAGE), render(all)).with_context(|| PAGE.to_owned())
}

fn render(all: &[Noticed]) -> String {
    let mut text = String::from(HEAD);
    for Noticed { layer, tests } in all {
        let (word, about) = (&layer.word, &layer.about);
        let _ = writeln!(text, "| [`{word}`](#{word}) | {about} | {} |", tests.len());
    }
    for Noticed { layer, tests } in all {
        let _ = write!(text, "\n## {}\n\n{}", layer.word, by_module(tests));
    }
    text
}

/// The tests of one module on a line.
fn by_module(tests: &BTreeSet<String>) -> String {
    let mut modules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for test in tests {
        let (module, name) = test.rsplit_once("::").unwrap_or(("", test));
        modules.entry(module).or_default().push(name);
    }
    let line = |(module, names): (&str, Vec<&str>)| format!("- `{module}`: {}\n", names.join(", "));
    modules.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::layer::Layer;
    use super::*;

    #[test]
    fn tests_stand_with_their_module() {
        let layer = Layer { word: "seccomp".into(), about: "The filters.".into() };
        let tests = ["a::b::x", "a::b::y", "c::z"].map(str::to_owned).into();
        let text = render(&[Noticed { layer, tests }]);
        assert!(text.contains("| [`seccomp`](#seccomp) | The filters. | 3 |\n"), "{text}");
        assert!(text.ends_with("## seccomp\n\n- `a::b`: x, y\n- `c`: z\n"), "{text}");
    }
}
