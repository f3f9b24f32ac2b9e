//! Getting privilege back, and devices.

use super::attack::{Control::*, Group, PLAIN};

const REFUSED: &[&str] = &["EPERM", "EINVAL", "EACCES"];
const ABSENT: &[&str] = &["ENOENT", "EACCES", "EPERM"];
const DEVICE: super::attack::Control =
    WhereThere("ENOENT EACCES EPERM ENODEV ENXIO EBUSY EIO ENOMEDIUM EINVAL");

attacks! {
    Group {
        probe: include_str!("probes/privilege.py"),
        about: |scene, _| vec![scene.root()],
        ..PLAIN
    };
    setuid_program: "a program with the set-user-id bit (su)", Succeeds, &["ignored"];
    setuid: "becoming root", AsRoot, &["EPERM", "EINVAL", "nothing"];
    setgroups: "choosing groups", AsRoot, REFUSED;
    capabilities: "taking capabilities (capset)", AsRoot, REFUSED;
    ambient: "raising an ambient capability", AsRoot, REFUSED;
    bounding: "a capability in the bounding set", Succeeds, &["none"];
    file_capabilities: "giving a file capabilities", AsRoot, REFUSED;
    secure_bits: "clearing secure bits", AsRoot, REFUSED;
    chown: "giving a file to root", AsRoot, REFUSED;
    no_new_privs: "a process that may gain privileges", Succeeds, &["set"];
    dumpable_core: "leaving a core dump to the host's handler", Succeeds, &["limited"];
    raise_limits: "raising a hard limit", WhereThere("EPERM"), REFUSED;
    negative_nice: "a higher priority", AsRoot, &["EACCES", "EPERM"];
    real_time: "real-time scheduling", AsRoot, &["EPERM"];
    lock_memory: "locking much memory", AsRoot, &["EPERM", "ENOMEM", "EAGAIN"];
    device_in_workspace: "making a device in the workspace", AsRoot, REFUSED;
    device_in_tmp: "making a device in /tmp", AsRoot, REFUSED;
    device_in_shm: "making a device in /dev/shm", AsRoot, REFUSED;
    block_device: "making a block device", AsRoot, REFUSED;
    new_in_dev: "making a file in /dev", AsRoot, &["EROFS", "EACCES", "EPERM"];
    dev_fuse: "/dev/fuse", DEVICE, ABSENT;
    dev_kvm: "/dev/kvm", DEVICE, ABSENT;
    dev_tun: "/dev/net/tun", DEVICE, ABSENT;
    dev_mem: "/dev/mem", DEVICE, ABSENT;
    dev_kmsg: "/dev/kmsg", DEVICE, ABSENT;
    dev_uinput: "/dev/uinput", DEVICE, ABSENT;
    dev_loop: "/dev/loop-control", DEVICE, ABSENT;
    dev_vsock: "/dev/vsock", DEVICE, ABSENT;
    dev_userfaultfd: "/dev/userfaultfd", DEVICE, ABSENT;
    dev_mapper: "/dev/mapper/control", DEVICE, ABSENT;
    dev_disk: "the disks of the machine", WhereThere("absent EACCES"), &["absent"];
    cgroup_release: "a program that a cgroup starts at its end (CVE-2022-0492)", WhereThere("absent EACCES EPERM EROFS"), &["absent", "EACCES", "EROFS", "EPERM"];
    cgroup_move: "moving itself to another cgroup", WhereThere("absent EACCES EPERM EROFS EIO EBUSY EOPNOTSUPP EINVAL"), &["absent", "EACCES", "EROFS", "EPERM"];
    sys_files: "writing below /sys", AsRoot, &["absent", "EACCES", "EROFS", "EPERM", "ENOENT"];
}
