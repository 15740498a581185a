/* SPDX-License-Identifier: MIT */
/* Prints the probe sites in the files of a program and its libraries. */
#ifndef SPEX_TOOLS_LIST_PROBE_LIST_H
#define SPEX_TOOLS_LIST_PROBE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "observe/objects/object_sites.h"
#include "profile/columns.h"

struct spex_probe_object {
    /* Printable. */
    char *path;
    struct spex_object_sites sites;
};

struct spex_probe_list {
    /* Printable. */
    char *program;
    /* All that were read, with sites or without. */
    struct spex_probe_object *objects;
    size_t object_count;
    size_t site_count;
    /* Functions of the program can be made kernels: spex/functions.h. */
    bool functions;
};

/* 0 or -ENOMEM. The list owns `sites` from here on. */
int spex_probe_list_set_program(struct spex_probe_list *list, const char *program);
int spex_probe_list_add(struct spex_probe_list *list, const char *path,
                        struct spex_object_sites *sites);
void spex_probe_list_free(struct spex_probe_list *list);

/* Add a cell. The name of a probe without one is its id; in front stands the provider, unless that
 * is NULL or empty. An id of -1 is "-". The type of a PERFCNTR probe has its
 * counter with it, of a SNAPSHOT the number of its values, and of a KERNEL its parameters, or their
 * number where `parameters` is NULL. One copy is an empty cell. */
void spex_probe_list_add_name(struct spex_columns *columns, const char *provider, const char *name,
                              int32_t id);
void spex_probe_list_add_id(struct spex_columns *columns, int32_t id);
void spex_probe_list_add_type(struct spex_columns *columns, uint32_t probe_type, unsigned detail,
                              const char *parameters);
void spex_probe_list_add_sc(struct spex_columns *columns, uint32_t probe_type, unsigned detail,
                            uint32_t subsample);
void spex_probe_list_add_copies(struct spex_columns *columns, uint32_t copies);

/* `all`: however wide that is. 0, -ENOMEM, or the negative errno value of writing. */
int spex_probe_list_print(const struct spex_probe_list *list, bool all, FILE *out);
int spex_probe_list_print_json(const struct spex_probe_list *list, FILE *out);

#endif
