/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "wire/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Most entries that one call of spex_control_clean() reads. */
enum { CLEANED_MAX = 1024 };

bool spex_control_directory(unsigned n, const char *chosen, const char *runtime, uid_t user,
                            char *path) {
    const size_t size = SPEX_CONTROL_PATH_BYTES;
    if (chosen)
        return n == 0 && (size_t)snprintf(path, size, "%s", chosen) < size;
    if (!runtime || runtime[0] != '/')
        n++;
    switch (n) {
    case 0:
        snprintf(path, size, "%s/spex", runtime);
        return true;
    case 1:
        snprintf(path, size, "/run/user/%u/spex", (unsigned)user);
        return true;
    case 2:
        snprintf(path, size, "/tmp/spex-%u", (unsigned)user);
        return true;
    case 3:
        snprintf(path, size, "/dev/shm/spex-%u", (unsigned)user);
        return true;
    default:
        return false;
    }
}

unsigned long spex_control_namespace(const char *link) {
    static const char before[] = "pid:[";
    char target[64] = "";
    ssize_t length = readlink(link, target, sizeof(target) - 1);
    return length > 0 && strncmp(target, before, strlen(before)) == 0
               ? strtoul(target + strlen(before), NULL, 10)
               : 0;
}

static unsigned long namespace_number(void) {
    return spex_control_namespace("/proc/self/ns/pid");
}

void spex_control_name(char name[SPEX_CONTROL_NAME_BYTES]) {
    snprintf(name, SPEX_CONTROL_NAME_BYTES, "%d-%lu", (int)getpid(), namespace_number());
}

/* The address of a socket by its directory's descriptor under /proc: the path of the directory
 * itself may exceed the 108 bytes of an address. */
static int address_at(int directory, const char *name, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s",
                          directory, name);
    return (size_t)length < sizeof(address->sun_path) ? 0 : -ENAMETOOLONG;
}

int spex_control_connect_at(int socket, int directory, const char *name) {
    struct sockaddr_un address;
    int err = address_at(directory, name, &address);
    if (!err && connect(socket, (struct sockaddr *)&address, sizeof(address)) != 0)
        err = -errno;
    return err;
}

int spex_control_bind_at(int socket, int directory, const char *name) {
    struct sockaddr_un address;
    int err = address_at(directory, name, &address);
    if (!err && bind(socket, (struct sockaddr *)&address, sizeof(address)) != 0)
        err = -errno;
    return err;
}

static const char hidden[] = "new-";

void spex_control_hidden_name(const char *name, char to[SPEX_CONTROL_NAME_BYTES]) {
    snprintf(to, SPEX_CONTROL_NAME_BYTES, "%s%s", hidden, name);
}

/* Parses a name as spex_control_name() makes it, of any process. False: another name, whose file
 * must not be touched. */
static bool is_name(const char *name, int *process, unsigned long *namespace) {
    char again[SPEX_CONTROL_NAME_BYTES];
    const char *dash = strchr(name, '-');
    *process = (int)strtol(name, NULL, 10);
    *namespace = dash ? strtoul(dash + 1, NULL, 10) : 0;
    size_t length = (size_t)snprintf(again, sizeof(again), "%d-%lu", *process, *namespace);
    return *process > 0 && strncmp(again, name, length) == 0 &&
           (!name[length] || strcmp(name + length, SPEX_CONTROL_RUN) == 0);
}

static bool process_is_there(int process) {
    return kill(process, 0) == 0 || errno == EPERM;
}

/* Only a refused connection counts as no listener: a full queue (EAGAIN) has one. */
static bool nobody_listens(int directory, const char *name) {
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    int err = spex_control_connect_at(fd, directory, name);
    close(fd);
    return err == -ECONNREFUSED;
}

/* Whether the socket's process is gone. A hidden name is of a process that ended before its socket
 * listened, or of one that is about to listen; in another PID namespace the two cannot be told
 * apart, so that such a socket stays. */
static bool is_left(int directory, const char *name) {
    bool is_hidden = strncmp(name, hidden, strlen(hidden)) == 0;
    int process;
    unsigned long namespace;
    if (!is_name(is_hidden ? name + strlen(hidden) : name, &process, &namespace))
        return false;
    bool known = namespace == namespace_number();
    return !(known && process_is_there(process)) && (known || !is_hidden) &&
           nobody_listens(directory, name);
}

/* Removes what is left of the entries in `buffer`; returns how many entries there were. */
static int clean_some(int directory, const char *buffer, ssize_t bytes) {
    int count = 0;
    for (ssize_t at = 0; at < bytes; count++) {
        const struct dirent64 *entry = (const struct dirent64 *)(buffer + at);
        if (entry->d_type == DT_SOCK && is_left(directory, entry->d_name))
            unlinkat(directory, entry->d_name, 0);
        at += entry->d_reclen;
    }
    return count;
}

/* readdir would take 32 KiB of the heap for a few names. */
void spex_control_clean(int directory) {
    char buffer[2048] __attribute__((aligned(__alignof__(struct dirent64))));
    ssize_t bytes;
    lseek(directory, 0, SEEK_SET);
    for (int n = 0; n < CLEANED_MAX; n += clean_some(directory, buffer, bytes))
        if ((bytes = getdents64(directory, (struct dirent64 *)buffer, sizeof(buffer))) <= 0)
            break;
}
