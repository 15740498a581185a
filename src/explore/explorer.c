/* SPDX-License-Identifier: MIT */
/* The explorer's main loop: ask the policy, run, store, tell. */
#define _GNU_SOURCE
#include <spex/explore.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "builtin.h"

#include "../clock.h"
#include "deadline.h"
#include "space.h"
#include "space_parameter.h"
#include "store.h"
#include "summary.h"
#include "trial_run.h"
#include "why.h"

/* How often a trial is run when this process was held up meanwhile. */
#define HELD_UP_ATTEMPTS 5

struct explorer {
    const struct spex_explore_options *options;
    struct spex_space_file *space;
    const struct spex_policy_ops *policy;
    void *state;
    bool initialised; /* the policy's state */
    struct spex_store *store;
    struct spex_trials stored; /* found in the store, to be replayed */
    struct spex_summary summary;
    struct spex_instant begin;
    char *directory;
    size_t *levels;
    uint64_t asked; /* plans that the policy has made */
    char best[512];
    char running[512];
    char last_failure[512];
    struct spex_progress progress;
    double run_seconds; /* of the trials run by us, teardown included */
};

static void report_progress(struct explorer *explorer) {
    struct spex_progress *progress = &explorer->progress;
    const struct spex_space *space = &explorer->space->space;
    const struct spex_group *best =
        spex_summary_best(&explorer->summary, space->parameter_count, 0);
    uint64_t run = progress->trials - progress->resumed;
    if (!explorer->options->progress)
        return;
    if (best)
        spex_levels_text(space, best->levels, explorer->best, sizeof(explorer->best));
    progress->size = sizeof(*progress);
    progress->have_best = best != NULL;
    progress->best_objective = best ? best->criteria[0].mean : 0;
    progress->best = explorer->best;
    progress->last_failure = progress->failed ? explorer->last_failure : NULL;
    progress->seconds_per_trial = run ? explorer->run_seconds / (double)run : 0;
    progress->trials_expected =
        explorer->policy->runs ? explorer->policy->runs(explorer->state) : 0;
    explorer->options->progress(explorer->options->user, progress);
}

static int policy_check(const struct explorer *explorer, struct spex_why *why) {
    const struct spex_policy_ops *policy = explorer->policy;
    if (spex_policy_check(policy))
        return spex_fail(why, -ENOTSUP, "policy \"%s\" was built for another version of spex",
                         policy->name);
    return 0;
}

static int policy_find(struct explorer *explorer, struct spex_why *why) {
    char known[256] = "";
    explorer->policy = spex_builtin_policy(explorer->options->policy);
    if (explorer->policy)
        return policy_check(explorer, why);
    for (size_t p = 0, length = 0; spex_builtin_policies[p] && length < sizeof(known); p++)
        length += (size_t)snprintf(known + length, sizeof(known) - length, "%s%s",
                                   length ? ", " : "", spex_builtin_policies[p]->name);
    return spex_fail(why, -EINVAL, "unknown policy \"%s\"; there are: %s",
                     explorer->options->policy, known);
}

static int policy_start(struct explorer *explorer, struct spex_why *why) {
    const struct spex_space *space = &explorer->space->space;
    size_t bytes = explorer->policy->state_size(space);
    explorer->state = calloc(1, bytes ? bytes : 1);
    explorer->levels = calloc(space->parameter_count, sizeof(size_t));
    if (!explorer->state || !explorer->levels)
        return spex_fail(why, -ENOMEM, "out of memory");
    int err = explorer->policy->init(explorer->state, space);
    if (err)
        return spex_fail(why, err, "policy \"%s\" cannot explore this space: %s",
                         explorer->policy->name, strerror(-err));
    explorer->initialised = true;
    return 0;
}

static int directory_make(struct explorer *explorer, struct spex_why *why) {
    const char *parent = secure_getenv("TMPDIR");
    parent = parent && *parent ? parent : "/tmp";
    char *whole = realpath(parent, NULL); /* the program may change its directory */
    if (!whole)
        return spex_fail(why, -errno, "cannot make a directory in %s: %s", parent, strerror(errno));
    if (asprintf(&explorer->directory, "%s/spex-XXXXXX", whole) < 0)
        explorer->directory = NULL;
    free(whole);
    if (!explorer->directory)
        return spex_fail(why, -ENOMEM, "out of memory");
    if (mkdtemp(explorer->directory))
        return 0;
    int err = spex_fail(why, -errno, "cannot make a directory %s: %s", explorer->directory,
                        strerror(errno));
    free(explorer->directory);
    explorer->directory = NULL;
    return err;
}

