/* SPDX-License-Identifier: MIT */
/* A directory of a test program's own, which is the current one while it runs. */
#ifndef SPEX_TEST_SCRATCH_H
#define SPEX_TEST_SCRATCH_H

#include <ftw.h>
#include <sys/stat.h>

#include "../check.h"
#include "../open_descriptors.h"

static char scratch_path[256];

static inline int scratch_enter(void **state) {
    const char *place = getenv("TMPDIR");
    (void)state;
    snprintf(scratch_path, sizeof(scratch_path), "%s/spex-test-XXXXXX",
             place && *place ? place : "/tmp");
    return mkdtemp(scratch_path) ? chdir(scratch_path) : -1;
}

static inline int scratch_remove(const char *path, const struct stat *file, int kind,
                                 struct FTW *where) {
    (void)file;
    (void)kind;
    (void)where;
    return remove(path);
}

static inline int scratch_leave(void **state) {
    (void)state;
    return chdir("/") ? -1 : nftw(scratch_path, scratch_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void scratch_write(const char *path, const void *bytes, size_t length) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static inline void scratch_text(const char *path, const char *text) {
    scratch_write(path, text, strlen(text));
}

/* Sends what is printed on standard error to a file; returns the old descriptor. */
static inline int catch_messages(void) {
    FILE *messages = fopen("messages", "w");
    assert_non_null(messages);
    int old = dup(2);
    assert_int_equal(dup2(fileno(messages), 2), 2);
    fclose(messages);
    return old;
}

static inline void expect_no_messages(int old) {
    struct stat file;
    assert_int_equal(dup2(old, 2), 2);
    close(old);
    assert_int_equal(stat("messages", &file), 0);
    assert_int_equal(file.st_size, 0);
}

#endif
