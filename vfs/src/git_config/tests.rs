use proptest::prelude::*;

use super::*;
use crate::testing::{Scratch, git};

const TEXT: &str = r#"
# a comment
[core]
	bare = false ; another
	fsmonitor = "touch /tmp/x"
	hooksPath=../hooks
	sshCommand
[remote "origin"]
	url = https://user:token@example.com/a.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[remote "ssh"]
	url = git@example.com:a.git
[alias]
	st = status
	x = !sh -c 'x'
[http "https://example.com"]
	extraheader = AUTHORIZATION: basic x
[credential]
	helper = store
[include]
	path = ../evil
[filter "lfs"]
	process = git-lfs filter-process
[my.Section]
	key = "a\"b\\c" tail   
	long = one \
two
"#;

fn names(settings: &[Setting]) -> Vec<String> {
    settings.iter().map(|it| String::from_utf8(it.name()).expect("text")).collect()
}

#[test]
fn what_runs_programs_and_credentials_are_left_out() {
    let text = without_traps(TEXT.as_bytes());
    let kept = parse(&text).expect("what is written is read");
    let expected = [
        "core.bare",
        "remote.origin.url",
        "remote.origin.fetch",
        "remote.ssh.url",
        "alias.st",
        "my.section.key",
        "my.section.long",
    ];
    assert_eq!(names(&kept), expected);
    let value = |at: usize| kept[at].value.clone().map(|it| String::from_utf8(it).expect("text"));
    assert_eq!(value(1).as_deref(), Some("https://example.com/a.git"));
    assert_eq!(value(3).as_deref(), Some("git@example.com:a.git"));
    assert_eq!(value(5).as_deref(), Some("a\"b\\c tail"));
    assert_eq!(value(6).as_deref(), Some("one two"));
}

#[test]
fn credentials_alone_are_left_out_where_there_are_any() {
    let kept = |text: &str| {
        let text = without_credentials(text.as_bytes());
        text.map(|it| String::from_utf8(it).expect("text"))
    };
    let rows = [
        ("[core]\n\tfsmonitor = x\n[remote \"o\"]\n\turl = git@example.com:a\n", None),
        (
            "[http]\n\textraHeader = x\n[core]\n\tpager = less\n",
            Some("[core]\n\tpager = \"less\"\n"),
        ),
        ("[github]\n\toauth-token = x\n", Some("")),
        (
            "[url \"https://canary@example.com/\"]\n\tinsteadOf = https://example.com/\n",
            Some("[url \"https://example.com/\"]\n\tinsteadof = \"https://example.com/\"\n"),
        ),
        (
            "[lfs]\n\turl = https://u:canary@example.com/lfs\n",
            Some("[lfs]\n\turl = \"https://example.com/lfs\"\n"),
        ),
        ("# url = https://u:canary@h/x\n[core]\n\tbare\n", Some("[core]\n\tbare\n")),
        (
            "[alias]\n\tz = !curl https://u:canary@h/x\n",
            Some("[alias]\n\tz = \"!curl https://h/x\"\n"),
        ),
        (
            "[remote \"o\"]\n\turl = gcrypt::https://u:canary@h\n",
            Some("[remote \"o\"]\n\turl = \"gcrypt::https://h\"\n"),
        ),
        (
            "[remote \"o\"]\n\turl = ssh://u:canary@h/x\n",
            Some("[remote \"o\"]\n\turl = \"ssh://u@h/x\"\n"),
        ),
        ("[remote \"o\"]\n\turl = ssh://git@h/x\n", None),
        ("[http]\n\tproxy = u:canary@proxy:8080\n", Some("[http]\n\tproxy = \"proxy:8080\"\n")),
        ("[gitlab]\n\tpat = canary\n", Some("")),
        ("[user]\n\temail = me@example.com\n", None),
        ("[core]\nbare = \"x", Some("")),
        ("", None),
    ];
    for (text, expected) in rows {
        assert_eq!(kept(text).as_deref(), expected, "{text}");
    }
    let left = kept(TEXT).expect("some are there");
    assert!(!left.contains("token") && !left.contains("AUTHORIZATION"), "{left}");
    assert_eq!(names(&parse(left.as_bytes()).expect("settings")).len(), 13, "{left}");
}

