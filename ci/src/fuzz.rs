//! `cargo ci fuzz`: the fuzz targets of `tests/fuzz`, built and run with libFuzzer.
//!
//! They are no part of the workspace: libFuzzer needs a C++ compiler, and everything below it is
//! built again to count which code an input reaches.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};

use crate::workspace;

/// What counts the code that is reached, with the compiler's own words: the pinned one is stable.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";
/// Seconds for one input, and megabytes for the process: more is a finding. An object of git, with what
/// it is a delta of, may take 2.5 GiB.
const BOUNDS: [&str; 3] = ["-timeout=10", "-rss_limit_mb=3072", "-max_len=4096"];

/// Builds the targets and runs one, or all one after the other.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let wanted = Wanted::parse(args)?;
    let names = targets()?;
    ensure!(
        wanted.target.as_ref().is_none_or(|name| names.contains(name)),
        "no such target; there are: {}",
        names.join(", ")
    );
    let built = build()?;
    for name in names.iter().filter(|name| wanted.target.as_ref().is_none_or(|it| it == *name)) {
        println!("== {name}");
        let fuzzer = Fuzzer::new(&built, name)?;
        fuzzer.run(wanted.seconds)?;
        if wanted.keep {
            fuzzer.keep()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    target: Option<String>,
    seconds: u64,
    keep: bool,
}

impl Wanted {
    fn parse(args: &[String]) -> Result<Self> {
        let mut wanted = Self { target: None, seconds: 60, keep: false };
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            match arg.as_str() {
                "--seconds" => {
                    let number = rest.next().context("--seconds needs a number")?;
                    wanted.seconds = number.parse().context("--seconds needs a number")?;
                    // libFuzzer takes zero for no end at all.
                    ensure!(wanted.seconds > 0, "--seconds needs a number above zero");
                }
                "--keep" => wanted.keep = true,
                name if !name.starts_with('-') && wanted.target.is_none() => {
                    wanted.target = Some(name.to_owned());
                }
                other => bail!("unknown argument: {other}"),
            }
        }
        Ok(wanted)
    }
}

fn package() -> PathBuf {
    workspace::root().join("tests/fuzz")
}

/// A program of the package is a target.
fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(package().join("src/bin"))? {
        let path = entry?.path();
        let name = path.file_stem().context("a target without a name")?;
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Builds all targets, and returns the directory in which they are.
fn build() -> Result<PathBuf> {
    let target = workspace::target_dir()?.join("fuzz");
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--release", "--bins", "--locked", "--target", "host-tuple"]);
    cargo.arg("--manifest-path").arg(package().join("Cargo.toml"));
    cargo.arg("--target-dir").arg(&target);
    // In place of the workspace's own flags: a static executable has no C++ library.
    workspace::must(cargo.env("RUSTFLAGS", COVERAGE))?;
    let by_host = std::fs::read_dir(&target)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut built = by_host.map(|dir| dir.join("release")).filter(|dir| is_built(dir));
    built.next().context("the build made no target")
}

/// Whether a directory has targets: one for build scripts has none.
fn is_built(dir: &Path) -> bool {
    targets().is_ok_and(|names| names.iter().all(|name| dir.join(name).is_file()))
}

struct Fuzzer {
    program: PathBuf,
    /// The inputs that the repository keeps.
    corpus: PathBuf,
    /// Those that runs have found.
    found: PathBuf,
    /// Inputs that broke something.
    findings: PathBuf,
}

impl Fuzzer {
    fn new(built: &Path, name: &str) -> Result<Self> {
        let state = workspace::target_dir()?.join("fuzz");
        let fuzzer = Self {
            program: built.join(name),
            corpus: package().join("corpus").join(name),
            found: state.join("corpus").join(name),
            findings: state.join("findings").join(name),
        };
        for dir in [&fuzzer.corpus, &fuzzer.found, &fuzzer.findings] {
            std::fs::create_dir_all(dir)?;
        }
        Ok(fuzzer)
    }

    fn run(&self, seconds: u64) -> Result<()> {
        let mut fuzzer = Command::new(&self.program);
        fuzzer.args(BOUNDS).arg(format!("-max_total_time={seconds}"));
        fuzzer.arg("-print_final_stats=1");
        fuzzer.arg(format!("-artifact_prefix={}/", self.findings.display()));
        workspace::must(fuzzer.arg(&self.found).arg(&self.corpus)).with_context(|| {
            format!("the input is in {}; mend, and keep it", self.findings.display())
        })
    }

    /// Adds what reaches more to the inputs of the repository.
    fn keep(&self) -> Result<()> {
        let mut merge = Command::new(&self.program);
        workspace::must(merge.args(BOUNDS).arg("-merge=1").arg(&self.corpus).arg(&self.found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Wanted> {
        Wanted::parse(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_are_read() {
        let all = Wanted { target: None, seconds: 60, keep: false };
        assert_eq!(parse(&[]).expect("all"), all);
        let one = Wanted { target: Some("ref_names".to_owned()), seconds: 5, keep: true };
        assert_eq!(parse(&["ref_names", "--seconds", "5", "--keep"]).expect("one"), one);
        for bad in
            [&["--seconds"][..], &["--seconds", "0"], &["--seconds", "x"], &["-x"], &["a", "b"]]
        {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn targets_have_a_corpus() {
        for name in targets().expect("the targets") {
            let corpus = package().join("corpus").join(&name);
            let inputs = std::fs::read_dir(corpus).expect("a corpus").count();
            assert!(inputs > 0, "{name} has no inputs");
        }
    }
}
