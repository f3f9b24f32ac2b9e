use proptest::prelude::*;

use super::*;

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
fn only_what_is_known_is_harmless() {
    let rows = [
        ("[core]\n\tbare = false\n\tfilemode", true),
        ("[remote \"o\"]\n\turl = ../there\n\tfetch = x", true),
        ("[remote \"o\"]\n\turl = ext::sh -c x", false),
        ("[remote \"o\"]\n\turl = --upload-pack=x", false),
        ("[remote \"o\"]\n\tuploadpack = x", false),
        ("[submodule \"a\"]\n\tupdate = rebase", true),
        ("[submodule \"a\"]\n\tupdate = !x", false),
        ("[core]\n\tworktree = ../../../a", true),
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
    for text in
        [TEXT, "[s]k = \\", "[s]k = a \\", "[s]k = \"a\\", "[s]k = a \\\r\n", "[s]k = a\\\r"]
    {
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
                Just("[a]".to_owned()), Just("[a \"B c\"]\n".to_owned()), Just("[a.b]".to_owned()), Just("k".to_owned()),
                Just(" = ".to_owned()), Just("\"".to_owned()), Just("\\".to_owned()), Just("\n".to_owned()),
                Just("\r\n".to_owned()), Just("# x".to_owned()), Just(";".to_owned()), Just("v w ".to_owned()),
                Just("\\n".to_owned()), Just("\t".to_owned()), Just("1".to_owned()), Just("[".to_owned()), Just("]".to_owned()),
            ],
            0..14,
        ),
    ) {
        let text = format!("[s]{}", parts.concat());
        let ours = parse(text.as_bytes());
        let theirs = read_by_git(text.as_bytes());
        prop_assert_eq!(ours.as_deref().map(as_git_lists), theirs, "{:?}", text);
        if let Some(settings) = ours {
            prop_assert_eq!(parse(&render(&settings)), Some(settings));
        }
    }
}
