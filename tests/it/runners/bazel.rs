//! Debian's Bazel, whose `linux-sandbox` is endow.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::named;
use crate::build_remote::BuildGrid;
use crate::harness::{Said, World, debian_program, said, skip};
use crate::work::{copy, provisioned};

/// What Bazel unpacks once; Debian has it unpacked.
const INSTALL_BASE: &str = "/usr/share/bazel";
const UNITS: [&str; 8] =
    ["blocksort", "huffman", "crctable", "randtable", "compress", "decompress", "bzlib", "bzip2"];

/// A project that Bazel builds.
struct Bazel {
    world: World,
    program: PathBuf,
}

/// Whose program is `linux-sandbox`.
#[derive(Clone, Copy, Debug)]
enum Sandbox {
    Endow,
    Bazels,
}

impl Bazel {
    fn new() -> Option<Self> {
        let program = debian_program("bazel")?;
        if !Path::new(INSTALL_BASE).join("linux-sandbox").exists() {
            skip("this Bazel is not Debian's");
            return None;
        }
        let world = World::new();
        world.write("home/project/WORKSPACE", "");
        Some(Self { world, program })
    }

    /// An install base with another `linux-sandbox`.
    fn install_base(&self, sandbox: Sandbox) -> PathBuf {
        let base = self.world.root().join(format!("{sandbox:?}"));
        if base.exists() {
            return base;
        }
        fs::create_dir(&base).expect("mkdir");
        for entry in fs::read_dir(INSTALL_BASE).expect("an install base").flatten() {
            symlink(entry.path(), base.join(entry.file_name())).expect("a link");
        }
        if matches!(sandbox, Sandbox::Endow) {
            let link = base.join("linux-sandbox");
            fs::remove_file(&link).expect("Bazel's own");
            symlink(named(&self.world, "linux-sandbox"), link).expect("a link");
        }
        base
    }

    /// Builds all of it anew, in sandboxes alone.
    fn build(&self, sandbox: Sandbox, options: &[&str]) -> Said {
        let root = self.world.root().join(format!("output-{sandbox:?}"));
        let mut command = self.world.command(&self.program);
        let startup = [
            format!("--output_user_root={}", root.display()),
            format!("--install_base={}", self.install_base(sandbox).display()),
        ];
        command.args(startup).args(["--batch", "--nohome_rc", "build"]);
        command.args(["--spawn_strategy=linux-sandbox", "--verbose_failures"]);
        said(command.args(options).arg("//:all"))
    }

    fn built(&self, name: &str) -> Vec<u8> {
        fs::read(self.world.project().join("bazel-bin").join(name)).expect("an output")
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.built(name)).expect("text")
    }
}

/// Rules for every translation unit of bzip2, the program, and its own test.
fn rules(headers: &str) -> String {
    let unit = |name: &&str| {
        format!(
            "genrule(name = '{name}_o', srcs = ['{name}.c', {headers}], outs = ['{name}.o'],
                cmd = 'gcc -O2 -c $(location {name}.c) -o $@')\n"
        )
    };
    let objects: String = UNITS.iter().map(|name| format!("'{name}.o', ")).collect();
    let units: String = UNITS.iter().map(unit).collect();
    format!(
        "{units}
genrule(name = 'program', srcs = [{objects}], outs = ['program.bin'], cmd = 'gcc $(SRCS) -o $@')
genrule(name = 'check', srcs = ['program.bin', 'sample1.ref', 'sample1.bz2'], outs = ['checked'],
    cmd = '$(location program.bin) -1 <$(location sample1.ref) | cmp - $(location sample1.bz2) && echo same >$@')\n"
    )
}

#[test]
fn c_project_is_built_as_with_bazels_own() {
    let (Some(bazel), Some(source)) = (Bazel::new(), provisioned("c/bzip2")) else { return };
    let project = bazel.world.project();
    for name in UNITS.map(|name| format!("{name}.c")).iter().map(String::as_str).chain([
        "bzlib.h",
        "bzlib_private.h",
        "sample1.ref",
        "sample1.bz2",
    ]) {
        copy(&source.join(name), &project.join(name));
    }
    let rules_of = |headers| bazel.world.write("home/project/BUILD", &rules(headers));
    rules_of("'bzlib.h', 'bzlib_private.h'");
    let said = bazel.build(Sandbox::Endow, &[]);
    said.ok();
    assert!(said.stderr.contains("10 linux-sandbox"), "{said:?}");
    assert_eq!(bazel.text("checked"), "same\n");
    let ours = bazel.built("program.bin");
    bazel.build(Sandbox::Bazels, &[]).ok();
    assert!(bazel.built("program.bin") == ours, "another program");
    let memory =
        tempfile::Builder::new().prefix("endow-it-").tempdir_in("/dev/shm").expect("a base");
    let elsewhere = format!("--sandbox_base={}", memory.path().display());
    let said = bazel.build(Sandbox::Endow, &[&elsewhere, "--action_env=AGAIN=1"]);
    assert!(said.ok().is_empty() && said.stderr.contains("10 linux-sandbox"), "{said:?}");
    assert!(bazel.built("program.bin") == ours, "another program");
    rules_of("'bzlib.h'");
    let said = bazel.build(Sandbox::Endow, &[]);
    assert!(said.code != 0 && said.stderr.contains("bzlib_private.h: No such file"), "{said:?}");
}

