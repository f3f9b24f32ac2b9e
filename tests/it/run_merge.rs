//! Both sides changed a text that git knows, and write-back is told to merge.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::fs::XattrFlags;
use serde_json::Value;

use crate::harness::{Running, World, said};

const WHO: &str = "-c user.name=t -c user.email=t@example.com";
const FILE: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
const INSIDE: &str = "sed -i 's/^2/guest/' file";
const OUTSIDE: &str = "sed -i 's/^8/host/' file";
const BOTH: &str = "1\nguest\n3\n4\n5\n6\n7\nhost\n9\n";
/// Both change one line.
const SAME: &str = "sed -i 's/^2/host/' file";

/// A repository with one committed file.
fn repository() -> World {
    repository_of(FILE.as_bytes(), "true")
}

/// One with a content, made ready by a script.
fn repository_of(content: &[u8], prepare: &str) -> World {
    let world = World::new();
    fs::write(world.project().join("file"), content).expect("written");
    world.bare(&commit_all(prepare)).ok();
    world
}

fn commit_all(prepare: &str) -> String {
    format!("git init -q -b main . && {prepare} && git add . && git {WHO} commit -qm first")
}

/// Runs a script inside, another outside in its middle; returns exit code and report.
fn meanwhile(world: &World, options: &[&str], inside: &str, outside: &str) -> (i32, Value) {
    let script = format!("set -e; {inside}; echo in; read go");
    let report = world.root().join("report.json");
    let mut command = world.endow(["run", "--report", &report.display().to_string()]);
    command.args(options).args(["--", "sh", "-c", &script]).stdin(Stdio::piped());
    let mut running = Running::start(&mut command);
    running.expect("in");
    world.bare(outside).ok();
    running.say("\n");
    let code = running.end();
    let report = fs::read(&report).expect("a report");
    (code, serde_json::from_slice(&report).expect("json"))
}

fn merged(world: &World, inside: &str, outside: &str) -> (i32, Value) {
    meanwhile(world, &["--on-conflict", "merge"], inside, outside)
}

/// The host's stays, as with `host`, and the run's waits.
#[track_caller]
fn assert_hosts(world: &World, (code, report): &(i32, Value), host: &str, line: &str) {
    assert_eq!(*code, 121, "{report}");
    assert_eq!(world.read("file"), host);
    assert_eq!(report["sync"]["conflicts"][0]["winner"], "host", "{report}");
    assert_eq!(report["sync"]["state"], "waiting");
    let diff = said(&mut world.endow(["diff"]));
    assert!(diff.ok().lines().any(|it| it == line), "{line}: {}", diff.stdout);
}

#[track_caller]
fn assert_merged(world: &World, (code, report): &(i32, Value), text: &str) {
    assert_eq!(*code, 0, "{report}");
    assert_eq!(world.read("file"), text);
    assert_eq!(report["sync"]["conflicts"][0]["winner"], "merged", "{report}");
    assert_eq!(report["sync"]["state"], "applied");
}

#[test]
fn changes_apart_are_both_there_and_undo_gives_the_hosts_back() {
    let world = repository();
    let outside = format!("{OUTSIDE}; touch -d @1500000000 file; chmod 644 file");
    let found = merged(&world, &format!("{INSIDE}; echo more >new"), &outside);
    assert_merged(&world, &found, BOTH);
    assert_eq!(world.read("new"), "more\n");
    said(&mut world.endow(["undo"])).ok();
    assert_eq!(world.read("file"), FILE.replace('8', "host"));
    assert_eq!(world.bare("stat -c '%Y %a' file").ok(), "1500000000 644\n");
    assert_eq!(world.read("new"), "absent");
}

#[test]
fn files_that_editors_replaced_are_merged() {
    for (inside, outside) in [
        ("sed 's/^2/guest/' file >n; mv n file", "sed 's/^8/host/' file >n; mv n file"),
        ("f=$(sed 's/^2/guest/' file); echo \"$f\" >file", OUTSIDE),
    ] {
        let world = repository();
        assert_merged(&world, &merged(&world, inside, outside), BOTH);
    }
}

