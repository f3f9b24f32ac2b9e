//! `endow verify` names the rules that a missing layer breaks.

use serde_json::Value;

use crate::harness::{World, project, said};

fn broken(world: &World, layers: &[&str]) -> Vec<String> {
    let mut command = world.endow(["verify", "--json", "--workspace", "rw"]);
    command.args(layers.iter().flat_map(|layer| ["--test-without", layer]));
    let said = said(&mut command);
    let told: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
    let rules = told["rules"].as_array().expect("rules").iter();
    let broken = rules.filter(|rule| rule["holds"] == false);
    let broken: Vec<_> =
        broken.map(|rule| rule["rule"].as_str().expect("a rule").to_owned()).collect();
    assert_eq!(said.code, i32::from(!broken.is_empty()), "{said:?}");
    broken
}

#[test]
fn verify_names_the_rules_that_a_missing_layer_breaks() {
    let world = project();
    world.write("home/project/.env", "secret");
    let grant = world.write("only/file", "content");
    let grant = grant.parent().expect("a parent").display().to_string();
    assert_eq!(broken(&world, &[]), Vec::<String>::new());
    let level = "level full".to_owned();
    assert_eq!(broken(&world, &["landlock"]), ["level full"]);
    // The cover of a hidden name is a file that nobody may read: a capability may.
    let hidden = "deny .env (profile base)".to_owned();
    assert_eq!(broken(&world, &["capabilities"]), [hidden, level.clone()]);
    let network = broken(&world, &["landlock", "network-namespace"]);
    assert_eq!(network, ["network = none".to_owned(), level.clone()]);
    let calls = broken(&world, &["seccomp"]);
    assert!(calls.len() == 13 && calls.contains(&level), "{calls:?}");
    assert!(calls.iter().all(|it| it.starts_with("calls ") || *it == level), "{calls:?}");
    let hidden = broken(&world, &["hidden"]);
    assert!(hidden.iter().any(|it| it.starts_with("deny .env ")), "{hidden:?}");
    let file =
        world.write("policy.toml", &format!("version = 1\n[mounts]\n\"{grant}\" = \"ro\"\n"));
    let mut command = world.endow(["verify", "--quiet", "--workspace", "rw", "-p"]);
    command.arg(file);
    for layer in ["landlock", "mount-flags"] {
        command.args(["--test-without", layer]);
    }
    let said = said(&mut command);
    said.fails(1);
    let line = format!("broken  mount {grant} ro ");
    assert!(said.stdout.lines().any(|it| it.starts_with(&line)), "{said:?}");
}
