//! Package managers whose caches are shown by the profiles of their toolchains: they find what is
//! there, add to it, and leave it as it was.

use std::path::Path;

use super::{copy, fresh_project, link, provisioned};
use crate::harness::{World, debian_program, said};

/// Names, kinds, modes, times and digests of a cache in the home.
fn cache(world: &World, name: &str) -> String {
    let script = format!(
        "cd ~/{name} && find . -printf '%P %y %m %i %T@ %C@ %l\\n' | sort &&
        find . -type f -print0 | sort -z | xargs -0 sha256sum"
    );
    world.bare(&script).ok().to_owned()
}

fn has(program: &str) -> bool {
    debian_program(program).is_some_and(|path| path.starts_with(Path::new("/usr")))
}

/// Cargo unpacks sources that were only fetched, and the registry stays byte for byte.
#[test]
fn cargo_unpacks_beside_the_registry() {
    let Some(rust) = provisioned("rust") else { return };
    let world = World::new();
    link(&rust.join("home/.rustup"), &world.home().join(".rustup"));
    copy(&rust.join("home/.cargo"), &world.home().join(".cargo"));
    // Another user may have provisioned it.
    let own = "chown -R $(id -u):$(id -g) ~/.cargo && rm -rf ~/.cargo/registry/src ~/.cargo/git";
    world.bare(own).ok();
    let before = cache(&world, ".cargo/registry");
    let build = |options: &[&str]| {
        fresh_project(&world, &rust.join("crate"));
        world.bare("chown -R $(id -u):$(id -g) .").ok();
        let path = format!("{}/.cargo/bin:/usr/bin:/bin", world.home().display());
        let mut command = world.endow(options);
        let script = "cargo check -q --offline && ls ~/.cargo/registry/src/*/ | wc -l";
        said(command.args(["--", "sh", "-c", script]).env("PATH", path))
    };
    // The base shows the registry read-only: sources that are not unpacked can't be.
    let control = build(&["run"]);
    assert!(control.code != 0 && control.stderr.contains("Read-only file system"), "{control:?}");
    let built = build(&["run", "--profile", "rust"]);
    let unpacked: usize = built.ok().trim().parse().expect("a number");
    assert!(unpacked > 10, "{built:?}");
    assert!(world.project().join("target/debug/deps").exists(), "the workspace is written back");
    assert!(cache(&world, ".cargo/registry") == before, "the registry is as it was");
    let build = "export PATH=~/.cargo/bin:/usr/bin:/bin; cargo check -q --offline";
    fresh_project(&world, &rust.join("crate"));
    world.bare(build).ok();
    assert!(cache(&world, ".cargo/registry") != before, "control: cargo outside adds to it");
}

#[test]
fn npm_adds_beside_its_cache() {
    if !has("npm") {
        return;
    }
    let world = World::new();
    let prepare = "set -e
        for name in one two; do
            mkdir $name; echo \"{\\\"name\\\":\\\"$name\\\",\\\"version\\\":\\\"1.0.0\\\"}\" >$name/package.json
            (cd $name && npm_config_cache=~/other npm pack --silent >/dev/null && mv *.tgz ..); rm -r $name
        done; npm cache add ./one-1.0.0.tgz; find ~/.npm/_cacache/content-v2 -type f | wc -l";
    assert_eq!(world.bare(prepare).ok(), "1\n");
    let before = cache(&world, ".npm");
    let add = "npm cache add ./two-1.0.0.tgz && npm cache verify >/dev/null
        find ~/.npm/_cacache/content-v2 -type f | wc -l";
    assert_eq!(world.run(&["run", "--profile", "node"], add).ok(), "2\n");
    assert_eq!(cache(&world, ".npm"), before);
    // Without the profile the command finds an empty cache.
    assert_eq!(world.run(&["run"], add).ok(), "1\n");
    assert_eq!(world.bare(add).ok(), "2\n");
    assert_ne!(cache(&world, ".npm"), before, "control: npm outside adds to it");
}