#[test]
fn run_says_what_it_merged() {
    let world = repository();
    let script = format!("{INSIDE}; echo in; read go");
    let mut command =
        world.endow(["run", "-v", "--on-conflict", "merge", "--", "sh", "-c", &script]);
    let stderr = world.root().join("stderr");
    command.stdin(Stdio::piped()).stderr(fs::File::create(&stderr).expect("created"));
    let mut running = Running::start(&mut command);
    running.expect("in");
    world.bare(OUTSIDE).ok();
    running.say("\n");
    assert_eq!(running.end(), 0);
    let stderr = fs::read_to_string(stderr).expect("a text");
    assert!(stderr.contains("1 merged with changes outside: "), "{stderr}");
}

#[test]
fn policy_and_apply_merge_too() {
    let world = repository();
    let policy = "version = 1\n[sync]\non_conflict = \"merge\"\n";
    let policy = world.write("policy.toml", policy).display().to_string();
    assert_merged(&world, &meanwhile(&world, &["-p", &policy], INSIDE, OUTSIDE), BOTH);
    let world = repository();
    let kept = meanwhile(&world, &[], INSIDE, OUTSIDE);
    assert_hosts(&world, &kept, &FILE.replace('8', "host"), "+guest");
    let said_of = said(&mut world.endow(["apply", "--on-conflict", "merge", "--json"]));
    let told: Value = serde_json::from_str(said_of.ok()).expect("json");
    assert_eq!(told["sync"]["conflicts"][0]["winner"], "merged", "{told}");
    assert_eq!(world.read("file"), BOTH);
    said(&mut world.endow(["undo"])).ok();
    assert_eq!(world.read("file"), FILE.replace('8', "host"));
}

#[test]
fn merged_file_is_not_written_again_when_more_waits() {
    let world = repository();
    let (code, report) = merged(&world, &format!("{INSIDE}; mkfifo pipe"), OUTSIDE);
    assert_eq!((code, world.read("file")), (121, BOTH.to_owned()), "{report}");
    let diff = said(&mut world.endow(["diff", "--name-status"]));
    assert_eq!(diff.ok(), "A\tpipe\n");
    said(&mut world.endow(["apply", "--on-conflict", "guest"])).fails(121);
    assert_eq!(world.read("file"), BOTH);
}

#[test]
fn layer_in_memory_is_merged() {
    let world = repository();
    let root = world.root().display().to_string();
    let options = ["--cow", &root, "--on-conflict", "merge"];
    let (code, report) = meanwhile(&world, &options, &format!("{INSIDE}; mkfifo pipe"), OUTSIDE);
    assert_eq!((code, world.read("file")), (121, BOTH.to_owned()), "{report}");
    let diff = said(&mut world.endow(["diff", "--name-status"]));
    assert_eq!(diff.ok(), "A\tpipe\n");
}

#[test]
fn changes_of_one_place_stay_the_hosts() {
    let world = repository();
    let found = merged(&world, INSIDE, SAME);
    assert_hosts(&world, &found, &FILE.replace('2', "host"), "+guest");
    assert_eq!(found.1["sync"]["conflicts"][0]["not_merged"], "both changed the same lines");
    let unasked = said(&mut world.endow(["apply", "--on-conflict", "host"]));
    assert!(!unasked.fails(121).contains("not merged"), "{unasked:?}");
    let asked = said(&mut world.endow(["apply", "--on-conflict", "merge"]));
    let why = "/file (not merged: both changed the same lines) (endow diff ";
    assert!(asked.fails(121).contains(why), "{asked:?}");
    assert_eq!(world.read("file"), FILE.replace('2', "host"));
}

#[test]
fn ends_of_lines_are_exact() {
    let rows = [
        ("1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n", "guest", "host"),
        ("1\n2\n3\n4\n5\n6\n7\n8\n9", "guest", "host"),
        ("1\n2\r\n3\n4\n5\n6\n7\n8\r\n9", "guest", "host"),
    ];
    for (text, guest, host) in rows {
        let world = repository_of(text.as_bytes(), "true");
        let found = merged(&world, INSIDE, OUTSIDE);
        assert_merged(&world, &found, &text.replace('2', guest).replace('8', host));
    }
}

#[test]
fn binary_stays_the_hosts() {
    let world = repository_of(b"1\n2\n3\n\0\n5\n6\n7\n8\n9\n", "true");
    let (code, report) = merged(&world, INSIDE, OUTSIDE);
    assert_eq!((code, &report["sync"]["conflicts"][0]["winner"]), (121, &"host".into()));
    assert_eq!(report["sync"]["conflicts"][0]["not_merged"], "it is no text");
    let file = fs::read(world.project().join("file")).expect("a file");
    assert_eq!(file, b"1\n2\n3\n\0\n5\n6\n7\nhost\n9\n");
}

