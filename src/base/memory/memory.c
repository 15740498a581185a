/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/memory/memory.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/atomic.h>

#include "base/memory/heap.h"
#include "base/service_thread.h"

/* Sanitizers see what the C library's heap does. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_HEAP 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_HEAP 0
#endif
#endif
#ifndef OWN_HEAP
#define OWN_HEAP 1
#endif

static bool uses_own(void) {
    return OWN_HEAP && !spex_heap_is_abandoned() && spex_service_thread_is_this();
}

/* Blocks of the C library that threads of spex do not need any more, the one behind the other: a
 * thread of the program frees them. */
static void *left_over;

static void leave_over(void *memory) {
    void *next = spex_load_relaxed(&left_over);
    do
        memcpy(memory, &next, sizeof(next));
    while (!spex_cas_release(&left_over, &next, memory)); /* H1 (H2): what it points to */
}

static void free_left_over(void) {
    void *memory = spex_load_relaxed(&left_over);
    while (memory && !spex_cas_acquire(&left_over, &memory, NULL)) /* H2 (H1) */
        continue;
    while (memory) {
        void *next;
        memcpy(&next, memory, sizeof(next));
        free(memory);
        memory = next;
    }
}

void *spex_malloc(size_t bytes) {
    if (!uses_own()) {
        free_left_over();
        return malloc(bytes);
    }
    void *memory = spex_heap_take(bytes);
    if (!memory)
        errno = ENOMEM;
    return memory;
}

void *spex_calloc(size_t count, size_t bytes) {
    if (!uses_own())
        return calloc(count, bytes);
    size_t all;
    void *memory = __builtin_mul_overflow(count, bytes, &all) ? NULL : spex_malloc(all);
    return memory ? memset(memory, 0, all) : NULL;
}

void spex_free(void *memory) {
    if (!memory)
        return;
    if (spex_heap_has(memory)) {
        if (!spex_heap_is_abandoned())
            spex_heap_give(memory);
    } else if (uses_own()) {
        leave_over(memory);
    } else {
        free_left_over();
        free(memory);
    }
}

void *spex_realloc(void *memory, size_t bytes) {
    if (!memory)
        return spex_malloc(bytes);
    bool own = spex_heap_has(memory);
    if (!own && !uses_own())
        return realloc(memory, bytes);
    size_t room = own ? spex_heap_room(memory) : malloc_usable_size(memory);
    if (bytes <= room && bytes >= room / 4)
        return memory;
    void *moved = spex_malloc(bytes);
    if (!moved)
        return NULL;
    memcpy(moved, memory, bytes < room ? bytes : room);
    spex_free(memory);
    return moved;
}

static char *copy_of(const char *text, size_t length) {
    char *copy = spex_malloc(length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *spex_strdup(const char *text) {
    return copy_of(text, strlen(text));
}

char *spex_strndup(const char *text, size_t most) {
    return copy_of(text, strnlen(text, most));
}

int spex_vasprintf(char **text, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    *text = length < 0 ? NULL : spex_malloc((size_t)length + 1);
    return *text ? vsnprintf(*text, (size_t)length + 1, format, arguments) : -1;
}

int spex_asprintf(char **text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = spex_vasprintf(text, format, arguments);
    va_end(arguments);
    return length;
}

static void swap(char *one, char *other, size_t bytes) {
    for (size_t b = 0; b < bytes; b++) {
        char kept = one[b];
        one[b] = other[b];
        other[b] = kept;
    }
}

/* Moves an item down to where none below it comes later. */
static void sift(char *items, size_t count, size_t bytes, size_t at,
                 int (*compare)(const void *, const void *)) {
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && compare(items + child * bytes, items + (child + 1) * bytes) < 0)
            child++;
        if (compare(items + at * bytes, items + child * bytes) >= 0)
            return;
        swap(items + at * bytes, items + child * bytes, bytes);
    }
}

void spex_sort(void *items, size_t count, size_t bytes,
               int (*compare)(const void *one, const void *other)) {
    char *begin = items;
    for (size_t at = count / 2; at-- > 0;)
        sift(begin, count, bytes, at, compare);
    for (size_t left = count; left > 1;) {
        left--;
        swap(begin, begin + left * bytes, bytes);
        sift(begin, left, bytes, 0, compare);
    }
}
