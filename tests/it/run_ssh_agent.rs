//! Keys of the user's ssh-agent: chosen ones can be used, and nothing else of it.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::harness::{
    Running, Said, World, copy_of_endow, debian_program, project, said, send, soon,
};

const KILL: i32 = 9;
/// What the kernel calls the filter.
const FILTER: &str = "endow-ssh-agent\n";
/// Signs a message with a key that only the agent has.
const SIGN: &str = "echo hi >m; rm -f m.sig; ssh-keygen -q -Y sign -n file -f KEY.pub m";

/// A project and an agent with the keys `work` and `home`, whose public halves lie in the project.
struct Agent {
    world: World,
    process: Child,
}

impl Agent {
    /// Starts it; `None` where OpenSSH is not installed.
    fn start() -> Option<Self> {
        let ssh_agent = debian_program("ssh-agent")?;
        debian_program("ssh-add").and(debian_program("ssh-keygen"))?;
        let world = project();
        let mut command = world.command(ssh_agent);
        command.arg("-D").arg("-a").arg(world.root().join("agent"));
        let process = command.stdout(Stdio::null()).spawn().expect("it starts");
        let this = Self { world, process };
        soon("the agent listens", || UnixStream::connect(this.socket()).is_ok());
        for key in ["work", "home"] {
            let make = format!("ssh-keygen -q -t ed25519 -N '' -C {key} -f ../{key}");
            this.outside(&format!("{make} && ssh-add -q ../{key} && mv ../{key}.pub .")).ok();
        }
        Some(this)
    }

    fn socket(&self) -> PathBuf {
        self.world.root().join("agent")
    }

    /// Runs a script of the shell beside the agent.
    fn outside(&self, script: &str) -> Said {
        said(self.world.command("sh").args(["-c", script]).env("SSH_AUTH_SOCK", self.socket()))
    }

    /// Returns `endow run` with options, a script and the agent.
    fn command(&self, options: &[&str], script: &str) -> Command {
        let mut endow = self.world.endow(["run"]);
        endow.args(options).args(["--", "sh", "-c", script]).env("SSH_AUTH_SOCK", self.socket());
        endow
    }

    fn run(&self, options: &[&str], script: &str) -> Said {
        said(&mut self.command(options, script))
    }

    /// Runs a script with a policy file.
    fn run_by(&self, policy: &str, script: &str) -> Said {
        let policy = self.world.write("policy.toml", &format!("version = 1\n{policy}\n"));
        self.run(&["-p", policy.to_str().expect("text")], script)
    }

    /// Returns the comments of the keys that a script lists.
    fn keys(&self, options: &[&str], script: &str) -> Vec<String> {
        comments(self.run(options, script).ok())
    }

    fn fingerprint(&self, key: &str) -> String {
        let line = self.outside(&format!("ssh-keygen -l -f {key}.pub"));
        line.ok().split_whitespace().nth(1).expect("a fingerprint").to_owned()
    }

    fn assert_unchanged(&self) {
        assert_eq!(comments(self.outside("ssh-add -l").ok()), ["work", "home"]);
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Returns the comments in what `ssh-add -l` prints.
fn comments(list: &str) -> Vec<String> {
    let comment = |line: &str| line.split_whitespace().nth(2).expect("a comment").to_owned();
    list.lines().map(comment).collect()
}

fn sign(key: &str) -> String {
    SIGN.replace("KEY", key)
}

/// Returns the processes of the filter that a process has started.
fn filters(parent: i32) -> Vec<i32> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    let children = children.expect("alive");
    let numbers = children.split_whitespace().filter_map(|number| number.parse().ok());
    numbers.filter(|pid| is_filter(*pid)).collect()
}

fn is_filter(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == FILTER)
}

#[test]
fn only_chosen_keys_are_listed() {
    let Some(agent) = Agent::start() else { return };
    let work = agent.fingerprint("work");
    for (keys, seen) in [
        (&["work"][..], &["work"][..]),
        (&[work.as_str()], &["work"]),
        (&["home", "work"], &["work", "home"]),
        (&["*"], &["work", "home"]),
        (&["work", "home", "!work"], &["home"]),
    ] {
        let words: Vec<String> = keys.iter().map(|key| format!("ssh-agent:{key}")).collect();
        let options: Vec<&str> = words.iter().flat_map(|word| ["--bridge", word]).collect();
        assert_eq!(agent.keys(&options, "ssh-add -l"), seen, "{keys:?}");
    }
    let policy = format!("[ssh_agent]\nkeys = [\"{work}\"]");
    assert_eq!(comments(agent.run_by(&policy, "ssh-add -l").ok()), ["work"]);
    agent.world.assert_no_run_left();
}

