//! Privilege: capabilities, identities, setuid programs, devices, control files of the kernel.

use crate::harness::World;

const RW: [&str; 2] = ["--workspace", "rw"];

#[test]
fn no_capability_is_left_in_any_set() {
    let world = World::new();
    let status = "grep -E '^(Cap|NoNewPrivs|Seccomp:|Threads)' /proc/self/status | tr -d '\\t\\n'";
    let none = "0000000000000000";
    let sets = ["Inh", "Prm", "Eff", "Bnd", "Amb"].map(|set| format!("Cap{set}:{none}")).concat();
    assert_eq!(world.run(&RW, status).ok(), format!("Threads:1{sets}NoNewPrivs:1Seccomp:2"));
    assert!(world.bare("grep NoNewPrivs /proc/self/status").ok().contains('0'), "the control");
    // The command may be faster than pid 1, which puts its own filter on after the start.
    let of_pid_1 = world.run(
        &RW,
        "sleep 0.3; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp:)' /proc/1/status | tr -d '\\t\\n'",
    );
    assert_eq!(of_pid_1.ok(), format!("CapEff:{none}CapBnd:{none}NoNewPrivs:1Seccomp:2"));
}

/// Secure bits: no root, no fix-up on setuid, no ambient raise; each with its lock.
#[test]
fn root_means_nothing_to_exec() {
    let world = World::new();
    let bits = "import ctypes; print(ctypes.CDLL(None).prctl(27))";
    let said = world.run(&RW, &format!("/usr/bin/python3 -c '{bits}'"));
    assert_eq!(said.ok(), format!("{}\n", 0b11_001111));
}

/// Setuid programs: the view's mounts ignore the bit, and no other user exists in the namespace.
#[test]
fn escape_by_setuid_programs() {
    let world = World::new();
    let setuid = "cp /usr/bin/id copy && chmod 6755 copy && ./copy -u; stat -c %a copy";
    let own = world.bare("id -u").ok().to_owned();
    assert_eq!(world.run(&RW, setuid).ok(), format!("{own}6755\n"));
    let every = "grep -vc nosuid /proc/self/mountinfo; cat /proc/self/uid_map | tr -s ' '";
    assert_eq!(world.run(&RW, every).ok(), format!("0\n {0} {0} 1\n", own.trim()));
    // Root is itself already; for everybody else there is no root to become.
    if uid() != 0 {
        world.run(&RW, "su -c id root < /dev/null").fails(1);
    }
    world.run(&RW, "chown 12345 copy").fails(1);
}

#[test]
fn devices_are_the_listed_ones() {
    let world = World::new();
    let list = "cd /dev; ls -1 | tr '\\n' ' '; find / -xdev -type b 2>/dev/null; ls pts";
    let expected = "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero ptmx\n";
    assert_eq!(world.run(&RW, list).ok(), expected);
    let make = "mknod null c 1 3; mknod disk b 8 0; mknod /tmp/zero c 1 5; mknod /dev/shm/x c 1 3";
    world.run(&RW, make).fails(1);
    world.run(&RW, "echo x > /dev/new").fails(2);
}

fn uid() -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").expect("a process").uid()
}

/// Nothing of /sys but processors and limits, none of it writable.
#[test]
fn sys_shows_processors_and_limits() {
    let world = World::new();
    let list = "find /sys -maxdepth 3 -path '/sys/fs*' -prune -o -type d -print | xargs";
    let processors = "/sys /sys/devices /sys/devices/system /sys/devices/system/cpu\n";
    assert_eq!(world.run(&RW, list).ok(), processors);
    assert_eq!(world.run(&RW, "ls -A /sys/fs 2>/dev/null | grep -vx cgroup; true").ok(), "");
    let write = "for file in $(find /sys -name 'cgroup.procs' -o -name release_agent -o -name online); \
        do (echo 0 > $file) 2>/dev/null && echo $file; done; mkdir /sys/fs/cgroup/*/x 2>/dev/null && echo made; true";
    assert_eq!(world.run(&RW, write).ok(), "");
}
