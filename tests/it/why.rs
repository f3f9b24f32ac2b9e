//! `endow why`: its answers are the kernel's.
#![expect(clippy::print_stdout, reason = "a failure is repeated with the seed")]

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::harness::{Said, World, said};

const POLICIES: usize = 20;
const QUESTIONS: usize = 60;
/// Policies that can't be applied, such as one that asks for a mount point in a live mount, are
/// no failure; among so many there are enough that can.
const DRAWS_MAX: usize = 5 * POLICIES;

/// Numbers that are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).expect("64 bits") % sides
    }

    fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.roll(of.len())]
    }

    fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }
}

fn seed() -> u64 {
    let given = std::env::var("ENDOW_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = given.unwrap_or_else(|| {
        u64::from(now().expect("a clock").subsec_nanos()) << 20 | u64::from(std::process::id())
    });
    println!("ENDOW_TEST_SEED={seed}");
    seed | 1
}

/// A tree with everything that can stand in the way of a path.
struct Tree {
    root: PathBuf,
    names: Vec<PathBuf>,
    listeners: Vec<UnixListener>,
}

const NAMES: [&str; 12] =
    ["a", "b", "c", "run.sh", ".env", "id_rsa", ".ssh", "key.pem", "sub", "x y", "é", "deep"];

impl Tree {
    fn grow(root: PathBuf, dice: &mut Dice) -> Self {
        let mut tree = Self { root: root.clone(), names: Vec::new(), listeners: Vec::new() };
        fs::create_dir_all(&root).expect("a root");
        tree.fill(&root, 0, dice);
        tree.close(dice);
        tree
    }

    fn fill(&mut self, directory: &Path, depth: usize, dice: &mut Dice) {
        for name in NAMES {
            if dice.one_in(3) {
                continue;
            }
            let path = directory.join(name);
            match dice.roll(9) {
                0..3 if depth < 3 => {
                    fs::create_dir(&path).expect("a directory");
                    self.fill(&path, depth + 1, dice);
                }
                0..6 => fs::write(&path, "#!/bin/sh\n").expect("a file"),
                6 if dice.one_in(4) && path.as_os_str().len() < 100 => {
                    self.listeners.push(UnixListener::bind(&path).expect("a socket"));
                }
                _ => symlink(self.target(&path, dice), &path).expect("a link"),
            }
            self.names.push(path);
        }
    }

    fn target(&self, link: &Path, dice: &mut Dice) -> PathBuf {
        let known = |dice: &mut Dice| self.names.get(dice.roll(self.names.len().max(1))).cloned();
        match dice.roll(8) {
            0 => link.to_owned(),
            1 => PathBuf::from("nowhere"),
            2 => PathBuf::from("../").join(dice.pick(&NAMES)),
            3 => PathBuf::from(dice.pick(&["/etc/passwd", "/etc/shadow", "/usr/bin", "/tmp", "/"])),
            4 => PathBuf::from(dice.pick(&NAMES)).join(dice.pick(&NAMES)),
            5 => PathBuf::from("./").join(dice.pick(&NAMES)),
            _ => known(dice).unwrap_or_else(|| PathBuf::from("..")),
        }
    }

    /// Gives odd modes, deepest first, or nothing below could be reached.
    fn close(&self, dice: &mut Dice) {
        let root = rustix::process::geteuid().is_root();
        for path in &self.names {
            let found = path.symlink_metadata().expect("what was made");
            if found.is_symlink() {
                continue;
            }
            let modes: &[u32] = if found.is_dir() {
                &[
                    0o755, 0o755, 0o755, 0o755, 0o755, 0o700, 0o555, 0o311, 0o1777, 0o644, 0o000,
                    0o075,
                ]
            } else {
                &[
                    0o644, 0o644, 0o755, 0o755, 0o600, 0o400, 0o200, 0o111, 0o000, 0o066, 0o555,
                    0o070,
                ]
            };
            let mode = modes[dice.roll(modes.len())];
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
            let (odds, group) = (if found.is_dir() { 12 } else { 4 }, [0, 4321][dice.roll(2)]);
            if root && dice.one_in(odds) {
                std::os::unix::fs::lchown(path, Some(4321), Some(group)).expect("an owner");
            }
        }
    }