#[test]
fn large_file_stays_the_hosts() {
    let line = "x".repeat(1023) + "\n";
    for (lines, expected) in [(4000, 0), (4100, 121)] {
        let text = format!("{FILE}{}{FILE}", line.repeat(lines));
        let world = repository_of(text.as_bytes(), "true");
        let (code, report) =
            merged(&world, "sed -i '2s/2/guest/' file", "sed -i '$s/9/host/' file");
        assert_eq!(code, expected, "{lines}");
        let why = Some("it is larger than 4 MiB").filter(|_| expected == 121);
        assert_eq!(report["sync"]["conflicts"][0]["not_merged"].as_str(), why);
    }
}

#[test]
fn what_no_repository_knows_stays_the_hosts() {
    let (unknown, lost) = ("git does not know it", "what both sides began with can't be had");
    let rows = [
        ("not tracked", "echo file >.gitignore; git init -q .", unknown),
        ("no repository", "true", unknown),
        ("name only", "git init -q . && git add -N file", unknown),
        ("another kind of names", "git init -q --object-format=sha256 . && git add .", unknown),
        ("objects gone", "git init -q . && git add . && rm .git/objects/??/*", lost),
    ];
    for (what, prepare, why) in rows {
        let world = World::new();
        world.write("home/project/file", FILE);
        world.bare(prepare).ok();
        let found = merged(&world, INSIDE, OUTSIDE);
        assert_eq!(found.0, 121, "{what}");
        assert_eq!(found.1["sync"]["conflicts"][0]["not_merged"], why, "{what}");
        assert_hosts(&world, &found, &FILE.replace('8', "host"), "+guest");
    }
}

#[test]
fn what_the_host_removed_or_made_another_stays() {
    let world = repository();
    let (code, _) = merged(&world, "rm file", OUTSIDE);
    assert_eq!((code, world.read("file")), (121, FILE.replace('8', "host")));
    for outside in ["rm file; ln -s other file", "rm file; mkdir file", "chmod 755 file"] {
        let world = repository();
        let (code, report) = merged(&world, INSIDE, outside);
        assert_eq!(code, 121, "{outside}: {report}");
        assert_eq!(report["sync"]["conflicts"][0]["winner"], "host", "{outside}");
    }
}

/// The shell writes into the file that is there, with its attributes; `sed -i` makes another.
#[test]
fn attributes_that_differ_are_not_merged() {
    let inside = "f=$(sed 's/^2/guest/' file); echo \"$f\" >file";
    let outside = "f=$(sed 's/^8/host/' file); echo \"$f\" >file";
    for (inside, expected) in [(inside, 0), (INSIDE, 121)] {
        let world = repository();
        let file = world.project().join("file");
        let set = || rustix::fs::setxattr(&file, "user.note", b"note", XattrFlags::empty());
        set().expect("set");
        let (code, report) = merged(&world, inside, outside);
        assert_eq!(code, expected, "{inside}: {report}");
        let why = Some("attributes differ").filter(|_| expected == 121);
        assert_eq!(report["sync"]["conflicts"][0]["not_merged"].as_str(), why);
        let mut note = [0; 4];
        rustix::fs::getxattr(&file, "user.note", &mut note).expect("there");
        assert_eq!(&note, b"note", "{inside}");
    }
}

/// A base that already has what the host did would take it away.
#[test]
fn what_was_staged_meanwhile_is_no_base() {
    for stage in ["git add file", "git commit -qam host", "git stash -q && git stash pop -q"] {
        let world = repository();
        world.bare("git config user.name t; git config user.email t@example.com").ok();
        let found = merged(&world, INSIDE, &format!("{OUTSIDE}; {stage}"));
        let text = world.read("file");
        assert!(text.contains("host"), "{stage}: {text}");
        assert_eq!(found.0, 121, "{stage}");
    }
}

#[test]
fn commit_of_the_run_and_change_outside_are_both_there() {
    let world = repository();
    let inside = format!("{INSIDE}; git {WHO} commit -qam guest");
    let found = merged(&world, &inside, OUTSIDE);
    assert_merged(&world, &found, BOTH);
    assert_eq!(
        world.bare("git log --format=%s; git diff --stat | tail -1").ok(),
        "guest\nfirst\n 1 file changed, 1 insertion(+), 1 deletion(-)\n"
    );
}

