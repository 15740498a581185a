/* SPDX-License-Identifier: MIT */
#include "report_source.h"

#include <errno.h>

static int read_store(struct spex_report_source *source, struct spex_why *why) {
    int err = spex_store_read(source->path, &source->store, why);
    err = err ? err
              : spex_space_parse(source->path, spex_store_space(source->store), &source->file, why);
    err = err ? err : spex_store_trials(source->store, &source->file->space, &source->trials, why);
    return err ? err
               : spex_store_machines(source->store, &source->machines, &source->machine_count, why);
}

static int find(struct spex_report_source *source, struct spex_why *why) {
    int err = 0;
    spex_summary_init(&source->summary, &source->file->space);
    for (size_t t = 0; t < source->trials.count && !err; t++)
        err = spex_summary_add(&source->summary, &source->trials.items[t]);
    err = err ? err : spex_findings_init(&source->findings, &source->summary, &source->trials);
    return err ? spex_fail(why, err, "out of memory") : 0;
}

int spex_report_source_read(struct spex_report_source *source, const char *path,
                            struct spex_why *why) {
    *source = (struct spex_report_source){.path = path};
    int err = read_store(source, why);
    err = err ? err : find(source, why);
    source->data = (struct spex_report_data){
        .store = source->store,
        .file = source->file,
        .trials = &source->trials,
        .summary = &source->summary,
        .findings = &source->findings,
        .machines = source->machines,
        .machine_count = source->machine_count,
    };
    return err;
}

void spex_report_source_free(struct spex_report_source *source) {
    spex_findings_free(&source->findings);
    spex_summary_free(&source->summary);
    spex_trials_free(&source->trials);
    spex_store_machines_free(&source->machines, &source->machine_count);
    spex_space_free(source->file);
    spex_store_close(source->store);
}
