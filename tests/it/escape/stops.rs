//! A command that stops itself takes nobody's duties away.

use crate::harness::{Running, World};

/// Without a sandbox `timeout` ends a stopped command too; endow must not sleep through its limit.
#[test]
fn escape_from_the_time_limit_by_stopping() {
    let world = World::new();
    let stop = "(sleep 6; echo escaped > escaped) & kill -STOP $$";
    assert_eq!(world.bare("timeout 1 sh -c 'kill -STOP $$'").code, 124);
    let options = ["--workspace", "rw", "--timeout", "1s", "--grace", "1s"];
    world.run(&options, stop).fails(124);
    world.assert_no_run_left();
    assert!(!world.project().join("escaped").exists());
}

/// A command that stops itself can't escape the watch over denied names, which the host replaces meanwhile.
#[test]
fn escape_from_the_watch_over_denied_names_by_stopping() {
    let world = World::new();
    let hidden = world.write("home/project/.env", "canary\n");
    let look = "(touch ready; until test -e go; do sleep 0.05; done; cat .env; kill -CONT $$) & \
        kill -STOP $$; wait; true";
    let replace = || {
        let ready = world.project().join("ready");
        while !ready.exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        std::thread::sleep(std::time::Duration::from_millis(300));
        std::fs::write(world.project().join("new"), "canary of the editor\n").expect("written");
        std::fs::rename(world.project().join("new"), &hidden).expect("renamed");
        std::thread::sleep(std::time::Duration::from_millis(700));
        std::fs::write(world.project().join("go"), "").expect("written");
    };
    let mut command = world.endow(["--workspace", "rw", "--", "sh", "-c", look]);
    let mut endow = Running::start(&mut command);
    replace();
    std::thread::sleep(std::time::Duration::from_millis(500));
    // One that sleeps all the same would do so for ever.
    endow.signal(libc::SIGCONT);
    assert_eq!((endow.end(), endow.rest()), (0, Vec::<String>::new()));
}
