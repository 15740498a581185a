/* SPDX-License-Identifier: MIT */
/* The explorer's main loop: ask the policy for a plan, run it, store the trial, tell the policy.
 *
 * An exploration is resumed by replay: the policy is asked and told in the same order as before,
 * and its plans are compared with the trials in the store. A policy depends on its seed and on this
 * order alone, so after the replay it is in the state in which it was. Each trial is stored with
 * the numbers of plans made and trials told when it was planned (`asked`, `told`), and with whether
 * the policy was asked in vain before it was told the trial (`refused`).
 *
 * What is told of the time (time_left.h) depends on the trials that were told alone, too.
 *
 * The policy's lock (spex_runner_lock) is held in every call of the policy, since the runner's
 * threads call its stop_run. */
#define _GNU_SOURCE
#include "explore/explorer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/criterion.h"
#include "measure/plan.h"
#include "policies/explore/configurations.h"
#include "policies/explore/finals.h"
#include "text/quantity.h"

/* The seconds of the exploration, those before it was interrupted included. */
static double explorer_passed(const struct spex_explorer *explorer) {
    return explorer->begin_ns
               ? explorer->before +
                     (double)(spex_clock_ns(CLOCK_MONOTONIC) - explorer->begin_ns) / 1e9
               : explorer->before;
}

/* Since the first trial that was run now. */
static double explorer_seconds(const struct spex_explorer *explorer) {
    return explorer_passed(explorer) - explorer->before;
}

/* Seconds of a trial that was run now, with all around it; 0: there is none. */
static double explorer_each(const struct spex_explorer *explorer) {
    uint64_t run = explorer->progress.trials - explorer->progress.resumed;
    return run ? explorer_seconds(explorer) / (double)run : 0;
}

/* Writes down what the best is called, and its figure. */
static void explorer_name_best(struct spex_explorer *explorer) {
    const struct spex_space *space = &explorer->space->space;
    explorer->ranked = explorer->progress.trials;
    spex_levels_text(space, explorer->summary.groups[explorer->best_group].levels, explorer->best,
                     sizeof(explorer->best));
    spex_quantity_text(explorer->standing.estimate, explorer->standing.margin,
                       spex_criterion_unit(space->criteria), explorer->best_figure,
                       sizeof(explorer->best_figure));
}

/* Finds the best by the estimate that a report shows; without memory the last one stays. */
static void explorer_find_best(struct spex_explorer *explorer) {
    if (explorer->ranked != explorer->progress.trials &&
        spex_ranking_best(&explorer->summary, &explorer->standing, &explorer->best_group) == 0 &&
        explorer->best_group != SPEX_RANKING_NONE)
        explorer_name_best(explorer);
}

/* Sets what is told of the best at the end; without memory it is not told. */
static void explorer_find_ties(struct spex_explorer *explorer) {
    struct spex_progress *progress = &explorer->progress;
    struct spex_ranking standing;
    struct spex_final_race race;
    size_t best, tied;
    if (!explorer->options->progress)
        return;
    progress->tried = explorer->summary.count;
    progress->configurations =
        spex_configurations_distinct(&explorer->space->space, explorer->levels);
    if (spex_final_race_ties(&explorer->summary, &explorer->finals, &standing, &best, &tied,
                             &race) ||
        best == SPEX_RANKING_NONE)
        return;
    explorer->standing = standing;
    explorer->best_group = best;
    explorer_name_best(explorer);
    if (race.trials)
        progress->finals = spex_final_race_text(&race, explorer_each(explorer), explorer->race,
                                                sizeof(explorer->race));
    progress->tied = tied;
    progress->exact = standing.exact;
    progress->best_interval = explorer->best_interval;
    spex_range_text(standing.low, standing.high,
                    spex_criterion_unit(explorer->space->space.criteria), explorer->best_interval,
                    sizeof(explorer->best_interval));
}

/* Calls the user's progress function. The texts stay valid until the next call. The time per trial
 * counts trials that were run now, not those that were found in the store. */
