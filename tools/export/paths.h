/* SPDX-License-Identifier: MIT */
/* Paths of kernels, "main/sort", found once for each context of each process. */
#ifndef SPEX_TOOLS_EXPORT_PATHS_H
#define SPEX_TOOLS_EXPORT_PATHS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/read/recording.h"

struct spex_paths {
    const struct spex_recording *trace;
    /* By process, then by context; NULL: not found yet. */
    char ***of;
};

/* 0 or -ENOMEM. Free them in any case. */
int spex_paths_make(struct spex_paths *paths, const struct spex_recording *trace);
void spex_paths_free(struct spex_paths *paths);

/* The path of a kernel's record; "" for a context that the trace does not tell, or that is too
 * long; NULL: no memory. */
const char *spex_path_of(struct spex_paths *paths, size_t process, uint64_t context,
                         uint16_t kernel);

#endif
