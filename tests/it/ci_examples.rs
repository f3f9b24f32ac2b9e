//! The example jobs of the guide, step by step, on a pull request that wants more than it may.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Running, Said, World, endow, mark, marked, said, soon};
use crate::surroundings::CONTAINER;

const GITHUB: &str = include_str!("../../docs/examples/github-actions.yml");
const GITLAB: &str = include_str!("../../docs/examples/gitlab-ci.yml");
const CONTAINER_JOB: &str = include_str!("../../docs/examples/container-job.sh");

/// The policy of the base branch.
const BASE: &str = "version = 1\n[env]\npass = [\"CODE\"]\nset = { CI = \"1\" }\n";
/// The one that the pull request brings: everything.
const WISHED: &str = "version = 1\n[network]\nmode = \"host\"\n[workspace]\naccess = \"rw\"\n";
/// What it builds, and what else it tries.
const BUILD: &str = "#!/bin/sh
mkdir -p dist && echo built >dist/app
echo changed >>source
cat ../../runner/token .git/config 2>&1
env
tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '
exit ${CODE:-0}
";
/// A credential of the runner's.
const CANARY: &str = "c2VjcmV0OmNhbmFyeQ";

/// The steps of a job, which are its blocks of text.
fn steps(example: &str) -> Vec<String> {
    let (mut steps, mut indent) = (Vec::new(), None);
    for line in example.lines() {
        let depth = line.len() - line.trim_start().len();
        match indent {
            Some(above) if depth > above => {
                let step: &mut String = steps.last_mut().expect("a step");
                step.push_str(line.trim_start());
                step.push('\n');
            }
            _ if line.ends_with("run: |") || line.trim() == "- |" => {
                steps.push(String::new());
                indent = Some(depth);
            }
            _ => indent = None,
        }
    }
    steps
}

/// A runner with the checkout of a pull request.
struct Runner {
    world: World,
    temporary: PathBuf,
}

impl Runner {
    fn new() -> Self {
        let world = World::new();
        let temporary = world.root().join("temporary");
        fs::create_dir(&temporary).expect("mkdir");
        world.write("runner/token", CANARY);
        world.write("wished", WISHED);
        world.write("build", BUILD);
        world.write("base", BASE);
        let prepare = "set -e; cd ../..; mkdir origin; cd origin; git init -q -b main
            commit() { git add -A; git -c user.name=a -c user.email=a@example.com commit -qm x; }
            mkdir ci; cp ../base ci/endow.toml; cp ../build ci/build.sh; chmod +x ci/build.sh; echo source >source
            commit; git checkout -qb wish; cp ../wished ci/endow.toml; cp ../wished endow.toml; commit
            cd ..; rmdir home/project; git clone -q origin home/project; cd home/project
            git config http.https://example.com/.extraheader \"AUTHORIZATION: basic $(cat ../../runner/token)\"";
        world.bare(prepare).ok();
        Self { world, temporary }
    }

    /// Executes a step as both services do: by a shell that stops at the first failure.
    fn step(&self, step: &str, code: &str) -> Said {
        said(&mut self.command(&["bash", "-e", "-c", step], code))
    }

    fn command(&self, line: &[&str], code: &str) -> Command {
        let bin = self.world.root().join("bin");
        fs::create_dir_all(&bin).expect("mkdir");
        std::os::unix::fs::symlink(endow(), bin.join("endow")).ok();
        let mut command = self.world.command(line[0]);
        command.args(&line[1..]).env("BASE", "main").env("TEMP", &self.temporary);
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        command.env("GITHUB_BASE_REF", "main").env("RUNNER_TEMP", &self.temporary);
        command.env("GITHUB_STEP_SUMMARY", self.temporary.join("summary"));
        command.env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main");
        command.env("TMPDIR", &self.temporary).env("JOB_TOKEN", CANARY);
        command.env("CODE", code);
        command
    }

    fn assert_held(&self, said: &Said) {
        assert!(!said.stdout.contains(CANARY), "{said:?}");
        assert!(said.stdout.lines().any(|line| line == "CI=1"), "the base's policy: {said:?}");
        assert_eq!(said.stdout.lines().last(), Some("lo"), "{said:?}");
        assert_eq!(self.world.read("dist/app"), "built\n");
        assert_eq!(self.world.read("source"), "source\n");
    }
}

fn is_json(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|it| it["version"] == 1)
}

#[test]
fn github_job_holds_what_a_pull_request_does() {
    let runner = Runner::new();
    let steps = steps(GITHUB);
    let [_, policy, verify, build, sum] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!(runner.world.bare("cat ../../runner/token").ok(), CANARY, "control");
    assert!(runner.world.bare("cat .git/config").ok().contains(CANARY), "control");
    runner.step(policy, "0").ok();
    runner.step(verify, "0").ok();
    // Where an earlier step failed there is nothing to sum up, and that is no failure of its own.
    runner.step(sum, "0").ok();
    assert!(!runner.temporary.join("summary").exists());
    let said = runner.step(build, "0");
    said.ok();
    runner.assert_held(&said);
    assert!(is_json(&runner.temporary.join("endow.json")));
    let junit = fs::read_to_string(runner.temporary.join("endow.xml")).expect("a report");
    assert!(junit.contains("<testsuite") && junit.contains("failures=\"0\""), "{junit}");
    runner.step(sum, "0").ok();
    let summary = fs::read_to_string(runner.temporary.join("summary")).expect("a summary");
    assert!(summary.contains("ended: exited 0\nwritten back: 2"), "{summary}");
    runner.step(build, "3").fails(3);
}

