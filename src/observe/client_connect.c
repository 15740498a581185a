/* SPDX-License-Identifier: MIT */
/* Connects to control sockets. A socket may be in several directories, which depend on the user, the
 * environment and the mount namespace of the process: process_place.h. Each of them is tried, first
 * below the root directory of the process, /proc/PID/root, and then below our own. */
#define _GNU_SOURCE
#include "observe/client_connect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/deadline.h"
#include "observe/control_client.h"
#include "observe/process_place.h"
#include "observe/stand_in.h"

/* Whether a user is one of the process's, or root, as whom the process may have begun. */
static bool is_user_of(const struct spex_process_place *place, uid_t user) {
    for (int u = 0; u < SPEX_PLACE_OWN_USERS; u++)
        if (place->users[u] == user)
            return true;
    return user == 0;
}

/* Checks that the process itself listens: anyone who may write to the directory could listen there
 * under its name. A socket can outlive the process that listened, and another process get its
 * number; so the listening user must be one of the process's, and the owner of the directory, too.
 * 0, or a negative errno value. */
static int peer_check(int fd, int directory, const struct spex_process_place *place) {
    struct ucred peer;
    struct stat owner;
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || fstat(directory, &owner) != 0)
        return -errno;
    return peer.pid == place->process && is_user_of(place, peer.uid) && owner.st_uid == peer.uid
               ? 0
               : -ENOENT;
}

/* Connects with a timeout, which SO_SNDTIMEO gives to connect: it waits while the queue of the
 * listening socket is full, and a program that is stopped never empties it. A timeout of 0 is no
 * limit there, so that the socket does not block then. -ETIMEDOUT: the process exists and does not
 * accept. */
static int connect_at(int fd, int place, const char *name, int timeout_ms) {
    const struct timeval limit = {timeout_ms / 1000, timeout_ms % 1000 * 1000}, ever = {0};
    if (!timeout_ms) {
        int err = spex_control_connect_at(fd, place, name);
        return err == -EAGAIN ? -ETIMEDOUT : err;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    int err = spex_control_connect_at(fd, place, name);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &ever, sizeof(ever));
    return err == -EAGAIN ? -ETIMEDOUT : err;
}

/* The same by the name that a process gives its socket where it has no /proc, and so does not know
 * its namespace. */
static int connect_without_namespace(int fd, int directory, const char *name, int timeout_ms) {
    char short_name[SPEX_CONTROL_NAME_BYTES];
    snprintf(short_name, sizeof(short_name), "%ld-0", strtol(name, NULL, 10));
    return connect_at(fd, directory, short_name, timeout_ms);
}

/* An attempt to connect to a process. */
struct attempt {
    struct spex_process_place place;
    int timeout_ms;
    /* Connects also where the socket's file says that the program is dormant. */
    bool calls;
    /* The directory of the socket, O_PATH; -1: none has been found. */
    int directory;
};

/* The program is dormant: nobody would accept the connection. */
#define DORMANT (-ENOTCONN)

static bool says_dormant(int directory, const struct spex_process_place *place) {
    struct stat file;
    return fstatat(directory, place->name, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISSOCK(file.st_mode) && file.st_mode & S_IXUSR;
}

/* Connects to the socket of the process in the directory. The socket, or a negative errno value. */
static int connect_there(const struct attempt *attempt, int directory) {
    const struct spex_process_place *place = &attempt->place;
    int timeout_ms = attempt->timeout_ms;
    if (!attempt->calls && says_dormant(directory, place))
        return DORMANT;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (timeout_ms ? 0 : SOCK_NONBLOCK), 0);
    spex_stand_in_forget(fd);
    int err = fd < 0 ? -errno : connect_at(fd, directory, place->name, timeout_ms);
    if (err == -ENOENT)
        err = connect_without_namespace(fd, directory, place->name, timeout_ms);
    err = err ? err : peer_check(fd, directory, place);
    if (err && fd >= 0)
        close(fd);
    return err ? err : fd;
}

