/* SPDX-License-Identifier: MIT */
/* Sockets are addressed through the descriptor of their directory, so that a long path fits into
 * an address, and all steps are taken in the same directory. Sockets of processes that are gone
 * are removed by whoever opens the next one. */
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
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"

/* Most entries that one call of spex_control_clean() reads: the directory may hold any number of
 * files, and a starting program waits. */
enum { CLEANED_MAX = 1024 };

/* Most processes whose start it reads, which takes some 10 µs each. */
enum { LOOKS_MAX = 64 };

/* The user's number outside of this process's user namespace, by the lines "inside outside count"
 * of uid_map; the same number where there is no other. */
static uid_t user_outside(uid_t user) {
    char map[4096], *at = map;
    uid_t found = user;
    spex_descriptor_read_path("/proc/self/uid_map", map, sizeof(map));
    while (*at) {
        unsigned long inside = strtoul(at, &at, 10);
        unsigned long outside = strtoul(at, &at, 10), count = strtoul(at, &at, 10);
        if (user >= inside && user - inside < count)
            found = (uid_t)(outside + (user - inside));
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return found;
}

/* `n` skips the directory below XDG_RUNTIME_DIR where that is not set to an absolute path. */
bool spex_control_directory(unsigned n, const char *chosen, const char *runtime, uid_t user,
                            char *path) {
    const size_t size = SPEX_CONTROL_PATH_BYTES;
    uid_t outside;
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
    case 4:
    case 5:
        outside = user_outside(user);
        snprintf(path, size, "%s/spex-%u", n == 4 ? "/tmp" : "/dev/shm", (unsigned)outside);
        return outside != user;
    default:
        return false;
    }
}

/* The link reads "pid:[4026531836]". */
unsigned long spex_control_namespace(const char *link) {
    static const char before[] = "pid:[";
    char target[64] = "";
    ssize_t length = readlink(link, target, sizeof(target) - 1);
    return length > 0 && strncmp(target, before, strlen(before)) == 0
               ? strtoul(target + strlen(before), NULL, 10)
               : 0;
}

/* The number of this process's PID namespace; 0: not known. */
static unsigned long namespace_number(void) {
    return spex_control_namespace("/proc/self/ns/pid");
}

void spex_control_name(char name[SPEX_CONTROL_NAME_BYTES]) {
    snprintf(name, SPEX_CONTROL_NAME_BYTES, "%d-%lu", (int)getpid(), namespace_number());
}

static int address_of(const char *path, const char *name, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path, sizeof(address->sun_path), "%s/%s", path, name);
    return (size_t)length < sizeof(address->sun_path) ? 0 : -ENAMETOOLONG;
}

/* The address of a socket by its directory's descriptor under /proc: the path of the directory
 * itself may exceed the 108 bytes of an address. */
static int address_at(int directory, const char *name, struct sockaddr_un *address) {
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", directory);
    return address_of(path, name, address);
}

int spex_control_connect_at(int socket, int directory, const char *name) {
    struct sockaddr_un address;
    int err = address_at(directory, name, &address);
    if (!err && connect(socket, (struct sockaddr *)&address, sizeof(address)) != 0)
        err = -errno;
    return err;
}

static int bind_to(int socket, const struct sockaddr_un *address) {
    return bind(socket, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 0 : -errno;
}

int spex_control_bind_at(int socket, int directory, const char *path, const char *name) {
    struct sockaddr_un address;
    int err = address_of(path, name, &address);
    if (err)
        err = address_at(directory, name, &address);
    return err ? err : bind_to(socket, &address);
}

/* Before the name of a socket that does not listen yet. */
static const char hidden_prefix[] = "new-";

void spex_control_hidden_name(const char *name, char to[SPEX_CONTROL_NAME_BYTES]) {
    snprintf(to, SPEX_CONTROL_NAME_BYTES, "%s%s", hidden_prefix, name);
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

/* Whether the process exists in this PID namespace, of whatever user. */
static bool process_is_there(int process) {
    return kill(process, 0) == 0 || errno == EPERM;
}

/* The field of /proc/PID/stat with the ticks from the system's start to the process's; the name in
 * parentheses before it may have any character. 0: not known. */
static unsigned long long start_ticks(int process) {
    enum { STARTED = 22 };
    char path[32], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", process);
    spex_descriptor_read_path(path, text, sizeof(text));
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < STARTED; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

/* Whether the process started more than a second after the file was made: a former process with its
 * number has left the file. Not certain where the date was set meanwhile. */
static bool is_younger(int process, int directory, const char *name) {
    struct stat file;
    if (fstatat(directory, name, &file, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    int64_t age_ns = (int64_t)spex_clock_ns(CLOCK_REALTIME) - file.st_mtim.tv_sec * 1000000000LL;
    int64_t since_start_ns =
        (int64_t)spex_clock_ns(CLOCK_BOOTTIME) -
        (int64_t)(start_ticks(process) * (1000000000ull / (unsigned long)sysconf(_SC_CLK_TCK)));
    return age_ns > since_start_ns + 1000000000;
}

/* Whether a process that exists has the number of the one that made the socket. Sockets of `spex
 * run` are not looked at: where the date was set, it would take the connection for a program's. */
static bool is_reused(int process, int directory, const char *name, int *looks) {
    return !strstr(name, SPEX_CONTROL_RUN) && (*looks)-- > 0 &&
           is_younger(process, directory, name);
}

/* Only a refused connection counts as no listener: a full queue (EAGAIN) has one. */
static bool nobody_listens(int directory, const char *name) {
    struct spex_descriptor trial =
        spex_descriptor_brief(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!spex_descriptor_is_ours(&trial))
        return false;
    int err = spex_control_connect_at(trial.number, directory, name);
    spex_descriptor_close(&trial);
    return err == -ECONNREFUSED;
}

/* Whether the socket's process is gone. A hidden name is of a process that ended before its socket
 * listened, or of one that is about to listen; in another PID namespace the two cannot be told
 * apart, so that such a socket stays. */
static bool is_left(int directory, const char *name, int *looks) {
    bool is_hidden = strncmp(name, hidden_prefix, strlen(hidden_prefix)) == 0;
    int process;
    unsigned long namespace;
    if (!is_name(is_hidden ? name + strlen(hidden_prefix) : name, &process, &namespace))
        return false;
    bool known = namespace == namespace_number();
    if (known && process_is_there(process) && !is_reused(process, directory, name, looks))
        return false;
    return (known || !is_hidden) && nobody_listens(directory, name);
}

/* Removes what is left of the entries in `buffer`; returns how many entries there were. */
static int clean_some(int directory, const char *buffer, ssize_t bytes, int *looks) {
    int count = 0;
    for (ssize_t at = 0; at < bytes; count++) {
        const struct dirent64 *entry = (const struct dirent64 *)(buffer + at);
        if (entry->d_type == DT_SOCK && is_left(directory, entry->d_name, looks))
            unlinkat(directory, entry->d_name, 0);
        at += entry->d_reclen;
    }
    return count;
}

/* readdir would take 32 KiB of the heap for a few names. */
void spex_control_clean(int directory) {
    char buffer[2048] __attribute__((aligned(__alignof__(struct dirent64))));
    ssize_t bytes;
    int looks = LOOKS_MAX;
    lseek(directory, 0, SEEK_SET);
    for (int n = 0; n < CLEANED_MAX; n += clean_some(directory, buffer, bytes, &looks))
        if ((bytes = getdents64(directory, (struct dirent64 *)buffer, sizeof(buffer))) <= 0)
            break;
}