static void explorer_report_progress(struct spex_explorer *explorer) {
    struct spex_progress *progress = &explorer->progress;
    if (!explorer->options->progress)
        return;
    explorer_find_best(explorer);
    progress->size = sizeof(*progress);
    progress->have_best = explorer->ranked > 0;
    progress->best_objective = explorer->standing.estimate;
    progress->best_figure = explorer->best_figure;
    progress->best = explorer->best;
    progress->last_failure = progress->failed ? explorer->last_failure : NULL;
    progress->running = spex_explorer_running(explorer) ? explorer->running : NULL;
    progress->seconds_per_trial = explorer_each(explorer);
    if (explorer->policy->runs) {
        spex_runner_lock(explorer->runner);
        progress->trials_expected = explorer->policy->runs(explorer->state);
        spex_runner_unlock(explorer->runner);
    }
    explorer->options->progress(explorer->options->user, progress);
}

/* Asks the policy: 1 with a plan; 0 when it has no more plans; -EAGAIN when it wants to be told a
 * trial first; or another negative errno value. */
static int explorer_ask(struct spex_explorer *explorer, struct spex_plan *plan,
                        struct spex_error *error) {
    const struct spex_asking asking = {
        .policy = explorer->policy,
        .state = explorer->state,
        .space = &explorer->space->space,
        .probes = explorer->space->probes,
        .levels = explorer->levels,
        .finals_due = spex_time_left_finals(&explorer->time,
                                            spex_finals_share(&explorer->space->space.rules)),
        .trials = spex_time_left_trials(&explorer->time, explorer->asked),
        .waiting = explorer->asked > explorer->told,
    };
    spex_runner_lock(explorer->runner);
    int got = spex_plan_ask(&asking, plan, error);
    spex_runner_unlock(explorer->runner);
    explorer->asked += got > 0;
    explorer->refused |= got == -EAGAIN;
    return got;
}

/* Tells the policy a trial. `ok` may differ from trial->ok: of a failed trial that was repeated,
 * the policy knows that it failed and nothing else. */
static void explorer_tell(struct spex_explorer *explorer, const struct spex_trial *trial, bool ok) {
    struct spex_result result = {
        .size = sizeof(result),
        .levels = trial->levels,
        .ok = ok,
        .measured = ok ? trial->measured : NULL,
        .records_used = trial->records_used,
        .records_lost = trial->records_lost,
        .seconds = trial->seconds,
    };
    explorer->told++;
    explorer->refused = false;
    spex_time_left_tell(&explorer->time, trial->passed, trial->limit);
    if (!explorer->policy->run_finished)
        return;
    spex_runner_lock(explorer->runner);
    explorer->policy->run_finished(explorer->state, &result);
    spex_runner_unlock(explorer->runner);
}

/* Adds a trial to the figures of the progress and to the summary, which copies what it needs. */
static int explorer_count_trial(struct spex_explorer *explorer, const struct spex_trial *trial,
                                struct spex_error *error) {
    explorer->progress.trials++;
    if (!trial->ok) {
        explorer->progress.failed++;
        snprintf(explorer->last_failure, sizeof(explorer->last_failure), "%s", trial->status);
    }
    if (spex_summary_add(&explorer->summary, trial) ||
        spex_final_trials_add(&explorer->finals, &explorer->summary, trial))
        return spex_fail(error, -ENOMEM, "out of memory");
    return 0;
}

static void waiting_free(struct spex_waiting *waiting) {
    free(waiting->levels);
    free(waiting->probes);
    free(waiting);
}

/* Appends a copy of the plan to those that wait for a place; `as` has the members that are stored
 * with its trial. */
static int explorer_queue_plan(struct spex_explorer *explorer, const struct spex_plan *plan,
                               const struct spex_waiting *as, struct spex_error *error) {
    size_t bytes = explorer->space->space.parameter_count * sizeof(*plan->levels);
    struct spex_waiting *waiting = calloc(1, sizeof(*waiting)), **end = &explorer->waiting;
    if (waiting) {
        *waiting = *as;
        waiting->levels = malloc(bytes);
        waiting->probes = strdup(plan->probes);
        waiting->duration_seconds = plan->duration_seconds;
        waiting->block = plan->block;
        waiting->reference = plan->reference;
        if (waiting->levels && waiting->probes) {
            memcpy(waiting->levels, plan->levels, bytes);
            while (*end)
                end = &(*end)->next;
            *end = waiting;
            return 0;
        }
        waiting_free(waiting);
    }
    return spex_fail(error, -ENOMEM, "out of memory");
}

/* The policy has changed since, or depends on something other than its seed and its results. */
static int explorer_fail_replay(const struct spex_explorer *explorer, uint64_t number,
                                struct spex_error *error) {
    return spex_fail(error, -EEXIST,
                     "trial %llu in the store %s is not the one that policy \"%s\" asks for",
                     (unsigned long long)number, explorer->options->store, explorer->policy->name);
}