/// The package is installed when it is the one that was meant.
#[test]
fn github_job_installs_what_has_the_sum() {
    let runner = Runner::new();
    let [install, ..] = &steps(GITHUB)[..] else { panic!("steps") };
    let fetched = "#!/bin/sh\nuntil [ \"$1\" = --output ]; do shift; done\necho package >\"$2\"\n";
    runner.world.write("bin/curl", fetched);
    runner.world.write("bin/sudo", "#!/bin/sh\necho \"$@\" >\"$RUNNER_TEMP/asked\"\n");
    runner.world.bare("chmod +x ../../bin/curl ../../bin/sudo").ok();
    let step = |sum: &str| {
        let line =
            format!("ENDOW_PACKAGE=https://packages.example.com/x ENDOW_SHA256={sum}\n{install}");
        runner.step(&line, "0")
    };
    assert_ne!(step(&"0".repeat(64)).code, 0);
    assert!(!runner.temporary.join("asked").exists());
    step("$(echo package | sha256sum | cut -d' ' -f1)").ok();
    let asked = fs::read_to_string(runner.temporary.join("asked")).expect("asked");
    assert_eq!(asked, format!("dpkg --install {}/endow.deb\n", runner.temporary.display()));
}

#[test]
fn gitlab_job_holds_what_a_merge_request_does() {
    let runner = Runner::new();
    let steps = steps(GITLAB);
    let [job] = &steps[..] else { panic!("{steps:?}") };
    let said = runner.step(job, "0");
    said.ok();
    runner.assert_held(&said);
    assert!(is_json(&runner.world.project().join("endow.json")));
}

/// A container refuses namespaces: there is no view, so the whole checkout is granted, and nothing else.
#[test]
fn container_job_holds_what_a_pull_request_does() {
    let runner = Runner::new();
    let job = |script: &str| runner.command(&["python3", "-c", CONTAINER, "sh", "-c", script], "0");
    let more = format!(
        "git config http.extraheader 'AUTHORIZATION: basic {CANARY}'
        git config http.https://example.com/.extraheader 'AUTHORIZATION: basic {CANARY}'
        git remote set-url origin https://job:{CANARY}@example.com/project.git"
    );
    runner.world.bare(&more).ok();
    // Controls: with a header, and with an address, as it was.
    for (step, none) in [("--unset-all", "--get-all"), ("[^/]*@", "none@"), (r"(.*\.)?", r".*\.")] {
        assert!(CONTAINER_JOB.contains(step), "{step}");
        let refused = said(&mut job(&CONTAINER_JOB.replace(step, none)));
        let message = refused.fails(122);
        assert!(message.contains(".git/config: the credential in it"), "{step}: {refused:?}");
        runner.world.bare(&more).ok();
    }
    let held = said(&mut job(CONTAINER_JOB));
    assert!(held.ok().lines().any(|line| line == "CI=1"), "{held:?}");
    assert!(!held.stdout.contains(CANARY), "{held:?}");
    assert_eq!(runner.world.read("dist/app"), "built\n");
    assert_eq!(runner.world.read("source"), "source\nchanged\n", "it is granted where it is");
    assert!(is_json(&runner.temporary.join("endow.json")));
}

/// A job that is cancelled ends with all that it started, and says so.
#[test]
fn cancelled_job_ends_with_all_that_it_started() {
    let (runner, mark) = (Runner::new(), mark());
    let [_, policy, _, build, _] = &steps(GITHUB)[..] else { panic!("steps") };
    runner.step(policy, "0").ok();
    let slow = format!("(trap '' TERM; exec sleep {mark}) & echo begun; sleep {mark}; exit");
    runner.world.write("home/project/ci/build.sh", &BUILD.replace("exit", &slow));
    // The service signals what the step's shell has become.
    let build = format!("exec {build}");
    let mut running = Running::start(&mut runner.command(&["bash", "-e", "-c", &build], "0"));
    while running.line() != "begun" {}
    soon("both sleep", || marked(&mark).len() >= 2);
    running.signal(15);
    assert_eq!(running.end(), 143);
    assert_eq!(marked(&mark), [0; 0]);
    assert_eq!(runner.world.read("source"), "source\n");
    let report = fs::read_to_string(runner.temporary.join("endow.json")).expect("a report");
    assert!(report.contains("\"signaled\""), "{report}");
}

/// Jobs of one user share a state directory and a store.
#[test]
fn twenty_jobs_run_at_a_time() {
    let runner = Runner::new();
    let [_, policy, _, build, _] = &steps(GITHUB)[..] else { panic!("steps") };
    runner.step(policy, "0").ok();
    let job = |number: usize| {
        let line = format!("cp -r . ../job-{number}; cd ../job-{number}
            export RUNNER_TEMP=$RUNNER_TEMP/{number}; mkdir $RUNNER_TEMP; cp $RUNNER_TEMP/../endow.toml $RUNNER_TEMP
            {build}");
        Running::start(&mut runner.command(&["bash", "-e", "-c", &line], "0"))
    };
    let mut jobs: Vec<Running> = (0..20).map(job).collect();
    for (number, job) in jobs.iter_mut().enumerate() {
        job.dismiss();
        assert_eq!(job.end(), 0, "{number}");
        assert_eq!(runner.world.read(&format!("../job-{number}/dist/app")), "built\n");
        assert!(is_json(&runner.temporary.join(format!("{number}/endow.json"))));
    }
}
