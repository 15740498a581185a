/* SPDX-License-Identifier: MIT */
/* Tuning: a thread asks the policy for a configuration, applies it, measures a run and tells the
 * policy the result, again and again.
 *
 * `tune` is the only instance. `tune.turn` is held by starts and stops, one at a time; `tune.lock`,
 * taken after it, guards what others may read while the session's thread runs. That thread alone
 * writes it. No lock is held while a function of the program runs, nor in calls that wait for
 * spex's start, set or stop, or for a sink. spex_tune_trials is the exception: it calls the
 * program's function with tune.lock. */
#define _GNU_SOURCE
#include <spex/tune.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/memory/memory.h"
#include "base/process.h"
#include "base/service_thread.h"
#include "base/uninterrupted.h"
#include "measure/criterion.h"
#include "measure/plan.h"
#include "start/life.h"
#include "tune/session.h"
#include "tune/tune_run.h"

/* All of the process's tuning. */
static struct {
    /* Serialises starts and stops; taken before `lock`. */
    struct spex_lock turn;
    struct spex_lock lock;
    /* The last session; NULL: there has been none. */
    struct spex_tune_session *session;
    /* The handlers of forks and of the process's exit are installed. */
    bool ends_handled;
    bool exiting;
} tune = {.turn = SPEX_LOCK_FREE, .lock = SPEX_LOCK_FREE};

/* This is the session's thread. It must not take `turn`: a stop that waits for this thread holds
 * it. */
static _Thread_local bool is_tuning_thread;

/* The session is not freed: a thread of the parent may have been changing it. */
static void tune_fork_child(void) {
    spex_lock_reset(&tune.turn);
    spex_lock_reset(&tune.lock);
    tune.session = NULL;
    spex_feed_fork_child();
    is_tuning_thread = false;
}

/* For tune_unlock on the same thread. */
static _Thread_local struct spex_uninterrupted before_lock;

static void tune_lock(void) {
    spex_uninterrupted_begin(&before_lock);
    spex_lock_take(&tune.lock);
}

static void tune_unlock(void) {
    spex_lock_give(&tune.lock);
    spex_uninterrupted_end(&before_lock);
}

/* No function of the program is called once the process exits. The function that shows trials may
 * have called exit. */
static void tune_at_exit(void) {
    bool mine = spex_lock_is_mine(&tune.lock);
    if (spex_process_is_unknown())
        return;
    if (!mine)
        tune_lock();
    tune.exiting = true;
    if (!mine)
        tune_unlock();
}

/* Installs the handlers once in a process; neither can be removed. `turn` is held. */
static int tune_handle_ends(void) {
    if (tune.ends_handled)
        return 0;
    int err = -pthread_atfork(NULL, NULL, tune_fork_child);
    err = err || atexit(tune_at_exit) == 0 ? err : -ENOMEM;
    tune.ends_handled = !err;
    return err;
}

static void session_set_why(struct spex_tune_session *session, const char *text) {
    tune_lock();
    snprintf(session->why, sizeof(session->why), "%s", text);
    tune_unlock();
}

/* The program's functions may use what its own exit handlers have freed, so they are not called
 * then. */
static bool process_is_exiting(void) {
    tune_lock();
    bool exiting = tune.exiting;
    tune_unlock();
    return exiting;
}

/* Calls the program's configure(), without a lock. Its CPU time is the program's: it is left out of
 * what the library books. `applied` is false after an error: the program may be in a mixed
 * configuration. */
static int session_apply(struct spex_tune_session *session, const size_t *levels) {
    const struct spex_space *space = spex_tune_session_space(session);
    if (process_is_exiting())
        return -ECANCELED;
    spex_service_cpu_note(&session->cpu_ns);
    int err = session->options.configure(session->options.user, space, levels);
    session->cpu_ns = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    tune_lock();
    session->applied = !err;
    memcpy(session->now, levels, space->parameter_count * sizeof(*levels));
    tune_unlock();
    return err;
}

/* One run, from the switching of probes to its result. 0, also for a run that has failed;
 * -ECANCELED: the end was asked for, or spex_life_need says -EPERM. */
static int session_run(struct spex_tune_session *session, const struct spex_plan *plan,
                       struct spex_trial *trial, struct spex_error *error) {
    const struct spex_tune_setup setup = {
        .space = spex_tune_session_space(session),
        .policy = session->options.policy,
        .policy_state = session->state,
        .feed = session->feed,
        .ticks_per_second = spex_tick_rate_since(session->begin),
        .cpu_ns = &session->cpu_ns,
    };
    int err = spex_life_need(plan->probes, error);
    if (err || spex_feed_stopped(session->feed))
        return err && err != -EPERM ? err : -ECANCELED;
    err = session_apply(session, plan->levels);
    if (err) {
        spex_trial_end(trial, "cannot be configured: %s", strerror(abs(err)));
        return trial->status ? 0 : -ENOMEM;
    }
    return spex_tune_run(&setup, plan, trial, error);
}