/* Asks where the policy was asked in vain before, since a policy may draw random numbers before it
 * answers -EAGAIN. */
static int explorer_replay_refusal(struct spex_explorer *explorer, struct spex_error *error) {
    struct spex_plan plan;
    int got = explorer_ask(explorer, &plan, error);
    if (got == -EAGAIN)
        return 0;
    return got < 0 ? got : explorer_fail_replay(explorer, explorer->told + 1, error);
}

/* Tells the policy the next trial of the store. A failed one is queued for repetition if the
 * options say so. */
static int explorer_tell_stored(struct spex_explorer *explorer, struct spex_error *error) {
    const struct spex_trial *trial = &explorer->stored.items[explorer->told];
    int err = trial->refused ? explorer_replay_refusal(explorer, error) : 0;
    if (err)
        return err;
    explorer_tell(explorer, trial, trial->ok && !trial->retried);
    if (trial->ok || !explorer->options->retry_failed) {
        explorer->progress.resumed++;
        return explorer_count_trial(explorer, trial, error);
    }
    const struct spex_plan plan = {
        .levels = trial->levels,
        .probes = explorer->space->probes,
        .duration_seconds = explorer->space->space.rules.duration_seconds,
        .block = trial->block,
        .reference = trial->reference,
    };
    const struct spex_waiting again = {.asked = trial->asked,
                                       .told = trial->told,
                                       .number = explorer->told,
                                       .repeat = trial->retried + 1,
                                       .passed = trial->passed,
                                       .limit = trial->limit,
                                       .refused = trial->refused};
    return explorer_queue_plan(explorer, &plan, &again, error);
}

/* Asks for the next plan that the store knows of. A plan without a trial was under way when the
 * explorer ended, and is run now. */
static int explorer_replay_plan(struct spex_explorer *explorer, struct spex_error *error) {
    struct spex_plan plan;
    int got = explorer_ask(explorer, &plan, error);
    if (got < 0 && got != -EAGAIN)
        return got;
    const struct spex_trial *trial = spex_history_trial(&explorer->history, explorer->asked);
    size_t bytes = explorer->space->space.parameter_count * sizeof(size_t);
    if (got != 1)
        return spex_fail(error, -EEXIST,
                         "the store %s holds more trials than policy \"%s\" asks for",
                         explorer->options->store, explorer->policy->name);
    const struct spex_waiting unfinished = {.asked = explorer->asked, .told = explorer->told};
    if (!trial)
        return explorer_queue_plan(explorer, &plan, &unfinished, error);
    if (memcmp(trial->levels, plan.levels, bytes) == 0)
        return 0;
    return explorer_fail_replay(explorer, (uint64_t)(trial - explorer->stored.items) + 1, error);
}

/* Replays the store: before each plan, as many trials are told as had been told when it was
 * made. */
static int explorer_replay(struct spex_explorer *explorer, struct spex_error *error) {
    int err = 0;
    while (!err && explorer->asked < explorer->history.plans) {
        uint64_t told = spex_history_told(&explorer->history, explorer->asked + 1);
        while (!err && explorer->told < told)
            err = explorer_tell_stored(explorer, error);
        err = err ? err : explorer_replay_plan(explorer, error);
    }
    while (!err && explorer->told < explorer->stored.count)
        err = explorer_tell_stored(explorer, error);
    return err;
}

/* Starts a plan in a free place of the runner. */
static int explorer_start(struct spex_explorer *explorer, const struct spex_plan *plan,
                          const struct spex_waiting *as, struct spex_error *error) {
    if (!explorer->begin_ns)
        explorer->begin_ns = spex_clock_ns(CLOCK_MONOTONIC);
    spex_levels_text(&explorer->space->space, plan->levels, explorer->running,
                     sizeof(explorer->running));
    int err = spex_explorer_start_trial(explorer, plan, as, error);
    if (!err)
        explorer_report_progress(explorer);
    return err;
}

/* Starts the oldest waiting plan. */
static int explorer_start_waiting(struct spex_explorer *explorer, struct spex_error *error) {
    struct spex_waiting *waiting = explorer->waiting;
    const struct spex_plan plan = {.size = sizeof(plan),
                                   .levels = waiting->levels,
                                   .probes = waiting->probes,
                                   .duration_seconds = waiting->duration_seconds,
                                   .block = waiting->block,
                                   .reference = waiting->reference};
    explorer->waiting = waiting->next;
    int err = explorer_start(explorer, &plan, waiting, error);
    if (!waiting->number) {
        waiting_free(waiting);
        return err;
    }
    waiting->next = explorer->again;
    explorer->again = waiting;
    return err;
}

