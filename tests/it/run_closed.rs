//! Directories that the command or the user closed to everybody: write-back and undo look into them.

use crate::harness::{Said, World, project, said};

fn run(world: &World, script: &str) -> Said {
    world.run(&["run"], script)
}

#[test]
fn closed_directory_is_written_back_at_any_depth() {
    for mode in ["000", "200", "400", "600"] {
        let world = project();
        world.write("home/project/old/f", "old\n");
        let script = format!(
            "mkdir -p a/b; echo x >a/f; echo x >a/b/f; ln -s f a/l; echo x >b; echo new >old/f
            chmod {mode} a/b a old"
        );
        run(&world, &script).ok();
        let modes = world.bare("stat -c %a a old; chmod -R u+rwX a old").ok().to_owned();
        let mode = mode.trim_start_matches("00");
        assert_eq!(modes, format!("{mode}\n{mode}\n"));
        let read = |name: &str| world.read(name);
        assert_eq!(["a/f", "a/b/f", "a/l", "b"].map(read), ["x\n"; 4], "{mode}");
        assert_eq!(read("old/f"), "new\n", "{mode}");
    }
}

#[test]
fn undo_takes_no_closed_directory_with_something_else_in_it() {
    for mode in ["000", "600", "700"] {
        let world = project();
        run(&world, "mkdir -p a/b; echo x >a/b/f; chmod 700 a").ok();
        world.bare("echo mine >a/mine; mkdir -m 0 a/closed").ok();
        world.bare(&format!("chmod {mode} a")).ok();
        said(&mut world.endow(["undo"])).fails(121);
        let left = world.bare("chmod -R u+rwX a; cat a/mine; find a -name f").ok().to_owned();
        assert_eq!(left.lines().next(), Some("mine"), "{mode}");
    }
}
