use super::*;

fn parsed(words: &[&str]) -> Result<Asked, CommandError> {
    let words = std::iter::once(&"buildbox-run").chain(words);
    Asked::parse(words.map(OsString::from).collect())
}

#[track_caller]
fn options(more: &[&str]) -> Options {
    match parsed(&[&["--action=a", "--remote=unix:/s"], more].concat()) {
        Ok(Asked::Run(options)) => *options,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refused(more: &[&str]) -> String {
    let error = parsed(&[&["--action=a", "--remote=unix:/s"], more].concat()).expect_err("refused");
    format!("{} {}", error.message, error.causes.join(" "))
}

/// What buildbox-casd 1.4.25 and BuildStream 2.8.1 were seen to write.
#[test]
fn lines_of_others_are_understood() {
    let casd = [
        "--remote=http://127.0.0.1:50051",
        "--retry-limit=4",
        "--retry-delay=1000",
        "--request-timeout=0",
        "--keepalive-time=0",
        "--ra-remote=http://127.0.0.1:50051",
        "--ra-retry-limit=4",
        "--ra-retry-delay=1000",
        "--ra-request-timeout=0",
        "--ra-keepalive-time=0",
        "--action=/tmp/x.action",
        "--action-result=/tmp/x.result",
        "--stdout-file=/tmp/out",
        "--stderr-file=/tmp/err",
        "--digest-function=SHA256",
        "--partial-execution-metadata-file=",
        "--log-level=info",
    ];
    let Ok(Asked::Run(read)) = parsed(&casd) else { panic!("refused") };
    assert_eq!(read.remote.url.value.to_string(), "grpc://127.0.0.1:50051");
    assert_eq!((read.retries, read.patience, read.keeps_no_streams), (Some(4), None, false));
    let read = options(&["--no-logs-capture", "--bind-mount=/a:/b", "--instance=main"]);
    assert!(read.keeps_no_streams && read.remote.instance == "main");
    assert_eq!(read.live, [(PathBuf::from("/a"), PathBuf::from("/b"))]);
    assert!(matches!(parsed(&["--capabilities"]), Ok(Asked::Capabilities)));
    let validated = parsed(&["--validate-parameters", "--action=a", "--remote=grpc://h:1"]);
    assert!(matches!(validated, Ok(Asked::Validation)));
}

#[test]
fn promises_that_would_not_be_kept_are_refused() {
    for (line, why) in [
        (&["--enable-tmp-outputs"][..], "unexpected argument"),
        (&["--post-action-command=x"], "unexpected argument"),
        (&["--nested-instance=x"], "unexpected argument"),
        (&["--collect-execution-stats"], "unexpected argument"),
        (&["--credential-helper=x"], "unexpected argument"),
        (&["--digest-function=SHA512"], "SHA256 alone"),
        (&["--protocol=http"], "grpc alone"),
        (&["--remote=ftp://h"], "not `file:DIR`"),
        (&["--bind-mount=/dev:/dev"], "the sandbox's own"),
        (&["--bind-mount=a:/b"], "whole paths"),
        (&["--ro-bind-mount=x:/a:/b"], "a condition"),
        (&["command"], "unexpected argument"),
    ] {
        let said = refused(line);
        assert!(said.contains(why), "{line:?}: {said}");
    }
    let unsaid = parsed(&["--remote=unix:/s"]).expect_err("no action");
    assert!(unsaid.message.contains("--action"));
    assert!(parsed(&["--action=a", "--validate-parameters"]).is_err(), "no server");
}
