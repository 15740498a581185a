/* SPDX-License-Identifier: MIT */
/* The directory may lie in a place where every user may write (/tmp). So links are not followed,
 * owner and mode are checked on the open directory, and everything further goes by its
 * descriptor. */
#define _GNU_SOURCE
#include "wire/listening_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Connections that may wait to be accepted. */
enum { WAITING_MAX = 128 };

/* Whether the directory belongs to this user, and nobody else may use it; -EPERM: it does not.
 * Another user may have made a directory of this name before. */
static int check_owner(const struct spex_descriptor *directory) {
    struct stat found;
    if (!spex_descriptor_is_ours(directory) || fstat(directory->number, &found) != 0)
        return -EBADF;
    return found.st_uid == geteuid() && (found.st_mode & 077) == 0 ? 0 : -EPERM;
}

/* The error of a call, which -EPERM is not: that stands for another user's directory. */
static int call_error(void) {
    return errno == EPERM ? -EACCES : -errno;
}

/* Makes the directory with mode 0700, whatever the program's umask is. Without /proc, libc cannot
 * change the mode of what may be a link: the mode is as the umask has left it. */
static int directory_make(const char *path) {
    if (mkdir(path, 0700) != 0)
        return errno == EEXIST ? 0 : call_error();
    return fchmodat(AT_FDCWD, path, 0700, AT_SYMLINK_NOFOLLOW) == 0 || errno == EOPNOTSUPP ? 0
                                                                                           : -errno;
}

static struct spex_descriptor failed(int err) {
    return (struct spex_descriptor){.number = err};
}

struct spex_descriptor spex_control_directory_open(const char *path) {
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int directory = open(path, flags);
    if (directory < 0 && errno == ENOENT) {
        int made = directory_make(path);
        if (made)
            return failed(made);
        directory = open(path, flags);
    }
    if (directory < 0)
        return failed(call_error());
    struct spex_descriptor place = spex_descriptor_brief(directory);
    int err = check_owner(&place);
    if (!err)
        return place;
    spex_descriptor_close(&place);
    return failed(err);
}

/* Binds, also where a process with the same number has left a file. The socket's mode is set
 * before, so that the file never has a wider one. */
static int bind_hidden(int fd, int directory, const char *path, const char *hidden, mode_t mode) {
    int err = fchmod(fd, mode) != 0 ? -errno : spex_control_bind_at(fd, directory, path, hidden);
    if (err != -EADDRINUSE)
        return err;
    unlinkat(directory, hidden, 0);
    return spex_control_bind_at(fd, directory, path, hidden);
}

/* Binds and listens. The umask may have removed bits of the file's mode. Fails, too, where the file
 * has not come into this directory. */
static int listen_hidden(int fd, int directory, const char *path, const char *hidden, mode_t mode,
                         struct stat *file) {
    int err = bind_hidden(fd, directory, path, hidden, mode);
    if (err)
        return err;
    if (fstatat(directory, hidden, file, AT_SYMLINK_NOFOLLOW) != 0 ||
        ((file->st_mode & 0777) != mode && fchmodat(directory, hidden, mode, 0) != 0) ||
        listen(fd, WAITING_MAX) != 0)
        return -errno;
    return 0;
}

