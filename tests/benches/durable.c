// Durable files by hand: new content beside its place, one sync of the file system, renames.
//
//     durable DIRECTORY COUNT [WORD...]
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void need(long result, const char *what) {
    if (result < 0) {
        fprintf(stderr, "durable: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    int count = atoi(argv[2]);
    int dir = open(argv[1], O_RDONLY | O_DIRECTORY);
    need(dir, argv[1]);
    char from[32], to[32];
    for (int i = 0; i < count; i++) {
        snprintf(from, sizeof from, ".new-%d", i);
        int fd = openat(dir, from, O_WRONLY | O_CREAT | O_EXCL, 0644);
        need(fd, from);
        need(dprintf(fd, "%d\n", getpid()), "write");
        close(fd);
    }
    need(syncfs(dir), "syncfs");
    for (int i = 0; i < count; i++) {
        snprintf(from, sizeof from, ".new-%d", i);
        snprintf(to, sizeof to, "f%d", i);
        need(renameat(dir, from, dir, to), to);
    }
    need(syncfs(dir), "syncfs");
    return 0;
}
