//! What a project file may say before it is trusted.

use endow_policy::{FileKind, Flags, Sources, Vars, View, compose, judge, narrowed};
use insta::assert_snapshot;

use crate::harness::*;

/// Judges a project file above a user file; `+` gives more, `-` narrows.
fn verdicts(user: &str, project: &str) -> String {
    verdicts_with(user, &Flags::default(), project)
}

/// Judges a project file above a user file, in a run with flags; `+` gives more, `-` narrows.
fn verdicts_with(user: &str, flags: &Flags, project: &str) -> String {
    let mut sources = Sources { user: Some(text(FileKind::User, user)), ..Sources::default() };
    let weaker = compose(&sources, &vars()).expect("composes");
    sources.flags = Some(flags.layer().expect("a layer"));
    let view = View::of(&compose(&sources, &vars()).expect("composes"), &vars());
    let file = text(FileKind::Project, project);
    let judgement = judge(&file, &weaker, &view, &vars());
    assert_eq!(judgement.accept(&file).is_err(), !judgement.grants.is_empty());
    let line = |mark, list: &[endow_policy::Grant]| {
        list.iter().map(|g| format!("{mark} {} {}", g.origin, g.what)).collect::<Vec<_>>()
    };
    let mut lines = line('-', &judgement.narrowing);
    lines.extend(line('+', &judgement.grants));
    lines.join("\n")
}