#[test]
fn chosen_key_signs_and_no_other_does() {
    let Some(agent) = Agent::start() else { return };
    let options = ["--bridge", "ssh-agent:work", "--workspace", "rw"];
    agent.run(&options, &sign("work")).ok();
    agent.outside("ssh-keygen -Y check-novalidate -n file -s m.sig <m").ok();
    let refused = agent.run(&options, &sign("home"));
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(!agent.world.project().join("m.sig").exists());
    agent.outside(&sign("home")).ok();
}

#[test]
fn agent_is_not_changed_from_inside() {
    let Some(agent) = Agent::start() else { return };
    let tries = ["ssh-add -D", "ssh-add -d work.pub", "ssh-add -q ~/new", "rm -f $SSH_AUTH_SOCK"];
    let make = "ssh-keygen -q -t ed25519 -N '' -f ~/new";
    let tries = tries.map(|it| format!("{it} 2>/dev/null && echo '{it}'"));
    let script = format!("{make}; {}; ssh-add -l", tries.join("; "));
    assert_eq!(agent.keys(&["--bridge", "ssh-agent:*"], &script), ["work", "home"]);
    agent.assert_unchanged();
}

/// The agent's own socket, by the side of which the sandbox's stands.
#[test]
fn agent_itself_is_out_of_reach() {
    let Some(agent) = Agent::start() else { return };
    let socket = agent.socket();
    let (path, directory) = (socket.to_str().expect("text"), agent.world.root());
    let directory = directory.to_str().expect("text");
    let ask = format!("SSH_AUTH_SOCK={path} ssh-add -l");
    assert_eq!(agent.run(&[], "echo ${SSH_AUTH_SOCK-none}").ok(), "none\n");
    for options in [
        &[][..],
        &["--ro", directory],
        &["--rw", directory],
        &["--rw", directory, "--bridge", "ssh-agent:work"],
        &["--env-all", "--bridge", "ssh-agent:work"],
    ] {
        let told = agent.run(options, &ask);
        assert!(told.code == 2 && told.stdout.is_empty(), "{options:?}: {told:?}");
    }
    // The control: granted as a socket, it is whole.
    assert_eq!(agent.keys(&["--socket", path], &ask), ["work", "home"]);
}

#[test]
fn program_outside_decides() {
    let Some(agent) = Agent::start() else { return };
    let policy = |confirm: &str| format!("[ssh_agent]\nkeys = [\"*\"]\nconfirm = {confirm}");
    agent.run_by(&policy("[\"true\"]"), &sign("work")).ok();
    for no in ["[\"false\"]", "[\"/nonexistent/ask\"]"] {
        assert_ne!(agent.run_by(&policy(no), &sign("work")).code, 0, "{no}");
    }
    // Its path starts from the policy's file, and the question is its last argument.
    let asks = "#!/bin/sh\ncase \"$2\" in *work*'signature for \"file\"'*) test \"$1\" = x;; *) exit 1;; esac\n";
    let program = agent.world.write("ask", asks);
    agent.outside(&format!("chmod +x {}", program.display())).ok();
    agent.run_by(&policy("[\"./ask\", \"x\"]"), &sign("work")).ok();
    assert_ne!(agent.run_by(&policy("[\"./ask\", \"x\"]"), &sign("home")).code, 0);
}