/* Tells the policy of failed runs, too, so that it does not plan them again. */
static void session_tell_policy(struct spex_tune_session *session, const struct spex_trial *trial) {
    const struct spex_result result = {
        .size = sizeof(result),
        .levels = trial->levels,
        .ok = trial->ok,
        .measured = trial->ok ? trial->measured : NULL,
        .records_used = trial->records_used,
        .records_lost = trial->records_lost,
        .seconds = trial->seconds,
    };
    if (session->options.policy->run_finished)
        session->options.policy->run_finished(session->state, &result);
}

/* Adds the trial to the summary and the list, and takes over what it owns. 0 or -ENOMEM. */
static int session_keep_trial(struct spex_tune_session *session, struct spex_trial *trial) {
    tune_lock();
    session->failed += !trial->ok;
    if (!trial->ok)
        snprintf(session->why, sizeof(session->why), "%s", trial->status);
    int err = spex_summary_add(&session->summary, trial);
    if (err)
        spex_trial_free(trial);
    else
        err = spex_trials_add(&session->trials, trial);
    tune_unlock();
    return err;
}

/* The trial is kept after the policy has been told, because keeping it hands over its memory. */
static int session_run_trial(struct spex_tune_session *session, const struct spex_plan *plan,
                             struct spex_error *error) {
    struct spex_trial trial;
    if (spex_trial_init(&trial, spex_tune_session_space(session), plan->levels))
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = session_run(session, plan, &trial, error);
    if (err) {
        spex_trial_free(&trial);
        return err;
    }
    session_tell_policy(session, &trial);
    return session_keep_trial(session, &trial) ? spex_fail(error, -ENOMEM, "out of memory") : 0;
}

/* Asks the policy and makes one run. 1: a run has ended; 0: the policy or the rules want no
 * more. */
static int session_step(struct spex_tune_session *session, struct spex_error *error) {
    const struct spex_policy_ops *policy = session->options.policy;
    const struct spex_asking asking = {
        .policy = policy,
        .state = session->state,
        .space = spex_tune_session_space(session),
        .probes = session->own->probes,
        .levels = session->planned,
    };
    struct spex_plan plan;
    if (spex_feed_stopped(session->feed))
        return -ECANCELED;
    uint64_t most = spex_tune_session_space(session)->rules.trials_max;
    if (session->trials.count >= (most ? most : SPEX_TUNE_TRIALS_MAX))
        return 0;
    int got = spex_plan_ask(&asking, &plan, error);
    uint64_t expected = policy->runs ? policy->runs(session->state) : 0;
    tune_lock();
    session->expected = expected;
    tune_unlock();
    if (got <= 0)
        return got;
    int err = session_run_trial(session, &plan, error);
    return err ? err : 1;
}

/* Applies the configuration that the options want to be left: the best one, the defaults, or the
 * last one. The defaults stand in where no run has succeeded. What is in force already is not
 * applied again. */
static void session_leave_configuration(struct spex_tune_session *session) {
    const struct spex_space *space = spex_tune_session_space(session);
    /* This thread alone changes the best group: no lock. */
    const struct spex_group *best = spex_tune_session_best(session);
    size_t bytes = space->parameter_count * sizeof(*session->planned);
    for (size_t p = 0; p < space->parameter_count; p++)
        session->planned[p] = space->parameters[p].default_level;
    bool allowed = spex_space_settle(space, session->planned);
    if (session->options.leave == SPEX_TUNE_BEST && best)
        memcpy(session->planned, best->levels, bytes);
    else if (session->options.leave == SPEX_TUNE_LAST || !allowed)
        return;
    if (session->applied && memcmp(session->planned, session->now, bytes) == 0)
        return;
    char text[128];
    int err = session_apply(session, session->planned);
    snprintf(text, sizeof(text), "what is to be left cannot be configured: %s", strerror(abs(err)));
    if (err)
        session_set_why(session, text);
}

/* The report's arrays are on the stack, and valid during the program's function alone. */
static void call_finished(struct spex_tune_session *session) {
    size_t best[SPEX_PARAMETERS_MAX], now[SPEX_PARAMETERS_MAX];
    struct spex_measured measured[SPEX_CRITERIA_MAX];
    struct spex_tune_report report = {
        .size = sizeof(report), .best_levels = best, .best_measured = measured, .levels = now};
    if (!session->options.finished || process_is_exiting())
        return;
    tune_lock();
    spex_tune_session_report(session, &report);
    tune_unlock();
    session->options.finished(session->options.user, &report);
}

