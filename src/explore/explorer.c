/* SPDX-License-Identifier: MIT */
/* Sets up an exploration and tears it down: space, policy, store, CPUs, directory and runner.
 * explorer_loop.c runs it. Everything but the policy's stop_run runs on the thread that calls
 * spex_explore(); the runner's threads run the trials. */
#define _GNU_SOURCE
#include <spex/explore.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policies/explore/builtin.h"

#include "base/clock.h"
#include "explore/abandoned.h"
#include "explore/explorer.h"
#include "explore/trial/agent_filled.h"
#include "explore/trial/leftovers.h"
#include "explore/trial/load.h"
#include "explore/trial_directory.h"

/* Loads a policy from a shared object. */
static int explorer_load_policy(struct spex_explorer *explorer, const char *path,
                                struct spex_error *error) {
    struct spex_error reason;
    int err = spex_shared_object_open(&explorer->object, path, &spex_policy_object_kind, &reason);
    explorer->policy = explorer->object.found;
    return err ? spex_fail(error, err, "policy \"%s\": %s", path, reason.text) : 0;
}

/* Finds the policy that the options name: built in, or in a shared object if the name is a path. */
static int explorer_find_policy(struct spex_explorer *explorer, struct spex_error *error) {
    const char *name = explorer->options->policy;
    char known[256] = "";
    name = name ? name : SPEX_BUILTIN_DEFAULT;
    if (spex_shared_object_is_path(name))
        return explorer_load_policy(explorer, name, error);
    explorer->policy = spex_builtin_policy(name);
    if (explorer->policy)
        return 0;
    for (size_t p = 0, length = 0; spex_builtin_policies[p] && length < sizeof(known); p++)
        length += (size_t)snprintf(known + length, sizeof(known) - length, "%s%s",
                                   length ? ", " : "", spex_builtin_policies[p]->name);
    return spex_fail(error, -EINVAL, "unknown policy \"%s\"; there are: %s", name, known);
}

/* The host allocates the policy's state. `initialised` tells the end whether the policy has
 * anything to free. */
static int explorer_start_policy(struct spex_explorer *explorer, struct spex_error *error) {
    const struct spex_space *space = &explorer->space->space;
    size_t bytes = explorer->policy->state_size(space);
    explorer->state = calloc(1, bytes ? bytes : 1);
    explorer->levels = calloc(space->parameter_count, sizeof(size_t));
    if (!explorer->state || !explorer->levels)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = explorer->policy->init(explorer->state, space);
    if (err)
        return spex_fail(error, err, "policy \"%s\" cannot explore this space: %s",
                         explorer->policy->name, strerror(-err));
    explorer->initialised = true;
    return 0;
}

/* Makes the directory. Its name is stored first: if spex is killed in between, the next explorer of
 * the store cleans up. */
static int explorer_make_directory(struct spex_explorer *explorer, struct spex_error *error) {
    int err = spex_trial_directory_name(&explorer->directory, error);
    err = err ? err : spex_store_set_directory(explorer->store, explorer->directory, error);
    if (err || mkdir(explorer->directory, 0700) == 0)
        return err;
    return spex_fail(error, -errno, "cannot make a directory %s: %s", explorer->directory,
                     strerror(errno));
}

/* By now some milliseconds have passed since `begin`, so that the tick rate is known without
 * waiting. */
static int explorer_start_runner(struct spex_explorer *explorer, struct spex_error *error) {
    const struct spex_trial_setup setup = {
        .file = explorer->space,
        .policy = explorer->policy,
        .policy_state = explorer->state,
        .argv = explorer->options->argv,
        .directory = explorer->directory,
        .ticks_per_second = spex_tick_rate_since(explorer->begin),
        .stop_fd = explorer->options->stop_fd,
    };
    return spex_runner_create(&setup, explorer->options->jobs > 1 ? &explorer->parts : NULL,
                              &explorer->runner, error);
}

/* The highest number of threads of a configuration, by the threads parameter; values ascend. */
static uint64_t space_threads_max(const struct spex_space *space) {
    size_t p = space->threads_parameter;
    if (p == space->parameter_count)
        return 1;
    return (uint64_t)space->parameters[p].values[space->parameters[p].count - 1].integer;
}

/* Divides the CPUs among the trials that run at a time, unless the options let them share CPUs. A
 * part smaller than the number of threads would measure the part and not the program. */
static int explorer_divide_cpus(struct spex_explorer *explorer, struct spex_error *error) {
    const struct spex_explore_options *options = explorer->options;
    size_t jobs = options->jobs ? options->jobs : 1;
    if (jobs > SPEX_CPU_PARTS_MAX)
        return spex_fail(error, -EINVAL, "at most %d trials at a time were expected, not %zu",
                         SPEX_CPU_PARTS_MAX, jobs);
    explorer->parts.count = jobs;
    if (jobs == 1 || options->share_cpus)
        return 0;
    int err = spex_cpu_parts_make(jobs, &explorer->parts, error);
    uint64_t threads = space_threads_max(&explorer->space->space);
    if (!err && threads > explorer->parts.cpus)
        err = spex_fail(error, -EINVAL,
                        "%zu trials at a time have %zu CPU%s each, and the space has "
                        "configurations of %llu threads: fewer trials at a time were expected, or "
                        "that they may share CPUs",
                        jobs, explorer->parts.cpus, explorer->parts.cpus == 1 ? "" : "s",
                        (unsigned long long)threads);
    return err;
}

