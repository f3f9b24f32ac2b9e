//! Projects of others as graphs of declared actions: what `make` and `cargo` would start, each command with
//! its inputs and outputs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::{copy, fresh_project, provisioned};
use crate::harness::{Project, elsewhere, said};

/// git with nothing that is not in a plain machine, and the program that needs no other.
const MAKE: [&str; 13] = [
    "-n",
    "V=1",
    "CFLAGS=-O0",
    "COMPUTE_HEADER_DEPENDENCIES=no",
    "NO_CURL=1",
    "NO_OPENSSL=1",
    "NO_EXPAT=1",
    "NO_GETTEXT=1",
    "NO_PERL=1",
    "NO_PYTHON=1",
    "NO_TCLTK=1",
    "SHELL_PATH=/bin/sh",
    "git-daemon",
];

/// One action, as it will stand in the policy file.
struct Action {
    output: String,
    script: String,
    inputs: Vec<String>,
    needs: Vec<String>,
}

impl Action {
    fn text(&self) -> String {
        let list = |items: &[String]| {
            let items: Vec<String> = items.iter().map(|it| format!("{it:?}")).collect();
            items.join(", ")
        };
        format!(
            "[[action]]\nname = {:?}\ncommand = [\"sh\", \"-c\", {:?}]\ninputs = [{}]\noutputs = [{:?}]\nneeds = [{}]\n",
            self.output,
            self.script,
            list(&self.inputs),
            self.output,
            list(&self.needs)
        )
    }
}

/// Takes what `make` would start for actions.
fn actions(commands: &str) -> Vec<Action> {
    let commands = commands.replace("\\\n", " ");
    let all: Vec<Action> = commands.lines().filter_map(action).collect();
    let made: Vec<&str> = all.iter().map(|it| it.output.as_str()).collect();
    let needs = |action: &Action| -> Vec<String> {
        let words =
            action.script.split([' ', '>']).filter(|it| made.contains(it) && *it != action.output);
        let generated = match action.output.as_str() {
            "help.o" => &["command-list.h", "config-list.h"][..],
            "hook.o" => &["hook-list.h"],
            _ => &[],
        };
        words.chain(generated.iter().copied()).map(str::to_owned).collect()
    };
    let needs: Vec<Vec<String>> = all.iter().map(needs).collect();
    all.into_iter().zip(needs).map(|(action, needs)| Action { needs, ..action }).collect()
}

fn action(line: &str) -> Option<Action> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = |word: &str| words.iter().skip_while(|it| **it != word).nth(1).copied();
    let list = |items: &[&str]| items.iter().map(|it| (*it).to_owned()).collect();
    let (output, inputs): (&str, Vec<String>) = match words.as_slice() {
        ["cc", .., source] if words.contains(&"-c") => (after("-o")?, list(&[source, "**/*.h"])),
        ["cc", ..] => (after("-o")?, Vec::new()),
        ["rm", ..] if words.contains(&"ar") => (after("rcs")?, Vec::new()),
        ["/bin/sh", script, .., to] if script.starts_with("./generate-") => {
            let output = to.strip_prefix('>')?;
            (output, list(&[&script[2..], "command-list.txt", "Documentation/*.txt"]))
        }
        _ => return None,
    };
    Some(Action { output: output.to_owned(), script: line.to_owned(), inputs, needs: Vec::new() })
}

fn write(project: &Project, actions: &[Action]) {
    project.policy(&actions.iter().map(Action::text).collect::<String>());
}

/// How often each state was told.
fn counts(project: &Project) -> BTreeMap<String, Vec<String>> {
    let mut counts = BTreeMap::<String, Vec<String>>::new();
    for line in project.states(&["-k"]) {
        let (name, state) = line.split_once(' ').expect("two words");
        counts.entry(state.to_owned()).or_default().push(name.to_owned());
    }
    counts
}