static bool is_found(int fd) {
    return fd >= 0 || fd == DORMANT;
}

static int connect_in(const char *path, struct attempt *attempt) {
    int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return -errno;
    int fd = connect_there(attempt, directory);
    if (is_found(fd))
        attempt->directory = directory;
    else
        close(directory);
    return fd;
}

/* Chooses which of two failures is reported: -ENOENT of one directory says less than -EACCES of
 * another. */
static int worse_error(int one, int other) {
    static const int order[] = {-EMFILE, -ENFILE, -ENOMEM, -EACCES, -EPERM, -ECONNREFUSED};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (one == order[i] || other == order[i])
            return order[i];
    return other;
}

/* Whether the directories of this user are those of one before. Most processes are of one user, and
 * a chosen directory is of none. */
static bool is_tried(const struct spex_process_place *place, int user) {
    for (int u = 0; u < user; u++)
        if (place->chosen || place->users[u] == place->users[user])
            return true;
    return false;
}

/* Tries each directory below `root`. A timeout ends the search, since each other directory
 * would cost as much time. That another user's cannot be entered says nothing of a process of this
 * one. */
static int connect_below(struct attempt *attempt, const char *root) {
    const struct spex_process_place *place = &attempt->place;
    char path[SPEX_CONTROL_PATH_BYTES], whole[SPEX_CONTROL_PATH_BYTES + 32];
    int err = -ENOENT;
    for (int u = 0; u < SPEX_PLACE_USERS; u++)
        for (unsigned n = 0;
             !is_tried(place, u) &&
             spex_control_directory(n, place->chosen, place->runtime, place->users[u], path);
             n++) {
            snprintf(whole, sizeof(whole), "%s%s", root, path);
            int fd = connect_in(whole, attempt);
            if (is_found(fd) || fd == -ETIMEDOUT)
                return fd;
            if (u < SPEX_PLACE_OWN_USERS || fd != -EACCES)
                err = worse_error(err, fd);
        }
    return err;
}

/* A program that writes its title over its environment, as nginx does, does not show which
 * directory was chosen for it: it may be the one that was chosen for this command. */
static int connect_chosen(struct attempt *attempt) {
    const char *chosen = getenv("SPEX_CONTROL");
    return chosen && chosen[0] == '/' && !attempt->place.chosen ? connect_in(chosen, attempt)
                                                                : -ENOENT;
}

/* /proc/PID/root cannot be entered by other users. A process in our own mount namespace is
 * found without it. */
static int connect_to(struct attempt *attempt) {
    char root[32];
    snprintf(root, sizeof(root), "/proc/%d/root", (int)attempt->place.process);
    int fd = connect_below(attempt, root);
    if (is_found(fd) || fd == -ETIMEDOUT)
        return fd;
    int other = connect_below(attempt, "");
    if (other == -ENOENT)
        other = connect_chosen(attempt);
    return is_found(other) || other == -ETIMEDOUT ? other : worse_error(fd, other);
}

