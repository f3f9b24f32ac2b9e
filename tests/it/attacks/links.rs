//! Links in the workspace, planted before the start or from inside, that lead out of it.

use super::attack::{Control::*, Group, PLAIN, Together};

const ABSENT: &[&str] = &["ENOENT", "EACCES", "EROFS", "ELOOP"];

attacks! {
    Group {
        probe: include_str!("probes/links.py"),
        about: |scene, _| vec![scene.root()],
        together: Together::Nowhere,
        ..PLAIN
    };
    absolute: "reading through a link with a whole path", Succeeds, ABSENT;
    relative: "reading through one that leads up", Succeeds, ABSENT;
    directory: "reading below a link to a directory", Succeeds, ABSENT;
    chain: "reading through a link to a link", Succeeds, ABSENT;
    magic_root: "reading through a link to /proc/self/root", Succeeds, ABSENT;
    magic_cwd: "reading through a link to /proc/self/cwd and upwards", Succeeds, ABSENT;
    magic_descriptor: "opening /proc/self/fd of a link's O_PATH descriptor", Succeeds, ABSENT;
    write_absolute: "writing through a link with a whole path", Succeeds, ABSENT;
    write_relative: "writing through one that leads up", Succeeds, ABSENT;
    write_directory: "writing below a link to a directory", Succeeds, ABSENT;
    write_dangling: "making what a link leads to", Succeeds, ABSENT;
    hard_link_of_link: "a hard link of such a link", Succeeds, ABSENT;
    chmod_through: "chmod through a link", Succeeds, ABSENT;
    read_only_through: "writing to a read-only grant through a link", Succeeds, ABSENT;
    swapped: "reading through a name that a thread swaps with a link", Succeeds, &["public"];
}