/* After this the session has ended: `running` is false, the feed is closed and all probes are off.
 * `running` becomes false after finished() has returned, so that no other tuning starts while the
 * program's function runs. */
static void session_end(struct spex_tune_session *session, int result, const char *reason) {
    struct spex_error ignored;
    if (result && result != -ECANCELED)
        session_set_why(session, reason);
    tune_lock();
    session->result = result;
    tune_unlock();
    if (session->options.policy->fini)
        session->options.policy->fini(session->state);
    session->initialised = false;
    session_leave_configuration(session);
    /* An error means that spex is not running, and its probes are off anyway. */
    spex_life_need("", &ignored);
    call_finished(session);
    tune_lock();
    struct spex_feed *feed = session->feed;
    session->feed = NULL;
    session->running = false;
    tune_unlock();
    spex_feed_close(feed);
}

/* Each step is one run; a result of 0 or an error ends the tuning. */
static void *session_thread(void *arg) {
    struct spex_tune_session *session = arg;
    struct spex_error error = {""};
    int got;
    is_tuning_thread = true;
    spex_service_thread_leave_alone();
    while ((got = session_step(session, &error)) > 0)
        continue;
    session_end(session, got, error.text);
    return NULL;
}

/* Frees a session whose thread has ended or was never started. */
static void session_free(struct spex_tune_session *session) {
    if (!session)
        return;
    if (session->initialised && session->options.policy->fini)
        session->options.policy->fini(session->state);
    spex_feed_close(session->feed);
    spex_summary_free(&session->summary);
    spex_trials_free(&session->trials);
    spex_own_space_free(session->own);
    spex_free(session->state);
    spex_free(session->planned);
    spex_free(session->now);
    spex_free(session);
}

static int check_options(const struct spex_tune_options *options, struct spex_error *error) {
    if (!options || options->size != sizeof(*options))
        return spex_fail(error, -EINVAL, "options of this version were expected");
    if (!options->policy)
        return spex_fail(error, -EINVAL,
                         "a policy was expected; there is no built-in one of a name "
                         "that spex_policy_named does not know");
    if (!options->configure)
        return spex_fail(error, -EINVAL, "configure: a function was expected");
    if (options->leave > SPEX_TUNE_LAST)
        return spex_fail(error, -EINVAL, "leave: SPEX_TUNE_BEST, DEFAULTS or LAST was expected");
    int err = spex_policy_check(options->policy);
    if (err)
        return spex_fail(error, err, "the policy was built for another version of spex");
    return 0;
}

/* The host allocates the policy's state; calloc of 0 bytes might return NULL. */
static int session_init_policy(struct spex_tune_session *session, struct spex_error *error) {
    const struct spex_space *space = spex_tune_session_space(session);
    const struct spex_policy_ops *policy = session->options.policy;
    size_t bytes = policy->state_size(space);
    session->state = spex_calloc(1, bytes ? bytes : 1);
    session->planned = spex_calloc(space->parameter_count, sizeof(*session->planned));
    session->now = spex_calloc(space->parameter_count, sizeof(*session->now));
    if (!session->state || !session->planned || !session->now)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = policy->init(session->state, space);
    session->initialised = !err;
    if (err)
        return spex_fail(error, err, "policy \"%s\" cannot explore this space: %s", policy->name,
                         strerror(abs(err)));
    return 0;
}

/* The policy sees the copy of the space with all defaults filled in. */
static int session_prepare(struct spex_tune_session *session, struct spex_error *error) {
    int err = spex_own_space_make(session->options.space, &session->own, error);
    if (err)
        return err;
    struct spex_space *space = &session->own->space;
    if (space->rules.trials_max > SPEX_TUNE_TRIALS_MAX)
        space->rules.trials_max = SPEX_TUNE_TRIALS_MAX;
    session->options.space = space;
    spex_summary_init(&session->summary, space);
    err = session_init_policy(session, error);
    if (!err && spex_feed_open(&session->feed))
        err = spex_fail(error, -ENOMEM, "out of memory");
    /* The feed is a sink by now, so a stop from here on finishes it. */
    return err ? err : spex_life_need(session->own->probes, error);
}

/* Called with `turn` held, without `lock`: the thread takes it to end. */
static void session_join(struct spex_tune_session *session) {
    if (session && !session->joined)
        pthread_join(session->thread, NULL);
    if (session)
        session->joined = true;
}

/* Makes this session the one that reports are about, and frees the former one. */
static void session_install(struct spex_tune_session *session) {
    tune_lock();
    struct spex_tune_session *former = tune.session;
    tune.session = session;
    tune_unlock();
    session_free(former);
}

