/* SPDX-License-Identifier: MIT */
/* The probe sites of a program and its libraries, as a list to be shown. */
#ifndef SPEX_PROBE_LIST_H
#define SPEX_PROBE_LIST_H

#include <stddef.h>
#include <stdio.h>

#include "columns.h"
#include "object_sites.h"

struct spex_probe_object {
    char *path; /* printable */
    struct spex_object_sites sites;
};

struct spex_probe_list {
    char *program;                     /* printable */
    struct spex_probe_object *objects; /* all that were looked at, with sites or without */
    size_t object_count;
    size_t site_count;
};

/* Takes the sites over. 0 or -ENOMEM. */
int spex_probe_list_set_program(struct spex_probe_list *list, const char *program);
int spex_probe_list_add(struct spex_probe_list *list, const char *path,
                        struct spex_object_sites *sites);
void spex_probe_list_free(struct spex_probe_list *list);

/* Cells of a list of probes: a probe without a name is called by its id; PERFCNTR has its counter, SNAPSHOT the number of
 * its values and KERNEL its parameters with the type, or their number where `parameters` is NULL; copies are empty for
 * one. */
void spex_probe_list_add_name(struct spex_columns *columns, const char *name, unsigned id);
void spex_probe_list_add_type(struct spex_columns *columns, uint32_t probe_type, unsigned detail,
                              const char *parameters);
void spex_probe_list_add_copies(struct spex_columns *columns, uint32_t copies);

/* 0, -ENOMEM, or what writing failed with. */
int spex_probe_list_print(const struct spex_probe_list *list, FILE *out);
int spex_probe_list_print_json(const struct spex_probe_list *list, FILE *out);

#endif
