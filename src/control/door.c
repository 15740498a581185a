/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "door.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAITING_MAX = 128 };

/* Anybody may have made it before us. */
static int check_owner(int directory) {
    struct stat found;
    if (fstat(directory, &found) != 0)
        return -errno;
    return found.st_uid == geteuid() && (found.st_mode & 077) == 0 ? 0 : -EPERM;
}

static int directory_open(const char *path) {
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return -errno;
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int err = directory < 0 ? -errno : check_owner(directory);
    if (err && directory >= 0)
        close(directory);
    return err ? err : directory;
}

/* Under another name until it listens, since one that does not is cleaned away. The mode is that of the
 * socket's file from its beginning. */
static int listen_at(int directory, const char *name, int *listening) {
    char hidden[SPEX_CONTROL_NAME_BYTES + 8];
    snprintf(hidden, sizeof(hidden), "new-%s", name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    unlinkat(directory, hidden, 0);
    int err = fchmod(fd, 0600) != 0 ? -errno : spex_control_bind_at(fd, directory, hidden);
    if (!err && (listen(fd, WAITING_MAX) != 0 || renameat(directory, hidden, directory, name) != 0)) {
        err = -errno;
        unlinkat(directory, hidden, 0);
    }
    if (err)
        close(fd);
    else
        *listening = fd;
    return err;
}

int spex_door_open_at(struct spex_door *door) {
    int listening = -1, directory = directory_open(door->path);
    if (directory < 0)
        return directory;
    spex_control_clean(directory);
    int err = listen_at(directory, door->name, &listening);
    close(directory);
    if (!err)
        door->socket = spex_descriptor_of(listening);
    return err;
}

int spex_door_open(struct spex_door *door, const char *chosen, char *why, size_t why_size) {
    int err = -ENOENT;
    spex_control_name(door->name);
    for (unsigned n = 0; spex_control_directory(n, chosen, secure_getenv("XDG_RUNTIME_DIR"),
                                                geteuid(), door->path);
         n++) {
        err = spex_door_open_at(door);
        if (!err)
            return 0;
        if (n == 0 || chosen)
            snprintf(why, why_size, "%s: %s", door->path,
                     err == -EPERM ? "does not belong to this user alone" : strerror(-err));
    }
    return err;
}

void spex_door_close(struct spex_door *door) {
    int directory = open(door->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0 && door->socket.number >= 0)
        unlinkat(directory, door->name, 0);
    if (directory >= 0)
        close(directory);
    spex_descriptor_close(&door->socket);
}

void spex_door_abandon(struct spex_door *door) {
    spex_descriptor_close(&door->socket);
}

int spex_door_accept(const struct spex_door *door) {
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (!spex_descriptor_is_ours(&door->socket))
        return -EBADF;
    int fd = accept4(door->socket.number, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return errno == EINTR || errno == ECONNABORTED ? -EPERM : -errno;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
        (peer.uid == geteuid() || peer.uid == 0))
        return fd;
    close(fd);
    return -EPERM;
}
