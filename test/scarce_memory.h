/* SPDX-License-Identifier: MIT */
/* Memory that ends: one allocation fails, by its number. For programs that are linked with
 * scarce_memory of test/meson.build; allocations of shared libraries do not count. */
#ifndef SPEX_TEST_SCARCE_MEMORY_H
#define SPEX_TEST_SCARCE_MEMORY_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "check.h"

/* Allocations up to the one that fails; 0: none does. */
static unsigned long scarce_left;

static bool scarce_fails(void) {
    if (!scarce_left || --scarce_left)
        return false;
    errno = ENOMEM;
    return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t length);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length);
int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

void *__wrap_malloc(size_t size) {
    return scarce_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return scarce_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    return scarce_fails() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text) {
    return scarce_fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t length) {
    return scarce_fails() ? NULL : __real_strndup(text, length);
}

int __wrap_asprintf(char **text, const char *format, ...) {
    va_list args;
    if (scarce_fails())
        return -1;
    va_start(args, format);
    int length = vasprintf(text, format, args);
    va_end(args);
    return length;
}

/* Calls `attempt` once for each allocation that it makes, which fails. It may do without: returns
 * how many attempts have failed, all of them with -ENOMEM. */
static inline unsigned without_each_allocation(int (*attempt)(void *user), void *user) {
    unsigned failed = 0;
    for (unsigned long n = 1;; n++) {
        scarce_left = n;
        int err = attempt(user);
        bool all_made = scarce_left > 0;
        scarce_left = 0;
        if (err && err != -ENOMEM)
            fail_msg("allocation %lu: %d", n, err);
        if (all_made)
            return failed;
        failed += err == -ENOMEM;
    }
}

#endif