/// 274 translation units, three generated headers, three archives, one program.
#[test]
fn git_is_built_as_a_graph() {
    if rustix::process::getuid().is_root() {
        return elsewhere("the ordinary user builds it");
    }
    let Some(source) = provisioned("c/git") else { return };
    let project = Project::new("");
    fresh_project(&project.world, &source);
    let make = said(Command::new("make").args(MAKE).current_dir(project.world.project()));
    let mut actions = actions(make.ok());
    let units = actions.iter().filter(|it| it.script.contains(" -c ")).count();
    assert!(units > 250 && actions.len() == units + 7, "{units} of {}", actions.len());
    write(&project, &actions);
    let first = counts(&project);
    assert_eq!(first["executed"].len(), actions.len(), "{first:?}");
    let usage = said(Command::new(project.path("git-daemon")).arg("-h"));
    assert!(usage.stderr.starts_with("usage: git daemon"), "{usage:?}");
    let program = fs::read(project.path("git-daemon")).expect("a program");
    // Nothing is executed again, and what was removed is there again.
    for path in ["git-daemon", "libgit.a", "wildmatch.o", "command-list.h"] {
        fs::remove_file(project.path(path)).expect("removed");
    }
    assert_eq!(counts(&project)["cached"].len(), actions.len());
    assert_eq!(fs::read(project.path("git-daemon")).expect("a program"), program);
    // What depends on a file that changed, and that alone.
    let file = project.path("wildmatch.c");
    let text = fs::read_to_string(&file).expect("a source");
    fs::write(&file, format!("{text}\nint more_of_wildmatch(void) {{ return 0; }}\n"))
        .expect("written");
    let changed = counts(&project);
    assert_eq!(changed["executed"], ["wildmatch.o", "libgit.a", "git-daemon"]);
    assert_eq!(changed["cached"].len(), actions.len() - 3);
    // A header that is not declared.
    let unit = actions.iter_mut().find(|it| it.output == "wildmatch.o").expect("it");
    let listed = Command::new("cc")
        .args(["-MM", "-I.", "-DSHA1_DC", "wildmatch.c"])
        .current_dir(project.world.project())
        .output();
    let listed = String::from_utf8(listed.expect("cc starts").stdout).expect("text");
    let needed = listed
        .split_whitespace()
        .filter(|it| it.contains(['.']) && !it.ends_with(':') && *it != "wildmatch.h");
    unit.inputs = needed.map(str::to_owned).collect();
    write(&project, &actions);
    let said = project.build(&["wildmatch.o"]);
    let told = said.fails(1);
    assert!(told.contains("hint: wildmatch.o needs `wildmatch.h`: add it to its inputs"), "{told}");
    project.world.assert_no_run_left();
}

/// Crates of which each is one command, in the order in which they need each other.
const CRATES: [(&str, &[&str], &[&str]); 5] = [
    ("memchr", &["std", "alloc"], &[]),
    ("aho-corasick", &["std", "perf-literal"], &["memchr"]),
    ("regex-syntax", &["std", "unicode"], &[]),
    (
        "regex-automata",
        &[
            "std",
            "alloc",
            "syntax",
            "meta",
            "nfa-thompson",
            "nfa-pikevm",
            "perf-literal-substring",
            "perf-literal-multisubstring",
        ],
        &["memchr", "aho-corasick", "regex-syntax"],
    ),
    ("bstr", &["std", "alloc"], &["memchr"]),
];

const MAIN: &str = "fn main() {
    let found = regex_automata::meta::Regex::new(\"[a-z]+ly\").unwrap();
    let text = bstr::BStr::new(\"it is truly built\");
    println!(\"{}\", &text[found.find(text.as_ref() as &[u8]).unwrap().range()]);
}
";

/// The newest copy of a crate that was fetched.
fn fetched(registry: &Path, name: &str) -> std::path::PathBuf {
    let is_it = |path: &std::path::PathBuf| {
        let file = path.file_name().expect("a name").to_string_lossy().into_owned();
        file.strip_prefix(name)
            .and_then(|it| it.strip_prefix('-'))
            .is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()))
    };
    let index =
        fs::read_dir(registry).expect("listed").next().expect("an index").expect("it").path();
    let all = fs::read_dir(index).expect("listed").map(|it| it.expect("it").path());
    all.filter(is_it).max().unwrap_or_else(|| panic!("no {name}"))
}

