//! The main job: a command in a view of exactly what was granted.

use crate::harness::World;

#[test]
fn granted_is_there_and_the_rest_is_absent() {
    let world = World::new();
    world.write("home/project/file", "content\n");
    world.write("home/.ssh/id_rsa", "secret\n");
    let said = world.run(&[], "cat file; cat ~/.ssh/id_rsa");
    assert_eq!(said.stdout, "content\n");
    assert!(said.fails(1).contains("No such file or directory"), "{}", said.stderr);
    world.assert_no_run_left();
}

#[test]
fn exit_code_is_the_commands() {
    let world = World::new();
    world.run(&[], "exit 7").fails(7);
    world.run(&[], "kill -TERM $$").fails(143);
}
