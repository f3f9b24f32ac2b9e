//! Families and protocols of sockets: each is code of the kernel that a command has no use for, and some
//! leave every network namespace.

use super::attack::{Control::*, Group, PLAIN};

const REFUSED: &[&str] = &["EAFNOSUPPORT", "EPERM", "EPROTONOSUPPORT"];
const NO_FLAG: &[&str] = &["EOPNOTSUPP", "ENOTSUP"];
/// What a kernel says that is built or loaded without it, or asks root for.
const ABSENT: &str =
    "EAFNOSUPPORT EPROTONOSUPPORT ESOCKTNOSUPPORT EPERM EINVAL ENODEV ENOTSUP EACCES";

attacks! {
    Group { probe: include_str!("../escape/probes/sockets.py"), ..PLAIN };
    ax25: "AF_AX25", WhereThere(ABSENT), REFUSED;
    ipx: "AF_IPX", WhereThere(ABSENT), REFUSED;
    appletalk: "AF_APPLETALK", WhereThere(ABSENT), REFUSED;
    x25: "AF_X25", WhereThere(ABSENT), REFUSED;
    packet: "AF_PACKET", AsRoot, REFUSED;
    key: "AF_KEY", WhereThere(ABSENT), REFUSED;
    rds: "AF_RDS", WhereThere(ABSENT), REFUSED;
    llc: "AF_LLC", WhereThere(ABSENT), REFUSED;
    can: "AF_CAN", WhereThere(ABSENT), REFUSED;
    tipc: "AF_TIPC", WhereThere(ABSENT), REFUSED;
    bluetooth: "AF_BLUETOOTH", WhereThere(ABSENT), REFUSED;
    rxrpc: "AF_RXRPC", WhereThere(ABSENT), REFUSED;
    phonet: "AF_PHONET", WhereThere(ABSENT), REFUSED;
    caif: "AF_CAIF", WhereThere(ABSENT), REFUSED;
    alg: "AF_ALG, which with splice wrote into the page cache of readable files (CVE-2026-31431)", WhereThere(ABSENT), REFUSED;
    nfc: "AF_NFC", WhereThere(ABSENT), REFUSED;
    vsock: "AF_VSOCK, which before Linux 7.0 is in no network namespace", WhereThere(ABSENT), REFUSED;
    kcm: "AF_KCM", WhereThere(ABSENT), REFUSED;
    qipcrtr: "AF_QIPCRTR", WhereThere(ABSENT), REFUSED;
    smc: "AF_SMC", WhereThere(ABSENT), REFUSED;
    xdp: "AF_XDP", WhereThere(ABSENT), REFUSED;
    mctp: "AF_MCTP", WhereThere(ABSENT), REFUSED;
    raw: "raw ICMP", AsRoot, REFUSED;
    raw_type: "raw packets of any protocol", AsRoot, REFUSED;
    mptcp: "MPTCP, for which Landlock has no rule", WhereThere(ABSENT), REFUSED;
    sctp: "SCTP", WhereThere(ABSENT), REFUSED;
    udplite: "UDP-Lite", WhereThere(ABSENT), REFUSED;
    dccp: "DCCP", WhereThere(ABSENT), REFUSED;
    netlink_usersock: "netlink between processes", Succeeds, REFUSED;
    netlink_sock_diag: "netlink, sockets of everybody", Succeeds, REFUSED;
    netlink_nflog: "netlink, logs of the packet filter", WhereThere(ABSENT), REFUSED;
    netlink_xfrm: "netlink, IPsec (CVE-2026-43284)", WhereThere(ABSENT), REFUSED;
    netlink_selinux: "netlink, SELinux", WhereThere(ABSENT), REFUSED;
    netlink_iscsi: "netlink, iSCSI", WhereThere(ABSENT), REFUSED;
    netlink_audit: "netlink, audit", WhereThere(ABSENT), REFUSED;
    netlink_fib_lookup: "netlink, routes of the kernel", WhereThere(ABSENT), REFUSED;
    netlink_connector: "netlink, events of processes", WhereThere(ABSENT), REFUSED;
    netlink_netfilter: "netlink, packet filters", WhereThere(ABSENT), REFUSED;
    netlink_kobject_uevent: "netlink, events of devices", Succeeds, REFUSED;
    netlink_generic: "netlink, everything else", Succeeds, REFUSED;
    netlink_crypto: "netlink, algorithms", WhereThere(ABSENT), REFUSED;
    high_bits: "AF_VSOCK with a bit set above the 32 that count", WhereThere(ABSENT), REFUSED;
    pair_tipc: "a pair of sockets of such a family", WhereThere(ABSENT), REFUSED;
    oob: "a byte out of band between Unix sockets (CVE-2025-38236)", Succeeds, NO_FLAG;
    oob_among_flags: "the same with other flags", Succeeds, NO_FLAG;
    oob_message: "the same by sendmsg", Succeeds, NO_FLAG;
    oob_messages: "the same by sendmmsg", Succeeds, NO_FLAG;
}
