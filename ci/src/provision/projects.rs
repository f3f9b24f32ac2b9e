//! Projects whose tests need packages of npm and PyPI, with what is needed of these.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::Work;
use crate::workspace::must;

/// What is fetched; another text fetches anew.
pub(super) const VERSION: &str = "mocha 10.8.2, pluggy 1.5.0, pytest 8.3.3 1";

const MANIFEST: &str = r#"{
  "name": "app",
  "version": "1.0.0",
  "scripts": { "test": "mocha" },
  "devDependencies": { "mocha": "10.8.2" }
}
"#;
const TEST: &str = "const assert = require('assert');
describe('sum', () => {
  it('adds', () => assert.equal(1 + 1, 2));
  it('waits', async () => assert.equal(await Promise.resolve(3), 3));
});
";

/// Makes `node/app` with its lock file and `node/home/.npm`, `python/pluggy` and `python/wheels`.
pub(super) fn fetch(work: &Work, _: &Path) -> Result<()> {
    node(work)?;
    python(work)
}

fn node(work: &Work) -> Result<()> {
    work.directory("projects/node")?;
    let home = work.directory("projects/node/home")?;
    let app = work.directory("projects/node/app")?;
    let tests = work.directory("projects/node/app/test")?;
    fs::write(app.join("package.json"), MANIFEST)?;
    fs::write(tests.join("sum.js"), TEST)?;
    let mut npm = work.command("npm", &app);
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error"]);
    must(npm.env("HOME", home))?;
    must(work.command("rm", &app).args(["-rf", "node_modules"]))
}

/// The project is built by pip itself, so its build system is among the wheels.
fn python(work: &Work) -> Result<()> {
    let dir = work.directory("projects/python")?;
    let pip = |arguments: &[&str]| {
        let mut command = work.command("/usr/bin/pip3", &dir);
        must(command.args(["download", "-q", "--no-cache-dir"]).args(arguments))
    };
    pip(&["-d", "wheels", "pytest==8.3.3", "setuptools==75.1.0", "setuptools-scm==8.1.0"])?;
    pip(&["-d", "source", "--no-deps", "--no-binary", "pluggy", "pluggy==1.5.0"])?;
    work.directory("projects/python/pluggy")?;
    let archive = "source/pluggy-1.5.0.tar.gz";
    must(work.command("tar", &dir).args(["xf", archive, "-C", "pluggy", "--strip-components", "1"]))
}