#[test]
fn every_option_that_bazel_passes_is_honoured() {
    let Some(bazel) = Bazel::new() else { return };
    let world = &bazel.world;
    let [writable, memory, given] = ["writable", "memory", "given"].map(|name| {
        world.write(format!("home/{name}/file"), "host\n");
        world.home().join(name).display().to_string()
    });
    let rule = |name: &str, tags: &str, script: &str| {
        format!(
            "genrule(name = '{name}', outs = ['{name}.out'], tags = [{tags}], cmd = '({script}) >$@')\n"
        )
    };
    let rules = [
        rule("root", "'requires-fakeroot'", "id -u; grep CapEff /proc/self/status"),
        rule("offline", "'block-network'", "tail -n +3 /proc/net/dev | wc -l"),
        rule("host", "", "hostname; id -un"),
        rule("writable", "", &format!("echo x >{writable}/new; ls {writable}")),
        rule("memory", "", &format!("ls -A {memory} | wc -l; echo x >{memory}/new")),
        rule("given", "", "cat /srv/file 2>&1"),
    ];
    world.write("home/project/BUILD", &rules.concat());
    let options = [
        "--sandbox_fake_hostname".to_owned(),
        "--sandbox_fake_username".to_owned(),
        "--experimental_collect_local_sandbox_action_metrics".to_owned(),
        "--sandbox_debug".to_owned(),
        format!("--sandbox_writable_path={writable}"),
        format!("--sandbox_tmpfs_path={memory}"),
        format!("--sandbox_add_mount_pair={given}:/srv"),
    ];
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    bazel.build(Sandbox::Endow, &options).ok();
    assert_eq!(bazel.text("root.out"), "0\nCapEff:\t0000000000000000\n");
    assert_eq!(bazel.text("offline.out"), "1\n", "a loopback");
    assert_eq!(bazel.text("host.out"), "localhost\nnobody\n");
    assert_eq!(bazel.text("writable.out"), "file\nnew\n");
    assert_eq!(fs::read(Path::new(&writable).join("new")).expect("the host's"), b"x\n");
    assert_eq!(bazel.text("memory.out"), "0\n");
    assert!(!Path::new(&memory).join("new").exists(), "only in memory");
    assert_eq!(bazel.text("given.out"), "host\n");
}

/// One directory has the results of both, and a content once.
#[test]
fn disk_cache_is_shared_with_endows_builds() {
    let Some(bazel) = Bazel::new() else { return };
    let shared = bazel.world.root().join("shared");
    let (cache, url) =
        (format!("--disk_cache={}", shared.display()), format!("file:{}", shared.display()));
    shared_by_both(&bazel, (&cache, &url), &shared.join("cas"));
}

/// So has BuildGrid, over the network.
#[test]
fn buildgrid_is_shared_with_endows_builds() {
    let Some(bazel) = Bazel::new() else { return };
    let Some(server) = BuildGrid::start(&bazel.world) else { return };
    let url = server.url();
    shared_by_both(&bazel, (&format!("--remote_cache={url}"), &url), &server.contents());
}

fn shared_by_both(bazel: &Bazel, (cache, url): (&str, &str), contents: &Path) {
    let world = &bazel.world;
    let rule = "genrule(name = 'r', srcs = ['in'], outs = ['out'], cmd = 'tr a-z A-Z <$< >$@')\n";
    world.write("home/project/BUILD", rule);
    world.write("home/project/in", "hello\n");
    let bazel_says = || {
        fs::remove_dir_all(world.root().join("output-Endow")).ok();
        let said = bazel.build(Sandbox::Endow, &[cache]);
        assert!(said.ok().is_empty() && bazel.text("out") == "HELLO\n", "{said:?}");
        said.stderr
    };
    let tree = crate::run_root::tree(world, "");
    let endow_says = |state: &str| {
        // Whoever has nothing but the tree and the shared cache.
        let own = world.root().join(state);
        let put = said(
            world.endow(["cas", "put"]).arg(world.home().join("root")).env("ENDOW_CACHE_DIR", &own),
        );
        put.ok();
        let mut command = world.endow(["build", "--root", &tree, "--remote", url, "--force"]);
        command.args(["--input", "in", "--output", "own", "--", "sh", "-c", "tr a-z A-Z <in >own"]);
        said(command.env("ENDOW_CACHE_DIR", &own)).stderr
    };
    assert!(bazel_says().contains("1 linux-sandbox"));
    assert!(endow_says("one").contains("1 executed"));
    let hit = bazel_says();
    assert!(hit.contains("1 disk cache hit") || hit.contains("1 remote cache hit"), "{hit}");
    assert!(endow_says("other").contains("1 from the cache"));
    let is_output = |path: &&PathBuf| fs::read(path).is_ok_and(|text| text == b"HELLO\n");
    assert_eq!(crate::build::files(contents).iter().filter(is_output).count(), 1, "of both");
}
