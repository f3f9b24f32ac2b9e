//! Projects on an overlay, as in the image of a container: a file of a lower layer gets another time of birth when it is
//! changed for the first time.

use crate::harness::{Said, World, said};

/// Runs a script in a project that only the lower layer has, in namespaces in which the overlay can be mounted.
fn overlaid(world: &World, script: &str) -> Said {
    let root = world.root().display();
    let script = format!(
        "mkdir -p {root}/o/l/p/src {root}/o/u {root}/o/w {root}/o/m || exit 99
         echo x >{root}/o/l/p/src/f; sleep 0.1
         mount -t overlay -o lowerdir={root}/o/l,upperdir={root}/o/u,workdir={root}/o/w,userxattr none {root}/o/m || exit 99
         cd {root}/o/m/p && endow() {{ {} \"$@\"; }} || exit 99
         {script}",
        crate::harness::endow().display()
    );
    let mut command = world.command("unshare");
    said(command.args(["--user", "--map-root-user", "--mount", "sh", "-ec", &script]))
}

#[test]
fn changes_are_written_back() {
    let world = World::new();
    let told = overlaid(
        &world,
        "endow run -- sh -c 'echo X >>src/f; echo n >new'; cat src/f new; endow undo; cat src/f; test ! -e new",
    );
    assert_eq!(told.ok(), "x\nX\nn\nx\n", "{}", told.stderr);
}

#[test]
fn protected_names_are_held() {
    let world = World::new();
    let told = overlaid(
        &world,
        "endow run --workspace rw -- sh -c 'echo n >new; mkdir s; echo e >s/.envrc; sleep .2'; ls -A s; ls",
    );
    assert_eq!(told.ok(), "new\ns\nsrc\n", "{}", told.stderr);
    assert!(told.stderr.contains("held") && !told.stderr.contains("searched"), "{}", told.stderr);
}

#[test]
fn checkpoint_takes_back_what_was_done() {
    let world = World::new();
    let told = overlaid(
        &world,
        "endow run --workspace rw --checkpoint -- sh -c 'sleep 1; echo X >>src/f; echo n >new'; cat src/f
         endow undo; cat src/f; test ! -e new",
    );
    assert_eq!(told.ok(), "x\nX\nx\n", "{}", told.stderr);
}
