# Files below /proc that act on the whole machine or show it: opened, and nothing written.
WRITE = ["sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/kernel/hotplug", "sysrq-trigger",
         "sys/fs/binfmt_misc/register", "sys/vm/drop_caches", "sys/kernel/sysrq",
         "sys/kernel/hostname", "sys/net/ipv4/ip_forward", "sys/user/max_user_namespaces",
         "irq/default_smp_affinity", "mtrr", "timer_list", "scsi/scsi", "bus/pci/devices",
         "dynamic_debug/control", "acpi/wakeup", "slabinfo", "fs/nfsd/threads", "latency_stats",
         "driver/nvram", "tty/drivers", "kpagecgroup"]
READ = ["kcore", "keys", "key-users", "timer_list", "kmsg", "sched_debug", "latency_stats",
        "vmallocinfo", "slabinfo", "kpageflags", "kpagecount", "pagetypeinfo"]


def opened(path, flags):
    file = os.open("/proc/" + path, flags | os.O_NONBLOCK)
    try:
        if flags == os.O_RDONLY:
            return "ok" if os.read(file, 16) else "empty"
    finally:
        os.close(file)


for name in WRITE:
    attempt(name, lambda: opened(name, os.O_WRONLY))
for name in READ:
    attempt("read-" + name, lambda: opened(name, os.O_RDONLY))