/* Whether this process lacks what it needs to look, so that nothing is known of the other. */
static bool is_shortage(int err) {
    return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

/* Sets the message for a failure, and reduces it to -ETIMEDOUT, -EACCES or -ENOENT, but for a
 * shortage. */
static int connect_explain(const struct spex_process_place *place, int err,
                           struct spex_error *error) {
    if (err == -ETIMEDOUT)
        spex_error_set(error, "process %d (%s) does not answer", (int)place->process,
                       place->command);
    else if (is_shortage(err))
        spex_error_set(error, "process %d (%s) cannot be reached: %s", (int)place->process,
                       place->command, strerror(-err));
    else if (err == -EACCES || err == -EPERM)
        spex_error_set(error, "process %d (%s) is not yours: its user or root was expected",
                       (int)place->process, place->command);
    else if (place->chosen && strcmp(place->chosen, "off") == 0)
        spex_error_set(error, "process %d (%s) has SPEX_CONTROL=off", (int)place->process,
                       place->command);
    else
        spex_error_set(
            error,
            "process %d (%s) has no control socket: it was not built with spex, has not called "
            "spex_start itself, as a child of a fork has to, or has no directory for the socket",
            (int)place->process, place->command);
    if (err == -ETIMEDOUT || is_shortage(err))
        return err;
    return err == -EACCES || err == -EPERM ? -EACCES : -ENOENT;
}

/* There is no socket: the program has closed its descriptor, and maybe another process removed its
 * file. */
static bool is_closed(int fd) {
    return fd == -ENOENT || fd == -ECONNREFUSED;
}

/* A stand-in for the program. Its descriptor, or a negative errno value. */
static int stand_in_open(const struct attempt *attempt, struct spex_dormant_program *program) {
    bool there = attempt->directory >= 0;
    int directory = there ? fcntl(attempt->directory, F_DUPFD_CLOEXEC, 0) : -1;
    int fd = there && directory < 0 ? -errno
                                    : spex_stand_in_open(program, directory, attempt->timeout_ms);
    if (fd >= 0)
        return fd;
    if (directory >= 0)
        close(directory);
    spex_dormant_close(program);
    return fd;
}

/* Whether the program may be dormant though its socket does not say so. Who asks of many processes
 * does not wait for that. */
static bool may_be_dormant(const struct attempt *attempt, int fd) {
    return is_closed(fd) && attempt->timeout_ms > 0;
}

/* A stand-in for a program that is dormant; where it is not, or wakes up just now, what connecting
 * gives. */
static int connect_or_stand_in(struct attempt *attempt, struct spex_error *error) {
    struct spex_dormant_program program;
    int fd = connect_to(attempt);
    if (fd != DORMANT && !may_be_dormant(attempt, fd))
        return fd < 0 ? connect_explain(&attempt->place, fd, error) : fd;
    int dormant = spex_dormant_open(attempt->place.process, &program, error);
    if (dormant < 0 && fd == DORMANT)
        return dormant;
    if (dormant > 0) {
        fd = stand_in_open(attempt, &program);
    } else if (fd == DORMANT) {
        attempt->calls = true;
        fd = connect_there(attempt, attempt->directory);
    }
    return fd < 0 ? connect_explain(&attempt->place, fd, error) : fd;
}

/* The message names the process and its command, so that the user sees which program was meant. */
static int process_connect(struct attempt *attempt, pid_t process, struct spex_error *error) {
    int err = spex_process_place(process, &attempt->place);
    if (err) {
        spex_error_set(error, err == -ESRCH ? "there is no process %d" : "process %d: %s",
                       (int)process, strerror(-err));
        return err;
    }
    int fd = connect_or_stand_in(attempt, error);
    spex_process_place_free(&attempt->place);
    return fd;
}

int spex_client_connect(pid_t process, int timeout_ms, struct spex_error *error) {
    struct attempt attempt = {.timeout_ms = timeout_ms, .directory = -1};
    int fd = process_connect(&attempt, process, error);
    if (attempt.directory >= 0)
        close(attempt.directory);
    return fd;
}

int spex_client_directory(pid_t process, int timeout_ms, struct spex_error *error) {
    struct attempt attempt = {.timeout_ms = timeout_ms, .directory = -1};
    int fd = process_connect(&attempt, process, error);
    spex_client_close(fd);
    if (fd >= 0 && attempt.directory < 0)
        return spex_fail(error, -ENOENT, "process %d has closed its control socket", (int)process);
    if (fd >= 0)
        return attempt.directory;
    if (attempt.directory >= 0)
        close(attempt.directory);
    return fd;
}

void spex_client_close(int fd) {
    spex_stand_in_forget(fd);
    if (fd >= 0)
        close(fd);
}

/* Commands call one after the other: what one writes must not come after what the program has done
 * for another. The directory is this user's alone. A descriptor, or a negative errno value. */
static int turn_take(int directory, struct spex_deadline until) {
    const struct timespec rest = {.tv_nsec = 1000000};
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int err = fd < 0 ? -errno : 0;
    while (!err && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK || spex_deadline_left_ms(until) == 0)
            err = errno == EWOULDBLOCK ? -ETIMEDOUT : -errno;
        else
            nanosleep(&rest, NULL);
    }
    if (err && fd >= 0)
        close(fd);
    return err ? err : fd;
}

