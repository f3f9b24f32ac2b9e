//! What a test needs and this machine may lack: never silently.

use std::io::Write;
use std::path::PathBuf;

/// Says that the current test can't run here. With `ENDOW_TEST_REQUIRE=all` that is a failure;
/// otherwise the runner counts it as skipped.
pub(crate) fn skip(reason: &str) {
    let required = std::env::var("ENDOW_TEST_REQUIRE").is_ok_and(|it| it == "all");
    assert!(!required, "{} can't run here: {reason}", name());
    note(reason);
}

fn note(reason: &str) {
    let line = format!("{}: {reason}\n", name());
    match std::env::var_os("ENDOW_TEST_SKIPS") {
        Some(path) => {
            let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
            file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the list of skips");
        }
        None => std::io::stdout().write_all(format!("skipped {line}").as_bytes()).expect("stdout"),
    }
}

fn name() -> String {
    std::thread::current().name().unwrap_or("test").to_owned()
}

/// Says that the current test is for another kind of machine, which `cargo ci kernels` boots: counted as
/// skipped, and no failure wherever it is run.
pub(crate) fn elsewhere(reason: &str) {
    note(&format!("{reason}; `cargo ci kernels` boots such a machine"));
}

/// Finds a program of a Debian package; says so when it is not installed.
pub(crate) fn debian_program(name: &str) -> Option<PathBuf> {
    let places = ["/usr/bin", "/usr/sbin", "/bin", "/usr/local/bin"];
    let found = places.iter().map(|place| PathBuf::from(place).join(name)).find(|it| it.exists());
    if found.is_none() {
        skip(&format!("{name} is not installed"));
    }
    found
}

/// Returns the major and minor version of the running kernel.
pub(crate) fn kernel() -> (u32, u32) {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    let mut numbers =
        release.split(|it: char| !it.is_ascii_digit()).map_while(|it| it.parse().ok());
    let mut next = || numbers.next().expect("a number");
    (next(), next())
}
