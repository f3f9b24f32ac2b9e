//! Builds the test executables and puts them where every user can start them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::place::Place;
use crate::arch::Arch;
use crate::workspace;

/// One test executable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TestBinary {
    /// End-to-end tests come last: a broken unit explains them.
    pub(crate) end_to_end: bool,
    /// Package and target, for people.
    pub(crate) label: String,
    /// The executable.
    pub(crate) path: PathBuf,
    /// The package's directory; tests start in it, as under `cargo test`.
    pub(crate) package: PathBuf,
}

/// What was built.
pub(crate) struct Build {
    /// The test executables, unit tests first.
    pub(crate) tests: Vec<TestBinary>,
    /// The program under test; its helpers lie next to it.
    pub(crate) endow: PathBuf,
    /// The program under test with the switches that take layers away.
    pub(crate) switched: PathBuf,
}

/// The modules of those tests.
pub(crate) const LAYERS: &str = "layers::";

/// Programs that endow looks for where it lies itself.
const HELPERS: &[&str] = &["endow-bridge", "endow-broker", "endow-reapi", "endow-ssh-agent"];

/// All tests, and programs as released: but for the schema of policies, which only tests ask for, and
/// for a feature of the tests' own.
const TESTS: &[&str] =
    &["test", "--no-run", "--features", "endow-policy/schema,endow/switch-tests"];

/// Programs from which a layer can be taken away. What both have in common is built once: where examples are asked for,
/// of which there are none, packages have the features that they have for tests, and not those for programs alone.
const SWITCHED: &[&str] = &[
    "build",
    "--bins",
    "--examples",
    "--exclude=endow-ci",
    "--features=endow-policy/schema,endow/test-switches",
];

impl Build {
    /// Builds everything and copies the executables to `<place>/bin`.
    pub(crate) fn of(place: &Place, arch: Arch) -> Result<Self> {
        let (mut tests, endow) = build(place, arch, "plain", TESTS)?;
        tests.sort();
        let (_, switched) = build(place, arch, "switched", SWITCHED)?;
        Ok(Self { tests, endow, switched })
    }
}

impl TestBinary {
    /// Whether tests of it need switches.
    pub(crate) fn has_layers(&self) -> bool {
        self.label == super::END_TO_END
    }

    /// The names of its tests.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        let mut command = Command::new(&self.path);
        command.args(["--list", "--format=terse"]).current_dir(&self.package).stdin(Stdio::null());
        let output = command.output().with_context(|| format!("{} does not start", self.label))?;
        ensure!(output.status.success(), "{} --list failed", self.label);
        let text = String::from_utf8(output.stdout)?;
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }
}

fn build(
    place: &Place,
    arch: Arch,
    name: &str,
    words: &[&str],
) -> Result<(Vec<TestBinary>, PathBuf)> {
    let messages = cargo(place, arch, words)?;
    let bin = place.bin_dir(name)?;
    let mut tests = Vec::new();
    let mut programs = BTreeMap::new();
    for message in messages.lines() {
        let Some(artifact) = artifact(&serde_json::from_str(message)?) else { continue };
        let copied = bin.join(artifact.path.file_name().context("an executable without a name")?);
        std::fs::copy(&artifact.path, &copied)?;
        match artifact.kind {
            Kind::Program => drop(programs.insert(artifact.name, copied)),
            Kind::Unit => tests.push(artifact.test(copied, false)),
            Kind::EndToEnd => tests.push(artifact.test(copied, true)),
        }
    }
    for helper in HELPERS {
        ensure!(programs.contains_key(*helper), "the build made no program called {helper}");
    }
    let endow = programs.remove("endow").context("the build made no program called endow")?;
    Ok((tests, endow))
}

fn cargo(place: &Place, arch: Arch, words: &[&str]) -> Result<String> {
    let mut cargo = workspace::cargo();
    cargo.current_dir(place.source()).args(words);
    cargo.args(["--workspace", "--locked", "--message-format=json-render-diagnostics"]);
    cargo.arg("--target-dir").arg(place.target());
    arch.aim(&mut cargo);
    let output = cargo.stderr(Stdio::inherit()).output().context("cargo does not start")?;
    ensure!(output.status.success(), "the tests do not build");
    Ok(String::from_utf8(output.stdout)?)
}

enum Kind {
    Program,
    Unit,
    EndToEnd,
}

struct Artifact {
    kind: Kind,
    name: String,
    path: PathBuf,
    package: PathBuf,
}

impl Artifact {
    fn test(&self, path: PathBuf, end_to_end: bool) -> TestBinary {
        let folder = self.package.file_name().unwrap_or_default().to_string_lossy();
        let label = format!("{folder}/{}", self.name);
        TestBinary { end_to_end, label, path, package: self.package.clone() }
    }
}

/// The executable that a message of cargo's announces, if it announces one.
fn artifact(message: &Value) -> Option<Artifact> {
    let path = PathBuf::from(message.get("executable")?.as_str()?);
    let target = message.get("target")?;
    let is =
        |kind: &str| target["kind"].as_array().is_some_and(|kinds| kinds.contains(&kind.into()));
    let tested = message["profile"]["test"].as_bool()?;
    let kind = match (tested, is("test")) {
        (false, _) => Kind::Program,
        (true, false) => Kind::Unit,
        (true, true) => Kind::EndToEnd,
    };
    let package = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    Some(Artifact { kind, name: target["name"].as_str()?.to_owned(), path, package })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &str, tested: bool, executable: &Value) -> Value {
        serde_json::json!({
            "reason": "compiler-artifact",
            "manifest_path": "/src/launcher/Cargo.toml",
            "target": { "kind": [kind], "name": "it" },
            "profile": { "test": tested },
            "executable": executable,
        })
    }

    #[test]
    fn artifact_of_an_end_to_end_test() {
        let found = artifact(&message("test", true, &"/t/it-1".into())).expect("an artifact");
        assert!(matches!(found.kind, Kind::EndToEnd));
        assert_eq!(found.test("/t/it-1".into(), true).label, "launcher/it");
        assert_eq!(found.package, Path::new("/src/launcher"));
    }

    #[test]
    fn artifact_of_a_unit_test_and_of_a_program() {
        let unit = artifact(&message("lib", true, &"/t/x".into())).expect("an artifact");
        assert!(matches!(unit.kind, Kind::Unit));
        let program = artifact(&message("bin", false, &"/t/x".into())).expect("an artifact");
        assert!(matches!(program.kind, Kind::Program));
    }

    #[test]
    fn artifact_ignores_what_cannot_be_started() {
        assert!(artifact(&message("lib", false, &Value::Null)).is_none());
        assert!(artifact(&serde_json::json!({ "reason": "build-finished" })).is_none());
    }
}
