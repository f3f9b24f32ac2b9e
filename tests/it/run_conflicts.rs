//! Host and command change the same path: the whole table, with the layer on the disk and in
//! memory. In every cell the host's version stands in the end, the command's can still be had, and
//! undo gives the host's back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::{Running, World, said};

/// What every cell holds at the start: a directory of its own with this in it.
const CELL: &str = "mkdir d; echo base >d/f; echo other >d/g; touch -d @1000000000 d/f d/g d";

/// What the host does, in a word and in shell, and the path that the command works on.
const HOST: &[(&str, &str, &str)] = &[
    ("nothing", "d/f", ":"),
    ("edits", "d/f", "echo host >>d/f"),
    ("replaces", "d/f", "echo host >n; touch -d @900000000 n; mv n d/f"),
    ("deletes", "d/f", "rm d/f"),
    ("creates", "d/new", "echo host >d/new"),
    ("retypes", "d/f", "rm d/f; mkdir d/f; echo host >d/f/in"),
    ("links", "d/f", "mv d real; ln -s real d; echo host >real/f"),
];

/// What the command does to the path `$p`, its own text being `$own`.
const GUEST: &[(&str, &str)] = &[
    ("none", ":"),
    ("edit", "echo $own >>$p"),
    ("replace", "echo $own >n; mv n $p"),
    ("delete", "rm -rf $p"),
    ("rmdir", "rm -r d"),
    ("again", "rm -r d; mkdir d; echo $own >$p"),
    ("empty", "rm -r d; mkdir d"),
    ("same", SAME),
];

/// `cp` alone may copy by a size that overlayfs still knows, and leave what the host appended.
const SAME: &str = "cp -a d e; for at in d/*; do
    test -L d -o ! -f $at || { dd if=$at of=e/${at#d/}; touch -r $at e/${at#d/}; }; done
    touch -r d e; rm -r d; mv e d";

/// When the host acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// Before the command looked at anything.
    Unread,
    /// After it read everything, before it changed anything.
    Read,
    /// After it changed what it changes.
    Changed,
}

/// Where the layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Disk,
    /// endow's own state lies in the workspace.
    Memory,
}

#[derive(Clone, Copy)]
struct Cell {
    host: (&'static str, &'static str, &'static str),
    guest: (&'static str, &'static str),
}

impl Cell {
    fn all() -> Vec<Self> {
        let row = |host| GUEST.iter().map(move |guest| Self { host, guest: *guest });
        HOST.iter().copied().flat_map(row).collect()
    }

    fn name(self) -> String {
        format!("{}.{}", self.host.0, self.guest.0)
    }

    fn own(self) -> String {
        format!("guest-{}", self.name())
    }

    /// The part of a script that acts in this cell; what does not work there is left.
    fn script(self, action: &str) -> String {
        let (name, own, path) = (self.name(), self.own(), self.host.1);
        format!("(cd {name}; own={own} p={path}; {action}) 2>/dev/null\n")
    }
}

fn script(cells: &[Cell], action: impl Fn(Cell) -> &'static str) -> String {
    cells.iter().map(|cell| cell.script(action(*cell))).collect()
}

/// Prints what a tree holds, a line for each name and each line of a file.
const VIEW: &str = "find . -path ./.state -prune -o -mindepth 1 -printf './%P:%y %l\\n'
    grep -rs --exclude-dir=.state '' .";

/// A run of some cells.
struct Table {
    world: World,
    layer: Layer,
    code: i32,
    report: Value,
    /// What the host had, times and bits included, before anything was written back.
    host: String,
    /// What the host had by lines, and what the command saw last.
    before: BTreeSet<String>,
    view: BTreeSet<String>,
}

impl Table {
    fn run(layer: Layer, moment: Moment, cells: &[Cell]) -> Self {
        let world = World::new();
        let names: Vec<String> = cells.iter().map(|cell| cell.name()).collect();
        world.bare(&format!("mkdir {}; {}", names.join(" "), script(cells, |_| CELL))).ok();
        let mut table = Self {
            world,
            layer,
            code: 0,
            report: Value::Null,
            host: String::new(),
            before: BTreeSet::new(),
            view: BTreeSet::new(),
        };
        table.carry_out(moment, cells);
        table
    }

