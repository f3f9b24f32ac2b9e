//! Makes attacks: one by one, or all of a table by one process where none is in another's way.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

use super::attack::{Attack, Group, NOT_STARTED, Proof, Table, Together, Where};
use super::kinds::Kind;
use super::scene::Scene;
use crate::escape::prober::script;
use crate::harness::{Said, endow, said};

/// The exit code of a run that the host can't enforce.
const NOT_ENFORCED: i32 = 122;

/// What came of the attacks of one process, by name.
type Words = BTreeMap<String, String>;
/// Runs that several tests want to know of: by the table's address.
type Shared = Mutex<BTreeMap<(usize, Where), Arc<OnceLock<Words>>>>;

/// Makes an attack and returns what came of it; what is outside must be unharmed after one inside.
#[track_caller]
pub(super) fn made(table: Table, group: &Group, attack: &Attack, at: Where) -> String {
    let words = if is_together(group, at) {
        let run = shared(table, at);
        run.get_or_init(|| run_all(group, &names(table, at), at)).clone()
    } else {
        run_all(group, &[attack.name], at)
    };
    let of_all = || words.get("").cloned().unwrap_or_default();
    words.get(attack.name).cloned().unwrap_or_else(of_all)
}

fn is_together(group: &Group, at: Where) -> bool {
    match group.together {
        Together::Nowhere => false,
        Together::Inside => matches!(at, Where::Inside(_)),
        Together::Anywhere => true,
    }
}

fn shared(table: Table, at: Where) -> Arc<OnceLock<Words>> {
    static SHARED: Shared = Mutex::new(BTreeMap::new());
    let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    Arc::clone(shared.entry((table.as_ptr().addr(), at)).or_default())
}

/// The attacks that may be made there.
fn names(table: Table, at: Where) -> Vec<&'static str> {
    let there = |it: &&Attack| matches!(at, Where::Inside(_)) || it.control() == Some(at);
    table.iter().filter(there).map(|it| it.name).collect()
}

/// Makes attacks in a scene of their own. Under no name stands what was said when one has no word.
fn run_all(group: &Group, names: &[&str], at: Where) -> Words {
    let scene = Scene::new();
    let said = said(&mut command(group, names, &scene, at));
    let mut words = match group.proof {
        Proof::Said => words(&said.stdout),
        Proof::Left => left(group, names, &scene),
    };
    let of_all = if said.code == NOT_ENFORCED { NOT_STARTED.to_owned() } else { nothing(&said) };
    words.insert(String::new(), of_all);
    if matches!(at, Where::Inside(_)) {
        scene.assert_unharmed();
    }
    words
}

fn nothing(said: &Said) -> String {
    format!("nothing, but {said:?}")
}

/// Looks outside for what was left.
fn left(group: &Group, names: &[&str], scene: &Scene) -> Words {
    let asked: Vec<String> = names.iter().map(|name| format!("left:{name}")).collect();
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    let line = probe(group, &asked, scene, Where::Control);
    let said = said(scene.world().command(&line[0]).args(&line[1..]));
    words(&said.stdout)
}

fn words(said: &str) -> Words {
    let lines = said.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(name, word)| (plain(name), word.trim_end().to_owned())).collect()
}

/// The name of an attempt as that of a test: all but letters and digits is `_`.
fn plain(name: &str) -> String {
    let name = name.strip_prefix("left:").unwrap_or(name);
    name.replace(|it: char| !it.is_ascii_alphanumeric(), "_")
}

fn command(group: &Group, names: &[&str], scene: &Scene, at: Where) -> Command {
    let mut line: Vec<String> = Vec::new();
    if let Some(before) = group.before {
        line.extend(texts(script(before, &[])));
    }
    match at {
        Where::Inside(kind) => line.extend(sandbox(group, kind, scene)),
        Where::OwnNamespaces => line.extend(own_namespaces()),
        Where::Control => {}
    }
    line.extend(probe(group, names, scene, at));
    let mut command = scene.world().command(&line[0]);
    command.args(&line[1..]).env("ROOT", scene.root());
    command
}

/// The command line of the probe, which makes the attacks of these names only.
fn probe(group: &Group, names: &[&str], scene: &Scene, at: Where) -> Vec<String> {
    let about = (group.about)(scene, at);
    let about: Vec<&str> = about.iter().map(String::as_str).collect();
    texts(script(&format!("ONLY = {names:?}\n{}", group.probe), &about))
}

fn texts(line: Vec<std::ffi::OsString>) -> Vec<String> {
    line.into_iter().map(|word| word.into_string().expect("text")).collect()
}

fn sandbox(group: &Group, kind: Kind, scene: &Scene) -> Vec<String> {
    let mut line = vec![endow().display().to_string()];
    line.extend(kind.words(scene));
    line.extend(group.options.iter().map(|word| (*word).to_owned()));
    line.push("--".to_owned());
    line
}

fn own_namespaces() -> Vec<String> {
    ["unshare", "--user", "--map-root-user", "--mount", "--"].map(str::to_owned).to_vec()
}
