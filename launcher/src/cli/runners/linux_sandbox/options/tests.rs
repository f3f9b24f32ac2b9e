use super::*;

fn parse(words: &[&str]) -> Result<Options, String> {
    let words = ["linux-sandbox"].iter().chain(words).map(OsString::from).collect();
    Options::parse(words).map_err(|error| error.message)
}

fn parsed(words: &[&str]) -> Options {
    parse(words).expect("options")
}

#[test]
fn what_bazel_passes_is_understood() {
    let options = parsed(&[
        "-W", "/d", "-T", "900", "-t", "15", "-w", "/d", "-w", "/tmp", "-e", "/e", "-M", "/a",
        "-m", "/b", "-M", "/c", "-S", "/s", "-H", "-N", "-U", "-i", "-D", "--", "cc", "-c", "-W",
        "x",
    ]);
    assert_eq!(options.directory, Some("/d".into()));
    assert_eq!((options.timeout, options.grace), (Some(900), Some(15)));
    assert_eq!(options.writable, [PathBuf::from("/d"), "/tmp".into()]);
    assert_eq!(options.memory, [PathBuf::from("/e")]);
    assert_eq!(options.mounts, [("/a".into(), "/b".into()), ("/c".into(), "/c".into())]);
    assert_eq!(options.statistics, Some("/s".into()));
    assert!(options.hides_hostname && options.is_offline && options.interrupt_ends);
    assert_eq!(options.ids, Some(Ids { uid: 65534, gid: 65534 }));
    assert!(options.is_debugging && options.events.is_none());
    assert_eq!(options.command, ["cc", "-c", "-W", "x"]);
}

#[test]
fn spellings_of_getopt_are_understood() {
    let options = parsed(&["-NR", "-W/d", "-D", "/log", "-M/a", "-m/b", "-T5", "--", "x"]);
    assert_eq!(options.directory, Some("/d".into()));
    assert_eq!(options.ids, Some(Ids { uid: 0, gid: 0 }));
    assert_eq!(options.events, Some("/log".into()));
    assert_eq!(options.mounts, [("/a".into(), "/b".into())]);
    assert!(options.is_offline && options.timeout == Some(5));
}

#[test]
fn what_is_not_known_is_refused() {
    for words in [
        &["-h", "/x", "--", "x"] as &[&str],
        &["-p", "--", "x"],
        &["-C", "/x", "--", "x"],
        &["--unknown", "--", "x"],
        &["-W", "relative", "--", "x"],
        &["-T", "soon", "--", "x"],
        &["-m", "/b", "--", "x"],
        &["-M", "/a", "-N", "-m", "/b", "--", "x"],
        &["-W", "/a", "-W", "/b", "--", "x"],
        &["-DN", "--", "x"],
        &["-N", "x"],
        &["-N"],
        &["@/nowhere", "--", "x"],
    ] {
        assert!(parse(words).is_err(), "{words:?}");
    }
}

#[test]
fn arguments_come_from_files() {
    let scratch = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: String| {
        let path = scratch.path().join(name);
        fs::write(&path, text).expect("write");
        format!("@{}", path.display())
    };
    let inner = file("inner", "-W\n/d\n\n".to_owned());
    let outer = file("outer", format!("-N\n{inner}\n--\ncc\n@kept\n"));
    let options = parsed(&[&outer]);
    assert_eq!(options.directory, Some("/d".into()));
    assert_eq!(options.command, ["cc", "@kept"]);
    let around = file("around", format!("@{}", scratch.path().join("around").display()));
    assert!(parse(&[&around]).expect_err("a circle").contains("name one another"));
}