/// A program outside that a command has written would be a way out.
#[test]
fn program_that_a_command_may_change_is_refused() {
    let Some(agent) = Agent::start() else { return };
    let make = "cp /bin/true ask && mkdir ../bin && ln -s /bin/true ../bin/ask && \
                ln -s ../bin/ask to-bin && ln -s project/ask ../to-ask && ln -s /bin bin && \
                mkdir ../linked && ln -s ../project/ask ../linked/ask";
    agent.outside(make).ok();
    let policy =
        |confirm: &str| format!("[ssh_agent]\nkeys = [\"work\"]\nconfirm = [\"{confirm}\"]");
    let inside =
        ["home/project/ask", "home/project/to-bin", "home/to-ask", "home/project/bin/true"];
    for (path, access) in inside.iter().flat_map(|path| [(path, "rw"), (path, "ro")]) {
        let text = format!("version = 1\n{}\n", policy(&format!("./{path}")));
        let file = agent.world.write("policy.toml", &text);
        let options = ["--workspace", access, "-p", file.to_str().expect("text")];
        let told = said(&mut agent.command(&options, "echo started")).fails(125).to_owned();
        assert!(told.contains("could change the program that asks"), "{path} {access}: {told}");
    }
    let script = agent.world.project().join("ask").display().to_string();
    for words in [format!("sh\", \"{script}"), format!("sh\", \"-c\", \"exec {script}")] {
        let told = agent.run_by(&policy(&words), "echo started").fails(125).to_owned();
        assert!(told.contains("could change the program that asks"), "{words}: {told}");
    }
    agent.run_by(&policy("./home/bin/ask"), &sign("work")).ok();
    let file = agent.world.write("policy.toml", &format!("version = 1\n{}\n", policy("ask")));
    let options = ["-p", file.to_str().expect("text")];
    let mut command = agent.command(&options, &sign("work"));
    let project = agent.world.project().display().to_string();
    let bin = agent.world.home().join("bin").display().to_string();
    let linked = agent.world.home().join("linked").display().to_string();
    let read_only = [&["--workspace", "ro"][..], &options].concat();
    let mut read_only = agent.command(&read_only, &sign("work"));
    for path in [&format!("{project}:/usr/bin"), &format!("{linked}:{bin}:/usr/bin")] {
        for command in [&mut command, &mut read_only] {
            let told = said(command.env("PATH", path));
            assert!(told.fails(125).contains("could change the program"), "{path}: {told:?}");
        }
    }
    for open in [&project, ".", "", &format!("{project}/bin")] {
        said(command.env("PATH", format!("{open}:{bin}:/usr/bin:/bin"))).ok();
    }
    let nobody = said(command.env("PATH", ".:/usr/bin:/bin"));
    assert_ne!(nobody.code, 0, "the one in the project: {nobody:?}");
}

/// What the program that asks starts itself is none of the project's either.
#[test]
fn programs_of_the_program_that_asks_lie_elsewhere() {
    let Some(agent) = Agent::start() else { return };
    let make = "mkdir ../bin ../tools && printf '#!/bin/sh\nwindow\n' >../bin/ask && cp /bin/true window && \
                chmod +x ../bin/ask && mkdir usr && cp /bin/false usr/window";
    agent.outside(make).ok();
    let [project, bin, tools] =
        ["project", "bin", "tools"].map(|name| agent.world.home().join(name).display().to_string());
    let text = "version = 1\n[ssh_agent]\nkeys = [\"work\"]\nconfirm = [\"ask\"]\n";
    let file = agent.world.write("policy.toml", text);
    let mut command = agent.command(&["-p", file.to_str().expect("text")], &sign("work"));
    let path = format!("{project}:.:{bin}:{tools}:/usr/bin:/bin");
    let planted = said(command.env("PATH", &path));
    assert_ne!(planted.code, 0, "{planted:?}");
    // The controls: a shell finds it so, and the program asks where there is one.
    agent.outside(&format!("PATH={path} ask")).ok();
    agent.outside("cp /bin/true ../tools/window").ok();
    said(command.env("PATH", &path)).ok();
}

