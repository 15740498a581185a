/* SPDX-License-Identifier: MIT */
/* The search for functions and probes in one process, and the object that is looked at. */
#ifndef SPEX_ATTACH_FINDING_H
#define SPEX_ATTACH_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/object_functions.h"
#include "attach/object_probes.h"
#include "attach/process_functions.h"

struct spex_finding {
    struct spex_process_functions *functions;
    const struct spex_function_choices *choices;
    const struct spex_program *program;
    const struct spex_function_search *search;
    struct spex_error *error;
    int err;
    const char *path;
    /* What is mapped, by its path; and the path that the program was started by, if that is the same file: it gives the
     * object its name. */
    const char *mapped_path;
    int fd;
    struct spex_object_functions object;
    struct spex_object_probes probes;
    /* What added to an address of the object gives that in the process; whether it is known. */
    uint64_t to_address;
    bool mapped, traced;
};

int spex_finding_out_of_memory(const struct spex_finding *finding);

/* Appends a function of the object; NULL: out of memory, or there are too many. */
struct spex_process_function *spex_finding_append(struct spex_finding *finding, const char *name,
                                                  uint64_t address);

/* Whether the process has the file's instruction there. */
bool spex_finding_is_unchanged(const struct spex_finding *finding, uint64_t address);

/* Says why a function is not looked at. */
void spex_finding_refuse(struct spex_process_function *function, const char *why);

/* Takes the probes of the object that a choice names. Those from `from` on are the object's. */
void spex_finding_take_probes(struct spex_finding *finding, size_t choice, size_t from);

#endif