#[test]
fn only_what_is_known_is_harmless() {
    let rows = [
        ("[core]\n\tbare = false\n\tfilemode", true),
        ("[remote \"o\"]\n\turl = https://example.com/x\n\tfetch = x", true),
        ("[gc]\n\tauto = 1", true),
        ("[gc]\n\trecentObjectsHook = touch x", false),
        ("[pull]\n\ttwohead = evil", false),
        ("[branch \"b\"]\n\tmergeOptions = -s evil", false),
        ("[remote \"o\"]\n\turl = ../there", false),
        ("[remote \"o\"]\n\turl = ext::sh -c x", false),
        ("[remote \"o\"]\n\turl = --upload-pack=x", false),
        ("[remote \"o\"]\n\tuploadpack = x", false),
        ("[submodule \"a\"]\n\tupdate = rebase", true),
        ("[submodule \"a\"]\n\tupdate = !x", false),
        ("[submodule \"a\"]\n\tupdate = \"\" !x", false),
        ("[submodule.a \"b\"]\n\tupdate = !x", false),
        ("[core]\n\tworktree = ../../../a", false),
        ("[rebase]\n\tautosquash", true),
        ("[rebase]\n\tinstructionFormat = %s%nexec x", false),
        ("[rebase]\n\tupdateRefs", false),
        ("[format]\n\tpretty = %x1b", false),
        ("[format]\n\tto = evil@example.com", false),
        ("[push]\n\tpushOption = merge_request.create", false),
        ("[remote \"o\"]\n\tpush = +refs/*:refs/*", false),
        ("[remote \"o\"]\n\tmirror", false),
        ("[remote \"a/b\"]\n\tfetch = +refs/heads/*:refs/remotes/a/b/*", true),
        ("[remote \"ext::sh -c x\"]\n\tpromisor", false),
        ("[remote \"--upload-pack=x\"]\n\tpromisor", false),
        ("[remote \"/srv/evil\"]\n\tfetch = x", false),
        ("[extensions]\n\tpartialClone = origin", true),
        ("[extensions]\n\tpartialClone = --upload-pack=x", false),
        ("[extensions]\n\tpartialClone = ./evil", false),
        ("[extensions]\n\trefStorage = reftable", true),
        ("[extensions]\n\trefStorage = \"files:///evil\"", false),
        ("[core]\n\tsharedRepository = umask", true),
        ("[core]\n\tsharedRepository = 0666", false),
        ("[core]\n\tsharedRepository", false),
        ("[core]\n\tprotectNTFS", true),
        ("[core]\n\tprotectNTFS = false", false),
        ("[core]\n\tprotectHFS = \"\"", false),
        ("[core]\n\tcommentChar = \";\"", true),
        ("[core]\n\tcommentChar = exec", false),
        ("[core]\n\tcommentChar = \" \"", false),
        ("[core \"x\"]\n\tprotectNTFS", false),
        ("[log]\n\tdate = format-local:iso", true),
        ("[log]\n\tdate = format:%nexec", false),
        ("[core]\n\tworktree = /home/u", false),
        ("[CORE]\n\tFsMonitor = x", false),
        ("[core \"x\"]\n\tfsmonitor = x", false),
        ("[some]\n\tthing = x", false),
        ("[diff \"d\"]\n\ttextconv = x", false),
        ("rubbish", false),
        ("[core]\nbare = \"x", false),
    ];
    for (text, expected) in rows {
        let all = parse(text.as_bytes());
        let is_harmless = |all: Vec<Setting>| all.iter().all(|it| it.effect() == Effect::Harmless);
        assert_eq!(all.is_some_and(is_harmless), expected, "{text}");
    }
}

