//! What a running sandbox holds in memory besides the command.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::rounds::Contestant;
use super::scratch::Scratch;
use super::view::View;

/// A process of a run.
#[derive(Debug)]
struct Process {
    name: String,
    resident_kib: u64,
}

/// Starts a sleep under each launcher and reads the launcher's processes.
pub(super) fn run(scratch: &Scratch) -> Result<Value> {
    let mut view = View::system();
    view.rw(&scratch.in_memory("work")?, Path::new("/bench/work"));
    eprintln!("\nresident memory while a command runs, KiB");
    let mut rows = Vec::new();
    for contestant in scratch.contestants(&view)?.1 {
        let processes = processes_of(&contestant)?;
        let own: u64 = processes.iter().map(|process| process.resident_kib).sum();
        let list: Vec<String> = processes
            .iter()
            .map(|process| format!("{} {}", process.name, process.resident_kib))
            .collect();
        eprintln!("{:<16}{own:>10}   {}", contestant.name, list.join(", "));
        rows.push(json!({ "name": contestant.name, "resident_kib": own, "processes": list }));
    }
    Ok(json!({ "title": "resident memory", "series": rows }))
}

fn processes_of(contestant: &Contestant) -> Result<Vec<Process>> {
    let mut child = contestant.command(&["/usr/bin/sleep", "60"]).spawn()?;
    let found = wait_for_sleep(&child);
    child.kill()?;
    child.wait()?;
    found
}

fn wait_for_sleep(child: &Child) -> Result<Vec<Process>> {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        let (asleep, own): (Vec<_>, Vec<_>) =
            family(child.id())?.into_iter().partition(|process| process.name == "sleep");
        if !asleep.is_empty() {
            return Ok(own);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    bail!("the command does not start")
}

/// A process and all that descend from it.
fn family(root: u32) -> Result<Vec<Process>> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc").context("no /proc")? {
        let path = entry?.path().join("status");
        let Ok(status) = fs::read_to_string(path) else { continue };
        all.extend(parse_status(&status));
    }
    let mut members = vec![root];
    let mut at = 0;
    while let Some(parent) = members.get(at).copied() {
        members.extend(all.iter().filter(|(_, of, _)| *of == parent).map(|(pid, _, _)| *pid));
        at += 1;
    }
    let is_member =
        |(pid, _, process): (u32, u32, Process)| members.contains(&pid).then_some(process);
    Ok(all.into_iter().filter_map(is_member).collect())
}

/// Process id, parent's id and the process.
fn parse_status(status: &str) -> Option<(u32, u32, Process)> {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|line| line.split_whitespace().next())
    };
    let resident_kib = field("VmRSS").and_then(|value| value.parse().ok()).unwrap_or(0);
    let process = Process { name: field("Name")?.to_owned(), resident_kib };
    Some((field("Pid")?.parse().ok()?, field("PPid")?.parse().ok()?, process))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_parsed() {
        let text = "Name:\tsleep\nTgid:\t7\nPid:\t7\nPPid:\t3\nVmRSS:\t    1234 kB\n";
        let (pid, parent, process) = parse_status(text).expect("a status");
        assert_eq!((pid, parent, process.resident_kib), (7, 3, 1234));
        assert_eq!(process.name, "sleep");
    }

    #[test]
    fn a_launcher_that_executes_its_command_holds_nothing() {
        let env = Contestant::new("env", vec!["/usr/bin/env".to_owned()]);
        assert!(processes_of(&env).expect("a sleep").is_empty());
    }
}
