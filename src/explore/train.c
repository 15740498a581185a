/* SPDX-License-Identifier: MIT */
/* Trains models: runs the program once for each configuration of a plan, one after another. A plan
 * is a space without criteria; the grid policy enumerates it. Times of kernels go to the training
 * as they arrive. A run that fails is reported and does not end the training. */
#define _GNU_SOURCE
#include "explore/train.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/private_directory.h"
#include "explore/trial/agent_filled.h"
#include "explore/trial/leftovers.h"
#include "explore/trial/load.h"
#include "measure/plan.h"
#include "measure/summary.h"
#include "policies/explore/builtin.h"

/* The space of a training without a plan: one run of one configuration. */
static const char one_run[] =
    "<space name=\"run\"><parameter name=\"run\" type=\"integer\" min=\"1\" max=\"1\"/>"
    "<run trials_per_config=\"1\"/></space>";

/* The state of one call of spex_train. */
struct train {
    const struct spex_train_options *options;
    struct spex_training *training;
    struct spex_space_file *file;
    const struct spex_policy_ops *policy;
    void *state;
    bool initialised; /* `state` is initialised */
    size_t *levels;
    char directory[SPEX_PRIVATE_DIRECTORY_BYTES];
    double ticks_per_second;
    struct spex_train_progress progress;
};

/* Checks the agent before the first run, so that a long plan does not fail in its middle. */
static int train_read_plan(struct train *train, struct spex_error *error) {
    const char *plan = train->options->plan;
    int err = plan ? spex_space_read_plan(plan, &train->file, error)
                   : spex_space_parse_plan("run", one_run, &train->file, error);
    err = err ? err : spex_agent_check_arguments(&train->file->space, train->options->argv, error);
    return err ? err : spex_load_check(train->file->agent, error);
}

/* A plan is run by the grid policy: every configuration, each as often as the plan says. */
static int train_start_policy(struct train *train, struct spex_error *error) {
    const struct spex_space *space = &train->file->space;
    train->policy = spex_builtin_policy("grid");
    train->levels = calloc(space->parameter_count, sizeof(*train->levels));
    train->state = calloc(1, train->policy->state_size(space));
    if (!train->levels || !train->state || train->policy->init(train->state, space))
        return spex_fail(error, -ENOMEM, "out of memory");
    train->initialised = true;
    train->progress.runs = train->policy->runs(train->state);
    return 0;
}

/* `failure` is valid during the call alone. */
static void train_report_progress(struct train *train,
                                  const struct spex_training_outcome *outcome) {
    char levels[512], text[sizeof(levels) + sizeof(outcome->failure.text) + 4];
    struct spex_train_progress *progress = &train->progress;
    progress->done++;
    progress->failed += outcome->failed;
    progress->records += outcome->records;
    progress->lost += outcome->lost;
    progress->left_out += outcome->left_out;
    spex_levels_text(&train->file->space, train->levels, levels, sizeof(levels));
    snprintf(text, sizeof(text), "%s: %s", levels, outcome->failure.text);
    progress->failure = outcome->failed ? text : NULL;
    train->options->progress(train->options->user, progress);
    progress->failure = NULL;
}

/* Runs the next configuration: 1; 0 when all have been run; or a negative errno value. */
static int train_run_next(struct train *train, struct spex_error *error) {
    const struct spex_asking asking = {.policy = train->policy,
                                       .state = train->state,
                                       .space = &train->file->space,
                                       .probes = train->options->probes,
                                       .levels = train->levels};
    struct spex_plan plan;
    int got = spex_plan_ask(&asking, &plan, error);
    if (got <= 0)
        return got;
    const struct spex_training_setup setup = {.file = train->file,
                                              .argv = train->options->argv,
                                              .probes = train->options->probes,
                                              .directory = train->directory,
                                              .ticks_per_second = train->ticks_per_second,
                                              .stop_fd = train->options->stop_fd};
    struct spex_training_outcome outcome;
    const struct spex_result result = {.size = sizeof(result), .levels = train->levels};
    spex_training_next_run(train->training);
    int err = spex_training_run(&setup, train->levels, train->training, &outcome, error);
    if (err)
        return err;
    train->policy->run_finished(train->state, &result);
    train_report_progress(train, &outcome);
    return 1;
}

/* The tick rate is measured since the beginning, so that the time of the preparation is not waited
 * for again. Orphans of the program are adopted meanwhile, to be killed after their run. */
int spex_train(const struct spex_train_options *options, struct spex_training *training,
               struct spex_error *error) {
    struct train train = {.options = options, .training = training};
    struct spex_instant begin = spex_instant_now();
    int adopted_before = spex_leftovers_adopt();
    int err = train_read_plan(&train, error);
    err = err ? err : train_start_policy(&train, error);
    err = err ? err : spex_private_directory("train", train.directory, error);
    train.ticks_per_second = spex_tick_rate_since(begin);
    while (!err) {
        int got = train_run_next(&train, error);
        err = got < 0 ? got : 0;
        if (got <= 0)
            break;
    }
    if (train.directory[0])
        rmdir(train.directory);
    spex_leftovers_let_go(adopted_before);
    if (train.initialised)
        train.policy->fini(train.state);
    spex_space_free(train.file);
    free(train.levels);
    free(train.state);
    return err;
}
