//! The policy that a project starts with: what its files say about its tools, and the usual further
//! grants as lines that wait to be uncommented.
//!
//! A line of explanation begins with `# `, one that waits with `#` and no blank.

use std::fmt::Write;

use crate::Registry;

/// A tool that builds projects, and the files by which one is known.
#[derive(Debug)]
struct Tool {
    profile: &'static str,
    registry: Option<Registry>,
    files: &'static [&'static str],
}

const TOOLS: &[Tool] = &[
    Tool { profile: "rust", registry: Some(Registry::Cargo), files: &["Cargo.toml"] },
    Tool { profile: "node", registry: Some(Registry::Npm), files: &["package.json"] },
    Tool {
        profile: "python",
        registry: Some(Registry::Pip),
        files: &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"],
    },
    Tool { profile: "go", registry: Some(Registry::Go), files: &["go.mod", "go.work"] },
    Tool {
        profile: "jvm",
        registry: None,
        files: &[
            "pom.xml",
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            "settings.gradle.kts",
            "build.sbt",
            "ivy.xml",
        ],
    },
    Tool { profile: "git", registry: None, files: &[".git"] },
];

/// A policy for a project to start with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starter {
    /// The file, which grants no more than its profiles do.
    pub text: String,
    /// The profiles that it extends.
    pub profiles: Vec<&'static str>,
}

/// Returns the policy to start with for a project in whose root `has` finds these names.
pub fn starter(has: impl Fn(&str) -> bool) -> Starter {
    let known = |tool: &&'static Tool| tool.files.iter().any(|file| has(file));
    let mut tools: Vec<&'static Tool> = TOOLS.iter().filter(known).collect();
    // Every other profile extends that of git.
    if tools.len() > 1 {
        tools.retain(|tool| tool.profile != "git");
    }
    let reasons = tools.iter().flat_map(|tool| tool.files.iter().filter(|file| has(file)));
    let reasons: Vec<&str> = reasons.copied().collect();
    let registries = tools.iter().filter_map(|tool| tool.registry).collect::<Vec<_>>();
    let profiles: Vec<&str> = tools.iter().map(|tool| tool.profile).collect();
    let text = [HEAD, &extended(&profiles, &reasons), PLACES, &network(&registries), REST].concat();
    Starter { text, profiles }
}

const HEAD: &str = r"# What a command of this project may see and do, for endow. This file is read by `endow -- COMMAND`
# in this directory, and in a git work tree anywhere below it. A line that begins with `#` and no
# blank grants or narrows more once that is taken away. After a change: `endow check`, then
# `endow trust`.
version = 1

";

fn extended(profiles: &[&str], reasons: &[&str]) -> String {
    if profiles.is_empty() {
        return String::from(
            "# Profiles of the tools used here: `endow profile list`.\n#extends = [\"git\"]\n",
        );
    }
    let reasons = reasons.join(", ");
    format!(
        "# Their caches, and nothing that they could poison; because of: {reasons}\n\
         # See `endow profile show {}`.\nextends = {}\n",
        profiles.first().copied().unwrap_or_default(),
        list(profiles),
    )
}

const PLACES: &str = r#"
[workspace]
# Left out, agents work on the files themselves, which `endow undo` takes back, and what all others
# write is written back when they end. "cow": the latter for all; "rw": the former; "ro": nobody writes.
#access = "cow"

[mounts]
# More of this machine: PATH = "ro", "cow" (written back at the end) or "rw" (live).
#"~/data" = { access = "ro", optional = true }
# Room that is gone at the end.
#"/scratch" = { memory = true, size = "256M" }

[deny]
# Names that no command here sees, besides `.env`, `*.pem` and the like, which it never does.
#patterns = ["**/secrets/**"]

[protect]
# Names that somebody runs later, besides hooks, editors' tasks and the like: a change waits for you.
#names = ["Makefile"]
"#;

fn network(registries: &[Registry]) -> String {
    let mut text = String::from(
        "\n[network]\n# Without an entry there is no network. `registry:TOOL` is where your own settings of the tool\n\
         # lead to; others are HOST or HOST:PORT, and `*.HOST` for all below one.\n",
    );
    let words: Vec<String> =
        registries.iter().map(|it| format!("registry:{}", it.word())).collect();
    let words: Vec<&str> = match words.as_slice() {
        [] => vec!["api.example.com"],
        words => words.iter().map(String::as_str).collect(),
    };
    // A string takes every write.
    let _ = writeln!(text, "#allow = {}", list(&words));
    text
}

const REST: &str = r#"
[env]
# Variables of yours that a command gets, besides HOME, PATH, LANG and the like.
#pass = ["DATABASE_URL"]

[limits]
#timeout = "30m"
"#;

fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    format!("[{}]", quoted.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileKind, PolicyText, builtin, parse};

    fn parses(text: &str) -> crate::PolicyFile {
        let source = PolicyText {
            name: "endow.toml",
            kind: FileKind::Project,
            directory: None,
            text: text.as_bytes(),
        };
        parse(source).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
    }

    /// Every line that waits is taken in.
    fn uncommented(text: &str) -> String {
        let line = |line: &str| match line.strip_prefix('#') {
            Some(rest) if !rest.starts_with(' ') => format!("{rest}\n"),
            _ => format!("{line}\n"),
        };
        text.lines().map(line).collect()
    }

    #[test]
    fn every_starter_is_a_policy_with_all_that_waits() {
        for tool in TOOLS {
            for file in tool.files {
                let made = starter(|name| name == *file);
                assert_eq!(made.profiles, [tool.profile]);
                assert!(made.text.contains(file));
                assert_eq!(parses(&made.text).extends.len(), 1);
                let whole = parses(&uncommented(&made.text));
                assert!(whole.network.allow.len() == 1 && whole.mounts.len() == 2, "{whole:?}");
            }
        }
    }

    #[test]
    fn unknown_project_grants_nothing_yet() {
        let made = starter(|_| false);
        assert!(made.profiles.is_empty());
        let file = parses(&made.text);
        assert!(file.extends.is_empty() && file.mounts.is_empty());
        assert_eq!(parses(&uncommented(&made.text)).extends.len(), 1);
    }

    #[test]
    fn several_tools_are_named_once_each() {
        let made =
            starter(|name| ["package.json", "setup.py", "setup.cfg", ".git"].contains(&name));
        assert_eq!(made.profiles, ["node", "python"]);
        assert!(made.text.contains("because of: package.json, setup.py, setup.cfg\n"));
        assert!(made.text.contains("#allow = [\"registry:npm\", \"registry:pip\"]\n"));
        for name in made.profiles {
            assert!(builtin::text(name).is_some(), "{name}");
        }
    }
}
