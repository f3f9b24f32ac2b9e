//! Subvolumes of btrfs below a mount: to walk them is to walk directories, though each has a device of
//! its own, and a snapshot of one would have what the view hides. Only root can mount one to try.

use std::process::Command;

use crate::harness::{Said, World, debian_program, elsewhere, endow, said};

/// Mounts the file system of `image` at the project, which has a subvolume with a key, and goes on there.
const MOUNTED: &str = r#"set -eu; mount -o loop ../image . && cd "$PWD"
[ -e below ] || { btrfs subvolume create below >/dev/null; mkdir below/dir below/old; echo old >below/dir/file
    echo key >.env; echo key >below/.env; }
set +e
"#;

/// A request for a subvolume, or for a snapshot of the source, by its number and the name that it makes.
const REQUEST: &str = r#"import ctypes, fcntl, os, struct, sys
source, place, request = os.open(sys.argv[1], os.O_RDONLY), os.open(".", os.O_RDONLY), int(sys.argv[2], 16)
try: fcntl.ioctl(place, request, bytearray(struct.pack("q4088s", source, sys.argv[3].encode())))
except OSError as error: print(error.strerror)
"#;
const SNAPSHOT: &str = "50009401";
const SUBVOLUME: &str = "5000940e";

struct Place(World);

impl Place {
    /// `None` where this machine has no such file system, or this user can't mount it.
    fn new() -> Option<Self> {
        let systems = std::fs::read_to_string("/proc/filesystems").expect("a list");
        if !rustix::process::geteuid().is_root() || !systems.contains("\tbtrfs\n") {
            elsewhere("only root can mount a btrfs, and only where the kernel has one");
            return None;
        }
        debian_program("btrfs")?;
        let world = World::new();
        let image = world.home().join("image");
        said(Command::new("truncate").args(["-s", "200M"]).arg(&image)).ok();
        said(Command::new("/usr/sbin/mkfs.btrfs").arg("-q").arg(&image)).ok();
        world.write("request.py", REQUEST);
        Some(Self(world))
    }

    /// Runs a script of the shell where the file system is mounted; `$E` is endow.
    fn script(&self, script: &str) -> Said {
        let mut command = self.0.command("unshare");
        command.args(["--mount", "sh", "-c", &format!("{MOUNTED}{script}")]);
        said(command.env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin").env("E", endow()))
    }
}

#[test]
fn names_in_a_subvolume_are_hidden_and_held() {
    let Some(place) = Place::new() else { return };
    let inside = "cat .env below/.env 2>/dev/null; cat below/dir/file; mkdir -p below/.git/hooks
        echo planted >below/.envrc; echo new >below/dir/new";
    let said = place.script(&format!(
        "$E run --rw . -- sh -c '{inside}'; ls -A below below/dir; cat below/.env"
    ));
    assert_eq!(
        said.stdout, "old\nbelow:\n.env\n.git\ndir\nold\n\nbelow/dir:\nfile\nnew\nkey\n",
        "{said:?}"
    );
    assert!(said.stderr.contains("below/.envrc"), "{said:?}");
    let shown = place.script("$E run --rw . --deny '!.env' -- cat .env below/.env");
    assert_eq!(shown.ok(), "key\nkey\n", "the control");
}

/// Nothing can be renamed into one, and so nothing there is replaced at once.
#[test]
fn changes_in_a_subvolume_of_a_copy_are_kept_and_said() {
    let Some(place) = Place::new() else { return };
    let inside = "cat .env below/.env 2>/dev/null; cat below/dir/file; echo new >below/dir/file; rmdir below/old
        echo new >below/new; echo new >beside";
    let said = place.script(&format!(
        "$E run --cow . -- sh -c '{inside}'; echo $?; ls -A . below; cat below/dir/file; $E diff"
    ));
    let (ended, left) = said.stdout.split_once("diff --git").expect("a difference");
    let names = ".:\n.env\nbelow\nbeside\n\nbelow:\n.env\ndir\nold\n";
    assert_eq!(ended, format!("old\n121\n{names}old\n"), "{said:?}");
    assert!(left.contains("a/below/dir/file") && left.contains("+new"), "{said:?}");
    assert!(said.stderr.contains("another subvolume, into which nothing"), "{said:?}");
    let own = place.script(
        "$E run --cow . --cow below -- sh -c 'echo new >below/dir/file'; cat below/dir/file",
    );
    assert_eq!(own.ok(), "new\n");
    let removed = place.script("$E run --cow . -- rm -rf below; echo $?; ls -A below");
    assert_eq!(removed.stdout, "121\n.env\ndir\nold\n", "{removed:?}");
    assert!(removed.stderr.contains("another subvolume"), "{removed:?}");
}

#[test]
fn snapshot_that_shows_what_is_hidden_is_refused() {
    let Some(place) = Place::new() else { return };
    let request = |number: &str, name: &str| {
        format!("python3 {}/request.py . {number} {name}", place.0.root().display())
    };
    let snapshot = |name| format!("{}; cat {name}/.env", request(SNAPSHOT, name));
    assert_eq!(place.script(&snapshot("shot")).ok(), "key\n", "the control");
    let grants = format!("--rw . --ro {}", place.0.root().join("request.py").display());
    let run = |script: &str| place.script(&format!("$E run {grants} -- sh -c '{script}'"));
    let refused = run(&format!("{} 2>/dev/null || echo absent", snapshot("made")));
    assert_eq!(refused.ok(), "Operation not permitted\nabsent\n");
    let made =
        |name| format!("{}; ls -d {name} 2>/dev/null || echo absent", request(SUBVOLUME, name));
    assert_eq!(place.script(&made("sub")).ok(), "sub\n", "the control");
    assert_eq!(run(&made("made")).ok(), "Operation not permitted\nabsent\n");
}