/* Whether the plan is for a configuration of the space, and for that which stands for all like it. */
static bool is_allowed(const struct explorer *explorer, const struct spex_plan *plan) {
    const struct spex_space *space = &explorer->space->space;
    size_t settled[SPEX_PARAMETERS_MAX];
    if (plan->levels != explorer->levels || !plan->probes ||
        !(plan->duration_seconds > 0 && plan->duration_seconds <= space->rules.duration_seconds))
        return false;
    for (size_t p = 0; p < space->parameter_count; p++) {
        if (plan->levels[p] >= space->parameters[p].count)
            return false;
        settled[p] = plan->levels[p];
    }
    return spex_space_settle(space, settled) &&
           memcmp(settled, plan->levels, space->parameter_count * sizeof(*settled)) == 0;
}

/* 1 with a plan, 0 when the policy has had enough, negative for an error. */
static int ask(struct explorer *explorer, struct spex_plan *plan, struct spex_why *why) {
    const struct spex_space *space = &explorer->space->space;
    for (size_t p = 0; p < space->parameter_count; p++)
        explorer->levels[p] = space->parameters[p].default_level;
    *plan = (struct spex_plan){
        .size = sizeof(*plan),
        .levels = explorer->levels,
        .probes = explorer->space->probes,
        .duration_seconds = space->rules.duration_seconds,
    };
    int got = explorer->policy->next(explorer->state, plan);
    if (got < 0)
        return spex_fail(why, got, "policy \"%s\" gave up: %s", explorer->policy->name,
                         strerror(-got));
    if (got && !is_allowed(explorer, plan))
        return spex_fail(why, -ERANGE, "policy \"%s\" planned what is not in the space",
                         explorer->policy->name);
    explorer->asked += got > 0;
    return got;
}

/* The same for a trial just run and for one from the store. */
static int tell(struct explorer *explorer, const struct spex_trial *trial, struct spex_why *why) {
    struct spex_result result = {
        .size = sizeof(result),
        .levels = trial->levels,
        .ok = trial->ok,
        .measured = trial->measured,
        .records_used = trial->records_used,
        .records_lost = trial->records_lost,
        .seconds = trial->seconds,
    };
    if (explorer->policy->run_finished)
        explorer->policy->run_finished(explorer->state, &result);
    explorer->progress.trials++;
    if (!trial->ok) {
        explorer->progress.failed++;
        snprintf(explorer->last_failure, sizeof(explorer->last_failure), "%s", trial->status);
    }
    if (spex_summary_add(&explorer->summary, trial))
        return spex_fail(why, -ENOMEM, "out of memory");
    return 0;
}

/* The stored trial that the plan asks for; NULL when there is none, or one that failed and is to
 * be run again. */
static int find_stored(const struct explorer *explorer, const struct spex_plan *plan,
                       const struct spex_trial **found, struct spex_why *why) {
    uint64_t number = explorer->progress.trials;
    *found = NULL;
    if (number >= explorer->stored.count)
        return 0;
    const struct spex_trial *trial = &explorer->stored.items[number];
    size_t bytes = explorer->space->space.parameter_count * sizeof(size_t);
    if (memcmp(trial->levels, plan->levels, bytes) != 0)
        return spex_fail(
            why, -EEXIST, "trial %llu in the store %s is not the one that policy \"%s\" asks for",
            (unsigned long long)number + 1, explorer->options->store, explorer->policy->name);
    if (trial->ok || !explorer->options->retry_failed)
        *found = trial;
    return 0;
}

/* A trial that failed because we were held up says nothing about the program. */
static int run_until_valid(const struct spex_trial_setup *setup, const struct spex_plan *plan,
                           struct spex_trial *trial, struct spex_why *why) {
    int err = -EAGAIN;
    for (int attempt = 0; attempt < HELD_UP_ATTEMPTS && err == -EAGAIN; attempt++) {
        spex_trial_free(trial);
        if (spex_trial_init(trial, &setup->file->space, plan->levels))
            return spex_fail(why, -ENOMEM, "out of memory");
        err = spex_trial_run(setup, plan, trial, why);
    }
    return err;
}

