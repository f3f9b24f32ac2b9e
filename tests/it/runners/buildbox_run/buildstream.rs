//! BuildStream, which has its commands executed by the `buildbox-run` of its PATH.

use std::fs;
use std::path::PathBuf;

use super::named;
use crate::harness::{Said, World, said};
use crate::run_root::tree;
use crate::work::provisioned;

/// A project of two elements: programs, and what is made with them.
const PROJECT: &[(&str, &str)] = &[
    (
        "project.conf",
        "name: hello\nmin-version: 2.4\nelement-path: elements\nenvironment:\n  PATH: /bin\n",
    ),
    ("elements/base.bst", "kind: import\nsources:\n- kind: local\n  path: root\n"),
    (
        "elements/hello.bst",
        "kind: manual\nbuild-depends:\n- base.bst\nsources:\n- kind: local\n  path: src\nconfig:
  build-commands:
  - tr a-z A-Z <text >upper
  - cat /proc/self/status >status
  install-commands:
  - mkdir -p \"%{install-root}/share\"
  - cat upper >\"%{install-root}/share/hello\"
  - cat status >\"%{install-root}/share/status\"\n",
    ),
    ("src/text", "hello\n"),
];
/// What it keeps free of the disk; without this, a twentieth.
const SETTINGS: &str = "cache:\n  reserved-disk-space: 1M\n";

struct Project {
    world: World,
    site: PathBuf,
}

impl Project {
    fn new() -> Option<Self> {
        let site = provisioned("casd/site").filter(|site| site.join("bin/bst").exists())?;
        let world = World::new();
        tree(&world, "mkdir -p tmp; cp -a . ../project/root");
        for (path, text) in PROJECT {
            world.write(format!("home/project/{path}"), text);
        }
        world.write("home/.config/buildstream.conf", SETTINGS);
        named(&world, "buildbox-run");
        Some(Self { world, site })
    }

    fn bst(&self, words: &[&str]) -> Said {
        let mut command = self.world.command("/usr/bin/python3");
        let runners = self.world.root().join("runners");
        command.env("PATH", format!("{}:/usr/bin:/bin", runners.display()));
        command.env("PYTHONPATH", &self.site).env("LANG", "C.UTF-8");
        command.arg(self.site.join("bin/bst")).arg("--no-interactive").args(words);
        said(command.current_dir(self.world.project()))
    }
}

#[test]
fn buildstream_builds_a_project() {
    let Some(project) = Project::new() else { return };
    let built = project.bst(&["build", "hello.bst"]);
    assert!(built.code == 0 && built.stderr.contains("Build Queue: processed 2"), "{built:?}");
    let out = project.world.root().join("out");
    let checkout = ["artifact", "checkout", "hello.bst", "--deps", "none", "--directory"];
    let out_text = out.display().to_string();
    project.bst(&[&checkout[..], &[&out_text]].concat()).ok();
    assert_eq!(fs::read_to_string(out.join("share/hello")).expect("made"), "HELLO\n");
    let status = fs::read_to_string(out.join("share/status")).expect("made");
    assert!(status.contains("CapEff:\t0000000000000000\n"), "in a sandbox: {status}");
    assert!(status.contains("Seccomp:\t2\n"), "of endow's: {status}");
    let again = project.bst(&["build", "hello.bst"]);
    assert!(again.code == 0 && again.stderr.contains("Build Queue: processed 0"), "{again:?}");
}

#[test]
fn command_that_fails_fails_its_element_and_leaves_its_output() {
    let Some(project) = Project::new() else { return };
    let element = "kind: manual\nbuild-depends:\n- base.bst\nconfig:
  build-commands:
  - ls -d /usr /home || true
  - cat /nothing/here\n";
    project.world.write("home/project/elements/bad.bst", element);
    let failed = project.bst(&["build", "bad.bst"]);
    assert!(
        failed.code != 0 && failed.stderr.contains("/nothing/here: No such file"),
        "{failed:?}"
    );
    for absent in ["/usr", "/home"] {
        assert!(failed.stderr.contains(&format!("cannot access '{absent}'")), "{failed:?}");
    }
}
