//! A sandbox can't change the agent.

use crate::harness::{FAILURE, World, ask};

#[test]
fn keys_are_neither_added_nor_removed_nor_locked() {
    let world = World::with(&["work", "home"]);
    let _filter = world.filter(&["*"]);
    world.make_key("new");
    let before = world.ok("agent", &["ssh-add", "-L"]);
    let locked = |flag| {
        format!("printf 'a\\na\\n' | SSH_ASKPASS_REQUIRE=force SSH_ASKPASS=./say ssh-add {flag}")
    };
    world.write("say", "#!/bin/sh\necho a\n");
    world.ok("agent", &["chmod", "+x", "say"]);
    for words in [
        &["ssh-add", "new"][..],
        &["ssh-add", "-c", "new"],
        &["ssh-add", "-t", "60", "new"],
        &["ssh-add", "-d", "work"],
        &["ssh-add", "-D"],
        &["ssh-add", "-s", "/usr/lib/none.so"],
        &["ssh-add", "-e", "/usr/lib/none.so"],
        &["sh", "-c", &locked("-x")],
        &["sh", "-c", &locked("-X")],
    ] {
        world.fails("sandbox", words);
        assert_eq!(world.ok("agent", &["ssh-add", "-L"]), before, "{words:?}");
    }
    world.ok("agent", &["sh", "-c", &locked("-x")]);
    world.ok("agent", &["sh", "-c", &locked("-X")]);
    world.ok("agent", &["ssh-add", "-q", "new"]);
    world.ok("agent", &["ssh-add", "-q", "-D"]);
}

#[test]
fn every_other_kind_of_message_is_refused() {
    let world = World::with(&["work"]);
    let _filter = world.filter(&["*"]);
    let before = world.ok("agent", &["ssh-add", "-L"]);
    let mut client = world.client();
    for kind in (0..=255).filter(|kind| *kind != 11) {
        for rest in [&[][..], &[0; 4], &[0; 64]] {
            let message = [&[kind][..], rest].concat();
            assert_eq!(ask(&mut client, &message).expect("answered"), FAILURE, "{kind}");
        }
    }
    assert_eq!(world.ok("agent", &["ssh-add", "-L"]), before);
}
