//! What the process itself can do, and when it ends.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use endow_policy::AdapterAnswer;
use rustix::fs::OFlags;

use crate::harness::{Filter, World, ask, eventually, program};

fn proc(filter: &Filter, name: &str) -> String {
    fs::read_to_string(format!("/proc/{}/{name}", filter.child.id())).expect("read")
}

fn status(filter: &Filter, field: &str) -> String {
    let status = proc(filter, "status");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("the field");
    line.trim_start_matches(':').trim().to_owned()
}

#[test]
fn process_ends_with_the_launcher() {
    let world = World::with(&["work"]);
    let mut filter = world.filter(&["work"]);
    let mut client = world.client();
    ask(&mut client, &[11]).expect("answered");
    filter.tell(b"what it does not know", &[]);
    ask(&mut client, &[11]).expect("still answered");
    drop(filter.launcher.take());
    assert_eq!(filter.ended(), Some(0));
    assert!(ask(&mut client, &[11]).is_err());
}

#[test]
fn process_is_hardened() {
    let world = World::with(&["work"]);
    let filter = world.filter(&["work"]);
    let limits = proc(&filter, "limits");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).expect("a limit");
    assert_eq!(core.split_whitespace().skip(4).collect::<Vec<_>>(), ["0", "0", "bytes"]);
    let stat = proc(&filter, "stat");
    let group = stat.rsplit(") ").next().expect("fields").split(' ').nth(2);
    assert_eq!(group, Some(filter.child.id().to_string().as_str()), "a group of its own");
    let ignored = u64::from_str_radix(&status(&filter, "SigIgn"), 16).expect("a number");
    assert_ne!(ignored & 1 << 12, 0, "SIGPIPE");
    assert_eq!(status(&filter, "NoNewPrivs"), "1", "Landlock holds");
    // The kernel gives what it shows of an undumpable process to root.
    let environ = format!("/proc/{}/environ", filter.child.id());
    assert_eq!(fs::metadata(&environ).expect("there").uid(), 0);
    let is_root = fs::metadata("/proc/self").expect("there").uid() == 0;
    assert_eq!(fs::read(&environ).is_ok(), is_root);
}

#[test]
fn process_keeps_no_descriptor_that_it_inherits() {
    let world = World::with(&["work"]);
    let fifo = world.path("fifo");
    world.ok("agent", &["mkfifo", "fifo"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec 9>\"$1\" \"$2\"", "sh"]).arg(&fifo).arg(program().get_program());
    let filter = Filter::start(&mut shell);
    let read = fs::File::open(&fifo).expect("opened by both");
    let text = serde_json::to_vec(&world.order(&["work"])).expect("encoded");
    filter.tell(&text, &[world.listener().as_fd()]);
    assert_eq!(filter.answer(), AdapterAnswer::Ready);
    rustix::fs::fcntl_setfl(&read, OFlags::NONBLOCK).expect("set");
    assert_eq!(rustix::io::read(&read, &mut [0_u8; 1]), Ok(0), "no writer is left");
}

#[test]
fn process_survives_its_agent() {
    let world = World::with(&["work"]);
    let filter = world.filter(&["work"]);
    let mut client = world.client();
    ask(&mut client, &[11]).expect("answered");
    let agent = world.path("agent");
    fs::rename(&agent, world.path("moved")).expect("renamed");
    assert!(ask(&mut world.client(), &[11]).is_err(), "closed without an answer");
    fs::rename(world.path("moved"), &agent).expect("renamed");
    eventually("a new client is served", || ask(&mut world.client(), &[11]).is_ok());
    drop(filter);
}
