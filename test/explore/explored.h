/* SPDX-License-Identifier: MIT */
/* Explorations of the test program itself, which is the explored program when its first argument
 * is "program": its probe has the value that its configuration says. */
#ifndef SPEX_TEST_EXPLORED_H
#define SPEX_TEST_EXPLORED_H

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>

#include <spex/explore.h>
#include <spex/kernel.h>
#include <spex/probe.h>
#include <spex/spex.h>

#include "explore/findings/study.h"
#include "scratch.h"

enum { VALUE = 7, KERNEL = 8, RECORDS = 5 };
SPEX_PROBE_NAME(VALUE, "value");
SPEX_PROBE_NAME(KERNEL, "kernel");

/* Records 1 to RECORDS, then what a further record needs ends the trial. */
#define RUN(more)               "<run records_per_thread='5' warmup='0' least='0' " more "/>"
#define OBJECTIVE               "<objective probe='value:snapshot' metric='mean' goal='maximise'/>"
#define SPACE(parameters, rest) "<space name='s'>" parameters OBJECTIVE rest "</space>"
#define SETUP(command, more)    "<setup command='" command "' " more "/>"
#define TEARDOWN(command, more) "<teardown command='" command "' " more "/>"
#define A(values)               "<parameter name='a' type='integer' values='" values "'/>"

/* ---- the program ---- */

static inline void make_records(double value, unsigned count) {
    for (unsigned r = 0; r < count; r++) {
        KERNEL_PROBE_BEGIN(KERNEL, 1, (uint64_t)value);
        SNAPSHOT_PROBE(VALUE, 1, (uint64_t)value);
        KERNEL_PROBE_END(KERNEL);
    }
}

/* Until the explorer ends it. */
static inline void make_records_for_ever(double value) {
    for (;;) {
        make_records(value, 1);
        poll(NULL, 0, 1);
    }
}

/* The third process that comes here stays until there is a file "open". */
static inline void third_waits(void) {
    static const char *const names[] = {"first", "second", "third"};
    for (size_t n = 0; n < COUNT_OF(names); n++)
        if (close(open(names[n], O_CREAT | O_EXCL | O_CLOEXEC, 0600)) == 0 || errno != EBADF) {
            while (n == 2 && access("open", F_OK) != 0)
                poll(NULL, 0, 1);
            return;
        }
}

/* What the program does, with its value. */
static inline int be_the_program(const char *what, double value) {
    if (strcmp(what, "plain") == 0)
        return 0;
    if (spex_start(NULL) != 0)
        return 9;
    if (strcmp(what, "third-waits") == 0)
        third_waits();
    if (strcmp(what, "steady") == 0 || strcmp(what, "third-waits") == 0)
        make_records_for_ever(value);
    if (strcmp(what, "end") == 0)
        make_records(value, 20);
    if (strcmp(what, "few") == 0)
        make_records(value, 2);
    if (strcmp(what, "stalls") == 0 || strcmp(what, "leaves") == 0) {
        make_records(value, 2);
        if (strcmp(what, "leaves") == 0)
            spex_stop();
        for (;;)
            pause();
    }
    if (strcmp(what, "fail") == 0) {
        fprintf(stderr, "no luck\n");
        _exit(3);
    }
    if (strcmp(what, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(what, "silent") == 0)
        for (;;)
            pause();
    return spex_stop();
}

/* For main(): whether this process is the program, with its exit status. */
static inline bool is_the_program(int argc, char **argv, int *status) {
    if (argc < 4 || strcmp(argv[1], "program") != 0)
        return false;
    *status = be_the_program(argv[2], strtod(argv[3], NULL));
    return true;
}

/* ---- its explorer ---- */

static char self_path[512];

/* The program is killed at any moment, also while it writes what it has covered (gcov): not into
 * the files of its explorer. */
static inline int explored_enter(void **state) {
    ssize_t length = readlink("/proc/self/exe", self_path, sizeof(self_path) - 1);
    int err = length <= 0 || scratch_enter(state);
    return err || setenv("TMPDIR", scratch_path, 1) || setenv("GCOV_PREFIX", scratch_path, 1);
}

static inline int explored_leave(void **state) {
    return unsetenv("GCOV_PREFIX") || scratch_leave(state);
}

/* The program with this behaviour and the value of its parameter a. */
#define PROGRAM(what)                                                                              \
    (char *const[]) {                                                                              \
        self_path, (char *)(uintptr_t) "program", (char *)(uintptr_t)(what),                       \
            (char *)(uintptr_t) "{a}", NULL                                                        \
    }

static inline void write_space(const char *xml) {
    FILE *file = fopen("space.xml", "we");
    assert_non_null(file);
    assert_true(fputs(xml, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Whether orphans become this process's children. */
static inline int adopts_orphans(void) {
    int adopts = -1;
    prctl(PR_GET_CHILD_SUBREAPER, &adopts);
    return adopts;
}

/* The directory of an exploration, or of a training, is gone. */
static inline void expect_nothing_left(void) {
    DIR *folder = opendir(".");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (strncmp(entry->d_name, "spex-", 5) == 0)
            fail_msg("%s is left", entry->d_name);
    closedir(folder);
}

#endif
