//! Projects with dependencies of other people, installed and tested as an agent does it: under its
//! profile, with the caches of their toolchains.

use super::{copy, fresh_project, provisioned};
use crate::harness::{World, debian_program};

/// The profile of an agent, which extends those of toolchains.
const AGENT: [&str; 5] = ["run", "--profile", "claude", "--net", "none"];

#[test]
fn npm_ci_and_the_tests_of_a_project() {
    let (Some(projects), Some(_)) = (provisioned("projects"), debian_program("npm")) else {
        return;
    };
    let world = World::new();
    fresh_project(&world, &projects.join("node/app"));
    copy(&projects.join("node/home/.npm"), &world.home().join(".npm"));
    world.bare("chown -R $(id -u):$(id -g) ~").ok();
    let script = "set -e; npm ci --offline --no-audit --no-fund --silent; npm test --silent";
    let tested = world.run(&AGENT, script);
    assert!(tested.ok().contains("2 passing"), "{tested:?}");
    // The workspace is live: what was installed is there, and works outside.
    let outside = world.bare("npm test --silent; ls ~");
    assert!(
        outside.ok().contains("2 passing") && outside.stdout.contains("project"),
        "{outside:?}"
    );
    // Where the cache is not shown, there is nothing to install from.
    let bare_home = ["run", "--profile", "none", "--workspace", "rw"];
    assert_ne!(world.run(&bare_home, script).code, 0, "control");
}

/// What go builds and says, with caches of its own: first as the user, then inside.
#[test]
fn go_build_and_the_tests_of_a_project() {
    let (Some(c), Some(_)) = (provisioned("c"), debian_program("go")) else {
        return;
    };
    let world = World::new();
    fresh_project(&world, &c.join("golang-toml"));
    world.bare("chown -R $(id -u):$(id -g) ~; git init -q").ok();
    let script = "set -e; export GOPROXY=off
        go build -o built/ ./cmd/...; echo 'a = 1' | built/toml-test-decoder
        go vet ./cmd/... && go test ./... 2>&1 | grep -v 'no test files' | cut -f1,2
        sha256sum built/*; rm -r built";
    let outside = world.bare(script).ok().to_owned();
    let cache = "find ~/.cache/go-build ~/go -type f 2>/dev/null | sort | xargs sha256sum";
    let before = world.bare(cache).ok().to_owned();
    let inside = world.run(&AGENT, script);
    assert!(inside.ok().contains("\nok  \tgithub.com/BurntSushi/toml\n"), "{inside:?}");
    assert_eq!(inside.ok(), outside);
    assert_eq!(world.bare(cache).ok(), before, "the cache is as it was");
}

#[test]
fn pip_install_and_pytest_of_a_project() {
    let (Some(projects), Some(_)) = (provisioned("projects"), debian_program("pip3")) else {
        return;
    };
    let script = "set -e; export PYTHONDONTWRITEBYTECODE=1
        /usr/bin/pip3 install -q --no-index --find-links wheels --disable-pip-version-check --no-compile --target site . pytest
        PYTHONPATH=site /usr/bin/python3 -m pytest -q -p no:cacheprovider testing | tail -1 | cut -d' ' -f1,2";
    let tested = |is_inside: bool| {
        let world = World::new();
        fresh_project(&world, &projects.join("python/pluggy"));
        copy(&projects.join("python/wheels"), &world.project().join("wheels"));
        world.bare("chown -R $(id -u):$(id -g) ~").ok();
        let said = if is_inside { world.run(&AGENT, script) } else { world.bare(script) };
        let site = "find site -type f -not -name RECORD -not -name direct_url.json | sort | xargs sha256sum";
        (said.ok().to_owned(), world.bare(site).ok().to_owned())
    };
    let (inside, outside) = (tested(true), tested(false));
    assert!(inside.0.ends_with(" passed\n"), "{}", inside.0);
    assert_eq!(inside, outside);
    assert!(inside.1.lines().count() > 50, "{}", inside.1);
}
