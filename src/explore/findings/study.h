/* SPDX-License-Identifier: MIT */
/* A store that is read whole, and what its trials come to: what reports print. */
#ifndef SPEX_EXPLORE_FINDINGS_STUDY_H
#define SPEX_EXPLORE_FINDINGS_STUDY_H

#include "explore/findings/findings.h"
#include "explore/space/space.h"
#include "explore/store/store.h"
#include "text/error.h"

/* The findings point into the summary and the trials: a study stays where it is. */
struct spex_study {
    struct spex_store *store;
    struct spex_space_file *file;
    struct spex_trials trials;
    struct spex_summary summary;
    struct spex_findings findings;
    struct spex_circumstances *machines;
    size_t machine_count;
    /* Names of the parameters that a heat map was asked for; NULL: as the space says. */
    const char *heatmap_x;
    const char *heatmap_y;
};

/* 0 or what went wrong; to be freed in any case. */
int spex_study_read(struct spex_study *study, const char *path, struct spex_error *error);
void spex_study_free(struct spex_study *study);

#endif
