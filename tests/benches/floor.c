// The floor of a sandbox launch: the fewest system calls that make a given view.
//
//     floor LIST LEVEL PROGRAM [ARG...]
//
// LIST has one step a line, in the order in which they are done; LEVEL 0 is vfork and exec alone
// (LIST is not read), 1 the view in namespaces of its own, 2 adds Landlock and a seccomp filter.
// Steps: "dir TO", "file TO", "link TEXT TO", "ro FROM TO", "rw FROM TO", "tmpfs - TO",
// "proc - TO", "devpts - TO". TO is relative to the new root, FROM is absolute.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct step {
    char *kind, *from, *to;
};

static struct step steps[8192];
static int count;

static void need(long result, const char *what) {
    if (result < 0) {
        dprintf(2, "floor: %s: %s\n", what, strerror(errno));
        _exit(125);
    }
}

static void read_list(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    need(fd, path);
    need(fstat(fd, &st), path);
    char *text = malloc(st.st_size + 1);
    need(read(fd, text, st.st_size), path);
    text[st.st_size] = 0;
    close(fd);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        struct step *step = &steps[count++];
        step->kind = line;
        step->from = step->to = strchr(line, ' ');
        *step->to++ = 0;
        char *second = strchr(step->to, ' ');
        if (second) {
            step->from = step->to;
            *second = 0;
            step->to = second + 1;
        }
    }
}

static void put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    need(fd, path);
    need(write(fd, text, strlen(text)), path);
    close(fd);
}

static void map_ids(uid_t uid, gid_t gid) {
    char text[64];
    put("/proc/self/setgroups", "deny");
    snprintf(text, sizeof text, "%u %u 1\n", uid, uid);
    put("/proc/self/uid_map", text);
    snprintf(text, sizeof text, "%u %u 1\n", gid, gid);
    put("/proc/self/gid_map", text);
}

static void do_step(const struct step *s) {
    const unsigned long quiet = MS_NOSUID | MS_NODEV;
    if (!strcmp(s->kind, "dir"))
        need(mkdir(s->to, 0755), s->to);
    else if (!strcmp(s->kind, "file"))
        need(mknod(s->to, S_IFREG | 0644, 0), s->to);
    else if (!strcmp(s->kind, "link"))
        need(symlink(s->from, s->to), s->to);
    else if (!strcmp(s->kind, "ro")) {
        need(mount(s->from, s->to, NULL, MS_BIND | MS_REC, NULL), s->from);
        need(mount(NULL, s->to, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | quiet, NULL), s->to);
    } else if (!strcmp(s->kind, "rw"))
        need(mount(s->from, s->to, NULL, MS_BIND | MS_REC, NULL), s->from);
    else if (!strcmp(s->kind, "tmpfs"))
        need(mount("tmpfs", s->to, "tmpfs", quiet, "mode=755"), s->to);
    else if (!strcmp(s->kind, "proc"))
        need(mount("proc", s->to, "proc", quiet | MS_NOEXEC, NULL), s->to);
    else if (!strcmp(s->kind, "devpts"))
        need(mount("devpts", s->to, "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666"), s->to);
    else {
        errno = EINVAL;
        need(-1, s->kind);
    }
}

static void build_view(void) {
    need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "propagation");
    need(mount("root", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755"), "root");
    need(chdir("/tmp"), "root");
    for (int i = 0; i < count; i++)
        do_step(&steps[i]);
    need(syscall(SYS_pivot_root, ".", "."), "pivot_root");
    need(umount2(".", MNT_DETACH), "the old root");
    need(chdir("/"), "/");
}

// Read and execute everywhere: the cost of a rule set, not its use.
static void landlock(void) {
    struct landlock_ruleset_attr handled = {.handled_access_fs = (1 << 13) - 1};
    int rules = syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    need(rules, "landlock_create_ruleset");
    struct landlock_path_beneath_attr rule = {
        .parent_fd = open("/", O_PATH | O_CLOEXEC),
        .allowed_access = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE
                          | LANDLOCK_ACCESS_FS_READ_DIR,
    };
    need(syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0), "landlock rule");
    need(syscall(SYS_landlock_restrict_self, rules, 0), "landlock_restrict_self");
    close(rule.parent_fd);
    close(rules);
}

static void seccomp(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_keyctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "seccomp");
}

static int code_of(pid_t child) {
    int status;
    need(waitpid(child, &status, 0), "wait");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 125;
    int level = atoi(argv[2]);
    char **command = argv + 3;
    if (level == 0) {
        pid_t child = vfork();
        if (child == 0) {
            execv(command[0], command);
            _exit(127);
        }
        return code_of(child);
    }
    read_list(argv[1]);
    uid_t uid = getuid();
    gid_t gid = getgid();
    struct clone_args how = {
        .flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS
                 | CLONE_NEWNET | CLONE_NEWCGROUP,
        .exit_signal = SIGCHLD,
    };
    pid_t child = syscall(SYS_clone3, &how, sizeof how);
    need(child, "clone3");
    if (child)
        return code_of(child);
    map_ids(uid, gid);
    build_view();
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
    if (level >= 2) {
        landlock();
        seccomp();
    }
    execv(command[0], command);
    need(-1, command[0]);
}
