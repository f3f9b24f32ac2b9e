//! Files by which the kernel is controlled or tells of everybody. For root their modes are no hindrance.

use super::attack::{Control::*, Group, PLAIN};

const REFUSED: &[&str] = &["EROFS", "EACCES", "EPERM", "ENOENT", "empty"];
const ABSENT: &str = "ENOENT EACCES EPERM EIO empty";

attacks! {
    Group { probe: include_str!("../escape/probes/control.py"), ..PLAIN };
    sys_kernel_core_pattern: "the program that gets core dumps", AsRoot, REFUSED;
    sys_kernel_modprobe: "the program that loads modules", WhereThere(ABSENT), REFUSED;
    sys_kernel_hotplug: "the program of new devices", WhereThere(ABSENT), REFUSED;
    sysrq_trigger: "the emergency key", WhereThere(ABSENT), REFUSED;
    sys_fs_binfmt_misc_register: "interpreters of programs", WhereThere(ABSENT), REFUSED;
    sys_vm_drop_caches: "dropping caches", AsRoot, REFUSED;
    sys_kernel_sysrq: "which emergency keys there are", WhereThere(ABSENT), REFUSED;
    sys_kernel_hostname: "the host name", AsRoot, REFUSED;
    sys_net_ipv4_ip_forward: "forwarding of packets", AsRoot, REFUSED;
    sys_user_max_user_namespaces: "the count of user namespaces", WhereThere(ABSENT), REFUSED;
    irq_default_smp_affinity: "interrupts", WhereThere(ABSENT), REFUSED;
    mtrr: "ranges of memory", WhereThere(ABSENT), REFUSED;
    scsi_scsi: "SCSI devices", WhereThere(ABSENT), REFUSED;
    bus_pci_devices: "PCI devices", WhereThere(ABSENT), REFUSED;
    dynamic_debug_control: "debugging of the kernel", WhereThere(ABSENT), REFUSED;
    acpi_wakeup: "waking the machine", WhereThere(ABSENT), REFUSED;
    fs_nfsd_threads: "the NFS server", WhereThere(ABSENT), REFUSED;
    driver_nvram: "settings of the firmware", WhereThere(ABSENT), REFUSED;
    read_kcore: "memory of the kernel", WhereThere(ABSENT), REFUSED;
    read_keys: "keys of everybody", Succeeds, REFUSED;
    read_key_users: "users that have keys", Succeeds, REFUSED;
    read_timer_list: "timers of everybody", WhereThere(ABSENT), REFUSED;
    read_kmsg: "the kernel's log", WhereThere("EPERM EACCES EAGAIN ENOENT"), REFUSED;
    read_sched_debug: "the scheduler's state", WhereThere(ABSENT), REFUSED;
    read_latency_stats: "latencies", WhereThere(ABSENT), REFUSED;
    read_vmallocinfo: "addresses of the kernel", AsRoot, REFUSED;
    read_slabinfo: "memory of the kernel by kind", AsRoot, REFUSED;
    read_kpageflags: "pages of the machine", WhereThere(ABSENT), REFUSED;
    read_kpagecount: "how often pages are mapped", WhereThere(ABSENT), REFUSED;
    read_pagetypeinfo: "free pages by kind", AsRoot, REFUSED;
}
