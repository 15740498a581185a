/* SPDX-License-Identifier: MIT */
/* Passes kernels' records on to a training. The kernel of a context is looked up once a run, by its
 * path, and cached by the context's number. Numbers of contexts differ between runs, so each run
 * has a cache of its own. Records come from the program, which is not trusted: an unsound one is
 * left out before its context is used as an index. */
#include "explore/training_kernels.h"

#include <errno.h>
#include <stdlib.h>

#include "kernels/kernel_paths.h"

/* The kernels of one run. */
struct spex_training_kernels {
    struct spex_training *training;
    struct spex_kernels_known known;
    const struct spex_run_parameters *run;
    double ticks_per_second;
    struct spex_trained *by_context[SPEX_CONTEXTS_MAX + 1]; /* NULL: not looked up yet */
    struct spex_kernel_described described;
};

struct spex_training_kernels *spex_training_kernels_new(struct spex_training *training,
                                                        const struct spex_receiver *receiver,
                                                        const struct spex_run_parameters *run,
                                                        double ticks_per_second) {
    struct spex_training_kernels *kernels = calloc(1, sizeof(*kernels));
    if (!kernels)
        return NULL;
    kernels->training = training;
    kernels->known = spex_receiver_kernels(receiver);
    kernels->run = run;
    kernels->ticks_per_second = ticks_per_second;
    return kernels;
}

void spex_training_kernels_free(struct spex_training_kernels *kernels) {
    free(kernels);
}

/* Finds or adds the training's kernel of a record. A kernel without parameters of its own has those
 * of the run. One kernel must have the same parameters in all runs, since a model is a function of
 * them. */
static int training_kernels_find(struct spex_training_kernels *kernels,
                                 const struct spex_record *record, struct spex_trained **kernel,
                                 struct spex_error *error) {
    struct spex_kernel_described *described = &kernels->described;
    int err = spex_kernel_describe(&kernels->known, record, described, error);
    if (err)
        return err;
    bool own = described->count > 0;
    err = spex_training_kernel(kernels->training, described->path,
                               own ? described->names : kernels->run->names,
                               own ? described->count : kernels->run->count, kernel);
    if (err == -EINVAL)
        spex_error_set(error, "%s has other parameters here than elsewhere: two of its kind",
                       described->path);
    else if (err)
        spex_error_set(error, "%s", err == -E2BIG ? "there are too many kernels" : "out of memory");
    return err;
}

/* A record's fields are its time in ticks, its context, and its parameters. */
static int training_kernels_take_record(struct spex_training_kernels *kernels,
                                        const struct spex_record *record,
                                        struct spex_error *error) {
    struct spex_trained **kernel = &kernels->by_context[record->fields[1]];
    double values[SPEX_MAX_FIELDS];
    const double *parameters = kernels->run->values;
    int err = *kernel ? 0 : training_kernels_find(kernels, record, kernel, error);
    if (err)
        return err;
    if (spex_kernel_parameters(record, values) > 0)
        parameters = values;
    double seconds = (double)record->fields[0] / kernels->ticks_per_second;
    err = spex_trained_add(kernels->training, *kernel, parameters, seconds, record->weight);
    return err ? spex_fail(error, err, "out of memory") : 0;
}

/* Records of weight 0 are samples of executions that had not ended: they have no time. */
int spex_training_kernels_take(struct spex_training_kernels *kernels,
                               const struct spex_record *records, size_t count, uint64_t *used,
                               uint64_t *left_out, struct spex_error *error) {
    int err = 0;
    for (size_t r = 0; r < count && !err; r++) {
        const struct spex_record *record = &records[r];
        if (record->probe_type != SPEX_KERNEL || !record->weight)
            continue;
        bool sound = spex_kernel_record_sound(&kernels->known, record);
        *left_out += !sound;
        *used += sound;
        if (sound)
            err = training_kernels_take_record(kernels, record, error);
    }
    return err;
}
