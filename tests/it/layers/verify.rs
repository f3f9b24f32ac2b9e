//! `endow verify` names the rules that a missing layer breaks.

use crate::harness::{World, project, said};
use crate::verify::Verified;

fn broken(world: &World, layers: &[&str]) -> Vec<String> {
    let without = layers.iter().flat_map(|layer| ["--test-without", layer]);
    let verified =
        Verified::of(world, &["--workspace", "rw"].into_iter().chain(without).collect::<Vec<_>>());
    let broken = verified.broken();
    assert_eq!(verified.said.code, i32::from(!broken.is_empty()), "{:?}", verified.said);
    broken.into_iter().map(str::to_owned).collect()
}

#[test]
fn verify_names_the_rules_that_a_missing_layer_breaks() {
    let world = project();
    world.write("home/project/.env", "secret");
    world.bare("git init -q .").ok();
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
    let protected =
        |broken: &[String]| broken.iter().any(|it| it.starts_with("protect **/.git/hooks/**"));
    assert!(protected(&broken(&world, &["landlock", "mount-flags"])));
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