static int run_and_store(struct explorer *explorer, const struct spex_plan *plan,
                         struct spex_trial *trial, struct spex_why *why) {
    struct spex_trial_setup setup = {
        .file = explorer->space,
        .policy = explorer->policy,
        .policy_state = explorer->state,
        .argv = explorer->options->argv,
        .directory = explorer->directory,
        .ticks_per_second = spex_tick_rate_since(explorer->begin),
        .stop_fd = explorer->options->stop_fd,
    };
    int64_t begin = spex_monotonic_ns();
    int err = run_until_valid(&setup, plan, trial, why);
    trial->asked = explorer->asked;
    trial->told = explorer->progress.trials;
    err = err ? err
              : spex_store_put(explorer->store, explorer->progress.trials + 1,
                               &explorer->space->space, trial, why);
    explorer->run_seconds += (double)(spex_monotonic_ns() - begin) / 1e9;
    return err;
}

static int run_new(struct explorer *explorer, const struct spex_plan *plan, struct spex_why *why) {
    struct spex_trial trial = {.levels = NULL};
    spex_levels_text(&explorer->space->space, plan->levels, explorer->running,
                     sizeof(explorer->running));
    explorer->progress.running = explorer->running;
    report_progress(explorer);
    explorer->progress.running = NULL;
    int err = run_and_store(explorer, plan, &trial, why);
    err = err ? err : tell(explorer, &trial, why);
    spex_trial_free(&trial);
    return err;
}

static int step(struct explorer *explorer, const struct spex_plan *plan, struct spex_why *why) {
    const struct spex_trial *stored;
    int err = find_stored(explorer, plan, &stored, why);
    if (err)
        return err;
    if (!stored)
        return run_new(explorer, plan, why);
    explorer->progress.resumed++;
    return tell(explorer, stored, why);
}

static int loop(struct explorer *explorer, struct spex_why *why) {
    struct spex_plan plan;
    int got;
    while ((got = ask(explorer, &plan, why)) > 0) {
        int err = step(explorer, &plan, why);
        if (err)
            return err;
    }
    report_progress(explorer);
    if (!got && explorer->progress.trials < explorer->stored.count)
        return spex_fail(why, -EEXIST, "the store %s holds more trials than policy \"%s\" asks for",
                         explorer->options->store, explorer->policy->name);
    return got;
}

static int explore(struct explorer *explorer, struct spex_why *why) {
    const struct spex_explore_options *options = explorer->options;
    int err = spex_space_read(options->space, &explorer->space, why);
    if (err)
        return err;
    spex_summary_init(&explorer->summary, &explorer->space->space);
    err = policy_find(explorer, why);
    err = err ? err : policy_start(explorer, why);
    err = err ? err
              : spex_store_open(options->store, explorer->space, explorer->policy->name,
                                options->argv, &explorer->store, why);
    err = err ? err
              : spex_store_trials(explorer->store, &explorer->space->space, &explorer->stored, why);
    err = err ? err : directory_make(explorer, why);
    return err ? err : loop(explorer, why);
}

int spex_explore(const struct spex_explore_options *options, char *text, size_t size) {
    struct spex_why why = {""};
    int err;
    if (options->size != sizeof(*options) || !options->space || !options->policy ||
        !options->store || !options->argv || !options->argv[0]) {
        snprintf(text, size, "spex_explore: space, policy, store and argv were expected");
        return -EINVAL;
    }
    struct explorer explorer = {.options = options, .begin = spex_instant_now()};
    err = explore(&explorer, &why);
    if (explorer.initialised && explorer.policy->fini)
        explorer.policy->fini(explorer.state);
    if (explorer.directory)
        rmdir(explorer.directory);
    spex_summary_free(&explorer.summary);
    spex_trials_free(&explorer.stored);
    spex_store_close(explorer.store);
    spex_space_free(explorer.space);
    free(explorer.directory);
    free(explorer.levels);
    free(explorer.state);
    if (err)
        snprintf(text, size, "%s", why.text);
    return err;
}