#[test]
fn run_without_its_key_does_not_start() {
    let Some(agent) = Agent::start() else { return };
    let told = |command: &mut Command| {
        let told = said(command);
        assert!(told.stdout.is_empty(), "{told:?}");
        told.fails(125).to_owned()
    };
    let mut command = agent.command(&["--bridge", "ssh-agent:gone"], "echo started");
    let unknown = told(&mut command);
    let held = ["has no key \"gone\", it has ", "(work)", "(home)", "ssh-add -l"];
    assert!(held.iter().all(|part| unknown.contains(part)), "{unknown}");
    let unnamed =
        [told(command.env("SSH_AUTH_SOCK", "")), told(command.env_remove("SSH_AUTH_SOCK"))];
    for told in unnamed {
        assert!(told.contains("no ssh-agent is named") && told.contains("eval"), "{told}");
    }
    assert!(told(command.env("SSH_AUTH_SOCK", "agent")).contains("is no plain absolute path"));
    let gone = told(command.env("SSH_AUTH_SOCK", "/nonexistent/agent"));
    assert!(gone.contains("/nonexistent/agent") && gone.contains("No such file"), "{gone}");
    agent.world.assert_no_run_left();
}

#[test]
fn agent_of_the_policy_is_used() {
    let Some(agent) = Agent::start() else { return };
    let policy = "[ssh_agent]\nkeys = [\"home\"]\nagent = \"./agent\"";
    let policy = agent.world.write("policy.toml", &format!("version = 1\n{policy}\n"));
    let options = ["-p", policy.to_str().expect("text")];
    let mut command = agent.command(&options, "ssh-add -l");
    command.env("SSH_AUTH_SOCK", "/nonexistent");
    assert_eq!(comments(said(&mut command).ok()), ["home"]);
    assert_eq!(comments(said(command.env_remove("SSH_AUTH_SOCK")).ok()), ["home"]);
}

#[test]
fn without_the_filter_no_run_starts() {
    let Some(agent) = Agent::start() else { return };
    let alone = agent.world.root().join("alone");
    fs::create_dir(&alone).expect("a directory");
    let mut command = agent.world.command(copy_of_endow(&alone));
    command.args(["run", "--bridge", "ssh-agent:work", "--", "echo", "started"]);
    let told = said(command.env("SSH_AUTH_SOCK", agent.socket()));
    assert!(told.fails(125).contains("install the package `endow-ssh-agent`"), "{told:?}");
    assert!(told.stdout.is_empty());
    agent.world.assert_no_run_left();
}

#[test]
fn filter_ends_with_its_run() {
    let Some(agent) = Agent::start() else { return };
    for kill in [false, true] {
        let mut command = agent.command(&["--bridge", "ssh-agent:work"], "echo ready; read line");
        let mut running = Running::start(command.stdin(Stdio::piped()));
        running.expect("ready");
        let [filter] = filters(running.pid())[..] else { panic!("not one filter") };
        if kill {
            running.signal(KILL);
        } else {
            running.hush();
        }
        running.end();
        if kill {
            soon("it ends", || !is_filter(filter));
        }
        assert!(!is_filter(filter));
    }
    // What the killed one left is taken away by the next run.
    agent.run(&[], "true").ok();
    agent.world.assert_no_run_left();
}

#[test]
fn end_of_the_filter_is_told() {
    let Some(agent) = Agent::start() else { return };
    let mut command = agent.command(&["--bridge", "ssh-agent:work"], "echo ready; read line");
    let told = agent.world.root().join("told");
    command.stderr(fs::File::create(&told).expect("a file")).stdin(Stdio::piped());
    let mut running = Running::start(&mut command);
    running.expect("ready");
    let [filter] = filters(running.pid())[..] else { panic!("not one filter") };
    send(KILL, filter);
    let line = "endow-ssh-agent has ended before the run; not available any more: keys";
    soon("it is told", || fs::read_to_string(&told).expect("text").contains(line));
    running.say("\n");
    assert_eq!(running.end(), 0);
}

#[test]
fn question_ends_with_its_run() {
    let Some(agent) = Agent::start() else { return };
    let ask = agent.world.write("ask", "#!/bin/sh\nsleep 60\n");
    agent.outside(&format!("chmod +x {}", ask.display())).ok();
    let policy = "[ssh_agent]\nkeys = [\"work\"]\nconfirm = [\"./ask\"]";
    let begun = std::time::Instant::now();
    agent.run_by(policy, &format!("{} >/dev/null 2>&1 & sleep 1", sign("work"))).ok();
    assert!(begun.elapsed() < std::time::Duration::from_secs(20));
}