#[test]
fn npm_ci_under_the_profile() {
    if !has("npm") {
        return;
    }
    let world = World::new();
    let prepare = "set -e
        mkdir one; echo '{\"name\":\"one\",\"version\":\"1.0.0\"}' >one/package.json
        (cd one && npm pack --silent >/dev/null && mv *.tgz ..); rm -r one
        echo '{\"name\":\"app\",\"version\":\"1.0.0\",\"dependencies\":{\"one\":\"file:one-1.0.0.tgz\"}}' >package.json
        npm install --offline --no-audit --no-fund --silent; rm -r node_modules";
    world.bare(prepare).ok();
    let before = cache(&world, ".npm");
    let install = "npm ci --offline --silent && ls node_modules";
    let options = ["run", "--profile", "node", "--env", "npm_config_fund=false"];
    assert_eq!(world.run(&options, install).ok(), "one\n");
    assert!(world.project().join("node_modules/one/package.json").exists());
    assert_eq!(cache(&world, ".npm"), before);
}

#[test]
fn pip_adds_beside_its_cache() {
    if !has("pip3") {
        return;
    }
    let world = World::new();
    let prepare = "set -e
        for version in 1 2; do
            name=thing-$version.0; mkdir -p $name/thing; echo \"version = $version\" >$name/thing/__init__.py
            echo \"from setuptools import setup
setup(name='thing', version='$version.0', packages=['thing'])\" >$name/setup.py
            tar czf $name.tar.gz $name; rm -r $name
        done";
    world.bare(prepare).ok();
    let install = |version: u32| {
        format!(
            "/usr/bin/pip3 install -q --no-index --no-build-isolation --no-deps --upgrade \\
             --disable-pip-version-check --target site ./thing-{version}.0.tar.gz || exit
             cat site/thing/__init__.py; find ~/.cache/pip -name '*.whl' | wc -l"
        )
    };
    assert_eq!(world.bare(&install(1)).ok(), "version = 1\n1\n");
    let before = cache(&world, ".cache/pip");
    let inside = |options: &[&str]| world.run(options, &install(2)).ok().to_owned();
    assert_eq!(inside(&["run", "--profile", "python"]), "version = 2\n2\n");
    assert_eq!(cache(&world, ".cache/pip"), before);
    assert_eq!(inside(&["run"]), "version = 2\n1\n", "without the profile it is empty");
    assert_eq!(world.bare(&install(2)).ok(), "version = 2\n2\n");
    assert_ne!(cache(&world, ".cache/pip"), before, "control: pip outside adds to it");
}

/// A module that go fetched outside is there inside, whose builds stay in a layer.
#[test]
fn go_builds_beside_its_caches() {
    let (Some(c), true) = (provisioned("c"), has("go")) else { return };
    let world = World::new();
    copy(&c.join("golang-toml"), &world.home().join("toml"));
    // The layout of a proxy, in files: go fetches from it as from another.
    let prepare = "set -e; chown -R $(id -u):$(id -g) ~; cd ~/toml; rm -rf .git; git init -q; git add .
        git -c user.name=a -c user.email=a@example.com commit -qm a
        proxy=~/proxy/github.com/\\!burnt\\!sushi/toml/@v; mkdir -p $proxy; cp go.mod $proxy/v1.2.0.mod
        echo '{\"Version\":\"v1.2.0\"}' >$proxy/v1.2.0.info
        git archive --format=zip --prefix=github.com/BurntSushi/toml@v1.2.0/ -o $proxy/v1.2.0.zip HEAD
        cd ~/project; export GOPROXY=file://$HOME/proxy GOSUMDB=off GOFLAGS=-mod=mod
        printf 'module a.example/app\\n\\ngo 1.16\\n\\nrequire github.com/BurntSushi/toml v1.2.0\\n' >go.mod
        printf 'package main\\n\\nimport \"github.com/BurntSushi/toml\"\\n\\nfunc main() {\\n\\tvar x struct{ A int }\\n\\ttoml.Decode(\"a = 42\", &x)\\n\\tprintln(x.A)\\n}\\n' >main.go
        go mod download; rm -rf ~/proxy ~/toml; mkdir -p ~/.cache/go-build";
    world.bare(prepare).ok();
    let caches = || [cache(&world, "go/pkg/mod"), cache(&world, ".cache/go-build")];
    let before = caches();
    let build = "set -e; export GOPROXY=off GOFLAGS=-mod=mod GOSUMDB=off
        go build -o app . && ./app 2>&1; ls ~/.cache/go-build | wc -l";
    let built = world.run(&["run", "--profile", "go"], build);
    let added = built.ok().strip_prefix("42\n").expect("it runs").trim().parse::<usize>();
    assert!(added.expect("a number") > 100, "{built:?}");
    assert_eq!(caches(), before);
    world.bare(build).ok();
    assert_ne!(caches(), before, "control: go outside adds to it");
}