    fn directories(&self) -> Vec<&Path> {
        let all = self.names.iter().map(PathBuf::as_path);
        all.chain([self.root.as_path()])
            .filter(|path| path.symlink_metadata().is_ok_and(|it| it.is_dir()))
            .collect()
    }

    fn files(&self) -> Vec<&Path> {
        let all = self.names.iter().map(PathBuf::as_path);
        all.filter(|path| path.symlink_metadata().is_ok_and(|it| it.is_file())).collect()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        for path in self.names.iter().rev() {
            if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                drop(fs::set_permissions(path, fs::Permissions::from_mode(0o700)));
            }
        }
    }
}

/// Options of one sandbox, and where each grant of it stands.
#[derive(Default)]
struct Grants {
    options: Vec<String>,
    /// Guest path and host path.
    places: Vec<(PathBuf, PathBuf)>,
}

impl Grants {
    fn draw(tree: &Tree, dice: &mut Dice) -> Self {
        let mut grants = Self::default();
        let access = dice.pick(&["rw", "ro", "rw"]);
        grants.options.extend(["--workspace".into(), access.into()]);
        let (directories, files) = (tree.directories(), tree.files());
        for number in 0..=dice.roll(4) {
            let whole = number == 0 && dice.one_in(2);
            let host = if whole { tree.root.as_path() } else { dice.pick(&directories) };
            grants.mount(host, number, dice);
        }
        if !files.is_empty() && dice.one_in(2) {
            grants.mount(dice.pick(&files), 10, dice);
        }
        if dice.one_in(2) {
            let place = dice.pick(&["/scratch", "/moved0/memory", "/srv/a/b"]);
            grants.options.extend(["--tmp".into(), format!("{place},mode=0755")]);
            grants.places.push((place.into(), "/nowhere".into()));
        }
        if dice.one_in(3) {
            let pattern = dice.pick(&["a", "sub/**", "!.env", "**/deep", "b/c"]);
            grants.options.extend(["--deny".into(), pattern.into()]);
        }
        grants
    }

    fn mount(&mut self, host: &Path, number: usize, dice: &mut Dice) {
        let guest =
            if dice.one_in(3) { PathBuf::from(format!("/moved{number}")) } else { host.to_owned() };
        let mut grant = format!("{}={}", guest.display(), host.display());
        for option in [",noexec", ",nodeny"] {
            if dice.one_in(4) {
                grant.push_str(option);
            }
        }
        self.options.extend([dice.pick(&["--ro", "--rw"]).to_owned(), grant]);
        self.places.push((guest, host.to_owned()));
    }

    fn question(&self, tree: &Tree, dice: &mut Dice) -> String {
        const OTHERS: [&str; 20] = [
            "/",
            "/etc",
            "/etc/passwd",
            "/etc/shadow",
            "/usr/bin/true",
            "/usr/bin",
            "/tmp",
            "/tmp/new",
            "/dev/null",
            "/dev",
            "/run/new",
            "/home",
            "/nowhere",
            "/proc/version",
            "/sys",
            "new",
            ".",
            "..",
            "/usr/bin/true/x",
            "/usr/../etc/passwd",
        ];
        let operation = dice.pick(&["read", "write", "execute", "read", "write", "connect"]);
        if dice.one_in(6) {
            return format!("{operation} {}", dice.pick(&OTHERS));
        }
        let name = &tree.names[dice.roll(tree.names.len())];
        let (guest, host) = &self.places[dice.roll(self.places.len())];
        let mut path = match name.strip_prefix(host) {
            Ok(below) => guest.join(below),
            Err(_) => name.clone(),
        };
        match dice.roll(10) {
            0 => path.push(dice.pick(&NAMES)),
            1 => path.push(".."),
            2 => path.push("new"),
            3 => path.push("."),
            4 => path.clone_from(guest),
            _ => {}
        }
        let slash = if dice.one_in(12) { "/" } else { "" };
        format!("{operation} {}{slash}", path.display())
    }
}

