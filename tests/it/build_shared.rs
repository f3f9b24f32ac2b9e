//! Results that builds share by a directory, which Bazel's disk cache is too.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Project, Said, World, said};
use crate::run_root::tree;

/// A build of somebody who has nothing but the tree, the source and the shared cache.
pub(crate) struct Builder {
    pub(crate) project: Project,
    pub(crate) tree: String,
    url: String,
}

/// What it executes.
pub(crate) const SCRIPT: &str =
    "tr a-z A-Z <in >out; mkdir dir; touch dir/a; echo said; echo warned >&2";

impl Builder {
    fn new(shared: &World) -> Self {
        Self::at(&format!("file:{}", shared.root().join("shared").display()))
    }

    /// Returns a builder that shares results at a URL.
    pub(crate) fn at(url: &str) -> Self {
        let project = Project::new("");
        let tree = tree(&project.world, "");
        project.write("in", "hello\n");
        Self { project, tree, url: url.to_owned() }
    }

    pub(crate) fn build(&self, options: &[&str]) -> Said {
        self.build_with(&[&["--remote", &self.url], options].concat(), SCRIPT)
    }

    pub(crate) fn build_with(&self, options: &[&str], script: &str) -> Said {
        self.build_by(self.project.world.endow::<&str>([]), options, script)
    }

    /// Has this endow build.
    pub(crate) fn build_by(&self, mut endow: Command, options: &[&str], script: &str) -> Said {
        let action = ["--input", "in", "--output", "out", "--output", "dir/", "--", "sh", "-c"];
        endow.arg("build").args(options).args(["--root", &self.tree]);
        said(endow.args(action).arg(script))
    }

    /// Builds; returns whether the command was executed.
    #[track_caller]
    pub(crate) fn executes(&self) -> bool {
        self.executed(&self.build(&[]))
    }

    /// Looks at a build that must be fine, whatever the cache does; returns whether the command was executed.
    #[track_caller]
    pub(crate) fn executed(&self, said: &Said) -> bool {
        assert_eq!(said.ok(), "said\n", "{said:?}");
        assert!(said.stderr.contains("warned\n"), "{said:?}");
        assert_eq!(self.project.read("out"), "HELLO\n");
        assert!(self.project.path("dir/a").exists());
        let executed = said.stderr.contains("1 executed");
        assert!(executed || said.stderr.contains("1 from the cache"), "{said:?}");
        executed
    }

    fn files(&self, kind: &str) -> Vec<PathBuf> {
        let names = |dir: PathBuf| {
            fs::read_dir(dir).into_iter().flatten().map(|it| it.expect("a name").path())
        };
        let shared = Path::new(self.url.strip_prefix("file:").expect("a directory"));
        names(shared.join(kind)).flat_map(names).collect()
    }
}

#[test]
fn result_of_one_is_anothers() {
    let world = World::new();
    assert!(Builder::new(&world).executes());
    assert!(!Builder::new(&world).executes(), "it is shared");
    let alone = World::new();
    assert!(Builder::new(&alone).executes(), "control: elsewhere nothing is");
    let uncached = Builder::new(&world);
    assert!(uncached.build(&["--no-cache"]).stderr.contains("1 executed"));
}

/// It would not be executed, and nothing but the cache has it.
#[test]
fn dry_run_knows_what_is_shared() {
    let world = World::new();
    let foretold = |it: &Builder| it.build(&["--dry-run"]).ok().to_owned();
    let other = Builder::new(&world);
    assert!(foretold(&other).ends_with(": would be executed\n"), "control: nothing is shared");
    assert!(Builder::new(&world).executes());
    assert!(foretold(&other).ends_with(": from the cache\n"));
    assert!(!other.project.path("out").exists());
}

