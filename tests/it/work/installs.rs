//! Package managers in a buffered workspace: they leave what they leave outside.

use std::fs;
use std::path::Path;

use crate::harness::{World, debian_program};

/// Runs scripts one after another, bare in one world and buffered in another, and compares what
/// they leave after each.
fn check(prepare: &str, scripts: &[&str], left_out: &str) {
    let (bare, buffered) = (World::new(), World::new());
    bare.bare(prepare).ok();
    let project = buffered.project();
    fs::remove_dir_all(&project).expect("an empty project goes");
    super::copy(&bare.project(), &project);
    for script in scripts {
        bare.bare(script).ok();
        buffered.run(&[], script).ok();
        let (expected, found) = (tree(&bare, left_out), tree(&buffered, left_out));
        assert!(expected.lines().count() > 10, "{expected}");
        assert_eq!(found, expected, "after {script}");
    }
}

/// Names, kinds, modes, targets and digests below the project.
fn tree(world: &World, left_out: &str) -> String {
    let script = format!(
        "find . -name '{left_out}' -prune -o -printf '%P %y %m %l\\n' | sort
        find . -name '{left_out}' -prune -o -type f -print | sort | xargs sha256sum"
    );
    let root = world.project().display().to_string();
    world.bare(&script).ok().replace(&root, "PROJECT")
}

fn has(program: &str) -> bool {
    debian_program(program).is_some_and(|path| path.starts_with(Path::new("/usr")))
}

#[test]
fn npm_ci_leaves_the_same() {
    if !has("npm") {
        return;
    }
    let prepare = "set -e
        for name in one two; do
            mkdir -p vendor/$name/lib/deep; echo \"{\\\"name\\\":\\\"$name\\\",\\\"version\\\":\\\"1.0.0\\\",
                \\\"bin\\\":{\\\"$name\\\":\\\"run.js\\\"}}\" >vendor/$name/package.json
            echo '#!/usr/bin/env node' >vendor/$name/run.js; echo x >vendor/$name/lib/deep/x.js
            (cd vendor/$name && npm pack --silent >/dev/null && mv *.tgz ../$name.tgz); rm -r vendor/$name
        done
        echo '{\"name\":\"app\",\"version\":\"1.0.0\",\"dependencies\":
            {\"one\":\"file:vendor/one.tgz\",\"two\":\"file:vendor/two.tgz\"}}' >package.json
        npm install --offline --no-audit --no-fund --silent; rm -r node_modules";
    let install = "npm ci --offline --no-audit --no-fund --silent";
    // The second one takes away what the first has left.
    let remove = "npm uninstall one --offline --no-audit --no-fund --silent";
    check(prepare, &[install, install, remove], ".npm");
}

#[test]
fn pip_install_leaves_the_same() {
    if !has("pip3") {
        return;
    }
    let prepare = "set -e
        for version in 1 2; do
            mkdir -p v$version/thing/sub; touch v$version/thing/sub/__init__.py
            echo \"version = $version\" >v$version/thing/__init__.py
            echo \"from setuptools import setup, find_packages
setup(name='thing', version='$version.0', packages=find_packages())\" >v$version/setup.py
        done";
    let install = |version: u32| {
        format!(
            "/usr/bin/pip3 install -q --no-index --no-build-isolation --no-deps --no-compile \
             --disable-pip-version-check --upgrade --target site ./v{version}; rm -rf v?/build v?/*.egg-info"
        )
    };
    // `direct_url.json` holds the path of the project, and `RECORD` its digest.
    check(prepare, &[&install(1), &install(2)], "[Rd][Ei][Cr]*");
}
