//! The layers that a build with the switches can take away, as its source names them.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::workspace;

const SOURCE: &str = "launcher/src/plan/switches/layer.rs";

/// One layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    /// The word by which it is taken away.
    pub(super) word: String,
    /// What it is.
    pub(super) about: String,
}

/// Returns all layers.
pub(super) fn all() -> Result<Vec<Layer>> {
    let source = workspace::root().join(SOURCE);
    let text = fs::read_to_string(&source).with_context(|| format!("no {SOURCE}"))?;
    let layers: Vec<Layer> = text.lines().filter_map(read).collect();
    ensure!(layers.len() > 5, "{SOURCE} names no layers");
    Ok(layers)
}

/// Reads a line such as `Seccomp "seccomp" "The filters.",`.
fn read(line: &str) -> Option<Layer> {
    let rest = line.trim().strip_suffix("\",")?;
    let (name, rest) = rest.split_once(" \"")?;
    let (word, about) = rest.split_once("\" \"")?;
    let is_name = name.chars().all(char::is_alphanumeric);
    is_name.then(|| Layer { word: word.to_owned(), about: about.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_those_of_the_source() {
        let all = all().expect("read");
        let seccomp = all.iter().find(|it| it.word == "seccomp").expect("there");
        assert_eq!(seccomp.about, "The filters of the command and of pid 1.");
        assert!(all.iter().any(|it| it.word == "mount-flags"));
        assert_eq!(read("    $($layer:ident $word:literal $about:literal,)*"), None);
    }
}
