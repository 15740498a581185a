/* SPDX-License-Identifier: MIT */
/* Memory that ends: one allocation fails, by its number, and what is not freed is seen in every
 * build. For programs that are linked with scarce_memory of test/meson.build; allocations of shared
 * libraries do not count. */
#ifndef SPEX_TEST_SCARCE_MEMORY_H
#define SPEX_TEST_SCARCE_MEMORY_H

#include <errno.h>
#include <malloc.h>
#include <pthread.h>

#include <spex/atomic.h>

#include "check.h"

/* Allocations up to the one that fails, of any thread; 0: none does. */
static unsigned long scarce_left;

static bool scarce_fails(void) {
    unsigned long left = spex_load_relaxed(&scarce_left);
    while (left && !spex_cas_relaxed(&scarce_left, &left, left - 1))
        continue;
    if (left != 1)
        return false;
    errno = ENOMEM;
    return true;
}

/* What has been allocated and not freed, by address: a table with open addressing. What a shared
 * library has allocated is not in it. */
static struct {
    pthread_mutex_t lock;
    size_t count;
    const void *at[1 << 16];
} scarce_held = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t scarce_place(const void *memory) {
    const size_t places = COUNT_OF(scarce_held.at);
    size_t place = ((uintptr_t)memory >> 4) * 0x9e3779b1u % places;
    while (scarce_held.at[place] && scarce_held.at[place] != memory)
        place = (place + 1) % places;
    return place;
}

static void *scarce_hold(void *memory) {
    pthread_mutex_lock(&scarce_held.lock);
    if (memory && scarce_held.count < COUNT_OF(scarce_held.at) / 2) {
        scarce_held.at[scarce_place(memory)] = memory;
        scarce_held.count++;
    }
    pthread_mutex_unlock(&scarce_held.lock);
    return memory;
}

/* Those behind it that would no longer be found move up. */
static void scarce_release(const void *memory) {
    const size_t places = COUNT_OF(scarce_held.at);
    pthread_mutex_lock(&scarce_held.lock);
    size_t place = scarce_place(memory);
    if (memory && scarce_held.at[place]) {
        scarce_held.at[place] = NULL;
        scarce_held.count--;
        while (scarce_held.at[place = (place + 1) % places]) {
            const void *moved = scarce_held.at[place];
            scarce_held.at[place] = NULL;
            scarce_held.at[scarce_place(moved)] = moved;
        }
    }
    pthread_mutex_unlock(&scarce_held.lock);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_reallocarray(void *memory, size_t count, size_t size);
void __real_free(void *memory);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t length);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_reallocarray(void *memory, size_t count, size_t size);
void __wrap_free(void *memory);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length);
int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The heap of spex's own threads, where it is linked. */
__attribute__((weak)) void *__real_spex_heap_take(size_t bytes);
__attribute__((weak)) void __real_spex_heap_give(void *memory);
void *__wrap_spex_heap_take(size_t bytes);
void __wrap_spex_heap_give(void *memory);

/* What the allocator gives beyond the size is not 0, which a reader beyond the end would take for
 * nothing; as doubles it is above 0. */
static void *scarce_marked(void *memory, size_t size) {
    if (memory)
        memset((char *)memory + size, 0x3f, malloc_usable_size(memory) - size);
    return memory;
}

void *__wrap_malloc(size_t size) {
    return scarce_fails() ? NULL : scarce_hold(scarce_marked(__real_malloc(size), size));
}

void *__wrap_calloc(size_t count, size_t size) {
    return scarce_fails() ? NULL
                          : scarce_hold(scarce_marked(__real_calloc(count, size), count * size));
}

void *__wrap_realloc(void *memory, size_t size) {
    if (scarce_fails())
        return NULL;
    scarce_release(memory);
    return scarce_hold(__real_realloc(memory, size));
}

void *__wrap_reallocarray(void *memory, size_t count, size_t size) {
    if (scarce_fails())
        return NULL;
    scarce_release(memory);
    return scarce_hold(__real_reallocarray(memory, count, size));
}

void __wrap_free(void *memory) {
    scarce_release(memory);
    __real_free(memory);
}

char *__wrap_strdup(const char *text) {
    return scarce_fails() ? NULL : scarce_hold(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t length) {
    return scarce_fails() ? NULL : scarce_hold(__real_strndup(text, length));
}

int __wrap_asprintf(char **text, const char *format, ...) {
    va_list args;
    if (scarce_fails())
        return -1;
    va_start(args, format);
    int length = vasprintf(text, format, args);
    va_end(args);
    if (length >= 0)
        scarce_hold(*text);
    return length;
}

void *__wrap_spex_heap_take(size_t bytes) {
    return scarce_fails() ? NULL : scarce_hold(__real_spex_heap_take(bytes));
}

void __wrap_spex_heap_give(void *memory) {
    scarce_release(memory);
    __real_spex_heap_give(memory);
}

/* Calls `attempt` once for each allocation that it makes, which fails. It may do without: returns
 * how many attempts have failed, all of them with -ENOMEM. None leaves memory behind; what is kept
 * for ever, such as a path that each replaces, an attempt before has made. */
static inline unsigned without_each_allocation(int (*attempt)(void *user), void *user) {
    unsigned failed = 0;
    size_t held = scarce_held.count;
    for (unsigned long n = 1;; n++) {
        scarce_left = n;
        int err = attempt(user);
        bool all_made = scarce_left > 0;
        scarce_left = 0;
        if (scarce_held.count > held)
            fail_msg("allocation %lu: %zu are not freed", n, scarce_held.count - held);
        if (err && err != -ENOMEM)
            fail_msg("allocation %lu: %d", n, err);
        if (all_made)
            return failed;
        failed += err == -ENOMEM;
    }
}

#endif