#[test]
fn change_of_before_the_start_counts_once() {
    let world = repository();
    world.bare("sed -i 's/^5/before/' file").ok();
    let found = merged(&world, INSIDE, OUTSIDE);
    assert_merged(&world, &found, &BOTH.replace('5', "before"));
}

#[test]
fn repository_above_below_and_linked_is_found() {
    let rows = [
        ("above", commit_all("mkdir sub; mv file sub"), "sub"),
        ("below", format!("mkdir sub; mv file sub; cd sub; {}", commit_all("true")), "sub"),
        ("packed", format!("{}; git gc -q", commit_all("true")), "."),
        (
            "linked",
            format!("{}; git worktree add -q ../linked -b other; rm file", commit_all("true")),
            "../linked",
        ),
    ];
    for (what, prepare, place) in rows {
        let world = World::new();
        world.write("home/project/file", FILE);
        world.bare(&format!("set -e; {prepare}")).ok();
        let mount = if what == "below" { world.project() } else { world.project().join(place) };
        let mount = mount.canonicalize().expect("there").display().to_string();
        let options = ["--cow", &mount, "--chdir", &mount, "--on-conflict", "merge"];
        let way = if what == "below" { "cd sub; " } else { "" };
        let outside = format!("cd {place}; {OUTSIDE}");
        let (code, report) = meanwhile(&world, &options, &format!("{way}{INSIDE}"), &outside);
        assert_eq!(code, 0, "{what}: {report}");
        assert_eq!(world.read(&format!("{place}/file")), BOTH, "{what}");
    }
}

#[test]
fn work_tree_that_its_repository_does_not_name_is_not_believed() {
    let world = repository();
    world.bare("git worktree add -q ../linked -b other; mkdir fake; cp ../linked/.git fake").ok();
    world.write("home/project/fake/file", FILE);
    world.bare("sleep 0.1; git -C fake update-index --refresh -q").ok();
    let found =
        merged(&world, "cd fake; sed -i 's/^2/guest/' file", "cd fake; sed -i 's/^8/host/' file");
    assert_eq!(found.0, 121, "{}", found.1);
}

/// What lies between git and the file: the base is not what stood there.
#[test]
fn filtered_files_are_merged_exactly_or_not_at_all() {
    let rows = [
        "git config core.autocrlf true; sed -i 's/$/\\r/' file",
        "echo 'file text eol=crlf' >.gitattributes; sed -i 's/$/\\r/' file",
        "echo 'file filter=f' >.gitattributes; git config filter.f.clean 'tr 1-9 a-i'; \
         git config filter.f.smudge 'tr a-i 1-9'",
        "echo 'file ident' >.gitattributes; sed -i '5s/.*/$Id: 0 $/' file",
    ];
    for prepare in rows {
        let world = repository_of(FILE.as_bytes(), &format!("{{ {prepare}; }}"));
        let before = world.read("file");
        let (code, report) = merged(&world, INSIDE, OUTSIDE);
        let host = before.replace("\n8", "\nhost");
        assert_eq!((code, world.read("file")), (121, host), "{prepare}: {report}");
    }
}

/// What a command can have left in a repository that git would run.
const EVIL: &str = "git config core.fsmonitor 'touch \"$HOME/ran\"; false'
    git config core.sshCommand 'touch \"$HOME/ran\"'; git config protocol.ext.allow always
    git config remote.evil.url 'ext::sh -c touch% \"$HOME/ran\"'; git config remote.evil.promisor true
    git config extensions.partialClone evil; git config core.repositoryFormatVersion 1
    git config alias.cat-file '!touch \"$HOME/ran\"'";

#[test]
fn hostile_repository_runs_nothing() {
    let world = repository();
    world.bare(EVIL).ok();
    let ran = world.home().join("ran");
    let found = merged(&world, INSIDE, OUTSIDE);
    assert_merged(&world, &found, BOTH);
    assert!(!ran.exists());
    // The object is not there, and git would ask the remote for it.
    let world = repository();
    world
        .bare(&format!("{EVIL}; rm $(git rev-parse HEAD:file | sed 's,^..,.git/objects/&/,')"))
        .ok();
    let ran = world.home().join("ran");
    let id = "git cat-file blob $(git ls-files -s file | cut -d' ' -f2)";
    fs::remove_file(&ran).ok();
    let found = merged(&world, INSIDE, OUTSIDE);
    assert_hosts(&world, &found, &FILE.replace('8', "host"), "+guest");
    assert!(!ran.exists());
    let control = world.bare(&format!("git config --unset core.fsmonitor; {id}"));
    assert!(control.code != 0 && ran.exists(), "the control, the remote: {control:?}");
    fs::remove_file(&ran).expect("removed");
    world.bare("git config core.fsmonitor 'touch \"$HOME/ran\"; false'; git status").ok();
    assert!(ran.exists(), "the control, the monitor");
}