/* Starts the session's thread. The former session stays for reports until here. */
static int session_begin(struct spex_tune_session *session, struct spex_error *error) {
    session_join(tune.session);
    session->running = true;
    session_install(session);
    /* It calls the program's configure(). */
    int err = spex_service_thread_start(&session->thread, "spex-tuner", 0, session_thread, session);
    if (err) {
        session_install(NULL);
        spex_error_set(error, "cannot start a thread: %s", strerror(-err));
    }
    return err;
}

static bool tune_is_running(void) {
    tune_lock();
    bool running = tune.session && tune.session->running;
    tune_unlock();
    return running;
}

/* The options are copied; what they point to stays the program's. */
static int session_make(const struct spex_tune_options *options, struct spex_tune_session **out,
                        struct spex_error *error) {
    struct spex_tune_session *session = spex_calloc(1, sizeof(*session));
    if (!session)
        return spex_fail(error, -ENOMEM, "out of memory");
    session->options = *options;
    session->begin = spex_instant_now();
    int err = session_prepare(session, error);
    *out = err ? NULL : session;
    if (err)
        session_free(session);
    return err;
}

/* After an error the probes that the tuning had needed go off again. */
static int tune_start_in_turn(const struct spex_tune_options *options, struct spex_error *error) {
    struct spex_tune_session *session;
    struct spex_error ignored;
    if (tune_is_running())
        return spex_fail(error, -EBUSY, "another tuning is running");
    int err = tune_handle_ends();
    if (err)
        return spex_fail(error, err, "%s", strerror(-err));
    err = session_make(options, &session, error);
    err = err ? err : session_begin(session, error);
    if (err)
        spex_life_need("", &ignored);
    return err;
}

/* The holder of the turn may wait for functions of the program, so handlers of signals run. */
static void turn_take(int *cancel_state) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel_state);
    spex_lock_take(&tune.turn);
}

static void turn_give(int cancel_state) {
    spex_lock_give(&tune.turn);
    pthread_setcancelstate(cancel_state, NULL);
}

/* From configure() or finished() a start is refused without taking `turn`, which a stop that waits
 * for this thread may hold. */
int spex_tune_start(const struct spex_tune_options *options, char *text, size_t size) {
    struct spex_error error = {""};
    int cancel_state, before = errno, err = check_options(options, &error);
    if (!err && spex_process_is_unknown()) {
        err = spex_fail(&error, -ENOTRECOVERABLE, SPEX_PROCESS_UNKNOWN);
    } else if (!err && is_tuning_thread) {
        err = spex_fail(&error, -EBUSY, "this tuning is running");
    } else if (!err) {
        turn_take(&cancel_state);
        err = tune_start_in_turn(options, &error);
        turn_give(cancel_state);
    }
    if (err && text)
        snprintf(text, size, "%s", error.text);
    errno = before;
    return err;
}

/* The feed is what the session's thread waits on. NULL: the session is ending already. */
static void tune_ask_for_end(void) {
    tune_lock();
    if (tune.session && tune.session->feed)
        spex_feed_stop(tune.session->feed);
    tune_unlock();
}

/* From the session's own thread only the end is asked for; the thread cannot join itself. */
int spex_tune_stop(void) {
    if (spex_process_is_unknown())
        return -ENOTRECOVERABLE;
    if (is_tuning_thread) {
        tune_ask_for_end();
        return 0;
    }
    int cancel_state, before = errno;
    turn_take(&cancel_state);
    tune_ask_for_end();
    session_join(tune.session);
    turn_give(cancel_state);
    errno = before;
    return 0;
}

/* Any thread, the session's own included: `lock` is never held in the program's functions but `see`
 * of spex_tune_trials. */
int spex_tune_look(struct spex_tune_report *report) {
    if (report->size != sizeof(*report))
        return -EINVAL;
    if (spex_process_is_unknown())
        return -ENOTRECOVERABLE;
    tune_lock();
    int err = tune.session ? 0 : -ENODATA;
    if (!err)
        spex_tune_session_report(tune.session, report);
    tune_unlock();
    return err;
}

/* What it shows is valid during the call alone. */
static void trial_show(const struct spex_trial *from, uint64_t number,
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

/* Holds `lock` throughout, so that the list does not move: `see` must not call functions of
 * tune.h. */
uint64_t spex_tune_trials(void (*see)(void *user, const struct spex_tune_trial *trial),
                          void *user) {
    if (spex_process_is_unknown())
        return 0;
    tune_lock();
    uint64_t count = tune.session ? tune.session->trials.count : 0;
    for (uint64_t t = 0; t < count; t++)
        trial_show(&tune.session->trials.items[t], t + 1, see, user);
    tune_unlock();
    return count;
}