/// Words in names of keys that are followed by what runs.
const RUNNING: [&str; 12] = [
    "hook", "command", "cmd", "program", "editor", "pager", "helper", "driver", "path", "format",
    "template", "option",
];
/// Names with such a word that say how something looks, or which of git's own ways is gone.
const QUIET: [&str; 10] = [
    "advice.",
    "color.pager",
    "core.quotepath",
    "status.relativepaths",
    "rebase.abbreviatecommands",
    "submodule.x.path",
    "notes.",
    "fsck.",
    "extensions.",
    "core.repositoryformatversion",
];

/// Git itself lists the keys that it knows, newer ones of newer versions too.
#[test]
#[expect(clippy::disallowed_types, reason = "git itself is the oracle for its settings")]
fn no_key_that_may_name_a_program_is_harmless() {
    let output = std::process::Command::new("git").args(["help", "--config"]).output();
    let text = String::from_utf8(output.expect("git runs").stdout).expect("text");
    let mut looked_at = 0;
    for line in text.lines() {
        let name = line.split('<').collect::<Vec<_>>();
        let parts: Vec<&str> = line.split('.').collect();
        let ([section, .., key], 1..=2) = (parts.as_slice(), name.len()) else { continue };
        let (section, key) = (section.to_lowercase(), key.to_lowercase());
        let is_quiet = QUIET.iter().any(|it| line.to_lowercase().starts_with(it));
        if is_quiet || !RUNNING.iter().any(|word| key.contains(word)) {
            continue;
        }
        let subsection = (parts.len() > 2).then(|| b"x".to_vec());
        let setting = Setting { section, subsection, key, value: Some(b"x".to_vec()) };
        let is_path = (setting.section.as_str(), setting.key.as_str()) == ("submodule", "path");
        assert!(is_path || setting.effect() != Effect::Harmless, "{line}");
        looked_at += 1;
    }
    assert!(looked_at > 20, "git lists its keys: {text}");
}

#[test]
fn address_is_harmless_when_it_leads_to_another_machine() {
    let effect = |text: &str| {
        let [setting] = parse(text.as_bytes()).expect("read").try_into().expect("one");
        (setting.effect(), setting.local().is_some())
    };
    let rows = [
        ("https://example.com/a.git", Effect::Harmless, false),
        ("ssh://git@example.com/a.git", Effect::Harmless, false),
        ("git@example.com:a.git", Effect::Harmless, false),
        ("host:a", Effect::Harmless, false),
        ("https://u:p@example.com/a", Effect::Reveals, false),
        ("./node_modules/evil.git", Effect::Runs, true),
        ("../a:b", Effect::Runs, true),
        ("evil.git", Effect::Runs, true),
        ("/srv/a.git", Effect::Runs, true),
        ("file:///srv/a.git", Effect::Runs, false),
        ("FILE:///srv/a.git", Effect::Runs, false),
        ("helper://a", Effect::Runs, false),
        ("ext::sh -c x", Effect::Runs, false),
        ("-x", Effect::Runs, false),
        ("", Effect::Runs, false),
    ];
    for (url, of_url, is_local) in rows {
        for key in ["[remote \"o\"]\nurl", "[remote \"o\"]\npushurl", "[submodule \"o\"]\nurl"] {
            assert_eq!(effect(&format!("{key} = \"{url}\"")), (of_url, is_local), "{key} {url}");
        }
        let is_name = url == "evil.git";
        let expected = if is_name { Effect::Harmless } else { of_url };
        for key in ["[branch \"b\"]\nremote", "[branch \"b\"]\npushRemote", "[remote]\npushDefault"]
        {
            assert_eq!(effect(&format!("{key} = \"{url}\"")).0, expected, "{key} {url}");
        }
    }
    for (name, expected) in
        [("origin", Effect::Harmless), (".", Effect::Harmless), ("vendor", Effect::Runs)]
    {
        assert_eq!(effect(&format!("[branch \"b\"]\nremote = {name}")).0, expected, "{name}");
    }
    let kept = without_traps(b"[remote \"o\"]\nurl = ../there\npushurl = ext::x\n");
    assert_eq!(names(&parse(&kept).expect("read")), ["remote.o.url"], "the command's own");
}