/// Whatever an enclosing project's file says, what is left of it gives nothing.
#[test]
fn narrowed_file_has_what_takes_away_and_nothing_else() {
    let user = "[mounts]\n\"/opt\" = \"ro\"\n[limits]\npids = 9\n[workspace]\naccess = \"cow\"\n[require]\nlevel = \"namespaces\"\n";
    let file = text(
        FileKind::Project,
        r#"
extends = ["rust"]
[workspace]
access = "ro"
root = "/data"
[mounts]
"/opt" = false
"/data" = "rw"
[deny]
patterns = ["a", "!b"]
defaults = false
[protect]
names = ["!c", "d"]
[env]
drop = ["X", "!Y"]
pass = ["!TERM", "Z"]
set = { A = "b" }
[network]
allow = ["!example.com", "example.org"]
match_server_name = false
[limits]
timeout = 10
pids = 20
[process]
allow = ["!perf", "userns"]
hostname = "x"
[require]
level = "full"
best_effort = ["memory"]
[sync]
mode = "discard"
[[expect]]
read = "/x"
is = "absent"
[[action]]
name = "x"
command = ["true"]
"#,
    );
    let sources = Sources { user: Some(text(FileKind::User, user)), ..Sources::default() };
    let weaker = compose(&sources, &vars()).expect("composes");
    let view = View::of(&weaker, &vars());
    assert!(!judge(&file, &weaker, &view, &vars()).grants.is_empty(), "control");
    let narrowed = narrowed(&file, &weaker, &view, &vars());
    let judgement = judge(&narrowed, &weaker, &view, &vars());
    assert_eq!(judgement.grants, []);
    let kept: Vec<&str> = judgement.narrowing.iter().map(|it| it.what.as_str()).collect();
    let all = kept.join("\n");
    for part in [
        "\"a\"",
        "\"d\"",
        "\"X\"",
        "\"!TERM\"",
        "example.com",
        "limits.timeout",
        "\"!perf\"",
        "full",
        "/opt",
        "ro",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert_eq!(kept.len(), 10, "{all}");
}

#[test]
fn narrowing_entries() {
    let project = r#"
[workspace]
access = "ro"
root = "cwd"
checkpoint = true
[mounts]
"/opt" = false
"/scratch" = { memory = true }
"/ref" = { memory = true }
"/data" = "ro"
[deny]
patterns = ["*.secret"]
defaults = true
[protect]
names = ["Makefile"]
[env]
drop = ["X"]
pass = ["!TERM"]
[network]
mode = "none"
[limits]
timeout = 10
pids = 5
[process]
allow = ["!perf", "userns"]
new_session = true
[require]
level = "full"
[[expect]]
read = "/x"
is = "absent"
[[action]]
name = "x"
command = ["true"]
"#;
    let user =
        "[mounts]\n\"/data\" = \"rw\"\n[limits]\ntimeout = 20\n[process]\nallow = [\"userns\"]";
    let verdicts = verdicts(user, project);
    assert!(!verdicts.contains('+'), "{verdicts}");
    assert_snapshot!(verdicts, @r#"
    - endow.toml:13 deny.patterns = "*.secret"
    - endow.toml:16 protect.names = "Makefile"
    - endow.toml:18 env.drop = "X"
    - endow.toml:19 env.pass = "!TERM"
    - endow.toml:26 process.allow = "!perf"
    - endow.toml:26 process.allow = "userns"
    - endow.toml:31 expect
    - endow.toml:33 action
    - endow.toml:14 deny.defaults = true
    - endow.toml:27 process.new_session = true
    - endow.toml:29 require.level = "full"
    - endow.toml:4 workspace.access = "ro"
    - endow.toml:6 workspace.checkpoint = true
    - endow.toml:5 workspace.root = "cwd"
    - endow.toml:8 mounts."/opt" (removed)
    - endow.toml:9 mounts."/scratch" (memory)
    - endow.toml:10 mounts."/ref" (memory)
    - endow.toml:11 mounts."/data" (ro)
    - endow.toml:21 network.mode = "none"
    - endow.toml:23 limits.timeout = 10s
    - endow.toml:24 limits.pids = 5
    "#);
}

#[test]
fn bridges() {
    let project = "[bridges]\nopen = [\"browser:a.example\", \"!notify\"]";
    assert_snapshot!(verdicts("[bridges]\nopen = [\"notify\"]", project), @r#"
    - endow.toml:3 bridges.open = "!notify"
    + endow.toml:3 bridges.open = "browser:a.example"
    "#);
}

#[test]
fn keys_of_the_ssh_agent() {
    let project = "[ssh_agent]\nkeys = [\"work\", \"!home\"]\nconfirm = []\nagent = \"agent\"";
    assert_snapshot!(verdicts("[ssh_agent]\nkeys = [\"home\"]", project), @r#"
    - endow.toml:3 ssh_agent.keys = "!home"
    + endow.toml:3 ssh_agent.keys = "work"
    + endow.toml:4 ssh_agent.confirm = []
    + endow.toml:5 ssh_agent.agent = "agent"
    "#);
}

#[test]
fn remote_cache() {
    let project = r#"
[build]
share_host_root = true
[remote]
url = "grpcs://cache"
mode = "read"
token = "env:HOME"
ca = "ca.pem"
"#;
    assert_snapshot!(verdicts("", project), @r#"
    + endow.toml:4 build.share_host_root = true
    + endow.toml:6 remote.url grpcs://cache:443
    + endow.toml:7 remote.mode read
    + endow.toml:8 remote.token env:HOME
    + endow.toml:9 remote.ca "ca.pem"
    "#);
    let root = |text: &str| verdicts("", &format!("[build]\nroot = {text}"));
    assert_eq!(
        root("{ git = \".\", rev = \"HEAD\" }"),
        "+ endow.toml:3 build.root (git=\".\" rev=\"HEAD\")"
    );
    assert_eq!(root("\"host\""), "- endow.toml:3 build.root (host)");
    let narrow = verdicts("", "[build]\nshare_host_root = false");
    assert_snapshot!(narrow, @"- endow.toml:3 build.share_host_root = false");
}

#[test]
fn granting_entries() {
    let project = r#"
extends = ["x"]
[workspace]
root = "~"
[mounts]
"/data" = "rw"
"/new" = "ro"
"./vendor" = "ro"
"/other" = { git = ".", rev = "HEAD" }
"~" = { private = true, seed = ["~/.ssh/id_rsa"] }
"~/hidden" = false
"/usr/secret" = false
[deny]
patterns = ["!*.pem"]
defaults = false
[protect]
names = ["!Makefile"]
defaults = false
[env]
pass = ["AWS_SECRET_ACCESS_KEY"]
set = { LD_PRELOAD = "x" }
drop = ["!*_TOKEN"]
[network]
proxy = 3128
allow = ["example.com"]
[limits]
timeout = 30
[process]
allow = ["userns"]
hostname = "x"
[require]
level = "landlock"
best_effort = ["memory"]
[secrets]
A = { from = "env:A", fd = 3 }
"#;
    let user = "[mounts]\n\"/data\" = \"ro\"\n\"/usr/secret\" = { memory = true }\n\"~/hidden\" = \"ro\"\n[limits]\ntimeout = 20";
    assert_snapshot!(verdicts(user, project), @r#"
    - endow.toml:12 mounts."~/hidden" (removed)
    + endow.toml:3 extends = "x"
    + endow.toml:5 workspace.root = "~"
    + endow.toml:7 mounts."/data" (rw)
    + endow.toml:8 mounts."/new" (ro)
    + endow.toml:9 mounts."./vendor" (ro)
    + endow.toml:10 mounts."/other" (git="." rev="HEAD" ro)
    + endow.toml:11 mounts."~" (private seed=["~/.ssh/id_rsa"])
    + endow.toml:13 mounts."/usr/secret" (removed)
    + endow.toml:15 deny.patterns = "!*.pem"
    + endow.toml:16 deny.defaults = false
    + endow.toml:18 protect.names = "!Makefile"
    + endow.toml:19 protect.defaults = false
    + endow.toml:21 env.pass = "AWS_SECRET_ACCESS_KEY"
    + endow.toml:22 env.set.LD_PRELOAD = "x"
    + endow.toml:23 env.drop = "!*_TOKEN"
    + endow.toml:25 network.proxy = 3128
    + endow.toml:26 network.allow = "example.com:443"
    + endow.toml:28 limits.timeout = 30s
    + endow.toml:30 process.allow = "userns"
    + endow.toml:31 process.hostname = "x"
    + endow.toml:33 require.level = "landlock"
    + endow.toml:34 require.best_effort = "memory"
    + endow.toml:36 secrets.A (env:A at descriptor 3)
    "#);
}

#[test]
fn the_workspace_itself_may_be_lowered() {
    assert_snapshot!(verdicts("", "[mounts]\n\".\" = \"ro\""), @r#"- endow.toml:3 mounts."." (ro)"#);
    assert_snapshot!(verdicts("[workspace]\naccess = \"ro\"", "[mounts]\n\".\" = \"rw\""), @r#"+ endow.toml:3 mounts."." (rw)"#);
    assert_snapshot!(verdicts("[workspace]\naccess = \"ro\"", "[workspace]\naccess = \"rw\""), @r#"+ endow.toml:3 workspace.access = "rw""#);
    assert_snapshot!(verdicts("", "[mounts]\n\".\" = { access = \"ro\", nodeny = true }"), @r#"+ endow.toml:3 mounts."." (ro nodeny)"#);
}

/// The flags of a run are stronger than a project's file, and so is what they leave out.
#[test]
fn flags_are_what_a_project_is_measured_by() {
    let cow = "[mounts]\n\".\" = \"cow\"";
    let workspace = |word: &str| Flags { workspace: Some(word.to_owned()), ..Flags::default() };
    let grants = |flags: &Flags, project: &str| verdicts_with("", flags, project).contains('+');
    assert!(!grants(&Flags::default(), cow) && !grants(&workspace("rw"), cow));
    assert!(grants(&workspace("ro"), cow) && grants(&workspace("none"), cow));
    let ro = "[mounts]\n\".\" = \"ro\"";
    assert!(!grants(&workspace("ro"), ro) && grants(&workspace("none"), ro));
    let root = "[workspace]\nroot = \"~/elsewhere\"";
    assert!(verdicts(root, cow).contains('+'), "another directory is the workspace");
    let inner = Flags { ro: vec!["./src".into()], chdir: Some("./src".into()), ..Flags::default() };
    assert!(!grants(&inner, cow), "control");
    let hidden = "[mounts]\n\"~/data/raw\" = { memory = true }";
    let open = "[mounts]\n\"~/data/raw\" = false";
    assert!(!verdicts(hidden, open).contains('+'), "control");
    let data = Flags { rw: vec!["~/data".into()], ..Flags::default() };
    assert!(verdicts_with(hidden, &data, open).contains('+'));
    let tree =
        Flags { cas: vec![format!("/=sha256:{}/12", "a".repeat(64)).into()], ..Flags::default() };
    let usr = "[mounts]\n\"/usr\" = \"ro\"";
    assert!(!grants(&Flags::default(), usr) && grants(&tree, usr));
}

/// The host's value would be the command's where a pattern lets the name pass.
#[test]
fn a_variable_that_the_user_sets_is_no_projects_to_take_back() {
    let user = "[env]\nset = { LANG = \"C\" }";
    let file = "[env]\npass = [\"!LANG\", \"!TERM\"]";
    assert_snapshot!(verdicts(user, file), @r#"
    - endow.toml:3 env.pass = "!TERM"
    + endow.toml:3 env.pass = "!LANG"
    "#);
    assert!(!verdicts("", file).contains('+'), "control");
    let weaker = compose(&crate::harness::user(user), &vars()).expect("composes");
    let view = View::of(&weaker, &vars());
    let narrowed = narrowed(&text(FileKind::Project, file), &weaker, &view, &vars());
    let left: Vec<&str> = narrowed.env.pass.iter().map(|it| it.value.as_str()).collect();
    assert_eq!(left, ["!TERM"]);
}

/// They count from the root of each mount, which would be another.
#[test]
fn another_root_is_a_grant_beside_patterns_with_a_path() {
    let root = |user: &str| verdicts(user, "[workspace]\nroot = \"cwd\"").starts_with('+');
    assert!(!root("") && !root("[deny]\npatterns = [\"key\", \"**/a/key\"]"), "control");
    for user in [
        "[deny]\npatterns = [\"a/key\"]",
        "[protect]\nnames = [\"/Makefile\"]",
        "[sync]\nonly = [\"src/**\"]",
    ] {
        assert!(root(user), "{user}");
    }
    let said = |text: &str| vec![text.to_owned()];
    let with =
        |flags: &Flags| verdicts_with("", flags, "[workspace]\nroot = \"cwd\"").starts_with('+');
    assert!(!with(&Flags { deny: said("key"), ..Flags::default() }), "control");
    assert!(with(&Flags { deny: said("a/key"), ..Flags::default() }));
    assert!(with(&Flags { protect: said("/Makefile"), ..Flags::default() }));
    assert!(with(&Flags { sync_only: said("src/**"), ..Flags::default() }));
}

/// A grant is the workspace where the command starts in it, and a directory of the base is none.
#[test]
fn a_system_directory_around_the_start_is_no_projects_to_name() {
    let opt = "[mounts]\n\"/opt\" = \"ro\"";
    let grants = |vars: &Vars| {
        let weaker = compose(&Sources::default(), vars).expect("composes");
        let file = text(FileKind::Project, opt);
        !judge(&file, &weaker, &View::of(&weaker, vars), vars).grants.is_empty()
    };
    assert!(!grants(&vars()), "control");
    assert!(grants(&vars_in("/opt/app")));
}

#[test]
fn memory_of_a_project_loses_no_work_and_holds_no_more() {
    for place in [".", "./"] {
        for source in ["memory", "private"] {
            let project = format!("[mounts]\n\"{place}\" = {{ {source} = true }}");
            assert!(verdicts("", &project).contains('+'), "{project}");
        }
    }
    let user = "[mounts]\n\"/x\" = { memory = true, size = \"1M\", noexec = true }";
    let memory = |rest: &str| verdicts(user, &format!("[mounts]\n\"/x\" = {{ {rest} }}"));
    assert!(!memory("memory = true, size = \"1M\", noexec = true").contains('+'), "control");
    assert!(memory("memory = true, size = \"1M\"").contains('+'), "programs");
    assert!(memory("memory = true, noexec = true").contains('+'), "more bytes");
    assert!(memory("private = true, noexec = true").contains('+'), "no bound");
}

#[test]
fn a_project_opens_no_socket() {
    let socket = "[mounts]\n\"/data/bus\" = { socket = true }";
    assert_snapshot!(verdicts("", socket), @r#"+ endow.toml:3 mounts."/data/bus" (socket)"#);
    let shown = "[mounts]\n\"/data/bus\" = \"ro\"";
    assert_snapshot!(verdicts(shown, socket), @r#"+ endow.toml:3 mounts."/data/bus" (socket)"#);
    assert_snapshot!(verdicts("", "[mounts]\n\".\" = { socket = true }"), @r#"+ endow.toml:3 mounts."." (socket)"#);
}

#[test]
fn options_may_not_loosen() {
    let user = "[mounts]\n\"/data\" = { access = \"rw\", noexec = true }";
    assert_snapshot!(verdicts(user, "[mounts]\n\"/data\" = \"ro\""), @r#"+ endow.toml:3 mounts."/data" (ro)"#);
    assert_snapshot!(verdicts(user, "[mounts]\n\"/data\" = { noexec = true }"), @r#"- endow.toml:3 mounts."/data" (ro)"#);
    assert_snapshot!(verdicts(user, "[mounts]\n\"/data\" = { host = \"/etc\", noexec = true }"), @r#"+ endow.toml:3 mounts."/data" (ro host="/etc")"#);
}

#[test]
fn a_project_makes_nothing_on_the_host() {
    let user = "[mounts]\n\"/data\" = \"rw\"";
    let made = "[mounts]\n\"/data\" = { access = \"rw\", create = \"directory\" }";
    assert_snapshot!(verdicts(user, made), @r#"+ endow.toml:3 mounts."/data" (rw create=directory)"#);
    assert_snapshot!(verdicts(made, made), @r#"- endow.toml:3 mounts."/data" (rw create=directory)"#);
    assert_snapshot!(verdicts(made, user), @r#"- endow.toml:3 mounts."/data" (rw)"#);
    assert_snapshot!(verdicts("", "[mounts]\n\".\" = { access = \"cow\", create = \"file\" }"), @r#"+ endow.toml:3 mounts."." (cow create=file)"#);
}

#[test]
fn what_is_dropped_may_not_be_written_back() {
    let (cow, rw) = ("[mounts]\n\"/data\" = \"cow\"", "[mounts]\n\"/data\" = \"rw\"");
    let dropped = "[mounts]\n\"/data\" = { access = \"cow\", sync = \"discard\" }";
    assert_snapshot!(verdicts(cow, dropped), @r#"- endow.toml:3 mounts."/data" (cow sync=discard)"#);
    assert_snapshot!(verdicts(rw, dropped), @r#"- endow.toml:3 mounts."/data" (cow sync=discard)"#);
    assert_snapshot!(verdicts(dropped, dropped), @r#"- endow.toml:3 mounts."/data" (cow sync=discard)"#);
    assert_snapshot!(verdicts(dropped, "[mounts]\n\"/data\" = \"ro\""), @r#"- endow.toml:3 mounts."/data" (ro)"#);
    assert_snapshot!(verdicts(dropped, cow), @r#"+ endow.toml:3 mounts."/data" (cow)"#);
    assert_snapshot!(verdicts(dropped, rw), @r#"+ endow.toml:3 mounts."/data" (rw)"#);
    assert_snapshot!(verdicts("[mounts]\n\"/data\" = \"ro\"", dropped), @r#"+ endow.toml:3 mounts."/data" (cow sync=discard)"#);
    assert_snapshot!(verdicts("", dropped), @r#"+ endow.toml:3 mounts."/data" (cow sync=discard)"#);
    assert_snapshot!(verdicts("", "[mounts]\n\".\" = { access = \"cow\", sync = \"discard\" }"), @r#"+ endow.toml:3 mounts."." (cow sync=discard)"#);
    let elsewhere =
        "[mounts]\n\"/data\" = { host = \"/other\", access = \"cow\", sync = \"discard\" }";
    assert_snapshot!(verdicts(cow, elsewhere), @r#"+ endow.toml:3 mounts."/data" (cow sync=discard host="/other")"#);
    assert_snapshot!(verdicts("", "extends = [\"rust\"]"), @r#"+ endow.toml:2 extends = "rust""#);
}

#[test]
fn checkpoint_of_the_user_is_no_projects_to_drop() {
    let user = "[workspace]\ncheckpoint = true";
    let without = "[workspace]\ncheckpoint = false";
    assert_snapshot!(verdicts(user, without), @"+ endow.toml:3 workspace.checkpoint = false");
    assert_snapshot!(verdicts("", without), @"- endow.toml:3 workspace.checkpoint = false");
    assert_snapshot!(verdicts(user, user), @"- endow.toml:3 workspace.checkpoint = true");
}

#[test]
fn removal_under_the_workspace_uncovers() {
    let user = "[mounts]\n\"./keys\" = { memory = true }\n\"~/src/app/keys\" = { memory = true }";
    let user = user.lines().filter(|line| !line.starts_with("\"./")).collect::<Vec<_>>().join("\n");
    assert_snapshot!(verdicts(&user, "[mounts]\n\"./keys\" = false"), @r#"+ endow.toml:3 mounts."./keys" (removed)"#);
}

/// Who is asked must see what is given, and under which name.
#[test]
fn grants_are_shown_with_all_that_they_give() {
    let project = r#"
[workspace]
root = "/home/u/.ssh"
[mounts]
"/models" = { host = "~/.ssh", access = "ro", nodeny = true }
"/scratch" = { host = "~/.config", access = "rw" }
"/ref" = { git = "../private", rev = "main", access = "cow", sync = "branch:work" }
"/part" = { git = ".", rev = "v1", sparse = ["src/"] }
"/bus" = { host = "/run/user/1000/bus", socket = true }
[env]
set = { LD_PRELOAD = "/tmp/a.so", "A (B)" = "c" }
[remote]
instance = "a b"
[secrets]
A = { from = "cmd:cat x", fd = 3 }
B = { from = "file:~/.ssh/id", fd = 4 }
"#;
    assert_snapshot!(verdicts("", project), @r#"
    + endow.toml:4 workspace.root = "/home/u/.ssh"
    + endow.toml:6 mounts."/models" (ro host="~/.ssh" nodeny)
    + endow.toml:7 mounts."/scratch" (rw host="~/.config")
    + endow.toml:8 mounts."/ref" (git="../private" rev="main" cow sync="branch:work")
    + endow.toml:9 mounts."/part" (git="." rev="v1" ro sparse=["src/"])
    + endow.toml:10 mounts."/bus" (socket host="/run/user/1000/bus")
    + endow.toml:12 env.set."A (B)" = "c"
    + endow.toml:12 env.set.LD_PRELOAD = "/tmp/a.so"
    + endow.toml:14 remote.instance "a b"
    + endow.toml:16 secrets.A (cmd:"cat x" at descriptor 3)
    + endow.toml:17 secrets.B (file:"~/.ssh/id" at descriptor 4)
    "#);
}

/// A text of the file ends no line and no quotes, and hides nothing.
#[test]
fn grants_forge_no_line() {
    let project = "[mounts]\n\"/a\" = { host = \"/b\\\" ro)\\n\\u202e\\u001b[2J\" }\n\
                   [env]\nset = { X = \"1\\nendow.toml:1: grants nothing\" }";
    let verdicts = verdicts("", project);
    assert_eq!(verdicts.lines().count(), 2, "{verdicts}");
    assert!(!verdicts.contains(['\u{202e}', '\u{1b}']), "{verdicts}");
    assert_snapshot!(verdicts, @r#"
    + endow.toml:3 mounts."/a" (ro host="/b\" ro)\n\u{202e}\u{1b}[2J")
    + endow.toml:5 env.set.X = "1\nendow.toml:1: grants nothing"
    "#);
}