static int connect_once(struct attempt *attempt) {
    int fd = connect_to(attempt);
    if (attempt->directory >= 0)
        close(attempt->directory);
    attempt->directory = -1;
    return fd;
}

/* The program opens another socket when it wakes up. */
static int connect_when_open(struct attempt *attempt) {
    const struct timespec rest = {.tv_nsec = 1000000};
    struct spex_deadline until = spex_deadline_in(attempt->timeout_ms / 1e3);
    int fd;
    while (is_closed(fd = connect_once(attempt)) && spex_deadline_left_ms(until) > 0)
        nanosleep(&rest, NULL);
    return is_closed(fd) ? -ETIMEDOUT : fd;
}

/* Connects to the program behind the stand-in, and calls it if it is dormant still. The socket, or a
 * negative errno value. */
static int connect_in_turn(struct spex_stand_in *stand_in, struct spex_error *error) {
    struct attempt attempt = {.timeout_ms = stand_in->timeout_ms, .calls = true, .directory = -1};
    pid_t process = stand_in->program.process;
    int err = spex_process_place(process, &attempt.place);
    if (err)
        return spex_fail(error, err, "process %d has gone", (int)process);
    int fd = connect_once(&attempt);
    bool dormant = (fd >= 0 || is_closed(fd)) && spex_dormant_look(&stand_in->program);
    if (dormant)
        err = spex_dormant_call(&stand_in->program, error);
    if (!err && dormant && is_closed(fd))
        fd = connect_when_open(&attempt);
    if (!err && is_closed(fd))
        err = spex_fail(error, -ECONNRESET, "the program has gone");
    else if (!err && fd < 0)
        err = connect_explain(&attempt.place, fd, error);
    if (err && fd >= 0)
        close(fd);
    spex_process_place_free(&attempt.place);
    return err ? err : fd;
}

int spex_client_wake(int fd, struct spex_error *error) {
    struct spex_stand_in *stand_in = spex_stand_in_of(fd);
    bool alone = stand_in->directory < 0;
    if (!spex_dormant_lives(&stand_in->program))
        return spex_fail(error, -ECONNRESET, "the program has gone");
    int turn =
        alone ? -1 : turn_take(stand_in->directory, spex_deadline_in(SPEX_CLIENT_CONNECT_MS / 1e3));
    if (turn < 0 && !alone)
        return spex_fail(error, turn, "process %d is being called by another command",
                         (int)stand_in->program.process);
    int socket = connect_in_turn(stand_in, error);
    if (!alone)
        close(turn);
    if (socket < 0)
        return socket;
    spex_stand_in_called(stand_in->program.process);
    spex_stand_in_forget(fd);
    int err = dup3(socket, fd, O_CLOEXEC) < 0 ? -errno : 0;
    close(socket);
    return err ? spex_fail(error, err, "the program cannot be reached: %s", strerror(-err)) : 0;
}

bool spex_client_is_dormant(pid_t process) {
    struct spex_dormant_program program;
    struct spex_error error;
    bool dormant = spex_dormant_open(process, &program, &error) > 0;
    if (dormant)
        spex_dormant_close(&program);
    return dormant;
}

int spex_client_has_socket(pid_t process) {
    struct spex_error error;
    int fd = spex_client_connect(process, 0, &error);
    spex_client_close(fd);
    return is_shortage(fd) ? fd : fd >= 0 || fd == -ETIMEDOUT;
}