#[test]
fn program_is_told_in_any_form_of_its_section() {
    for text in [
        "[filter \"a.b\"]\nclean = x",
        "[filter.a \"b\"]\nclean = x",
        "[filter.a.b]\nclean = x",
        "[lfs \"customtransfer.a\"]\npath = x",
        "[lfs.customtransfer \"a\"]\npath = x",
        "[lfs.extension.a]\nsmudge = x",
        "[alias]\na = \"\" !x",
    ] {
        let [setting] = parse(text.as_bytes()).expect("read").try_into().expect("one");
        assert_eq!(setting.effect(), Effect::Runs, "{text}");
    }
}

#[test]
fn section_is_harmless_by_its_keys_alone() {
    for section in ["gc", "advice", "format", "core", "push", "maintenance", "log"] {
        let setting =
            Setting { section: section.into(), subsection: None, key: "new".into(), value: None };
        assert_eq!(setting.effect(), Effect::Unknown, "{section}");
    }
}

/// Returns what git reads of a text, as names and values.
#[expect(clippy::disallowed_types, reason = "git itself is the oracle for its settings")]
fn read_by_git(text: &[u8]) -> Option<Vec<u8>> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    std::io::Write::write_all(&mut file, text).expect("written");
    let mut git = std::process::Command::new("git");
    git.args(["config", "--list", "-z", "--no-includes", "--file"]).arg(file.path());
    let output = git.output().expect("git runs");
    output.status.success().then_some(output.stdout)
}

fn as_git_lists(settings: &[Setting]) -> Vec<u8> {
    let line = |it: &Setting| {
        let value = it.value.iter().flat_map(|value| [b"\n".as_slice(), value].concat());
        it.name().into_iter().chain(value).chain([0]).collect::<Vec<u8>>()
    };
    settings.iter().flat_map(line).collect()
}

#[test]
fn git_reads_the_same() {
    for text in [
        TEXT,
        "",
        "[s]k = \\",
        "[s]k = a \\",
        "[s]k = \"a\\",
        "[s]k = a \\\r\n",
        "[s]k = a\\\r",
        "; c\n[Core] bare = true # c\n\tX=\"a;b \" c \\\n d\n[remote \"a\\\"]b\"]\n p\n",
        "[a.B]\nx = 1",
        "[a.B \"C\"]\nx = 1",
        "[a]\nx = \"\" \"\" \t b",
        "[a]\nx = \rb",
        "[a]\nx = \\\n  b",
        "[a]\nx = \" \" b",
        "x = 1\n[core]\nfsmonitor = y",
        "x\n",
        "[ \"b\"]\nx = 1\n[c]\nd",
        "[a\r\"b\"]\nx = 1",
        "[a \r \"b\"]\nx = 1",
        "[a\r]\nx = 1",
        "[a \n\"b\"]\nx = 1",
        "[]\nx = 1",
        "[core",
        "[a] = x",
        "[a]\nx = \"y\n",
        "[a]\nx y",
        "[a]\nx # y",
        "[a]\nx\r = y",
        "[a]\nx=\\q",
        "[a]\nx.y = z",
        "[a]\n\x0cx = y",
        "[a \"b\"c]",
        "[a \"b\\\nc\"]",
    ] {
        let ours = parse(text.as_bytes()).map(|it| as_git_lists(&it));
        assert_eq!(ours, read_by_git(text.as_bytes()), "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn git_reads_the_same_of_any_text(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("[ \"b\"]".to_owned()), Just("\r".to_owned()),
                Just("[a]".to_owned()), Just("[a \"B c\"]\n".to_owned()), Just("[a.b]".to_owned()), Just("k".to_owned()),
                Just("[a.b \"C\"]".to_owned()), Just("k = \"\" ".to_owned()),
                Just(" = ".to_owned()), Just("\"".to_owned()), Just("\\".to_owned()), Just("\n".to_owned()),
                Just("\r\n".to_owned()), Just("# x".to_owned()), Just(";".to_owned()), Just("v w ".to_owned()),
                Just("\\n".to_owned()), Just("\t".to_owned()), Just("1".to_owned()), Just("[".to_owned()), Just("]".to_owned()),
            ],
            0..14,
        ),
    ) {
        let text = parts.concat();
        let ours = parse(text.as_bytes());
        let theirs = read_by_git(text.as_bytes());
        prop_assert_eq!(ours.as_deref().map(as_git_lists), theirs, "{:?}", text);
        if let Some(settings) = ours {
            prop_assert_eq!(parse(&render(&settings)), Some(settings));
        }
    }
}

