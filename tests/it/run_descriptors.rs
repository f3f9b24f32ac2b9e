//! Limits of open files that leave endow too few descriptors.

use crate::harness::{Said, World, endow, said};

const SECRET: &str = "SECRET=canary";

/// The host replaces a hidden file of a live mount, and the command reads it a while later.
fn replaced(limit: &str) -> Said {
    let world = World::new();
    world.write("home/project/.env", SECRET);
    world.write("home/new", &format!("{SECRET} of the new file"));
    let script = format!(
        "{limit}; (until [ -e ready ]; do sleep 0.01; done; mv ../new .env) & \
         {endow} run --workspace rw -- sh -c 'touch ready; sleep 0.4; cat .env'; \
         code=$?; kill $!; exit $code",
        endow = endow().display(),
    );
    said(world.command("bash").args(["-c", &script]).current_dir(world.project()))
}

/// A namespace or a process that the supervisor did not get was none that it could do anything in, and nothing was
/// covered any more.
#[test]
fn hidden_names_stay_hidden_where_descriptors_are_short() {
    let control = replaced("ulimit -n 256");
    assert!(control.fails(1).contains("Permission denied"), "{control:?}");
    let mut refused = 0;
    for limit in 16..=26 {
        for which in ["-n", "-Sn"] {
            let told = replaced(&format!("ulimit {which} {limit}"));
            assert_ne!(told.code, 0, "{which} {limit}: {told:?}");
            if told.code == 125 && told.stderr.contains("endow has too few descriptors") {
                assert!(
                    told.stderr.contains("hint: raise the limit of open files, `ulimit -n`"),
                    "{told:?}"
                );
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "some limits are just too low");
}
