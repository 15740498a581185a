/* SPDX-License-Identifier: MIT */
/* Fills a list of sites from the files of a program and its libraries. */
#ifndef SPEX_TOOLS_LIST_PROGRAM_LIST_H
#define SPEX_TOOLS_LIST_PROGRAM_LIST_H

#include <stdbool.h>

#include "text/error.h"
#include "tools/list/probe_list.h"

/* Adds the sites of the object behind `fd`. 0, or a negative errno value with the reason. */
int spex_probe_list_add_object(struct spex_probe_list *list, const char *path, int fd,
                               struct spex_error *error);

/* Adds the sites of the program, which is looked for as by a shell, and of the libraries it links.
 * Libraries that cannot be read are told of, and left out. An exit status. */
int spex_probe_list_collect(struct spex_probe_list *list, const char *name);

#endif