#[test]
fn objects_that_lead_elsewhere_are_not_read() {
    let rows = [
        "mkfifo pipe; mkdir -p .git/objects/info; echo \"$PWD/pipe\" >.git/objects/info/alternates",
        "mkdir -p .git/objects/info; mkfifo .git/objects/info/alternates",
        "mv .git/objects elsewhere; ln -s ../elsewhere .git/objects",
        "mv .git elsewhere; ln -s elsewhere .git",
        "mv .git elsewhere; echo 'gitdir: elsewhere' >.git",
        "mkdir elsewhere; mv .git/objects elsewhere; mkdir .git/objects; echo ../elsewhere >.git/commondir",
    ];
    for prepare in rows {
        let world = repository();
        world.bare(prepare).ok();
        let start = Instant::now();
        let found = merged(&world, INSIDE, OUTSIDE);
        assert_hosts(&world, &found, &FILE.replace('8', "host"), "+guest");
        assert!(start.elapsed() < Duration::from_secs(9), "{prepare}: {:?}", start.elapsed());
    }
}

/// Git waits for a FIFO in the place of an object; endow does not for ever, nor does git stay.
#[test]
fn repository_that_never_answers_is_given_up() {
    let world = repository();
    world
        .bare("f=$(git rev-parse HEAD:file | sed 's,^..,.git/objects/&/,'); rm -f $f; mkfifo $f")
        .ok();
    let start = Instant::now();
    let found = merged(&world, INSIDE, OUTSIDE);
    assert_hosts(&world, &found, &FILE.replace('8', "host"), "+guest");
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    let runs = fs::read_dir(world.state().join("runs")).expect("runs");
    let left = runs.filter(|run| run.as_ref().expect("a run").path().join("merge").exists());
    assert_eq!(left.count(), 0);
}

#[test]
fn object_with_another_content_is_no_base() {
    let world = repository();
    let forge = "f=$(git rev-parse HEAD:file | sed 's,^..,.git/objects/&/,')
        o=$(sed 's/^5/x/' file | git hash-object -w --stdin | sed 's,^..,.git/objects/&/,')
        chmod u+w $f; cat $o >$f";
    world.bare(forge).ok();
    let found = merged(&world, INSIDE, OUTSIDE);
    assert_hosts(&world, &found, &FILE.replace('8', "host"), "+guest");
}

/// A repository that takes what the host will write for what was there before the run: with it as the
/// base, the host's change is lost.
#[test]
fn repository_that_the_run_made_is_not_read() {
    let prepare = format!(
        "git init -q other && cp file old && {OUTSIDE} && \
         git --git-dir=other/.git --work-tree=. add file && mv old file"
    );
    let world = World::new();
    world.write("home/project/file", FILE);
    world.bare(&prepare).ok();
    let found = merged(&world, &format!("cp -a other/.git .git; {INSIDE}"), OUTSIDE);
    assert_hosts(&world, &found, &FILE.replace('8', "host"), "+guest");
    let control = World::new();
    control.write("home/project/file", FILE);
    control.bare(&format!("{prepare} && mv other/.git .git")).ok();
    let found = merged(&control, INSIDE, OUTSIDE);
    assert_merged(&control, &found, &FILE.replace('2', "guest"));
}

#[test]
fn links_in_the_way_are_not_followed() {
    let world = repository();
    world.write("home/secret", FILE);
    let inside = "sed -i 's/^2/guest/' file; rm file; ln -s ../secret file";
    let (code, _) = merged(&world, inside, OUTSIDE);
    assert_eq!((code, world.read("file")), (0, FILE.replace('8', "host")), "the link is held");
    let world = repository();
    world.write("home/secret", FILE);
    let outside = "rm file; ln -s ../secret file";
    let (code, _) = merged(&world, INSIDE, outside);
    assert_eq!(code, 121);
    assert_eq!(fs::read_to_string(world.home().join("secret")).expect("a text"), FILE);
}
