/* SPDX-License-Identifier: MIT */
/* A program that closes all descriptors and takes their numbers for files of its own.
 *
 *     closes MANNER REPORT
 *
 *     once   executes first:lat 100 times, closes what is above standard error, executes second:lat
 *            5,000 times, and stops spex
 *     early  the same, and spex sends no profile before that
 *     often  while it executes second:lat, another thread closes what is above standard error, and
 *            again and again
 *     all    the same with the standard streams
 *
 * Says in the file REPORT how often it has executed second, and what has become of its files: each
 * must be open, of the same length and contents, and at the same place. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <spex/atomic.h>
#include <spex/probe.h>
#include <spex/spex.h>

#include "wire/control_format.h"

enum { FIRST = 1, SECOND = 2, ROUNDS = 8, NUMBERS = 900, PLACE = 5 };

SPEX_PROBE_NAME(FIRST, "first");
SPEX_PROBE_NAME(SECOND, "second");

#ifdef __SANITIZE_THREAD__
/* A number that the program has closed may become that of another file while spex asks whether it
 * still is its own. To the sanitizer, which does not see closefrom, it is still the file of spex. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) {
    return "race:spex_descriptor_is_ours\nrace:spex_descriptor_close\nrace:^file_make$\n";
}
#endif

/* Files of the program, by their number; 0: none. */
static ino_t files[NUMBERS];
static unsigned long executions, wrong;
static char complaint[200] = "";
static bool over;

/* Profiles wait. */
static bool held;

/* In place of the C library's, also for spex. */
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    uint32_t magic = 0;
    if (message->msg_iov[0].iov_len >= sizeof(magic))
        memcpy(&magic, message->msg_iov[0].iov_base, sizeof(magic));
    if (spex_load_acquire(&held) && magic == SPEX_CONTROL_MAGIC) {
        errno = EAGAIN;
        return -1;
    }
    return syscall(SYS_sendmsg, fd, message, flags);
}

static void second(void) {
    for (int i = 0; i < 100; i++, executions++) {
        LAT_PROBE_BEGIN(SECOND, 1);
        LAT_PROBE_END(SECOND);
    }
}

static void complain(int number, const char *what) {
    if (!wrong++)
        snprintf(complaint, sizeof(complaint), "descriptor %d %s", number, what);
}

static int file_make(void) {
    char text[32];
    struct stat made;
    int fd = memfd_create("closes", 0);
    if (fd < 0)
        return fd;
    int length = snprintf(text, sizeof(text), "file %d\n", fd);
    if (write(fd, text, (size_t)length) != length || lseek(fd, PLACE, SEEK_SET) != PLACE ||
        fstat(fd, &made) != 0)
        complain(fd, "cannot be made");
    else if (fd < NUMBERS)
        files[fd] = made.st_ino;
    return fd;
}

/* Closes all and takes all numbers that are free. */
static void take(int from) {
    memset(files, 0, sizeof(files));
    closefrom(from);
    for (int fd = 0; fd >= 0 && fd < NUMBERS - 1;)
        fd = file_make();
}

static void check(void) {
    for (int fd = 0; fd < NUMBERS; fd++) {
        char text[32], expected[32];
        struct stat now;
        int length = snprintf(expected, sizeof(expected), "file %d\n", fd);
        if (!files[fd])
            continue;
        if (fstat(fd, &now) != 0)
            complain(fd, "was closed");
        else if (now.st_ino != files[fd])
            complain(fd, "is another file");
        else if (lseek(fd, 0, SEEK_CUR) != PLACE)
            complain(fd, "was read or written");
        else if (now.st_size != length || pread(fd, text, sizeof(text), 0) != length ||
                 memcmp(text, expected, (size_t)length) != 0)
            complain(fd, "has other contents");
    }
}

static void *close_often(void *from) {
    const struct timespec pause = {.tv_nsec = 2000000};
    for (int round = 0; round < ROUNDS; round++) {
        take(*(const int *)from);
        nanosleep(&pause, NULL);
        check();
    }
    spex_store_release(&over, true);
    return NULL;
}

static void often(int from) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, close_often, &from) != 0)
        return;
    while (!spex_load_acquire(&over))
        second();
    pthread_join(thread, NULL);
}

/* Once all records so far are collected. It goes on for longer than a recorder waits for the end of
 * a program that is gone. */
static void once(void) {
    const struct timespec pause = {.tv_nsec = 1000000}, lasting = {.tv_nsec = 20000000};
    struct spex_status status = {.size = sizeof(status)};
    for (int i = 0; i < 100; i++) {
        LAT_PROBE_BEGIN(FIRST, 1);
        LAT_PROBE_END(FIRST);
    }
    while (spex_status_get(&status) == 0 && status.sites_on && status.pending)
        nanosleep(&pause, NULL);
    take(STDERR_FILENO + 1);
    spex_store_release(&held, false);
    for (int i = 0; i < 50; i++) {
        second();
        nanosleep(&lasting, NULL);
    }
    check();
}

int main(int argc, char **argv) {
    struct rlimit numbers;
    if (argc != 3 || getrlimit(RLIMIT_NOFILE, &numbers) != 0)
        return 2;
    numbers.rlim_cur = NUMBERS + 100;
    setrlimit(RLIMIT_NOFILE, &numbers);
    held = strcmp(argv[1], "early") == 0;
    spex_start(NULL);
    if (held || strcmp(argv[1], "once") == 0)
        once();
    else
        often(strcmp(argv[1], "all") == 0 ? STDIN_FILENO : STDERR_FILENO + 1);
    spex_stop();
    check();
    FILE *report = fopen(argv[2], "w");
    if (!report)
        return 2;
    fprintf(report, "%lu %lu %s\n", executions, wrong, complaint);
    return fclose(report) == 0 && !wrong ? 0 : 1;
}
