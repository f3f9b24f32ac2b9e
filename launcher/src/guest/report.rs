//! Tells what a process of a sandbox is: `endow doctor`.

use std::fs::{self, File};
use std::io::{self, Write};

use rustix::thread::SecureComputingMode;

/// Lines of `/proc/self/status` that say what the kernel holds this process to.
const KEPT: [&str; 9] =
    ["Uid", "Gid", "Groups", "CapPrm", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "NSpid"];

/// Writes what this process sees of itself, one `name value` a line.
pub(super) fn run(answers: &mut File) -> io::Result<()> {
    let mut said = Vec::new();
    // At level `landlock` nobody's status can be read.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_else(|_| asked());
    for line in status.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        if KEPT.contains(&name) {
            let value: Vec<&str> = value.split_ascii_whitespace().collect();
            said.push(format!("{name} {}\n", value.join(" ")));
        }
    }
    said.push(format!("Landlock {}\n", super::layers::layers_by_trying()));
    said.push(format!("Root {}\n", names("/").join(" ")));
    answers.write_all(said.concat().as_bytes())
}

/// What the kernel tells a process of itself without a file, in the same words.
fn asked() -> String {
    let held = rustix::thread::capabilities(None);
    let [permitted, effective] =
        held.map_or([u64::MAX; 2], |it| [it.permitted.bits(), it.effective.bits()]);
    let privileges = u32::from(rustix::thread::no_new_privs().unwrap_or(false));
    let filtered = rustix::thread::secure_computing_mode();
    let mode = if matches!(filtered, Ok(SecureComputingMode::Filter)) { 2 } else { 0 };
    format!(
        "CapPrm: {permitted:016x}\nCapEff: {effective:016x}\nNoNewPrivs: {privileges}\nSeccomp: {mode}\n"
    )
}

fn names(path: &str) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
