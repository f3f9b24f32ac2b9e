//! `endow build --verify`: what it says of the sandboxes of actions is what the kernel does.

use std::fs;

use serde_json::Value;

use crate::harness::{Project, Said};
use crate::run_root::tree;

/// Three actions, of which two have sandboxes with the same rules, and one sees what another leaves.
const ACTIONS: &str = r#"
[[action]]
name = "one"
command = ["sh", "-c", "touch executed >out"]
inputs = ["in"]
outputs = ["out"]

[[action]]
name = "two"
command = ["false"]
inputs = ["in"]
needs = ["one"]

[[action]]
name = "three"
command = ["false"]
inputs = ["in"]
env = { A = "b" }
"#;

/// What came of one call.
struct Verified {
    said: Said,
    told: Value,
}

impl Verified {
    fn of(project: &Project, options: &[&str]) -> Self {
        let said = project.build(&[&["--verify", "--json"], options].concat());
        let told = serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
        Self { said, told }
    }

    fn sandboxes(&self) -> &Vec<Value> {
        self.told["sandboxes"].as_array().expect("sandboxes")
    }

    /// Returns the names of the rules of a sandbox that hold, or that do not.
    fn rules(&self, sandbox: usize, holds: bool) -> Vec<&str> {
        let rules = self.sandboxes()[sandbox]["rules"].as_array().expect("rules").iter();
        let rules = rules.filter(|rule| rule["holds"] == holds);
        rules.map(|rule| rule["rule"].as_str().expect("a rule")).collect()
    }

    #[track_caller]
    fn is_fine(&self) {
        assert_eq!(
            (self.said.code, &self.told["holds"]),
            (0, &Value::Bool(true)),
            "{:?}",
            self.said
        );
        for sandbox in 0..self.sandboxes().len() {
            assert_eq!(self.rules(sandbox, false), [""; 0]);
            assert!(self.rules(sandbox, true).len() > 15, "{:?}", self.said);
        }
    }
}

#[test]
fn sandboxes_of_actions_hold_and_nothing_is_executed() {
    let project = Project::new(ACTIONS);
    project.write("in", "x\n");
    let verified = Verified::of(&project, &[]);
    verified.is_fine();
    let actions = |it: &Value| it["actions"].to_string();
    let sandboxes: Vec<String> = verified.sandboxes().iter().map(actions).collect();
    assert_eq!(sandboxes, ["[\"one\",\"two\"]", "[\"three\"]"]);
    let rules = verified.rules(0, true).join("\n");
    for rule in ["mount /build cow", "mount /usr ro", "network = none", "calls bpf", "level full"] {
        assert!(rules.contains(rule), "{rule}: {rules}");
    }
    assert!(!project.path("out").exists() && !project.path("executed").exists());
    assert_eq!(fs::read_dir(project.world.project()).expect("a directory").count(), 2);
    project.world.assert_no_run_left();
    let one = Verified::of(&project, &["three"]);
    one.is_fine();
    assert_eq!(one.sandboxes().len(), 1);
    let text = project.build(&["--verify"]);
    assert!(text.ok().starts_with("one and 1 more like it:\nholds "), "{text:?}");
}

#[test]
fn tools_and_a_tree_as_the_root_are_tried_as_well() {
    let project = Project::new("");
    project.write("in", "x\n");
    let tree = tree(&project.world, "");
    let tool = project.world.write("tools/file", "tool\n");
    let tool = tool.parent().expect("a directory").display().to_string();
    let options = ["--input", "in", "--root", &tree, "--tool", &tool, "--", "true"];
    let verified = Verified::of(&project, &options);
    verified.is_fine();
    let rules = verified.rules(0, true).join("\n");
    assert!(rules.contains(&format!("mount {tool} ro")) && rules.contains("mount / ro"), "{rules}");
    assert!(!rules.contains("mount /usr"), "{rules}");
}

#[test]
fn what_can_not_be_built_can_not_be_verified() {
    let project = Project::new("");
    let missing = project.build(&["--verify", "--input", "none", "--", "true"]);
    assert!(missing.fails(120).contains("no such input"), "{missing:?}");
    let both = project.build(&["--verify", "--check", "--", "true"]);
    assert!(both.fails(2).contains("--check"), "{both:?}");
}

#[cfg(feature = "switch-tests")]
mod layers {
    use super::*;

    /// A layer that is taken away is named by its rule.
    #[test]
    fn broken_rules_are_named() {
        let project = Project::new(ACTIONS);
        project.write("in", "x\n");
        for (layer, rule) in [
            ("mount-flags", "mount /run/endow/README made"),
            ("network-namespace", "network = none"),
            ("seccomp", "calls bpf"),
            ("landlock", "level full"),
        ] {
            let mut command = project.world.endow(["build", "--verify", "--quiet"]);
            let said = crate::harness::said(command.env("ENDOW_TEST_WITHOUT", layer));
            assert!(
                said.fails(1).is_empty() && said.stdout.contains(&format!("broken  {rule}")),
                "{layer}: {said:?}"
            );
        }
    }
}
