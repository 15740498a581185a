/* SPDX-License-Identifier: MIT */
/* A program that lets commands in, in a directory of its own, and callers that speak to it packet
 * by packet. */
#ifndef SPEX_TEST_SERVING_H
#define SPEX_TEST_SERVING_H

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "../check.h"
#include "../status.h"

#include "observe/control_client.h"
#include "wire/directory.h"

static char serving_directory[64];

/* Before and after a test, or all tests of a program. */
static inline int serving_begin(void **state) {
    (void)state;
    strcpy(serving_directory, "/tmp/spex-control-XXXXXX");
    if (!mkdtemp(serving_directory) || setenv("SPEX_CONTROL", serving_directory, 1) != 0)
        abort();
    return 0;
}

static inline void serving_remove(const char *path) {
    DIR *entries = opendir(path);
    const struct dirent *entry;
    while (entries && (entry = readdir(entries)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(entries), entry->d_name, entry->d_type == DT_DIR ? AT_REMOVEDIR : 0);
    if (entries)
        closedir(entries);
    rmdir(path);
}

static inline int serving_end(void **state) {
    (void)state;
    spex_stop();
    serving_remove(serving_directory);
    return 0;
}

/* How many entries a directory has. */
static inline int serving_count(const char *path) {
    DIR *entries = opendir(path);
    int count = -2; /* . and .. */
    if (!entries)
        return -1;
    while (readdir(entries))
        count++;
    closedir(entries);
    return count;
}

static inline int serving_start(const char *probes) {
    const struct spex_options options = {
        .size = sizeof(options), .probes = probes, .out = "/dev/null", .no_calibration = true};
    return spex_start(&options);
}

/* Before and after a test that needs probes. */
static inline int serving_setup(void **state) {
    (void)state;
    return serving_start(NULL);
}

static inline int serving_teardown(void **state) {
    (void)state;
    return spex_stop();
}

/* The socket of a process in the directory; a negative errno value. */
static inline int caller_connect_to(pid_t process) {
    char own[SPEX_CONTROL_NAME_BYTES], name[SPEX_CONTROL_NAME_BYTES * 2];
    spex_control_name(own);
    snprintf(name, sizeof(name), "%d%s", (int)process, strchr(own, '-'));
    int place = open(serving_directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (place < 0 || fd < 0)
        abort();
    int err = spex_control_connect_at(fd, place, name);
    close(place);
    if (err)
        close(fd);
    return err ? err : fd;
}

static inline int caller_connect(void) {
    int fd = caller_connect_to(getpid());
    if (fd < 0)
        fail_msg("cannot connect: %s", strerror(-fd));
    return fd;
}

static inline bool caller_send_bytes(int fd, const void *bytes, size_t length) {
    return send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static inline bool caller_send(int fd, enum spex_control_kind kind, uint32_t interval_ms,
                               const char *text) {
    struct spex_error error;
    return spex_client_send(fd, kind, interval_ms, text, &error) == 0;
}

/* 1, or what went wrong. */
static inline int caller_receive(int fd, struct spex_profile_reader *reader) {
    struct spex_error error;
    return spex_client_receive(fd, reader, 60000, &error);
}

/* The status of one request's answer, whose text stays in `reader`. */
static inline int caller_ask(int fd, enum spex_control_kind kind, const char *text,
                             struct spex_profile_reader *reader) {
    if (!caller_send(fd, kind, 0, text))
        fail_msg("cannot send: %s", strerror(errno));
    assert_int_equal(caller_receive(fd, reader), 1);
    return reader->status;
}

/* As that, for who does not want to know more. */
static inline int caller_select(int fd, const char *probes) {
    struct spex_profile_reader reader = {0};
    int status = caller_ask(fd, SPEX_CONTROL_SELECT, probes, &reader);
    spex_profile_reader_free(&reader);
    return status;
}

/* Waits until the other side has closed. */
static inline bool caller_is_dropped(int fd) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    char byte;
    for (;;) {
        if (poll(&one, 1, 60000) <= 0)
            return false;
        ssize_t length = recv(fd, &byte, 1, 0);
        if (length <= 0)
            return length == 0 || errno == ECONNRESET;
    }
}

/* What follows is done until it holds; a test that waits in vain ends by its alarm. */
#define WAIT_UNTIL(condition)                                                                      \
    do {                                                                                           \
        alarm(120);                                                                                \
        while (!(condition))                                                                       \
            poll(NULL, 0, 1);                                                                      \
        alarm(0);                                                                                  \
    } while (0)

#endif
