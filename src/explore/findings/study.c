/* SPDX-License-Identifier: MIT */
/* Reads a whole store into memory and computes its findings. After an error the caller frees the
 * study, which may be filled in part. */
#include "explore/findings/study.h"

#include <errno.h>

/* The space is the one in the store and not the user's file, which may have changed since. */
static int study_read_store(struct spex_study *study, const char *path, struct spex_error *error) {
    int err = spex_store_read(path, &study->store, error);
    err = err ? err : spex_space_parse(path, spex_store_space(study->store), &study->file, error);
    err = err ? err : spex_store_trials(study->store, &study->file->space, &study->trials, error);
    return err ? err
               : spex_store_machines(study->store, &study->machines, &study->machine_count, error);
}

/* Computing fails only where memory runs out. */
static int study_find(struct spex_study *study, struct spex_error *error) {
    int err = 0;
    spex_summary_init(&study->summary, &study->file->space);
    for (size_t t = 0; t < study->trials.count && !err; t++)
        err = spex_summary_add(&study->summary, &study->trials.items[t]);
    err = err ? err : spex_findings_init(&study->findings, &study->summary, &study->trials);
    return err ? spex_fail(error, err, "out of memory") : 0;
}

int spex_study_read(struct spex_study *study, const char *path, struct spex_error *error) {
    *study = (struct spex_study){.store = NULL};
    int err = study_read_store(study, path, error);
    return err ? err : study_find(study, error);
}

void spex_study_free(struct spex_study *study) {
    spex_findings_free(&study->findings);
    spex_summary_free(&study->summary);
    spex_trials_free(&study->trials);
    spex_store_machines_free(&study->machines, &study->machine_count);
    spex_space_free(study->file);
    spex_store_close(study->store);
}