fn rustc(
    rustc: &str,
    (name, features, needs): (&str, &[&str], &[&str]),
    (source, output, kind): (&str, &str, &str),
) -> String {
    let crate_name = name.replace('-', "_");
    let mut words =
        vec![rustc.to_owned(), "--crate-name".to_owned(), crate_name, "--edition=2021".to_owned()];
    words.extend([
        format!("--crate-type={kind}"),
        "--cap-lints=allow".to_owned(),
        "-Lout".to_owned(),
    ]);
    words.extend(features.iter().map(|it| format!("--cfg=feature=\"{it}\"")));
    let rlib =
        |need: &str| format!("{}=out/lib{}.rlib", need.replace('-', "_"), need.replace('-', "_"));
    words.extend(needs.iter().map(|need| format!("--extern={}", rlib(need))));
    words.extend(["-o".to_owned(), output.to_owned(), source.to_owned()]);
    let toolchain = Path::new(rustc).ancestors().nth(2).expect("a toolchain").display().to_string();
    let mut text = String::from("[[action]]\n");
    let inputs =
        source.split_once('/').map_or(source.to_owned(), |(above, _)| format!("{above}/**"));
    writeln!(
        text,
        "name = {name:?}\ncommand = {words:?}\ninputs = [{inputs:?}]\noutputs = [{output:?}]"
    )
    .expect("text");
    writeln!(text, "needs = {needs:?}\ntools = [{toolchain:?}]").expect("text");
    text
}

#[test]
fn crates_are_built_as_a_graph() {
    let Some(home) = provisioned("rust/home") else { return };
    let project = Project::new("");
    let toolchains = home.join(".rustup/toolchains");
    let toolchain =
        fs::read_dir(toolchains).expect("listed").next().expect("one").expect("it").path();
    let compiler = toolchain.join("bin/rustc").display().to_string();
    let mut text = String::from("version = 1\n");
    for (name, features, needs) in CRATES {
        copy(&fetched(&home.join(".cargo/registry/src"), name), &project.path(name));
        let paths =
            (format!("{name}/src/lib.rs"), format!("out/lib{}.rlib", name.replace('-', "_")));
        text += &rustc(&compiler, (name, features, needs), (&paths.0, &paths.1, "rlib"));
    }
    project.write("main.rs", MAIN);
    let all = CRATES.map(|(name, _, _)| name);
    text += &rustc(&compiler, ("demo", &[], &all), ("main.rs", "out/demo", "bin"));
    let file = project.world.write("home/build.toml", &text).display().to_string();
    let executed = project.states(&["-p", &file]);
    assert!(
        executed.len() == 6 && executed.iter().all(|it| it.ends_with("executed")),
        "{executed:?}"
    );
    let demo = said(&mut Command::new(project.path("out/demo")));
    assert_eq!(demo.ok(), "truly\n");
    let cached = project.states(&["-p", &file]);
    assert!(cached.iter().all(|it| it.ends_with("cached")), "{cached:?}");
    // A crate of which a file changed, and those that need it.
    let lib = project.path("bstr/src/lib.rs");
    let source = fs::read_to_string(&lib).expect("a source");
    fs::write(&lib, format!("{source}\npub fn more() {{}}\n")).expect("written");
    let changed = project.states(&["-p", &file]);
    let executed: Vec<&str> =
        changed.iter().filter_map(|it| it.strip_suffix(" executed")).collect();
    assert_eq!(executed, ["bstr", "demo"]);
}
