/* SPDX-License-Identifier: MIT */
/* A whole store in memory, with its findings: what reports print. */
#ifndef SPEX_EXPLORE_FINDINGS_STUDY_H
#define SPEX_EXPLORE_FINDINGS_STUDY_H

#include "explore/findings/findings.h"
#include "explore/space/space.h"
#include "explore/store/store.h"
#include "text/error.h"

/* The findings point into the summary and the trials, so a study must not be moved. */
struct spex_study {
    struct spex_store *store;
    struct spex_space_file *file;
    struct spex_trials trials;
    struct spex_summary summary;
    struct spex_findings findings;
    struct spex_circumstances *machines;
    size_t machine_count;
    /* Names of the parameters of the heat map's axes, when the user gave them; NULL: as the space
     * says. */
    const char *heatmap_x;
    const char *heatmap_y;
};

/* Reads a store and computes its findings. 0 or a negative errno value; to be freed in any case. */
int spex_study_read(struct spex_study *study, const char *path, struct spex_error *error);
void spex_study_free(struct spex_study *study);

#endif