/* Reads the trials of the store and the plans that were unfinished when it was last written. */
static int explorer_read_history(struct spex_explorer *explorer, struct spex_error *error) {
    struct spex_unfinished *unfinished = NULL;
    struct spex_error reason = {""};
    size_t count = 0;
    int err = spex_store_trials(explorer->store, &explorer->space->space, &explorer->stored, error);
    err = err ? err : spex_store_unfinished(explorer->store, &unfinished, &count, error);
    if (!err && (err = spex_history_make(&explorer->history, &explorer->stored, unfinished, count,
                                         &reason)))
        spex_error_set(error, "%s: %s", explorer->options->store, reason.text);
    free(unfinished);
    return err;
}

/* Cleans up the directory of an explorer that was killed and makes a new one. */
static int explorer_replace_directory(struct spex_explorer *explorer, struct spex_error *error) {
    char *directory;
    int err = spex_store_directory(explorer->store, &directory, error);
    if (!err && directory)
        spex_abandoned_clean(directory);
    free(directory);
    return err ? err : explorer_make_directory(explorer, error);
}

/* Refuses to add trials from another machine or build to the store, unless the options allow a
 * mixed one. */
static int explorer_check_circumstances(struct spex_explorer *explorer, struct spex_error *error) {
    struct spex_circumstances now;
    if (spex_circumstances_now(explorer->options->argv[0], &now))
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = spex_store_begin(explorer->store, &now, explorer->options->mixed, error);
    spex_circumstances_free(&now);
    return err;
}

/* The policy of a fleet's exploration sees no records: these stay where they were made. */
static int explorer_check_elsewhere(const struct spex_explorer *explorer,
                                    struct spex_error *error) {
    if (!explorer->policy->process_records)
        return 0;
    return spex_fail(error, -EINVAL,
                     "policy \"%s\" looks at records, which it cannot where trials run elsewhere",
                     explorer->policy->name);
}

/* What trials need here: the loads, and CPUs of their own. */
static int explorer_check_here(struct spex_explorer *explorer, struct spex_error *error) {
    int err = spex_load_check(explorer->space->agent, error);
    return err ? err : explorer_divide_cpus(explorer, error);
}

static int explorer_explore_here(struct spex_explorer *explorer, struct spex_error *error) {
    int err = explorer_check_circumstances(explorer, error);
    err = err ? err : explorer_replace_directory(explorer, error);
    err = err ? err : explorer_start_runner(explorer, error);
    return err ? err : spex_explorer_loop(explorer, error);
}

static int explorer_explore_elsewhere(struct spex_explorer *explorer, struct spex_error *error) {
    int err = spex_explorer_open_elsewhere(explorer, error);
    err = err ? err : spex_explorer_loop(explorer, error);
    return err ? err : explorer->elsewhere->over(explorer->elsewhere->user, error);
}

/* Space, agent, policy and CPUs are checked before the store is opened, so that a wrong option
 * makes no store. What has been made is freed by spex_explore, also after an error. */
static int explorer_run(struct spex_explorer *explorer, struct spex_error *error) {
    const struct spex_explore_options *options = explorer->options;
    int err = spex_space_read(options->space, &explorer->space, error);
    if (err)
        return err;
    spex_summary_init(&explorer->summary, &explorer->space->space);
    err = spex_agent_check_arguments(&explorer->space->space, options->argv, error);
    err = err ? err : explorer_find_policy(explorer, error);
    err = err ? err : explorer_start_policy(explorer, error);
    err = err                   ? err
          : explorer->elsewhere ? explorer_check_elsewhere(explorer, error)
                                : explorer_check_here(explorer, error);
    err = err ? err
              : spex_store_open(options->store, explorer->space, explorer->policy->name,
                                options->argv, &explorer->store, error);
    err = err ? err : explorer_read_history(explorer, error);
    if (err)
        return err;
    return explorer->elsewhere ? explorer_explore_elsewhere(explorer, error)
                               : explorer_explore_here(explorer, error);
}

/* The process adopts orphans of the explored programs, to be able to kill them, and lets go of that
 * at the end. The directory's name is removed from the store only if the directory could be
 * removed. */
int spex_explore_elsewhere(const struct spex_explore_options *options,
                           const struct spex_elsewhere *elsewhere, char *text, size_t size) {
    struct spex_error error = {""}, ignored;
    if (options->size != sizeof(*options) || !options->space || !options->store || !options->argv ||
        !options->argv[0]) {
        snprintf(text, size, "spex_explore: space, store and argv were expected");
        return -EINVAL;
    }
    struct spex_explorer explorer = {
        .options = options, .elsewhere = elsewhere, .begin = spex_instant_now()};
    int adopted_before = spex_leftovers_adopt();
    int err = explorer_run(&explorer, &error);
    spex_runner_destroy(explorer.runner);
    spex_leftovers_let_go(adopted_before);
    if (explorer.initialised && explorer.policy->fini)
        explorer.policy->fini(explorer.state);
    if (explorer.directory && rmdir(explorer.directory) == 0)
        spex_store_set_directory(explorer.store, NULL, &ignored);
    spex_summary_free(&explorer.summary);
    spex_final_trials_free(&explorer.finals);
    spex_history_free(&explorer.history);
    spex_trials_free(&explorer.stored);
    spex_store_close(explorer.store);
    spex_cpu_parts_free(&explorer.parts);
    spex_space_free(explorer.space);
    free(explorer.directory);
    free(explorer.levels);
    free(explorer.state);
    spex_shared_object_close(&explorer.object);
    if (err)
        snprintf(text, size, "%s", error.text);
    return err;
}

int spex_explore(const struct spex_explore_options *options, char *text, size_t size) {
    return spex_explore_elsewhere(options, NULL, text, size);
}
