/* SPDX-License-Identifier: MIT */
/* Loaded before a program: ends it where a thread of spex uses the C library's heap, for which that
 * would have a lock, and a heap of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* What is asked for before the C library's functions are found: dlsym may allocate. */
static char early[1 << 16];
static size_t early_used;

/* The loader allocates for each thread that is started. */
static bool is_the_loaders(const void *caller) {
    Dl_info info;
    return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "/ld-");
}

static void check(const void *caller) {
    static const char told[] = "a thread of spex uses the heap of the C library\n";
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    if (strncmp(name, "spex-", 5) != 0 || is_the_loaders(caller))
        return;
    ssize_t written = write(STDERR_FILENO, told, sizeof(told) - 1);
    (void)written;
    abort();
}

static void *early_take(size_t bytes) {
    void *memory = early + early_used;
    early_used += (bytes + 15) & ~(size_t)15;
    return early_used <= sizeof(early) ? memory : NULL;
}

/* The function of the C library; NULL while it is looked for. */
static void *found(void **function, bool *looking, const char *name) {
    if (!*function && !*looking) {
        *looking = true;
        *function = dlsym(RTLD_NEXT, name);
        *looking = false;
    }
    return *function;
}

#define REAL(name, type)                                                                           \
    static void *function;                                                                         \
    static bool looking;                                                                           \
    type *real;                                                                                    \
    *(void **)&real = found(&function, &looking, name)

typedef void *taker(size_t bytes);
typedef void *taker_of_many(size_t count, size_t bytes);
typedef void *mover(void *memory, size_t bytes);
typedef void giver(void *memory);

#pragma GCC visibility push(default)

void *malloc(size_t bytes) {
    REAL("malloc", taker);
    check(__builtin_return_address(0));
    return real ? real(bytes) : early_take(bytes);
}

void *calloc(size_t count, size_t bytes) {
    REAL("calloc", taker_of_many);
    check(__builtin_return_address(0));
    return real ? real(count, bytes) : early_take(count * bytes);
}

void *realloc(void *memory, size_t bytes) {
    REAL("realloc", mover);
    check(__builtin_return_address(0));
    return real(memory, bytes);
}

void free(void *memory) {
    REAL("free", giver);
    if (!memory || ((char *)memory >= early && (char *)memory < early + sizeof(early)))
        return;
    check(__builtin_return_address(0));
    real(memory);
}

#pragma GCC visibility pop
