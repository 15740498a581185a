/* SPDX-License-Identifier: MIT */
/* Runs the explorer's trials: here, by the runner, or elsewhere. What is handed out to others is
 * noted in the store before: an explorer that is killed makes the same plans again, and knows what
 * comes of them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "explore/explorer.h"

static const struct spex_handed *find_handed(const struct spex_explorer *explorer, uint64_t asked,
                                             unsigned repeat) {
    for (size_t h = 0; h < explorer->handed_count; h++)
        if (explorer->handed[h].plan.asked == asked && explorer->handed[h].repeat == repeat)
            return &explorer->handed[h];
    return NULL;
}

static enum spex_trial_state trial_state(const void *user, const struct spex_trial_id *id) {
    const struct spex_explorer *explorer = user;
    if (find_handed(explorer, id->asked, id->repeat))
        return SPEX_TRIAL_AWAITED;
    for (const struct spex_waiting *w = explorer->waiting; w; w = w->next)
        if (w->asked == id->asked && w->repeat == id->repeat)
            return SPEX_TRIAL_WAITS;
    return id->asked && id->asked <= explorer->asked ? SPEX_TRIAL_OVER : SPEX_TRIAL_UNKNOWN;
}

/* A store whose trials were run here has a class, too. */
static int class_of_store(struct spex_explorer *explorer, struct spex_error *error) {
    struct spex_circumstances *machines;
    size_t count;
    int err = spex_store_machines(explorer->store, &machines, &count, error);
    if (err || !count)
        return err;
    spex_circumstances_class(&machines[0], explorer->fleet.class);
    if (spex_circumstances_mixed(machines, count))
        err = spex_fail(error, -EEXIST,
                        "the store %s has trials of several classes of machines: a fleet adds to "
                        "those of one",
                        explorer->options->store);
    spex_store_machines_free(&machines, &count);
    return err;
}

/* A name that no other exploration has: what is left of those is not ours. */
static int name_exploration(struct spex_store_fleet *fleet, struct spex_error *error) {
    uint64_t number;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return spex_fail(error, -errno, "no random number: %s", strerror(errno));
    snprintf(fleet->exploration, sizeof(fleet->exploration), "%016" PRIx64, number);
    return 0;
}

int spex_explorer_open_elsewhere(struct spex_explorer *explorer, struct spex_error *error) {
    const struct spex_exploration of = {explorer->options, explorer->space, &explorer->fleet,
                                        trial_state, explorer};
    int err = spex_store_fleet(explorer->store, &explorer->fleet, error);
    bool known = explorer->fleet.exploration[0] != '\0';
    if (!err && !known) {
        err = class_of_store(explorer, error);
        err = err ? err : name_exploration(&explorer->fleet, error);
    }
    err = err ? err : explorer->elsewhere->open(explorer->elsewhere->user, &of, error);
    return err || known ? err : spex_store_set_fleet(explorer->store, &explorer->fleet, error);
}

size_t spex_explorer_running(const struct spex_explorer *explorer) {
    return explorer->elsewhere ? explorer->handed_count : spex_runner_running(explorer->runner);
}

size_t spex_explorer_places(const struct spex_explorer *explorer) {
    if (!explorer->elsewhere)
        return spex_runner_places(explorer->runner);
    size_t places = explorer->elsewhere->places(explorer->elsewhere->user);
    size_t most = explorer->options->jobs ? explorer->options->jobs : SPEX_CPU_PARTS_MAX;
    return places < most ? places : most;
}

size_t spex_explorer_unfinished(const struct spex_explorer *explorer,
                                struct spex_unfinished all[SPEX_CPU_PARTS_MAX]) {
    if (!explorer->elsewhere)
        return spex_runner_unfinished(explorer->runner, all);
    for (size_t h = 0; h < explorer->handed_count; h++)
        all[h] = explorer->handed[h].plan;
    return explorer->handed_count;
}

int spex_explorer_start_trial(struct spex_explorer *explorer, const struct spex_plan *plan,
                              const struct spex_waiting *as, struct spex_error *error) {
    if (!explorer->elsewhere)
        return spex_runner_start(explorer->runner, plan, as->asked, as->told, error);
    const struct spex_handed handed = {
        {as->asked, as->told}, as->repeat, plan->block, plan->reference};
    const struct spex_trial_id id = {as->asked, as->repeat};
    int err = spex_store_put_plan(explorer->store, &handed.plan, error);
    err = err ? err : explorer->elsewhere->start(explorer->elsewhere->user, plan, &id, error);
    if (!err)
        explorer->handed[explorer->handed_count++] = handed;
    return err;
}

/* The machine is that of the trial that is stored next. */
static int take_result(struct spex_explorer *explorer, struct spex_trial_result *result,
                       struct spex_trial *trial, struct spex_error *error) {
    struct spex_handed *handed =
        (struct spex_handed *)(uintptr_t)find_handed(explorer, result->id.asked, result->id.repeat);
    int err = spex_store_begin(explorer->store, &result->machine, false, error);
    spex_circumstances_free(&result->machine);
    if (err) {
        spex_trial_free(&result->trial);
        return err;
    }
    *trial = result->trial;
    trial->asked = handed->plan.asked;
    trial->told = handed->plan.told;
    trial->block = handed->block;
    trial->reference = handed->reference;
    *handed = explorer->handed[--explorer->handed_count];
    return 0;
}

int spex_explorer_wait_trial(struct spex_explorer *explorer, struct spex_trial *trial,
                             struct spex_error *error) {
    if (!explorer->elsewhere)
        return spex_runner_wait(explorer->runner, trial, error);
    struct spex_trial_result result = {.id = {0}};
    int err = explorer->elsewhere->wait(explorer->elsewhere->user, &result, error);
    return err ? err : take_result(explorer, &result, trial, error);
}

int spex_explorer_stored(const struct spex_explorer *explorer, struct spex_error *error) {
    return explorer->elsewhere ? explorer->elsewhere->stored(explorer->elsewhere->user, error) : 0;
}
