//! Machines that lack a layer, or have what few have: `cargo ci kernels` boots them. On any other
//! machine these tests say that they are for another.

mod apparmor;
mod delegated;
mod landlock_off;
mod userns_off;

use serde_json::Value;

use crate::harness::{World, said};

/// Returns what `endow doctor` says, and its exit code.
fn diagnosis(world: &World) -> (i32, Value) {
    let said = said(&mut world.endow(["doctor", "--json"]));
    let value = serde_json::from_str(&said.stdout);
    (said.code, value.unwrap_or_else(|_| panic!("no JSON: {said:?}")))
}

/// Returns the findings of a name, as `status: detail (remedy)`.
fn findings(diagnosis: &Value, name: &str) -> Vec<String> {
    let checks = diagnosis["checks"].as_array().expect("checks");
    let wanted = checks.iter().filter(|check| check["name"] == name);
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    wanted
        .map(|it| {
            let [status, detail, remedy] = ["status", "detail", "remedy"].map(|key| text(&it[key]));
            format!("{status}: {detail} ({remedy})")
        })
        .collect()
}

/// Asserts that nothing starts with these options, and returns the message.
#[track_caller]
fn refused(world: &World, options: &[&str]) -> String {
    let options = [&["run", "--workspace", "rw"], options].concat();
    let said = world.run(&options, "echo started >marker");
    assert!(!world.project().join("marker").exists(), "{said:?}");
    world.assert_no_run_left();
    said.fails(122).to_owned()
}

fn switch(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}
