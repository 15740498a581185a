/* SPDX-License-Identifier: MIT */
/* Functions of the program that are kernels (spex/functions.h): found by name once, at the first
 * start, then looked up by the hooks that instrumented code calls. Programs that are not
 * instrumented do not contain this. */
#ifndef SPEX_FUNCTIONS_FUNCTIONS_H
#define SPEX_FUNCTIONS_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include <spex/site.h>

struct spex_function {
    uintptr_t address; /* 0: nobody's place */
    struct spex_site *site;
};

/* By a hash of the address; at most half full. */
struct spex_function_table {
    unsigned shift; /* of the hash */
    size_t mask;
    char **texts; /* that the sites refer to by offset */
    struct spex_function places[];
};

/* NULL: no function is a kernel. Made once, complete, and never taken away. */
extern const struct spex_function_table *spex_function_table;

static inline size_t spex_function_hash(const struct spex_function_table *table,
                                        uintptr_t address) {
    return (size_t)((uint64_t)address * UINT64_C(0x9e3779b97f4a7c15) >> table->shift);
}

/* NULL: it is none. */
static inline struct spex_site *spex_function_site(const struct spex_function_table *table,
                                                   uintptr_t address) {
    for (size_t at = spex_function_hash(table, address);; at++) {
        const struct spex_function *function = &table->places[at & table->mask];
        if (function->address == address)
            return function->site;
        if (!function->address)
            return NULL;
    }
}

/* Makes kernels of the functions that `filter` chooses, the first time it is called, and says on
 * standard error what could not be done. 0; -EINVAL for a filter that cannot be read; -ENOMEM. One
 * thread at a time. It is weak and stands beside the hooks: only an instrumented program has it. */
int spex_functions_make(const char *filter) __attribute__((weak));

/* The same; `enter_hook` is the address of __cyg_profile_func_enter, which instrumented functions
 * call. */
int spex_function_kernels_make(const char *filter, uintptr_t enter_hook);

/* By their names compilers know them; `caller` is not looked at. */
SPEX_API void __cyg_profile_func_enter(void *function, void *caller);
SPEX_API void __cyg_profile_func_exit(void *function, void *caller);

#endif