fn ask(world: &World, grants: &Grants, questions: &str) -> Said {
    let mut command = world.endow(["why", "-", "--json", "--verify"]);
    command.args(&grants.options);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("endow starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(questions.as_bytes()).expect("asked");
    drop(stdin);
    let output = child.wait_with_output().expect("endow ends");
    Said {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Compares every answer with the kernel's; returns how many there were.
fn compare(said: &Said, questions: &str, grants: &Grants) -> usize {
    let lines: Vec<Value> =
        said.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), questions.lines().count(), "{}", said.stderr);
    let mut wrong = String::new();
    for (answer, question) in lines.iter().zip(questions.lines()) {
        let unknown = answer["answer"] == "unknown";
        if !unknown && answer["errno"] != answer["verified"]["errno"] {
            writeln!(wrong, "{question}: {answer}").expect("a string");
        }
    }
    assert!(wrong.is_empty(), "endow why {:?}\n{wrong}", grants.options);
    lines.iter().filter(|answer| answer["answer"] != "unknown").count()
}

#[test]
fn answers_are_the_kernels() {
    let mut dice = Dice(seed());
    let (mut policies, mut answers) = (0, 0);
    for _ in 0..DRAWS_MAX {
        let world = World::new();
        let tree = Tree::grow(world.root().join("data"), &mut dice);
        let grants = Grants::draw(&tree, &mut dice);
        let questions: Vec<String> =
            (0..QUESTIONS).map(|_| grants.question(&tree, &mut dice)).collect();
        let questions = questions.join("\n");
        let said = ask(&world, &grants, &questions);
        assert_ne!(said.code, 70, "{:?}: {}", grants.options, said.stdout);
        if said.code > 1 {
            println!("no sandbox for {:?}: {}", grants.options, said.stdout.replace('\n', ""));
            continue;
        }
        policies += 1;
        answers += compare(&said, &questions, &grants);
        if policies == POLICIES {
            break;
        }
    }
    println!("{policies} policies, {answers} answers");
    assert_eq!(policies, POLICIES, "too few policies could be applied");
}

/// Asks about a live workspace.
pub(crate) fn why(world: &World, arguments: &[&str]) -> Said {
    said(world.endow(["why", "--workspace", "rw"]).args(arguments))
}

#[test]
fn answer_names_who_decided_and_what_would_change_it() {
    let world = World::new();
    world.write("home/project/file", "content");
    world.write("home/project/.env", "secret");
    let allowed = why(&world, &["file", "--to", "write"]);
    assert!(allowed.ok().starts_with("allowed: write file\n"), "{}", allowed.stdout);
    assert!(allowed.stdout.contains("(--workspace rw)"), "{}", allowed.stdout);
    assert!(allowed.stdout.contains("forbid   --workspace ro"), "{}", allowed.stdout);
    let hidden = why(&world, &[".env"]);
    assert_eq!(hidden.code, 1);
    assert!(hidden.stdout.contains("rule     deny .env (profile base)"), "{}", hidden.stdout);
    assert!(hidden.stdout.contains("allow    --deny '!.env'"), "{}", hidden.stdout);
    assert_eq!(why(&world, &["--deny", "!.env", ".env"]).code, 0);
    let absent = why(&world, &["/etc/shadow"]);
    assert!(absent.stdout.contains("allow    --ro /etc/shadow"), "{}", absent.stdout);
    let own = world.write("elsewhere/own", "content");
    let own = own.to_str().expect("UTF-8");
    let readonly = why(&world, &["--ro", own, own, "--to", "write", "--verify", "--json"]);
    let answer: Value = serde_json::from_str(&readonly.stdout).expect("JSON");
    assert_eq!((readonly.code, &answer["answer"]), (1, &Value::from("read-only")));
    assert_eq!(answer["layers"][0], "mount");
    assert_eq!(answer["verified"]["agrees"], true);
    world.assert_no_run_left();
}

/// A directory on the way to a held name is mounted on itself, with what hides below it.
#[test]
fn names_beside_a_held_one_stay_hidden() {
    let world = World::new();
    world.write("home/project/below/key.pem", "secret");
    world.write("home/project/below/settings", "content");
    symlink("below/settings", world.project().join(".envrc")).expect("a link");
    let hidden = why(&world, &["below/key.pem", "--verify", "--json"]);
    let answer: Value = serde_json::from_str(&hidden.stdout).expect("JSON");
    assert_eq!(answer["verified"]["agrees"], true, "{answer}");
    assert_eq!(answer["layers"], serde_json::json!(["deny"]), "{answer}");
}

/// What may be written and is not kept is no plain yes.
#[test]
fn what_becomes_of_protected_names_is_told() {
    let world = World::new();
    world.write("home/project/real/e", "x\n");
    std::os::unix::fs::symlink("real/e", world.project().join(".envrc")).expect("a link");
    let said = |access: &str, name: &str| {
        let asked = ["why", "--workspace", access, name, "--to", "write"];
        said(&mut world.endow(asked)).ok().to_owned()
    };
    for name in ["real/e", ".mise.toml"] {
        assert!(said("cow", name).contains("held for review: protect"), "{}", said("cow", name));
    }
    assert!(
        said("rw", ".mise.toml")
            .contains("taken away again: protect {,.}mise{,.*}.toml (profile base)")
    );
    for access in ["cow", "rw"] {
        assert!(!said(access, "other").contains("protect"), "{}", said(access, "other"));
    }
}

#[test]
fn connections_and_calls() {
    let world = World::new();
    let refused = why(&world, &["example.com:443"]);
    assert!(refused.stdout.contains("ENETUNREACH") && refused.code == 1, "{}", refused.stdout);
    why(&world, &["--net", "host", "example.com:443"]).ok();
    assert!(refused.stdout.contains("--net example.com:443"), "{}", refused.stdout);
    let allowed = why(&world, &["--net", "*.example.com", "a.example.com:443"]);
    assert!(
        allowed.stdout.contains("*.example.com:443 (--net *.example.com)"),
        "{}",
        allowed.stdout
    );
    let private = why(&world, &["--net", "0.0.0.0/0:22", "10.0.0.5:22"]);
    assert!(private.stdout.contains("10.0.0.0/8") && private.code == 1, "{}", private.stdout);
    let no_port = why(&world, &["--net", "example.com", "example.com"]);
    assert!(no_port.stderr.contains("`endow why example.com:443`"), "{}", no_port.stderr);
    world.write("home/project/example.org", "");
    let file = why(&world, &["example.org"]);
    assert!(file.ok().starts_with("allowed") && !file.stderr.contains("hint"), "{file:?}");
    why(&world, &["localhost:80"]).ok();
    why(&world, &["call:read"]).ok();
    assert!(why(&world, &["call:mount"]).stdout.starts_with("denied: call:mount (EPERM)"));
    why(&world, &["call:nonsense"]).fails(2);
}

#[test]
fn questions_before_a_line_that_is_none_are_answered() {
    let world = World::new();
    world.write("home/project/there", "x\n");
    for (option, allowed) in [("--color=never", "allowed: read there"), ("--json", "\"allowed\"")] {
        let script = "printf 'read there\n\nread\nread there\n' | \"$0\" why - \"$1\"";
        let mut asked = world.command("sh");
        let told = said(asked.args(["-c", script]).arg(crate::harness::endow()).arg(option));
        told.fails(2);
        assert_eq!(told.stdout.matches(allowed).count(), 1, "{}", told.stdout);
        let all = format!("{}{}", told.stdout, told.stderr);
        assert!(all.contains("not a question") && all.contains("line 3, read"), "{all}");
    }
}

/// What is nested too deep is hidden by no pattern, and is none of endow's own.
#[test]
fn directory_that_is_nested_too_deep_is_told() {
    let world = World::new();
    let deep = format!("{}file", "d/".repeat(140));
    world.write(format!("home/project/{deep}"), "content");
    // In a live mount each directory on the way is shown again: it must not be asked twice each time.
    for access in ["cow", "ro", "rw"] {
        let hidden = said(&mut world.endow(["why", "--workspace", access, &deep]));
        assert!(hidden.stdout.contains("is nested too deep"), "{access}: {}", hidden.stdout);
    }
    let run = world.run(&["run", "-v"], "true");
    assert!(run.stderr.contains("d/d (1 in all)"), "{}", run.stderr);
}

#[test]
fn connection_is_asked_for_in_a_line_as_by_the_option() {
    let world = World::new();
    let script = "printf 'connect api.example.com:443\nconnect ./a:443\n' | \"$0\" why --net api.example.com -";
    let mut asked = world.command("sh");
    let lines = said(asked.args(["-c", script]).arg(crate::harness::endow())).stdout;
    assert!(lines.starts_with("allowed: connect api.example.com:443\n"), "{lines}");
    assert!(lines.contains("absent: connect ./a:443"), "with a slash it is a path: {lines}");
}

#[test]
fn empty_path_is_told() {
    let empty = why(&World::new(), &[""]);
    assert!(empty.stdout.contains("because  the path is empty\n"), "{}", empty.stdout);
}
