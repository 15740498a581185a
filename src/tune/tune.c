/* SPDX-License-Identifier: MIT */
/* The tuning thread: asks the policy, applies, measures, tells. Its life is that of `tune`, which is one. What others may
 * look at while it runs is changed with the lock held, by this thread alone. No lock of ours is held in anything of the
 * program's, nor where spex's start, set and stop, or a sink, are waited for. */
#define _GNU_SOURCE
#include <spex/tune.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/service_thread.h"
#include "measure/criterion.h"
#include "measure/plan.h"
#include "start/life.h"
#include "tune/session.h"
#include "tune/tune_run.h"

static struct {
    pthread_mutex_t turn; /* starts and stops come one at a time; before the other */
    pthread_mutex_t lock;
    struct spex_tune_session *tuning; /* the last one; NULL: there has been none */
    bool ends_handled;                /* forks and the process's exit */
    bool exiting;
} tune = {.turn = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

/* It must not wait for a turn of somebody's who waits for it. */
static _Thread_local bool is_tuning_thread;

/* All is left as it was: a thread that this process has not got may have been at work on it. */
static void fork_child(void) {
    pthread_mutex_init(&tune.turn, NULL);
    pthread_mutex_init(&tune.lock, NULL);
    tune.tuning = NULL;
    spex_feed_fork_child();
    is_tuning_thread = false;
}

/* Nothing of the program's is called once it exits. */
static void at_exit(void) {
    pthread_mutex_lock(&tune.lock);
    tune.exiting = true;
    pthread_mutex_unlock(&tune.lock);
}

static int ends_handle(void) {
    if (tune.ends_handled)
        return 0;
    int err = -pthread_atfork(NULL, NULL, fork_child);
    err = err || atexit(at_exit) == 0 ? err : -ENOMEM;
    tune.ends_handled = !err;
    return err;
}

static void lock(void) {
    pthread_mutex_lock(&tune.lock);
}

static void unlock(void) {
    pthread_mutex_unlock(&tune.lock);
}

static void set_why(struct spex_tune_session *tuning, const char *text) {
    lock();
    snprintf(tuning->why, sizeof(tuning->why), "%s", text);
    unlock();
}

static bool is_exiting(void) {
    lock();
    bool exiting = tune.exiting;
    unlock();
    return exiting;
}

static int apply(struct spex_tune_session *tuning, const size_t *levels) {
    const struct spex_space *space = spex_tune_session_space(tuning);
    if (is_exiting())
        return -ECANCELED;
    spex_service_cpu_note(&tuning->cpu_ns);
    int err = tuning->options.configure(tuning->options.user, space, levels);
    tuning->cpu_ns = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    lock();
    tuning->applied = !err;
    memcpy(tuning->now, levels, space->parameter_count * sizeof(*levels));
    unlock();
    return err;
}

/* One run, from the switching of probes to its result. 0, also where it fails. */
static int run(struct spex_tune_session *tuning, const struct spex_plan *plan,
               struct spex_trial *trial, struct spex_error *why) {
    const struct spex_tune_setup setup = {
        .space = spex_tune_session_space(tuning),
        .policy = tuning->options.policy,
        .policy_state = tuning->state,
        .feed = tuning->feed,
        .ticks_per_second = spex_tick_rate_since(tuning->begin),
        .cpu_ns = &tuning->cpu_ns,
    };
    int err = spex_life_need(plan->probes, why->text, sizeof(why->text));
    if (err || spex_feed_stopped(tuning->feed))
        return err && err != -EPERM ? err : -ECANCELED;
    err = apply(tuning, plan->levels);
    if (err) {
        spex_trial_end(trial, "cannot be configured: %s", strerror(abs(err)));
        return trial->status ? 0 : -ENOMEM;
    }
    return spex_tune_run(&setup, plan, trial, why);
}

static void tell(struct spex_tune_session *tuning, const struct spex_trial *trial) {
    const struct spex_result result = {
        .size = sizeof(result),
        .levels = trial->levels,
        .ok = trial->ok,
        .measured = trial->ok ? trial->measured : NULL,
        .records_used = trial->records_used,
        .records_lost = trial->records_lost,
        .seconds = trial->seconds,
    };
    if (tuning->options.policy->run_finished)
        tuning->options.policy->run_finished(tuning->state, &result);
}

/* Takes over what the trial owns. */
static int keep(struct spex_tune_session *tuning, struct spex_trial *trial) {
    lock();
    tuning->failed += !trial->ok;
    if (!trial->ok)
        snprintf(tuning->why, sizeof(tuning->why), "%s", trial->status);
    int err = spex_summary_add(&tuning->summary, trial);
    if (err)
        spex_trial_free(trial);
    else
        err = spex_trials_add(&tuning->trials, trial);
    unlock();
    return err;
}

static int run_and_tell(struct spex_tune_session *tuning, const struct spex_plan *plan,
                        struct spex_error *why) {
    struct spex_trial trial;
    if (spex_trial_init(&trial, spex_tune_session_space(tuning), plan->levels))
        return spex_fail(why, -ENOMEM, "out of memory");
    int err = run(tuning, plan, &trial, why);
    if (err) {
        spex_trial_free(&trial);
        return err;
    }
    tell(tuning, &trial);
    return keep(tuning, &trial) ? spex_fail(why, -ENOMEM, "out of memory") : 0;
}

/* 1: another run has ended; 0: there is to be none. */
static int step(struct spex_tune_session *tuning, struct spex_error *why) {
    const struct spex_policy_ops *policy = tuning->options.policy;
    const struct spex_asking asking = {
        .policy = policy,
        .state = tuning->state,
        .space = spex_tune_session_space(tuning),
        .probes = tuning->own->probes,
        .levels = tuning->planned,
    };
    struct spex_plan plan;
    if (spex_feed_stopped(tuning->feed))
        return -ECANCELED;
    if (tuning->trials.count >= spex_tune_session_space(tuning)->rules.trials_max)
        return 0;
    int got = spex_plan_ask(&asking, &plan, why);
    uint64_t expected = policy->runs ? policy->runs(tuning->state) : 0;
    lock();
    tuning->expected = expected;
    unlock();
    if (got <= 0)
        return got;
    int err = run_and_tell(tuning, &plan, why);
    return err ? err : 1;
}

static void leave(struct spex_tune_session *tuning) {
    const struct spex_space *space = spex_tune_session_space(tuning);
    const struct spex_group *best =
        spex_tune_session_best(tuning); /* which only this thread changes */
    size_t bytes = space->parameter_count * sizeof(*tuning->planned);
    for (size_t p = 0; p < space->parameter_count; p++)
        tuning->planned[p] = space->parameters[p].default_level;
    bool allowed = spex_space_settle(space, tuning->planned);
    if (tuning->options.leave == SPEX_TUNE_BEST && best)
        memcpy(tuning->planned, best->levels, bytes);
    else if (tuning->options.leave == SPEX_TUNE_LAST || !allowed)
        return;
    if (tuning->applied && memcmp(tuning->planned, tuning->now, bytes) == 0)
        return;
    char text[128];
    int err = apply(tuning, tuning->planned);
    snprintf(text, sizeof(text), "what is to be left cannot be configured: %s", strerror(abs(err)));
    if (err)
        set_why(tuning, text);
}

static void call_finished(struct spex_tune_session *tuning) {
    size_t best[SPEX_PARAMETERS_MAX], now[SPEX_PARAMETERS_MAX];
    struct spex_measured measured[SPEX_CRITERIA_MAX];
    struct spex_tune_report report = {
        .size = sizeof(report), .best_levels = best, .best_measured = measured, .levels = now};
    if (!tuning->options.finished || is_exiting())
        return;
    lock();
    spex_tune_session_report(tuning, &report);
    unlock();
    tuning->options.finished(tuning->options.user, &report);
}

static void end(struct spex_tune_session *tuning, int result, const char *why) {
    char nothing[64];
    if (result && result != -ECANCELED)
        set_why(tuning, why);
    lock();
    tuning->result = result;
    unlock();
    if (tuning->options.policy->fini)
        tuning->options.policy->fini(tuning->state);
    tuning->initialised = false;
    leave(tuning);
    spex_life_need("", nothing, sizeof(nothing)); /* which fails where all is off anyway */
    call_finished(tuning);
    lock();
    struct spex_feed *feed = tuning->feed;
    tuning->feed = NULL;
    tuning->running = false;
    unlock();
    spex_feed_close(feed);
}

static void *tuning_run(void *arg) {
    struct spex_tune_session *tuning = arg;
    struct spex_error why = {""};
    int got;
    is_tuning_thread = true;
    while ((got = step(tuning, &why)) > 0)
        continue;
    end(tuning, got, why.text);
    return NULL;
}

/* Of one whose thread has ended, or has not been started. */
static void tuning_free(struct spex_tune_session *tuning) {
    if (!tuning)
        return;
    if (tuning->initialised && tuning->options.policy->fini)
        tuning->options.policy->fini(tuning->state);
    spex_feed_close(tuning->feed);
    spex_summary_free(&tuning->summary);
    spex_trials_free(&tuning->trials);
    spex_own_space_free(tuning->own);
    free(tuning->state);
    free(tuning->planned);
    free(tuning->now);
    free(tuning);
}

static int check_options(const struct spex_tune_options *options, struct spex_error *why) {
    if (!options || options->size != sizeof(*options))
        return spex_fail(why, -EINVAL, "options of this version were expected");
    if (!options->policy)
        return spex_fail(why, -EINVAL,
                         "a policy was expected; there is no built-in one of a name "
                         "that spex_policy_named does not know");
    if (!options->configure)
        return spex_fail(why, -EINVAL, "configure: a function was expected");
    if (options->leave > SPEX_TUNE_LAST)
        return spex_fail(why, -EINVAL, "leave: SPEX_TUNE_BEST, DEFAULTS or LAST was expected");
    int err = spex_policy_check(options->policy);
    if (err)
        return spex_fail(why, err, "the policy was built for another version of spex");
    return 0;
}

static int policy_begin(struct spex_tune_session *tuning, struct spex_error *why) {
    const struct spex_space *space = spex_tune_session_space(tuning);
    const struct spex_policy_ops *policy = tuning->options.policy;
    size_t bytes = policy->state_size(space);
    tuning->state = calloc(1, bytes ? bytes : 1);
    tuning->planned = calloc(space->parameter_count, sizeof(*tuning->planned));
    tuning->now = calloc(space->parameter_count, sizeof(*tuning->now));
    if (!tuning->state || !tuning->planned || !tuning->now)
        return spex_fail(why, -ENOMEM, "out of memory");
    int err = policy->init(tuning->state, space);
    tuning->initialised = !err;
    if (err)
        return spex_fail(why, err, "policy \"%s\" cannot explore this space: %s", policy->name,
                         strerror(abs(err)));
    return 0;
}

static int prepare(struct spex_tune_session *tuning, struct spex_error *why) {
    int err = spex_own_space_make(tuning->options.space, &tuning->own, why);
    if (err)
        return err;
    struct spex_space *space = &tuning->own->space;
    if (space->rules.trials_max == 0 || space->rules.trials_max > SPEX_TUNE_TRIALS_MAX)
        space->rules.trials_max = SPEX_TUNE_TRIALS_MAX;
    tuning->options.space = space;
    spex_summary_init(&tuning->summary, space);
    err = policy_begin(tuning, why);
    if (!err && spex_feed_open(&tuning->feed))
        err = spex_fail(why, -ENOMEM, "out of memory");
    /* After the sink is there, so that a stop from here on finishes it. */
    return err ? err : spex_life_need(tuning->own->probes, why->text, sizeof(why->text));
}

static void join(struct spex_tune_session *tuning) {
    if (tuning && !tuning->joined)
        pthread_join(tuning->thread, NULL);
    if (tuning)
        tuning->joined = true;
}

static void replace(struct spex_tune_session *tuning) {
    lock();
    struct spex_tune_session *former = tune.tuning;
    tune.tuning = tuning;
    unlock();
    tuning_free(former);
}

/* In the former one's place. */
static int begin(struct spex_tune_session *tuning, struct spex_error *why) {
    join(tune.tuning);
    tuning->running = true;
    replace(tuning);
    int err = spex_service_thread_start(&tuning->thread, "spex-tuner", tuning_run, tuning);
    if (err) {
        replace(NULL);
        spex_error_set(why, "cannot start a thread: %s", strerror(-err));
    }
    return err;
}

static bool is_running(void) {
    lock();
    bool running = tune.tuning && tune.tuning->running;
    unlock();
    return running;
}

static int make(const struct spex_tune_options *options, struct spex_tune_session **out,
                struct spex_error *why) {
    struct spex_tune_session *tuning = calloc(1, sizeof(*tuning));
    if (!tuning)
        return spex_fail(why, -ENOMEM, "out of memory");
    tuning->options = *options;
    tuning->begin = spex_instant_now();
    int err = prepare(tuning, why);
    *out = err ? NULL : tuning;
    if (err)
        tuning_free(tuning);
    return err;
}

static int start_in_turn(const struct spex_tune_options *options, struct spex_error *why) {
    struct spex_tune_session *tuning;
    char nothing[64];
    if (is_running())
        return spex_fail(why, -EBUSY, "another tuning is running");
    int err = ends_handle();
    if (err)
        return spex_fail(why, err, "%s", strerror(-err));
    err = make(options, &tuning, why);
    err = err ? err : begin(tuning, why);
    if (err)
        spex_life_need("", nothing, sizeof(nothing));
    return err;
}

int spex_tune_start(const struct spex_tune_options *options, char *text, size_t size) {
    struct spex_error why = {""};
    int err = check_options(options, &why);
    if (!err && is_tuning_thread) {
        err = spex_fail(&why, -EBUSY, "this tuning is running");
    } else if (!err) {
        pthread_mutex_lock(&tune.turn);
        err = start_in_turn(options, &why);
        pthread_mutex_unlock(&tune.turn);
    }
    if (err && text)
        snprintf(text, size, "%s", why.text);
    return err;
}

static void ask_for_end(void) {
    lock();
    if (tune.tuning && tune.tuning->feed)
        spex_feed_stop(tune.tuning->feed);
    unlock();
}

int spex_tune_stop(void) {
    if (is_tuning_thread) {
        ask_for_end();
        return 0;
    }
    pthread_mutex_lock(&tune.turn);
    ask_for_end();
    join(tune.tuning);
    pthread_mutex_unlock(&tune.turn);
    return 0;
}

int spex_tune_look(struct spex_tune_report *report) {
    if (report->size != sizeof(*report))
        return -EINVAL;
    lock();
    int err = tune.tuning ? 0 : -ENODATA;
    if (!err)
        spex_tune_session_report(tune.tuning, report);
    unlock();
    return err;
}

static void show(const struct spex_trial *from, uint64_t number,
                 void (*see)(void *user, const struct spex_tune_trial *trial), void *user) {
    const struct spex_tune_trial trial = {
        .size = sizeof(trial),
        .number = number,
        .levels = from->levels,
        .ok = from->ok,
        .status = from->status,
        .measured = from->measured,
        .records_used = from->records_used,
        .records_lost = from->records_lost,
        .seconds = from->seconds,
    };
    see(user, &trial);
}

uint64_t spex_tune_trials(void (*see)(void *user, const struct spex_tune_trial *trial),
                          void *user) {
    lock();
    uint64_t count = tune.tuning ? tune.tuning->trials.count : 0;
    for (uint64_t t = 0; t < count; t++)
        show(&tune.tuning->trials.items[t], t + 1, see, user);
    unlock();
    return count;
}