/* Whether no trial is to begin any more. The first one begins. */
static bool explorer_time_over(const struct spex_explorer *explorer) {
    return explorer->asked > 0 && spex_time_left_over(&explorer->time, explorer_passed(explorer),
                                                      explorer->options->seconds);
}

/* Fills the places, first with waiting plans, then with new ones. After -EAGAIN the policy is not
 * asked again before it is told a trial: a replay asks once for each trial with `refused`. */
static int explorer_fill_places(struct spex_explorer *explorer, struct spex_error *error) {
    while (spex_explorer_running(explorer) < spex_explorer_places(explorer)) {
        struct spex_plan plan;
        int got = 1;
        if (explorer_time_over(explorer))
            return 0;
        if (explorer->waiting)
            got = explorer_start_waiting(explorer, error);
        else if (explorer->exhausted || explorer->refused ||
                 (got = explorer_ask(explorer, &plan, error)) == -EAGAIN)
            return 0;
        else if (got > 0)
            got = explorer_start(
                explorer, &plan,
                &(struct spex_waiting){.asked = explorer->asked, .told = explorer->told}, error);
        else if (got == 0)
            explorer->exhausted = true;
        if (got < 0)
            return got;
    }
    return 0;
}

/* Removes the repetition with this `asked` from the list: the number of the failed trial, whose
 * `refused` and `retried` the trial gets; 0 when the trial repeats none. */
static uint64_t explorer_take_again(struct spex_explorer *explorer, struct spex_trial *trial) {
    for (struct spex_waiting **at = &explorer->again; *at; at = &(*at)->next)
        if ((*at)->asked == trial->asked) {
            struct spex_waiting *found = *at;
            uint64_t number = found->number;
            trial->refused = found->refused;
            trial->retried = found->repeat;
            trial->passed = found->passed;
            trial->limit = found->limit;
            *at = found->next;
            waiting_free(found);
            return number;
        }
    return 0;
}

/* Stores a trial, then tells the policy. A repetition replaces the failed trial in the store; the
 * policy is not told it, since it has been told the failure. */
static int explorer_finish(struct spex_explorer *explorer, struct spex_trial *trial,
                           struct spex_error *error) {
    struct spex_unfinished unfinished[SPEX_CPU_PARTS_MAX];
    trial->refused = explorer->refused;
    trial->passed = explorer_passed(explorer);
    trial->limit = explorer->options->seconds;
    uint64_t number = explorer_take_again(explorer, trial);
    size_t count = spex_explorer_unfinished(explorer, unfinished);
    int err = spex_store_put(explorer->store, number ? number : explorer->told + 1,
                             &explorer->space->space, trial, unfinished, count, error);
    err = err ? err : spex_explorer_stored(explorer, error);
    if (!err && !number)
        explorer_tell(explorer, trial, trial->ok);
    return err ? err : explorer_count_trial(explorer, trial, error);
}

/* Each trial that ends is stored and told before places are filled again, so that the policy plans
 * with all that is known. */
static int explorer_run_trials(struct spex_explorer *explorer, struct spex_error *error) {
    struct spex_trial trial = {.levels = NULL};
    int err = explorer_fill_places(explorer, error);
    while (!err && spex_explorer_running(explorer)) {
        err = spex_explorer_wait_trial(explorer, &trial, error);
        err = err ? err : explorer_finish(explorer, &trial, error);
        spex_trial_free(&trial);
        err = err ? err : explorer_fill_places(explorer, error);
    }
    return err;
}

/* Frees the plans that were not started because of an error or an interruption. */
int spex_explorer_loop(struct spex_explorer *explorer, struct spex_error *error) {
    int err = explorer_replay(explorer, error);
    explorer->before = fmax(explorer->time.passed, explorer->options->seconds_before);
    err = err ? err : explorer_run_trials(explorer, error);
    if (!err || err == -EINTR) {
        explorer_find_ties(explorer);
        explorer_report_progress(explorer);
    }
    while (explorer->waiting || explorer->again) {
        struct spex_waiting **list = explorer->waiting ? &explorer->waiting : &explorer->again;
        struct spex_waiting *first = *list;
        *list = first->next;
        waiting_free(first);
    }
    return err;
}
