/* SPDX-License-Identifier: MIT */
/* System calls as they are while signals come: every other one that may wait is interrupted, and
 * reads and writes of files do a part of what is asked. For programs that are linked with
 * interrupted_calls of test/meson.build, which include this first; with TEST_INTERRUPTED in the
 * environment. */
#ifndef SPEX_TEST_INTERRUPTED_CALLS_H
#define SPEX_TEST_INTERRUPTED_CALLS_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static bool calls_are_interrupted;

__attribute__((constructor)) static void interrupted_calls_begin(void) {
    calls_are_interrupted = getenv("TEST_INTERRUPTED") != NULL;
}

static bool is_interrupted(void) {
    static __thread unsigned calls;
    if (!calls_are_interrupted || ++calls % 2 == 0)
        return false;
    errno = EINTR;
    return true;
}

static size_t part_of(size_t bytes) {
    return calls_are_interrupted ? (bytes + 1) / 2 : bytes;
}

ssize_t __real_pread(int fd, void *bytes, size_t size, off_t at);
ssize_t __real_pwrite(int fd, const void *bytes, size_t size, off_t at);
ssize_t __real_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __real_recv(int fd, void *bytes, size_t size, int flags);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at);
/* As the sources call them, where offsets have 64 bits. */
ssize_t __wrap_pread64(int fd, void *bytes, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t size, off_t at);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags);

ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t at) {
    return is_interrupted() ? -1 : __real_pread(fd, bytes, part_of(size), at);
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at) {
    return is_interrupted() ? -1 : __real_pwrite(fd, bytes, part_of(size), at);
}

ssize_t __wrap_pread64(int fd, void *bytes, size_t size, off_t at) {
    return __wrap_pread(fd, bytes, size, at);
}

ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t size, off_t at) {
    return __wrap_pwrite(fd, bytes, size, at);
}

ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags) {
    return !(flags & MSG_DONTWAIT) && is_interrupted() ? -1 : __real_send(fd, bytes, size, flags);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags) {
    return !(flags & MSG_DONTWAIT) && is_interrupted() ? -1 : __real_sendmsg(fd, message, flags);
}

ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags) {
    return !(flags & MSG_DONTWAIT) && is_interrupted() ? -1 : __real_recv(fd, bytes, size, flags);
}

/* What the test itself calls from here on is not interrupted. */
#define pread  __real_pread
#define pwrite __real_pwrite
#define send   __real_send
#define recv   __real_recv

#endif