#[test]
fn level_without_namespaces_refuses_it() {
    let Some(agent) = Agent::start() else { return };
    let told = agent.run(&["--bridge", "ssh-agent:work", "--require", "landlock"], "echo started");
    assert!(told.fails(122).contains("--bridge ssh-agent:work"), "{told:?}");
}

#[test]
fn commit_is_signed() {
    let Some(agent) = Agent::start() else { return };
    agent.outside("git init -q -b main && git add file").ok();
    let user = "-c user.name=n -c user.email=n@example.org -c gpg.format=ssh";
    let commit =
        |key: &str| format!("git {user} -c user.signingkey={key}.pub commit -q -S -m {key}");
    let options = ["--bridge", "ssh-agent:work"];
    agent.run(&options, &commit("work")).ok();
    let verify = "echo \"n@example.org $(cat work.pub)\" >../signers && \
                  git -c gpg.ssh.allowedSignersFile=../signers verify-commit HEAD";
    let verified = agent.outside(verify);
    assert!(verified.ok().is_empty() && verified.stderr.contains("Good"), "{verified:?}");
    assert_ne!(agent.run(&options, &format!("{} --allow-empty", commit("home"))).code, 0);
}

#[test]
fn state_may_have_a_long_path() {
    let Some(agent) = Agent::start() else { return };
    let state = agent.world.root().join("d".repeat(120)).join("e".repeat(120));
    let mut command = agent.command(&["--bridge", "ssh-agent:work"], "ssh-add -l");
    assert_eq!(comments(said(command.env("ENDOW_STATE_DIR", &state)).ok()), ["work"]);
}

#[test]
fn socket_has_its_place_in_what_is_granted_there() {
    let Some(agent) = Agent::start() else { return };
    agent.world.write("granted/file", "");
    let granted = agent.world.root().join("granted").display().to_string();
    let at = format!("/run/user/{}", rustix::process::getuid().as_raw());
    let place = format!("{at}={granted}");
    let mounts = [["--ro", &place], ["--cow", &place], ["--tmp", &at]];
    for mount in mounts {
        let options = [&["--bridge", "ssh-agent:work"], &mount[..]].concat();
        assert_eq!(agent.keys(&options, "ssh-add -l"), ["work"], "{mount:?}");
    }
    let told = agent.run(&["--bridge", "ssh-agent:work", "--rw", &place], "echo started");
    assert!(told.fails(125).contains("no place for the socket of the ssh-agent"), "{told:?}");
    assert_eq!(fs::read_dir(&granted).expect("a directory").count(), 1);
}

#[test]
fn run_that_is_kept_keeps_no_socket() {
    let Some(agent) = Agent::start() else { return };
    agent.run(&["--bridge", "ssh-agent:work", "--sync", "review"], "echo x >new").ok();
    assert_eq!(agent.world.states(), ["waiting"]);
    let runs = fs::read_dir(agent.world.state().join("runs")).expect("runs");
    assert!(runs.flatten().all(|run| !run.path().join("sockets").exists()));
}

#[test]
fn plan_why_and_check_tell_of_it_without_a_filter() {
    let Some(agent) = Agent::start() else { return };
    let ask = |words: &[&str]| {
        let mut endow = agent.world.endow(words);
        said(endow.env("SSH_AUTH_SOCK", agent.socket())).ok().to_owned()
    };
    let plan = ask(&["plan", "--bridge", "ssh-agent:gone", "--", "true"]);
    let line = format!("agent   {}", agent.socket().display());
    let key = "ssh-key gone (--bridge ssh-agent:gone)";
    assert!(plan.contains(key) && plan.contains(&line), "{plan}");
    let at = format!("/run/user/{}/ssh-agent.sock", rustix::process::getuid().as_raw());
    let why = ask(&["why", "--bridge", "ssh-agent:gone", "--to", "connect", "--verify", &at]);
    assert!(why.contains("allowed: connect") && why.contains("as answered"), "{why}");
    let whole =
        "[ssh_agent]\nkeys = [\"work\"]\n[mounts]\n\"/x\" = { host = \"./agent\", socket = true }";
    let whole = agent.world.write("policy.toml", &format!("version = 1\n{whole}\n"));
    let check = ask(&["check", whole.to_str().expect("text")]);
    assert!(check.contains("is the whole ssh-agent, beside the chosen keys"), "{check}");
}
