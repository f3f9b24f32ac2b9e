//! The processes of `endow build` outside of its sandboxes.

use std::fs;
use std::path::Path;

use crate::harness::{Project, Running, soon};

/// The name of what makes first processes, and of those before they are ready.
const FORK_SERVER: &str = "endow-fork";
/// The name of a first process with a command.
const INIT: &str = "endow-init";

/// Actions one after another, of which each takes so long.
fn project(seconds: &[&str]) -> Project {
    let action = |(number, seconds): (usize, &&str)| {
        let needs = if number == 0 { String::new() } else { format!("\"a{}\"", number - 1) };
        format!(
            "[[action]]\nname = \"a{number}\"\nneeds = [{needs}]\noutputs = [\"out{number}\"]\n\
             command = [\"sh\", \"-c\", \"echo {number} | tee out{number}; sleep {seconds}\"]\n"
        )
    };
    Project::new(&seconds.iter().enumerate().map(action).collect::<String>())
}

fn children(of: i32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

fn name(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

fn link(pid: i32, path: &str) -> String {
    let link = fs::read_link(Path::new("/proc").join(pid.to_string()).join(path));
    link.map(|to| to.display().to_string()).unwrap_or_default()
}

/// What a process has open.
fn open(pid: i32) -> Vec<String> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|it| it.file_name().into_string().ok());
    numbers.map(|number| link(pid, &format!("fd/{number}"))).collect()
}

/// A worker whose action runs, with what makes its first processes, and the next of these.
struct Worker {
    pid: i32,
    server: i32,
    next: i32,
}

impl Worker {
    /// Waits until a sandbox is ready while another one is used, from when it `is_time` on.
    #[track_caller]
    fn of(build: &Running, is_time: impl Fn() -> bool) -> Self {
        let mut found = None;
        soon("a sandbox is ready while another one is used", || {
            found = is_time().then(|| Self::find(build.pid())).flatten();
            found.is_some()
        });
        found.expect("found")
    }

    /// Finds the one of a build that executes one action after another.
    fn find(build: i32) -> Option<Self> {
        let runs = |it: &i32| children(*it).into_iter().any(|child| name(child) == INIT);
        let pid = children(build).into_iter().find(runs)?;
        let outside = |it: &i32| link(*it, "ns/pid") == link(pid, "ns/pid");
        let forked = children(pid).into_iter().filter(|child| name(*child) == FORK_SERVER);
        let (servers, next): (Vec<i32>, Vec<i32>) = forked.partition(outside);
        match (servers.as_slice(), next.as_slice()) {
            (&[server], &[next]) => Some(Self { pid, server, next }),
            _ => None,
        }
    }
}

#[test]
fn next_first_process_holds_nothing_of_the_sandbox_before_it() {
    let project = project(&["0", "0", "60"]);
    let build = Running::start(&mut project.world.endow(["build", "-j1"]));
    let worker = Worker::of(&build, || project.path("out1").exists());
    let of_sandboxes = |pid: i32| {
        let kinds = ["user:[", "mnt:[", "net:[", "anon_inode:[pidfd]", "pidfd:["];
        let open = open(pid);
        assert!(open.len() >= 4, "{open:?}");
        open.into_iter().filter(|it| kinds.iter().any(|kind| it.starts_with(kind))).count()
    };
    assert!(of_sandboxes(worker.pid) >= 4, "control: {:?}", open(worker.pid));
    // While it makes one it has what that one gets.
    let networks = || open(worker.server).iter().filter(|it| it.starts_with("net:[")).count();
    let rest = || open(worker.server).len().checked_sub(networks());
    soon("it has three streams and the way to its worker", || rest() == Some(4));
    assert_eq!(of_sandboxes(worker.server), networks(), "{:?}", open(worker.server));
    soon("the next one has left those behind", || of_sandboxes(worker.next) == 0);
    let used = children(worker.pid).into_iter().find(|it| name(*it) == INIT).expect("it runs");
    let network = |pid: &i32| link(*pid, "ns/net");
    // Nobody may look at the command before it has begun.
    let of_command = || children(used).first().map(network).unwrap_or_default();
    soon("the command has begun", || !of_command().is_empty());
    let (outside, used, next) = (network(&worker.pid), of_command(), network(&worker.next));
    assert!(!outside.is_empty() && !used.is_empty() && !next.is_empty(), "{outside} {used} {next}");
    assert!(next != used && next != outside && used != outside, "{outside} {used} {next}");
}

/// The first process that is ready is that of the next action, at whatever numbers this one has its descriptors.
#[test]
fn next_action_has_the_first_process_that_is_ready() {
    let project = project(&["0", "1", "60"]);
    for descriptors in [0, 300] {
        let mut build = project.world.command("bash");
        let opened = "for it in $(seq 10 $((10 + $1))); do eval \"exec $it</dev/null\"; done";
        build.args(["-c", &format!("{opened}; shift; exec \"$@\""), "bash"]);
        build.arg(descriptors.to_string()).arg(crate::harness::endow());
        let build = Running::start(build.args(["build", "--no-cache", "-j1"]));
        let worker = Worker::of(&build, || true);
        let is_used = || name(worker.next) == INIT;
        soon("it is the next one", is_used);
    }
}

#[test]
fn build_goes_on_without_what_makes_first_processes() {
    let project = project(&["0", "1", "0", "0"]);
    let mut build = Running::start(&mut project.world.endow(["build", "-j1"]));
    let worker = Worker::of(&build, || true);
    crate::harness::send(libc::SIGKILL, worker.server);
    soon("it is gone", || open(worker.server).is_empty());
    assert_eq!(build.end(), 0);
    for number in 0..4 {
        assert_eq!(project.read(&format!("out{number}")), format!("{number}\n"));
    }
}

/// Nothing of a worker outlives the build, however that ends.
#[test]
fn what_makes_first_processes_ends_with_the_build() {
    let project = project(&["0", "60"]);
    let build = Running::start(&mut project.world.endow(["build", "-j1"]));
    let worker = Worker::of(&build, || true);
    build.signal(libc::SIGKILL);
    for pid in [worker.pid, worker.server, worker.next] {
        soon("nothing is left", || !Path::new(&format!("/proc/{pid}")).exists());
    }
}