/// Whoever can write the cache can't change what a content is, nor where outputs go.
#[test]
fn poisoned_entry_is_refused_and_the_command_executed() {
    let world = World::new();
    let first = Builder::new(&world);
    assert!(first.executes());
    let other = |change: &dyn Fn(&Builder)| {
        let other = Builder::new(&world);
        change(&other);
        let said = other.build(&[]);
        assert!(said.ok() == "said\n" && said.stderr.contains("1 executed"), "{said:?}");
        assert_eq!(other.project.read("out"), "HELLO\n");
        said.stderr
    };
    let content = |it: &Builder| {
        let is_it = |file: &PathBuf| fs::read(file).is_ok_and(|text| text == b"HELLO\n");
        it.files("cas").into_iter().find(is_it).expect("the output")
    };
    let poisoned = other(&|it| fs::write(content(it), "HOLLE\n").expect("poisoned"));
    assert!(
        poisoned.contains("a shared result is not used") && poisoned.contains("sha256:"),
        "{poisoned}"
    );
    assert!(!Builder::new(&world).executes(), "what was executed was shared anew");
    for file in first.files("cas") {
        fs::remove_file(file).expect("removed");
    }
    assert!(other(&|_| {}).contains("a shared result is not used"), "its contents are gone");
    assert!(!Builder::new(&world).executes(), "and shared again");
    let result = first.files("ac").remove(0);
    let open = fs::Permissions::from_mode(0o666);
    assert!(
        other(&|_| fs::set_permissions(&result, open.clone()).expect("opened"))
            .contains("another user")
    );
    let bytes = fs::read(&result).expect("a result");
    let elsewhere: Vec<u8> = String::from_utf8_lossy(&bytes).replace("out", "oxt").into_bytes();
    fs::write(&result, elsewhere).expect("changed");
    let stray = Builder::new(&world);
    assert!(stray.build(&[]).ok() == "said\n" && !stray.project.path("oxt").exists());
    fs::write(&result, "nonsense").expect("changed");
    assert!(other(&|_| {}).contains("is no result of an action"));
}

#[test]
fn what_can_not_be_shared_is_said() {
    let world = World::new();
    let it = Builder::new(&world);
    let action = ["--input", "in", "--output", "out", "--", "cp", "in", "out"];
    let built = |url: &str| it.project.build(&[&["--remote", url], &action[..]].concat());
    let host = built(&it.url);
    assert!(host.ok().is_empty() && host.stderr.contains("nothing is shared"), "{host:?}");
    let tool = it.project.path("in").display().to_string();
    let with_tool = [
        "--root", &it.tree, "--tool", &tool, "--remote", &it.url, "--input", "in", "--output",
        "tooled",
    ];
    let with_tool =
        it.project.build(&[&with_tool[..], &["--", "sh", "-c", "cat in >tooled"]].concat());
    assert!(
        with_tool.ok().is_empty() && with_tool.stderr.contains("is not shared"),
        "{with_tool:?}"
    );
    assert!(it.files("ac").is_empty());
    assert!(built("http://127.0.0.1:1").fails(2).contains("`grpc://HOST:PORT`"));
    assert!(built("file:shared").fails(2).contains("a whole one"));
    let file = format!("file:{}", it.project.path("in").display());
    let root = ["--root", &it.tree, "--remote", &file];
    assert!(
        it.project
            .build(&[&root, &action[..]].concat())
            .fails(125)
            .contains("can't use the shared cache")
    );
}

/// The results of a chain are known one after the other: each is looked up when that before it was fetched.
#[test]
fn chain_is_taken_from_the_shared_cache_as_a_whole() {
    const STEPS: usize = 6;
    let step = |number: usize| {
        let next = number + 1;
        let sees = match number.checked_sub(1) {
            None => "inputs = [\"t0\"]".to_owned(),
            Some(before) => format!("needs = [\"s{before}\"]"),
        };
        format!(
            "[[action]]\nname = \"s{number}\"\ncommand = [\"sh\", \"-c\", \"cat t{number} >t{next}\"]\n\
             outputs = [\"t{next}\"]\n{sees}\n"
        )
    };
    let world = World::new();
    let states = || {
        let it = Builder::new(&world);
        let root = format!("[build]\nroot = {{ cas = \"{}\" }}\n", it.tree);
        it.project.policy(&(0..STEPS).fold(root, |policy, it| policy + &step(it)));
        it.project.write("t0", "hello\n");
        let states = it.project.states(&["--remote", &it.url]);
        assert_eq!(it.project.read(&format!("t{STEPS}")), "hello\n");
        states
    };
    let all = |state: &str| (0..STEPS).map(|it| format!("s{it} {state}")).collect::<Vec<_>>();
    assert_eq!(states(), all("executed"), "control");
    assert_eq!(states(), all("cached"));
}