fn changed(before: &str, after: &str) -> Vec<Change> {
    let [before, after] = [before, after].map(|text| parse(text.as_bytes()).expect("settings"));
    changes(&before, &after)
}

#[test]
fn changes_are_told_with_what_they_can_do() {
    let before = "[branch \"a\"]\nremote = origin\n[user]\nname = me\n[core]\nbare = false\n";
    let after = "[core]\nbare = false\nhooksPath = evil\n[user]\nname = me\nname = you\n[x]\ny\n";
    let told = changed(before, after);
    let told: Vec<(&[u8], usize, Effect)> =
        told.iter().map(|it| (it.name.as_slice(), it.values.len(), it.effect)).collect();
    assert_eq!(
        told,
        [
            (&b"core.hookspath"[..], 1, Effect::Runs),
            (b"user.name", 2, Effect::Harmless),
            (b"x.y", 1, Effect::Unknown),
            (b"branch.a.remote", 0, Effect::Harmless),
        ]
    );
}

#[test]
fn nothing_is_proposed_that_harms_or_hides() {
    let values =
        ["[core]\npager = x", "[x]\ny = 1", "[user]\nname = -e", "[user]\nname = \"a\\nb\""];
    for text in
        values.into_iter().chain(["[user]\nname = \u{202e}abc", "[remote \"o\"]\nurl = ext::x"])
    {
        let [change] = changed("", text).try_into().expect("one");
        assert_eq!(change.calls(), None, "{text:?}");
    }
}

/// Runs what is proposed, on a file with the settings of before.
fn made_by_git(before: &str, changes: &[Change]) -> Vec<Setting> {
    let scratch = Scratch::new();
    let file = scratch.path().join("config");
    std::fs::write(&file, before).expect("written");
    for call in changes.iter().filter_map(Change::calls).flatten() {
        let words: Vec<&str> = call.iter().map(String::as_str).collect();
        let file = file.to_str().expect("a name");
        git(scratch.path(), &[&["config", "--file", file], words.as_slice()].concat());
    }
    parse(&std::fs::read(&file).expect("read")).expect("settings")
}

#[test]
fn what_is_proposed_makes_the_change() {
    let cases = [
        ("", "[branch \"x\"]\nremote = origin\nmerge = refs/heads/x\n"),
        ("[user]\nname = a\n", "[user]\nname = b c\n"),
        ("[user]\nname = a\nname = b\n", "[user]\nname = c\n"),
        ("[user]\nname = a\nname = b\n", "[user]\nname = b\nname = $x'y\n"),
        ("[remote \"o\"]\nurl = x\nfetch = a\nfetch = b\n", ""),
        ("[push]\ndefault = simple\n", "[push]\ndefault\n"),
    ];
    for (before, after) in cases {
        let made = made_by_git(before, &changed(before, after));
        let after = parse(after.as_bytes()).expect("settings");
        let left: Vec<Change> = changes(&after, &made);
        let is_true = |it: &Change| it.values == [Some(b"true".to_vec())];
        assert!(left.iter().all(is_true), "{before:?} {after:?}: {left:?}");
    }
}

/// A short text could have any number of long names.
#[test]
fn names_of_sections_are_not_copied_without_end() {
    let text =
        |settings: usize| format!("[s \"{}\"]\n{}", "A".repeat(4096), "a\n".repeat(settings));
    assert_eq!(parse(text(1000).as_bytes()).map(|all| all.len()), Some(1000));
    assert_eq!(parse(text(10_000).as_bytes()), None);
}
