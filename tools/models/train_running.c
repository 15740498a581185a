/* SPDX-License-Identifier: MIT */
/* Trains from the records of a running program as they arrive. Every second counts as a run of
 * its own, and every minute the models so far are fitted and written. */
#include "tools/models/train_running.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explore/training_kernels.h"
#include "tools/attach/attach.h"
#include "tools/common/complain.h"
#include "tools/common/models_file.h"

/* Time from one writing of the models to the next, so that little is lost when this command is
 * killed. */
#define WRITE_SECONDS 60.0

/* Executions within this time count as one run: they may share a disturbance. */
#define RUN_SECONDS 1.0

void spex_train_tell_left_out(size_t kernels, double least_seconds) {
    if (kernels)
        fprintf(stderr,
                "spex: %zu kernels left out: they take less than %g s on average, or their numbers "
                "are too large or small for a model\n",
                kernels, least_seconds);
}

/* What following a program takes. Counts are of records, but for `left_out_kernels`. */
struct follower {
    const struct spex_train_running *running;
    struct spex_training *training;
    struct spex_models *models;
    struct spex_attached attached;
    /* Empty: kernels of a running process have only parameters of their own. */
    struct spex_run_parameters none;
    struct spex_training_kernels *kernels;
    uint64_t records;
    uint64_t left_out;
    size_t left_out_kernels;
};

/* Takes the records that have arrived. 0; 1 when there may be more; or a negative errno value
 * with the reason. */
static int follower_take_records(struct follower *follower, bool all, struct spex_error *error) {
    const struct spex_record *records;
    size_t count;
    int more = spex_attached_take(&follower->attached, all, &records, &count, error);
    if (more < 0)
        return more;
    int err = spex_training_kernels_take(follower->kernels, records, count, &follower->records,
                                         &follower->left_out, error);
    return err ? err : more;
}

/* Fits the models to the records so far, and writes them. An exit status. */
static int follower_write_models(struct follower *follower) {
    spex_models_free(follower->models);
    int err = spex_training_fit(follower->training, follower->running->least_seconds,
                                follower->models, &follower->left_out_kernels);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "the models cannot be fitted: %s", strerror(-err));
    return spex_models_file_write(follower->running->models, follower->models);
}

/* Takes records until the program ends, the time is over, or stop_fd is readable; then the
 * records that are left. 0, or a negative errno value with the reason. */
static int follower_follow(struct follower *follower, struct spex_error *error) {
    const struct spex_train_running *running = follower->running;
    const double end = running->seconds > 0 ? running->seconds : INFINITY;
    double written = 0, changed = 0;
    int more = 0;
    while (more >= 0) {
        double now = spex_attached_seconds(&follower->attached);
        if (now >= end || spex_attached_over(&follower->attached))
            break;
        double until = fmin(written + WRITE_SECONDS, end);
        if (spex_attached_wait(&follower->attached, running->stop_fd,
                               (int)(fmax(until - now, 0) * 1000) + 1))
            break;
        more = follower_take_records(follower, false, error);
        if (now >= changed + RUN_SECONDS) {
            spex_training_next_run(follower->training);
            changed = now;
        }
        if (more >= 0 && now >= written + WRITE_SECONDS && follower->records > 0) {
            if (follower_write_models(follower) != SPEX_EXIT_OK)
                return spex_fail(error, -EIO, "what has been learnt cannot be written");
            written = now;
        }
    }
    if (more < 0)
        return more;
    do
        more = follower_take_records(follower, true, error);
    while (more > 0 && spex_attached_rest(&follower->attached));
    return more < 0 ? more : 0;
}

/* Writes the models, and prints the account. An exit status. */
static int follower_finish(struct follower *follower) {
    uint64_t lost = spex_attached_lost(&follower->attached);
    if (follower->records == 0)
        return spex_complain(SPEX_EXIT_FAILED,
                             "no kernel has made a record; spex probes lists what the program has");
    int status = follower_write_models(follower);
    if (status == SPEX_EXIT_OK)
        fprintf(stderr, "spex: %.1f s; %llu records of kernels, %llu lost, %llu left out\n",
                spex_attached_seconds(&follower->attached), (unsigned long long)follower->records,
                (unsigned long long)lost, (unsigned long long)follower->left_out);
    if (status == SPEX_EXIT_OK)
        spex_train_tell_left_out(follower->left_out_kernels, follower->running->least_seconds);
    return status;
}

static int follower_prepare(struct follower *follower, struct spex_error *error) {
    follower->kernels =
        spex_training_kernels_new(follower->training, follower->attached.receiver, &follower->none,
                                  follower->attached.ticks_per_second);
    return follower->kernels ? 0 : spex_fail(error, -ENOMEM, "out of memory");
}

/* Detaches in any case, which restores the program's selection. */
int spex_train_running(const struct spex_train_running *running, struct spex_training *training,
                       struct spex_models *models) {
    struct follower follower = {.running = running, .training = training, .models = models};
    struct spex_error error = {""};
    int err = spex_attach(&follower.attached, running->process, running->probes, NULL, "", &error);
    err = err ? err : follower_prepare(&follower, &error);
    err = err ? err : follower_follow(&follower, &error);
    int status =
        err < 0 ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text) : follower_finish(&follower);
    spex_detach(&follower.attached);
    spex_training_kernels_free(follower.kernels);
    return status;
}
