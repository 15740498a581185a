/* SPDX-License-Identifier: MIT */
/* Functions of the program as kernels (spex/functions.h). They are found by name once, at the first
 * start; the hooks that instrumented code calls look them up. Only instrumented programs contain
 * function_hooks.c. */
#ifndef SPEX_KERNELS_FUNCTIONS_H
#define SPEX_KERNELS_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include <spex/site.h>

struct spex_function {
    /* 0: the place is free. */
    uintptr_t address;
    struct spex_site *site;
};

/* Open addressing by a hash of the address; at most half full, so that a search for an address that
 * is not in the table ends soon. */
struct spex_function_table {
    /* 64 minus the bits of the hash. */
    unsigned shift;
    size_t mask;
    /* Texts that the sites refer to by offset; never freed. */
    char **texts;
    struct spex_function places[];
};

/* NULL: no function is a kernel. Set once, when it is complete, and never freed: hooks use it
 * without a lock. */
extern const struct spex_function_table *spex_function_table;

/* Fibonacci hashing: Knuth, The Art of Computer Programming, vol. 3, 6.4. */
static inline size_t spex_function_hash(const struct spex_function_table *table,
                                        uintptr_t address) {
    return (size_t)((uint64_t)address * UINT64_C(0x9e3779b97f4a7c15) >> table->shift);
}

/* The site of the function at this address; NULL: it is no kernel. */
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

/* Makes kernels of the functions that `filter` chooses; later calls do nothing. Says on standard
 * error what could not be done. 0; -EINVAL: the filter is wrong; -ENOMEM. One thread at a time.
 * Weak: it is defined beside the hooks, so only an instrumented program has it. */
int spex_functions_make(const char *filter) __attribute__((weak));

/* As spex_functions_make. `enter_hook`: the address of __cyg_profile_func_enter, which this file
 * must not refer to. */
int spex_function_kernels_make(const char *filter, uintptr_t enter_hook);

/* Compilers call these names. `caller` is not used. */
SPEX_API void __cyg_profile_func_enter(void *function, void *caller);
SPEX_API void __cyg_profile_func_exit(void *function, void *caller);

/* An ELF note by which a program is known to have this code, also when it has been stripped. */
#define SPEX_FUNCTIONS_NOTE ".note.spex.functions"
struct spex_functions_note {
    uint32_t name_bytes, descriptor_bytes, type;
    char name[8];
};

#endif
