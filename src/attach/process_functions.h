/* SPDX-License-Identifier: MIT */
/* The functions of a running process that a choice names, in its program and its libraries, with the
 * places for breakpoints in each, or the reason why there is none. */
#ifndef SPEX_ATTACH_PROCESS_FUNCTIONS_H
#define SPEX_ATTACH_PROCESS_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/choice.h"
#include "attach/code/placement.h"
#include "attach/kind.h"
#include "attach/patches/trampoline.h"
#include "attach/program.h"
#include "attach/slots/imports.h"

/* Of a process at most. */
enum { SPEX_FUNCTIONS_MAX = 1000 };

/* A site of a USDT probe: its place in the file, and that of its semaphore; 0: it has none. */
struct spex_process_probe_site {
    uint64_t offset, semaphore;
};

/* A function, or a USDT probe. */
struct spex_process_function {
    /* Printable; that of a probe is PROVIDER:NAME. The object is the last part of its file's path. */
    char *name, *object;
    /* As the object is linked; and, of a function with slots, in the process. */
    uint64_t address, in_process;
    /* The file, which stays open; and the place in it of an address of the object, if added to that. */
    int fd;
    uint64_t to_offset;
    bool timed;
    /* The sites of a probe, all of which count; a function has none. */
    struct spex_process_probe_site *sites;
    unsigned site_count;
    /* The number of the choice that names it. */
    size_t choice;
    /* Arguments that are wanted as values. */
    struct spex_arguments arguments;
    /* Other functions at the same address. */
    unsigned aliases;
    /* Calls through slots are wanted, or a patch. NULL: they are not, or cannot be, so that breakpoints count; and what is to be
     * said of that. */
    bool slots, patched;
    struct spex_imports *imports;
    struct spex_moved *moved;
    char rung[256];
    struct spex_placement placement;
    /* Why it is not looked at; "": it can be. And whether that has been said. */
    char refused[160];
    bool refusal_said;
};

/* Where its executions are counted, or begin. */
static inline const struct spex_place *spex_process_function_entry(
    const struct spex_process_function *function) {
    return function->timed ? &function->placement.begin : &function->placement.entry;
}

/* What its entry does. */
static inline enum spex_site_task spex_process_function_task(
    const struct spex_process_function *function) {
    if (function->arguments.count)
        return SPEX_SITE_TELLS;
    return function->timed && !function->placement.endless ? SPEX_SITE_BEGINS : SPEX_SITE_COUNTS;
}

/* "fd, n": the names of its arguments. */
void spex_process_function_parameters(const struct spex_process_function *function, char *text,
                                      size_t size);

struct spex_process_functions {
    struct spex_process_function *items;
    size_t count;
    /* Files that were read, in which more is found never. */
    struct spex_seen_file *files;
    size_t file_count;
    /* Functions that a choice names and that there is no room for. */
    size_t left_out;
    /* For each choice how many functions it names, and how many objects. */
    size_t *matches, *objects;
};

/* What is told while functions are looked for. */
struct spex_function_search {
    void *user;
    /* Why a file cannot be read. */
    void (*unreadable)(void *user, const char *why);
    /* The name of each function there is, and of each probe, if any are wanted. */
    void (*name)(void *user, const char *name, bool probe);
};

/* Adds functions of files that the process has mapped since the last call. 0 or a negative errno value.
 * To be freed in any case. */
int spex_process_functions_find(struct spex_process_functions *functions,
                                const struct spex_function_choices *choices,
                                const struct spex_program *program,
                                const struct spex_function_search *search,
                                struct spex_error *error);
/* Finds the slots of functions from a number on of which they are wanted, and what a patch would move. */
void spex_process_functions_find_slots(struct spex_process_functions *functions, size_t from,
                                       const struct spex_program *program);
void spex_process_functions_find_moved(struct spex_process_functions *functions, size_t from,
                                       const struct spex_program *program);

/* Gives these up, for this reason. */
void spex_process_function_leave_way(struct spex_process_function *function, const char *why);

/* Whether it is counted by code in the program. */
static inline bool spex_process_function_has_way(const struct spex_process_function *function) {
    return function->imports || function->moved;
}

void spex_process_functions_free(struct spex_process_functions *functions);

/* Leaves out functions from a number on for which there is true. */
void spex_process_functions_leave_out(struct spex_process_functions *functions, size_t from,
                                      const bool *out);

#endif
