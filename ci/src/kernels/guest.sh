#!/bin/sh
# Pid 1 of a guest: makes a small Debian of the disk, runs what the third disk says, and ends. What it
# writes to the port is read by `told.rs`.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
place=$endow_place
user=endow-test
groups=/sys/fs/cgroup
confined=

file_systems() {
    mount -t proc -o nosuid,nodev,noexec proc /proc
    mount -t sysfs -o nosuid,nodev,noexec sys /sys
    mount -t devtmpfs -o nosuid dev /dev
    mkdir -p /dev/pts /dev/shm
    mount -t devpts -o nosuid,noexec,gid=5,mode=620,ptmxmode=666 devpts /dev/pts
    mount -t tmpfs -o nosuid,nodev,mode=1777 shm /dev/shm
    mount -t tmpfs -o nosuid,nodev,mode=755 run /run
    mount -t securityfs security /sys/kernel/security
    mount -t cgroup2 -o nsdelegate cgroup $groups
    ln -sf /proc/self/fd /dev/fd
    for number in 0:stdin 1:stdout 2:stderr; do
        ln -sf "/proc/self/fd/${number%%:*}" "/dev/${number##*:}"
    done
}

network() {
    hostname guest
    echo '127.0.0.1 localhost guest' >/etc/hosts
    ip link set lo up
}

# As systemd does with Delegate=yes: the group and these files are the user's, and the processes are
# in one below.
delegate() {
    echo '+memory +pids' >$groups/cgroup.subtree_control
    for name in root $user; do
        mkdir -p "$groups/$name.scope/main"
        echo '+memory +pids' >"$groups/$name.scope/cgroup.subtree_control"
        for file in . main cgroup.procs cgroup.subtree_control cgroup.threads \
            main/cgroup.procs main/cgroup.subtree_control main/cgroup.threads; do
            chown "$name:" "$groups/$name.scope/$file"
        done
    done
}

userns_off() {
    sysctl -q -w user.max_user_namespaces=0
}

# As on Ubuntu: programs without a profile get no user namespaces.
restrict() {
    for program in "$place"/bin/plain/endow "$place"/bin/plain/endow-*[a-z]; do
        case ${program##*/} in
        endow | endow-bridge | endow-broker | endow-reapi | endow-ssh-agent) cp "$program" /usr/local/bin/ ;;
        esac
    done
    parser
    cp "$place/src/ci/src/kernels/everybody.apparmor" /etc/apparmor.d/everybody
    apparmor_parser --replace /etc/apparmor.d/everybody
    confined=everybody
}

# As the Debian package does.
profile() {
    mkdir -p /etc/apparmor.d/abi /usr/share/endow/apparmor
    : >/etc/apparmor.d/abi/4.0
    cp "$place/src/ci/packaging/apparmor/endow" /usr/share/endow/apparmor/
    sh "$place/src/ci/packaging/debian/postinst" configure
}

# The parser of a newer Debian, under the name that scripts call.
parser() {
    mkdir -p /etc/apparmor.d
    mount --bind /proc /opt/apparmor/proc
    mount --rbind /sys /opt/apparmor/sys
    cat >/usr/local/sbin/apparmor_parser <<'SCRIPT'
#!/bin/sh
for file; do :; done
cp "$file" "/opt/apparmor$file"
exec chroot /opt/apparmor apparmor_parser "$@"
SCRIPT
    chmod 755 /usr/local/sbin/apparmor_parser
}

# job NUMBER USER SECONDS DIRECTORY ENDOW PROGRAM ARGUMENT...
job() {
    number=$1 who=$2 seconds=$3 directory=$4 endow=$5
    shift 5
    echo "@job $number"
    : >/tmp/skips
    chmod 666 /tmp/skips
    (
        echo 0 >"$groups/$who.scope/main/cgroup.procs"
        cd "$directory" || exit 125
        umask 022
        home=/home/$who
        test -z "$confined" || printf 'exec %s' "$confined" >/proc/self/attr/exec
        test "$who" != root || home=/root
        # Not `exec`: a process group whose parent is pid 1 counts as orphaned, and can't be stopped.
        setpriv --reuid="$who" --regid="$who" --clear-groups env -i PATH="$PATH" \
            HOME="$home" USER="$who" LOGNAME="$who" SHELL=/bin/sh LANG=C.UTF-8 \
            ENDOW_BIN="$endow" ENDOW_TEST_SKIPS=/tmp/skips \
            CARGO_MANIFEST_DIR="$directory" INSTA_UPDATE=no INSTA_WORKSPACE_ROOT="$place/src" \
            timeout --kill-after=10 "$seconds" "$@" </dev/null 2>&1
        exit $?
    )
    echo "@ended $?"
    sed 's/^/@skip /' /tmp/skips
}

run() {
    echo "@release $(uname -r)"
    delegate
    . /dev/vdc
    echo "@done"
}

file_systems
network
run >"$(echo /dev/vport*p1)" 2>/dev/console
sync
exec busybox poweroff -f
