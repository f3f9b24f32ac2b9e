//! The grammar of flags.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use endow_policy::{Flags, MountEntry};
use proptest::prelude::*;

/// Renders one mount flag's reading.
fn show(entry: &MountEntry) -> String {
    let options = entry.options;
    let words =
        [(options.optional, " optional"), (options.noexec, " noexec"), (options.nodeny, " nodeny")];
    let words: String = words.iter().filter(|(on, _)| *on).map(|(_, word)| *word).collect();
    let at = entry.at.value.to_string_lossy();
    format!("{at} <- {:?} {:?}{words}", entry.source, entry.access)
}

fn read(flags: &Flags) -> String {
    match flags.layer() {
        Ok(file) => file.mounts.iter().map(show).collect::<Vec<_>>().join("\n"),
        Err(error) => format!("{error} | {}", error.hint.as_deref().unwrap_or("-")),
    }
}

fn mount(flag: &str, value: &str) -> String {
    let values = vec![OsString::from(value)];
    read(&match flag {
        "--ro" => Flags { ro: values, ..Flags::default() },
        "--rw" => Flags { rw: values, ..Flags::default() },
        "--cow" => Flags { cow: values, ..Flags::default() },
        "--tmp" => Flags { tmp: values, ..Flags::default() },
        "--git" => Flags { git: values, ..Flags::default() },
        _ => Flags { cas: values, ..Flags::default() },
    })
}

#[test]
fn mount_flags() {
    let digest = format!("/c=sha256:{}/12,cow", "a".repeat(64));
    let rows = [
        ("--ro", "/x"),
        ("--ro", "./x"),
        ("--ro", "~/x"),
        ("--ro", "/y=./x"),
        ("--rw", "/y=~/x,optional,noexec"),
        ("--cow", "/x,nodeny"),
        ("--ro", "/x=a=b"),
        ("--ro", "/x\\=y=/z"),
        ("--ro", "/x\\,optional"),
        ("--ro", "/x\\,optional,optional"),
        ("--ro", "/x,optoinal"),
        ("--ro", "/x,y,noexec"),
        ("--ro", "/x\\y"),
        ("--ro", "/a:b"),
        ("--ro", "/a:/b=/a:/b"),
        ("--tmp", "/t"),
        ("--tmp", "/t,size=1G,inodes=10,mode=0700,noexec"),
        ("--git", "/g=main"),
        ("--git", "/g=HEAD@{1}"),
        ("--git", "/g=../other@main~2"),
        ("--git", "/g=a@b@HEAD@{2},cow"),
        ("--git", "/g=a\\@b@main"),
        ("--git", "/g=.@main"),
        ("--cas", digest.as_str()),
    ];
    let report: Vec<_> = rows
        .iter()
        .map(|(flag, value)| format!("{flag} {value}: {}", mount(flag, value)))
        .collect();
    insta::assert_snapshot!(report.join("\n"), @"");
}

#[test]
fn mount_flags_refused() {
    let rows = [
        ("--ro", ""),
        ("--ro", ",optional"),
        ("--ro", "=/x"),
        ("--ro", "/x="),
        ("--ro", "./x:/y"),
        ("--ro", "/x:/y"),
        ("--rw", "/x:/y:ro"),
        ("--ro", "~/x:/y:rw"),
        ("--ro", "/x,size=1G"),
        ("--rw", "/x,cow"),
        ("--tmp", "/t=/x"),
        ("--tmp", "/t,size=big"),
        ("--tmp", "/t,mode=9"),
        ("--tmp", "/t,inodes=x"),
        ("--tmp", "/t,optional"),
        ("--git", "/g"),
        ("--git", "/g=@main"),
        ("--git", "/g=repo@"),
        ("--git", "/g=main,sync=ref"),
        ("--cas", "/c=sha256:abc/1"),
        ("--cas", "/c"),
    ];
    let report: Vec<_> = rows.iter().map(|(flag, value)| mount(flag, value)).collect();
    insta::assert_snapshot!(report.join("\n"), @"");
}