    fn carry_out(&mut self, moment: Moment, cells: &[Cell]) {
        let acts = script(cells, |cell| cell.guest.1);
        let script_inside = format!(
            "turn() {{ echo $1; read go; }}
            turn begun; cat */d/* >/dev/null; ls -lR >/dev/null; turn read
            {acts} turn changed; ({VIEW}) >/tmp/view 2>/dev/null; cp /tmp/view view"
        );
        let report = self.world.root().join("report.json");
        let mut command = self.endow(&["run", "--report", &report.display().to_string()]);
        command.args(["--", "sh", "-c", &script_inside]).stdin(Stdio::piped());
        let mut running = Running::start(command.stderr(Stdio::null()));
        for (now, word) in
            [(Moment::Unread, "begun"), (Moment::Read, "read"), (Moment::Changed, "changed")]
        {
            running.expect(word);
            if now == moment {
                self.world.bare(&script(cells, |cell| cell.host.2));
            }
            if now == Moment::Changed {
                assert_eq!(self.has_layer_on_disk(), self.layer == Layer::Disk);
                (self.host, self.before) = (self.tree(), self.lines());
            }
            running.say("\n");
        }
        self.code = running.end();
        let view = fs::read_to_string(self.world.project().join("view")).expect("a view");
        self.view = view.lines().map(str::to_owned).collect();
        let text = fs::read_to_string(report).expect("a report");
        self.report = serde_json::from_str(&text).expect("json");
    }

    fn state(&self) -> PathBuf {
        match self.layer {
            Layer::Disk => self.world.state(),
            Layer::Memory => self.world.project().join(".state"),
        }
    }

    fn endow(&self, words: &[&str]) -> Command {
        let mut command = self.world.endow(words);
        command.env("ENDOW_STATE_DIR", self.state());
        command
    }

    fn has_layer_on_disk(&self) -> bool {
        let runs = fs::read_dir(self.state().join("runs")).expect("runs").flatten();
        runs.into_iter().any(|run| run.path().join("layers/000/m000/upper").exists())
    }

    /// All cells, times and bits included.
    fn tree(&self) -> String {
        let script = "find *.* -printf '%p %y %m %T@ %l\\n' | sort
            find *.* -type f | sort | xargs tail -n +1";
        self.world.bare(script).ok().to_owned()
    }

    fn lines(&self) -> BTreeSet<String> {
        self.world.bare(VIEW).stdout.lines().map(str::to_owned).collect()
    }

    /// The conflicts by cell, each a path below it and a reason.
    fn conflicts(&self) -> BTreeMap<String, Vec<(String, String)>> {
        let mut conflicts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for it in self.report["sync"]["conflicts"].as_array().expect("a list") {
            assert_eq!(it["winner"], "host");
            let path = PathBuf::from(it["path"].as_str().expect("a path"));
            let path = path.strip_prefix(self.world.project()).expect("below the project");
            let (cell, path) = path.to_str().and_then(|it| it.split_once('/')).expect("a cell");
            let reason = it["reason"].as_str().expect("a reason").to_owned();
            conflicts.entry(cell.to_owned()).or_default().push((path.to_owned(), reason));
        }
        conflicts
    }

    /// Nothing stood against anything: all of both sides is in the tree.
    fn check_applied(&self, cells: &[Cell], about: &str) {
        assert_eq!(self.code, 0, "{about}");
        assert_eq!(self.report["sync"]["state"], "applied", "{about}");
        self.check_kept(about);
        let now = self.lines();
        let own = self.view.iter().filter(|line| line.contains(":guest-"));
        assert_eq!(own.filter(|line| !now.contains(*line)).collect::<Vec<_>>(), [""; 0], "{about}");
        for cell in cells {
            let (name, path) = (cell.name(), cell.host.1);
            if cell.guest.0 == "none" {
                assert_eq!(below(&now, &name), below(&self.before, &name), "{about}: {name}");
            } else if cell.host.0 == "nothing" {
                let at = format!("{name}/{path}");
                assert_eq!(below(&now, &at), below(&self.view, &at), "{about}: {name}");
            }
        }
        self.check_undone(about);
    }

    /// Each conflict is decided for the host, and by a further word for the command.
    fn check_conflicts(&self, about: &str) {
        assert_eq!(self.code, 121, "{about}");
        assert_eq!(self.report["sync"]["state"], "waiting", "{about}");
        self.check_kept(about);
        let now = self.lines();
        let conflicts = self.conflicts();
        let paths = conflicts
            .iter()
            .flat_map(|(cell, them)| them.iter().map(move |(path, _)| format!("{cell}/{path}")));
        let paths: Vec<String> = paths.collect();
        for path in &paths {
            assert_eq!(below(&now, path), below(&self.before, path), "{about}: {path}");
        }
        let patch = said(&mut self.endow(&["diff", "--patch"]));
        let own: Vec<&String> = self.view.iter().filter(|line| line.contains(":guest-")).collect();
        for line in &own {
            let text = line.split_once(':').expect("a text").1;
            assert!(now.contains(*line) || patch.ok().contains(&format!("+{text}\n")), "{line}");
        }
        said(&mut self.endow(&["apply", "--on-conflict", "guest"])).ok();
        let now = self.lines();
        let missing: Vec<_> = own.iter().filter(|line| !now.contains(**line)).collect();
        assert!(missing.is_empty(), "{about}: {missing:?}");
        for path in &paths {
            let kind = |lines| first(lines, path);
            assert_eq!(kind(&now), kind(&self.view), "{about}: {path}");
        }
        self.check_undone(about);
    }

    /// All that the host wrote is where it wrote it.
    fn check_kept(&self, about: &str) {
        let now = self.lines();
        let host = self.before.iter().filter(|line| line.ends_with(":host"));
        let lost: Vec<_> = host.filter(|line| !now.contains(*line)).collect();
        assert!(lost.is_empty(), "{about}: {lost:?}");
    }

    fn check_undone(&self, about: &str) {
        said(&mut self.endow(&["undo"])).ok();
        assert_eq!(self.tree(), self.host, "{about}");
    }
}

/// The lines of a path and of what is below it.
fn below<'a>(lines: &'a BTreeSet<String>, path: &str) -> Vec<&'a String> {
    let is_it = |line: &&String| {
        let rest = line.strip_prefix("./").and_then(|it| it.strip_prefix(path));
        rest.is_some_and(|rest| rest.starts_with([':', '/']))
    };
    lines.iter().filter(is_it).collect()
}

/// The kind of what is at a path, a directory being one even where nothing is told of it.
fn first(lines: &BTreeSet<String>, path: &str) -> Option<String> {
    let is_name = |line: &&str| line.as_bytes().get(1) == Some(&b' ');
    let at = format!("./{path}:");
    lines.iter().filter_map(|line| line.strip_prefix(&at)).find(is_name).map(str::to_owned)
}

// What is to conflict: the host's act, paths and reasons, and the command's acts. All other cells
// leave no conflict: what the host did is to be seen by the command, or both did the same, or the
// command made a new file where the host removed the old one.

const UNREAD: &str = "\
edits: d/f changed outside: edit replace delete rmdir again empty
replaces: d/f changed outside: edit delete rmdir empty
replaces: d/f made or replaced outside: replace again
creates: d/new changed outside: edit delete rmdir empty
creates: d/new made or replaced outside: replace again
retypes: d/f changed outside: again
retypes: d/f changed outside, d/f/in a directory above was replaced: delete rmdir empty
retypes: d/f/n a directory above was replaced: replace
links: d changed outside: rmdir again empty
links: real/f a directory above was replaced: edit replace delete
";
/// An edit of a file that was read, and that the host removed since, is told where the run did nothing
/// but edit and create: overlayfs copies such a file up as if it were new. In the table much is moved.
const READ: &str = "\
edits: d/f changed outside: edit replace delete rmdir again empty
replaces: d/f changed outside: delete rmdir empty
replaces: d/f made or replaced outside: edit replace again same
creates: d/new changed outside: edit delete rmdir empty
creates: d/new made or replaced outside: replace again
retypes: d/f changed outside: edit replace again same
retypes: d/f changed outside, d/f/in a directory above was replaced: delete rmdir empty
links: d changed outside: edit replace delete rmdir again empty same
";
const CHANGED: &str = "\
edits: d/f changed outside: edit replace delete rmdir again empty same
replaces: d/f changed outside: edit delete rmdir empty
replaces: d/f made or replaced outside: replace again same
deletes: d/f vanished outside: edit
creates: d/new changed outside: rmdir empty same
creates: d/new made or replaced outside: edit replace again
retypes: d/f changed outside: edit replace again same
retypes: d/f changed outside, d/f/in a directory above was replaced: delete rmdir empty
links: d changed outside: edit replace delete rmdir again empty same
";

/// A line for each host's act and what it led to, with the command's acts that it met.
fn rendered(conflicts: &BTreeMap<String, Vec<(String, String)>>) -> String {
    let mut lines = String::new();
    for host in HOST {
        let mut met: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for guest in GUEST {
            let cell = Cell { host: *host, guest: *guest };
            let Some(them) = conflicts.get(&cell.name()) else { continue };
            let them: Vec<String> = them.iter().map(|(at, why)| format!("{at} {why}")).collect();
            met.entry(them.join(", ")).or_default().push(guest.0);
        }
        let line = |(them, guests): (String, Vec<&str>)| {
            format!("{}: {them}: {}\n", host.0, guests.join(" "))
        };
        lines.extend(met.into_iter().map(line));
    }
    lines
}

fn is_told(expected: &str, cell: Cell) -> bool {
    let is_it = |line: &str| {
        let mut parts = line.split(": ");
        parts.next() == Some(cell.host.0)
            && parts.last().is_some_and(|it| it.split(' ').any(|it| it == cell.guest.0))
    };
    expected.lines().any(is_it)
}

fn check(layer: Layer, moment: Moment, expected: &str) {
    let (both, one): (Vec<Cell>, Vec<Cell>) =
        Cell::all().into_iter().partition(|cell| is_told(expected, *cell));
    let about = format!("{layer:?} {moment:?}");
    let tables = [&both, &one].map(|cells| Table::run(layer, moment, cells));
    let conflicts = tables.iter().flat_map(Table::conflicts).collect();
    assert_eq!(rendered(&conflicts), expected, "{about}");
    tables[0].check_conflicts(&about);
    tables[1].check_applied(&one, &about);
}

fn check_all(layer: Layer) {
    let moments = [(Moment::Unread, UNREAD), (Moment::Read, READ), (Moment::Changed, CHANGED)];
    for (moment, expected) in moments {
        check(layer, moment, expected);
    }
}

#[test]
fn table_with_the_layer_on_the_disk() {
    check_all(Layer::Disk);
}

#[test]
fn table_with_the_layer_in_memory() {
    check_all(Layer::Memory);
}

/// A run that the host interferes with: what it ended with and the names in `d`, by layer.
fn interfered(setup: &str, inside: &str, host: &str) -> Vec<(i32, String, String)> {
    let run = |layer: Layer| {
        let world = World::new();
        world.bare(setup).ok();
        let state = match layer {
            Layer::Disk => world.state(),
            Layer::Memory => world.project().join(".state"),
        };
        let endow = |words: &[&str]| {
            let mut command = world.endow(words);
            command.env("ENDOW_STATE_DIR", &state).stdin(Stdio::piped()).stderr(Stdio::null());
            command
        };
        let inside = format!("cat d/* >/dev/null; echo read; read go; {inside}");
        let mut running = Running::start(&mut endow(&["run", "--", "sh", "-c", &inside]));
        running.expect("read");
        world.bare(host).ok();
        running.say("\n");
        let code = running.end();
        let patch = said(&mut endow(&["diff", "--patch"])).stdout;
        (code, world.bare("echo $(ls d)").ok().trim().to_owned(), patch)
    };
    [Layer::Disk, Layer::Memory].map(run).into()
}

/// Which of the new files of a directory the host had removed is told by nothing: all of them are
/// held where one must be, and none where another entry explains what overlayfs notes.
#[test]
fn new_file_conflicts_only_where_nothing_else_was_edited() {
    let edits = |paths: &str| format!("for at in {paths} d/new; do echo guest >>$at; done");
    for (code, there, patch) in interfered(CELL, &edits("d/f"), "rm d/f") {
        assert_eq!((code, there.as_str()), (121, "g"));
        assert_eq!(patch.matches("+guest").count(), 2, "{patch}");
    }
    for (code, there, _) in interfered(CELL, &edits("d/f d/g"), "rm d/f") {
        assert_eq!((code, there.as_str()), (0, "f g new"));
    }
}

#[test]
fn moved_file_does_not_conflict_with_a_new_one_beside_it() {
    let setup = format!("{CELL}; mkdir s; echo moved >s/a");
    let inside = "mv s/a d/a; sed -i s/moved/edited/ d/a; echo guest >d/new";
    for (code, there, _) in interfered(&setup, inside, "echo host >d/mine") {
        assert_eq!((code, there.as_str()), (0, "a f g mine new"));
    }
}

/// What a part of the changes explained is explained when that part is gone.
#[test]
fn rest_of_the_changes_does_not_conflict_after_a_part() {
    for part in ["apply", "discard"] {
        let world = World::new();
        world.bare(CELL).ok();
        let inside = "echo guest >>d/f; echo guest >d/new";
        said(&mut world.endow(["run", "--sync", "review", "--", "sh", "-c", inside]));
        said(&mut world.endow([part, "--", "d/f"])).ok();
        world.bare("cat d/f >d/n; mv d/n d/f; echo host >d/mine").ok();
        said(&mut world.endow(["apply"])).ok();
        assert_eq!(world.bare("echo $(ls d)").ok().trim(), "f g mine new", "{part}");
    }
}
