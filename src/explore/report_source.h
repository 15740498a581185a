/* SPDX-License-Identifier: MIT */
/* A store that is read whole, and what its trials come to. */
#ifndef SPEX_REPORT_SOURCE_H
#define SPEX_REPORT_SOURCE_H

#include "report.h"

struct spex_report_source {
    const char *path;
    struct spex_store *store;
    struct spex_space_file *file;
    struct spex_trials trials;
    struct spex_summary summary;
    struct spex_findings findings;
    struct spex_circumstances *machines;
    size_t machine_count;
    struct spex_report_data data; /* points to the above: a source stays where it is */
};

/* 0 or what went wrong; to be freed in any case. */
int spex_report_source_read(struct spex_report_source *source, const char *path,
                            struct spex_why *why);
void spex_report_source_free(struct spex_report_source *source);

#endif