static int packet_socket(void) {
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Whether this process listens at the name already: another copy of spex does, such as a library
 * has that was linked with one of its own. Mostly there is no such file, which spares a
 * connection. */
static bool is_listened_at_here(int directory, const char *name) {
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return false;
    struct spex_descriptor trial = spex_descriptor_brief(packet_socket());
    bool here = spex_descriptor_is_ours(&trial) &&
                spex_control_connect_at(trial.number, directory, name) == 0 &&
                getsockopt(trial.number, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
                peer.pid == getpid();
    spex_descriptor_close(&trial);
    return here;
}

/* The socket has a hidden name until it listens, since other processes remove a socket that does
 * not listen. */
static int listen_at(int directory, const char *path, const char *name, mode_t mode,
                     struct spex_descriptor *listening, struct stat *file) {
    char hidden[SPEX_CONTROL_NAME_BYTES];
    spex_control_hidden_name(name, hidden);
    int fd = packet_socket();
    if (fd < 0)
        return call_error();
    *listening = spex_descriptor_of(fd);
    int err = spex_descriptor_is_ours(listening)
                  ? listen_hidden(listening->number, directory, path, hidden, mode, file)
                  : -EBADF;
    if (!err && renameat(directory, hidden, directory, name) != 0)
        err = -errno;
    if (!err)
        return 0;
    unlinkat(directory, hidden, 0);
    spex_descriptor_close(listening);
    return err == -EPERM ? -EACCES : err;
}

static mode_t mode_of(const struct spex_listening_socket *door) {
    return door->dormant ? 0700 : 0600;
}

/* Removes old sockets first, as the directory is open anyway. Device and inode are of the file
 * at its final name. */
int spex_listening_socket_open_at(struct spex_listening_socket *door) {
    struct spex_descriptor directory = spex_control_directory_open(door->path);
    if (directory.number < 0)
        return directory.number;
    spex_control_clean(directory.number);
    struct stat file = {0};
    int err = is_listened_at_here(directory.number, door->name)
                  ? -EADDRINUSE
                  : listen_at(directory.number, door->path, door->name, mode_of(door),
                              &door->socket, &file);
    spex_descriptor_close(&directory);
    if (err)
        return err;
    door->device = file.st_dev;
    door->inode = file.st_ino;
    return 0;
}

const char *spex_listening_socket_runtime_directory(void) {
    const char *path = secure_getenv("XDG_RUNTIME_DIR");
    struct stat found;
    return path && stat(path, &found) == 0 && found.st_uid == geteuid() ? path : NULL;
}

static const char *reason_of(int err) {
    if (err == -EADDRINUSE)
        return "another copy of spex in this process listens there";
    return err == -EPERM ? "does not belong to this user alone" : strerror(-err);
}

/* Tries the directories in order, unless another copy of spex has its socket in one: commands reach
 * one socket of a process. */
static int open_chosen(struct spex_listening_socket *door, const char *chosen,
                       struct spex_error *error) {
    const char *runtime = chosen ? NULL : spex_listening_socket_runtime_directory();
    char reasons[sizeof(error->text)] = "the directory's name is too long";
    size_t length = 0;
    bool refused = false;
    int err = -ENAMETOOLONG;
    door->socket = SPEX_NO_DESCRIPTOR;
    spex_control_name(door->name);
    for (unsigned n = 0; spex_control_directory(n, chosen, runtime, geteuid(), door->path); n++) {
        err = spex_listening_socket_open_at(door);
        if (!err)
            return 0;
        refused |= err == -EPERM;
        if (length < sizeof(reasons))
            length += (size_t)snprintf(reasons + length, sizeof(reasons) - length, "%s%s: %s",
                                       n ? "; " : "", door->path, reason_of(err));
        if (err == -EADDRINUSE)
            break;
    }
    return spex_fail(error, err, "%s%s", reasons, refused ? SPEX_CONTROL_ANOTHER : "");
}

int spex_listening_socket_open(struct spex_listening_socket *door, const char *chosen,
                               struct spex_error *error) {
    door->dormant = false;
    return open_chosen(door, chosen, error);
}

int spex_listening_socket_open_dormant(struct spex_listening_socket *door, const char *chosen,
                                       struct spex_error *error) {
    door->dormant = true;
    return open_chosen(door, chosen, error);
}

/* Reads the state of the socket's file by its path: the process may have changed its root since. */
static int file_of(const struct spex_listening_socket *door, struct stat *file) {
    char path[SPEX_CONTROL_PATH_BYTES + SPEX_CONTROL_NAME_BYTES];
    snprintf(path, sizeof(path), "%s/%s", door->path, door->name);
    return lstat(path, file) == 0 ? 0 : -errno;
}

/* Where the path leads elsewhere by now, the bit stays: a command looks at the program, too. */
void spex_listening_socket_wake(struct spex_listening_socket *door) {
    struct stat file;
    char path[SPEX_CONTROL_PATH_BYTES + SPEX_CONTROL_NAME_BYTES];
    door->dormant = false;
    snprintf(path, sizeof(path), "%s/%s", door->path, door->name);
    if (file_of(door, &file) == 0 && file.st_dev == door->device && file.st_ino == door->inode)
        fchmodat(AT_FDCWD, path, mode_of(door), 0);
}

/* Errors other than a missing file (a directory that may no longer be searched) do not mean that
 * the file is gone. */
bool spex_listening_socket_is_there(const struct spex_listening_socket *door) {
    struct stat file;
    int err = file_of(door, &file);
    return err != -ENOENT && err != -ENOTDIR && spex_descriptor_is_ours(&door->socket);
}

/* Removes the file only if it is still this socket's: another process may have the name by now. */
void spex_listening_socket_close(struct spex_listening_socket *door) {
    struct stat file;
    struct spex_descriptor directory =
        spex_descriptor_brief(open(door->path, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (spex_descriptor_is_ours(&directory) && door->socket.number >= 0 &&
        fstatat(directory.number, door->name, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
        file.st_dev == door->device && file.st_ino == door->inode)
        unlinkat(directory.number, door->name, 0);
    spex_descriptor_close(&directory);
    spex_descriptor_close(&door->socket);
}

void spex_listening_socket_abandon(struct spex_listening_socket *door) {
    spex_descriptor_close(&door->socket);
}

/* An interrupted call and a client that has gone already are nothing to report: like another
 * user's connection, they are -EPERM, and the caller goes on. */
struct spex_descriptor spex_listening_socket_accept(const struct spex_listening_socket *door) {
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (!spex_descriptor_is_ours(&door->socket))
        return failed(-EBADF);
    int fd = accept4(door->socket.number, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return failed(errno == EINTR || errno == ECONNABORTED ? -EPERM
                      : errno == EPERM                        ? -EACCES
                                                              : -errno);
    struct spex_descriptor fresh = spex_descriptor_of(fd);
    if (spex_descriptor_is_ours(&fresh) &&
        getsockopt(fresh.number, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
        (peer.uid == geteuid() || peer.uid == 0))
        return fresh;
    spex_descriptor_close(&fresh);
    return failed(-EPERM);
}