#[test]
fn mount_flags_keep_bytes() {
    let raw = OsStr::from_bytes(b"/g\xff=/h\xfe\\,\xfd,optional").to_owned();
    let file = Flags { ro: vec![raw], ..Flags::default() }.layer().expect("good");
    assert_eq!(file.mounts[0].at.value.as_bytes(), b"/g\xff");
    let source = format!("{:?}", file.mounts[0].source);
    assert!(source.contains("\\xFE,\\xFD"), "{source}");
}

#[test]
fn other_flags_refused() {
    let some = |text: &str| Some(text.to_owned());
    let many = |text: &str| vec![text.to_owned()];
    let base = Flags::default;
    let rows = [
        Flags { workspace: some("rx"), ..base() },
        Flags { checkpoint: true, ..base() },
        Flags { deny: many("[a"), ..base() },
        Flags { unprotect: many("a/"), ..base() },
        Flags { env: vec!["=secretvalue".into()], ..base() },
        Flags { env: vec!["".into()], ..base() },
        Flags { net: many("example.com"), ..base() },
        Flags { net: many("hots"), ..base() },
        Flags { allow: many("iouring"), ..base() },
        Flags { timeout: some("10 parsecs"), ..base() },
        Flags { timeout: some("0"), ..base() },
        Flags { memory: some("lots"), ..base() },
        Flags { pids: some("-1"), ..base() },
        Flags { open_files: some("0"), ..base() },
        Flags { hostname: some("a b"), ..base() },
        Flags { require: some("ful"), ..base() },
        Flags { best_effort: many(""), ..base() },
    ];
    let report: Vec<_> = rows.iter().map(read).collect();
    insta::assert_snapshot!(report.join("\n"), @"");
}

#[test]
fn env_values_are_never_shown() {
    let flags = Flags { env: vec!["API_KEY=hunter2".into(), "LANG".into()], ..Flags::default() };
    let file = flags.layer().expect("good");
    assert_eq!(file.env.set[0].0.origin.to_string(), "--env API_KEY");
    assert_eq!(file.env.set[0].1, "hunter2");
    assert_eq!(file.env.pass[0].origin.to_string(), "--env LANG");
    let bad = Flags { env: vec!["A=hunter2\0".into()], ..Flags::default() };
    assert!(!bad.layer().expect_err("NUL").to_string().contains("hunter2"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(value in prop::collection::vec(any::<u8>(), 0..40), which in 0_u8..6) {
        use std::os::unix::ffi::OsStringExt;
        let values = vec![OsString::from_vec(value)];
        let mut flags = Flags::default();
        *[&mut flags.ro, &mut flags.rw, &mut flags.cow, &mut flags.tmp, &mut flags.git, &mut flags.cas]
            [usize::from(which)] = values;
        drop(flags.layer());
    }

    #[test]
    fn escaped_paths_come_back(at in "/[a-z,=@:\\\\ ]{0,12}[a-z]", host in "/[a-z,=@ ]{0,12}[a-z]") {
        let escape = |path: &str| path.replace(',', "\\,").replace('=', "\\=").replace('@', "\\@");
        // A backslash right before an escaped letter is the one path that can't be written.
        prop_assume!(!at.contains("\\\\,") && !at.contains("\\,") && !at.contains("\\=") && !at.contains("\\@"));
        let value = format!("{}={},optional", escape(&at), escape(&host));
        let file = Flags { ro: vec![value.into()], ..Flags::default() }.layer().expect("good");
        prop_assert_eq!(file.mounts[0].at.value.to_str(), Some(at.as_str()));
        let source = endow_policy::MountSource::Host { host: Some(host.into()) };
        prop_assert_eq!(&file.mounts[0].source, &source);
    }
}
