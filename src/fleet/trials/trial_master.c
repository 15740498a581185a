/* SPDX-License-Identifier: MIT */
#include "fleet/trials/trial_master.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/link/queue.h"
#include "fleet/trials/handed_trials.h"
#include "fleet/trials/trial_names.h"
#include "fleet/trials/worker_list.h"
#include "text/waits.h"

/* How long workers are waited for after the first one before a class is chosen, and after how long
 * a trial is put into its queue again, if it is not there. */
#define CHOICE_SECONDS 2.5
#define AGAIN_SECONDS  10.0

/* Between two looks at everything. */
enum { TICK_MS = 100 };

/* Signs of workers that wait. */
enum { SIGNS_MOST = 4096 };

struct spex_trial_master {
    const struct spex_trial_master_options *options;
    struct spex_exploration of;
    struct spex_link *link;
    struct spex_link_inbox *signs;
    struct spex_worker_list workers;
    struct spex_trial_offer offer;
    char trials[SPEX_LINK_NAME_BYTES], results[SPEX_LINK_NAME_BYTES];
    /* Results; NULL: the queues are to be made. */
    struct spex_queue *queue;
    uint64_t connects;
    /* What had come before this process is taken: what is still missing may be handed out. */
    bool drained;
    struct spex_handed_trials handed;
    /* The result that is being stored. */
    struct spex_queue_job job;
    bool holds;
    struct spex_trial_id taken;
    double offered, refreshed, tried;
    bool was_connected, was_alone;
    struct spex_error told;
};

__attribute__((format(printf, 2, 3))) static void tell(const struct spex_trial_master *master,
                                                       const char *format, ...) {
    struct spex_error line = {""}, printable = {""};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line.text, sizeof(line.text), format, arguments);
    va_end(arguments);
    spex_error_set(&printable, "%s", line.text);
    master->options->tell(printable.text);
}

/* The same line is told once in a row. */
static void tell_once(struct spex_trial_master *master, const struct spex_error *error) {
    if (strcmp(master->told.text, error->text) != 0)
        tell(master, "%s", error->text);
    master->told = *error;
}

int spex_trial_master_open(const struct spex_trial_master_options *options,
                           struct spex_trial_master **master, struct spex_error *error) {
    struct spex_trial_master *opened = calloc(1, sizeof(*opened));
    char prefix[SPEX_LINK_NAME_BYTES];
    const char *fleet = options->fleet;
    *master = NULL;
    if (!opened)
        return spex_fail(error, -ENOMEM, "out of memory");
    opened->options = options;
    opened->was_connected = true;
    opened->offered = opened->refreshed = opened->tried = -INFINITY;
    spex_trial_stream(opened->trials, fleet, SPEX_TRIALS);
    spex_trial_stream(opened->results, fleet, SPEX_RESULTS);
    spex_trial_prefix(prefix, fleet, SPEX_WORKERS);
    int err = spex_link_open(&options->link, &opened->link, error);
    if (!err && (err = spex_link_listen(opened->link, prefix, SIGNS_MOST, &opened->signs)))
        spex_error_set(error, "cannot listen to agents: %s", strerror(-err));
    if (err)
        spex_trial_master_close(opened);
    else
        *master = opened;
    return err;
}

void spex_trial_master_close(struct spex_trial_master *master) {
    if (!master)
        return;
    spex_handed_trials_free(&master->handed);
    if (master->holds)
        spex_queue_end(&master->job, SPEX_QUEUE_AGAIN);
    spex_queue_close(master->queue);
    spex_worker_list_free(&master->workers);
    spex_link_inbox_free(master->signs);
    spex_link_close(master->link);
    free(master);
}

static void send_offer(struct spex_trial_master *master, double now) {
    char prefix[SPEX_LINK_NAME_BYTES], subject[SPEX_LINK_NAME_BYTES + SPEX_CLASS_BYTES];
    if (now - master->offered < SPEX_SIGN_SECONDS)
        return;
    master->offered = now;
    spex_trial_prefix(prefix, master->options->fleet, SPEX_OFFERS);
    snprintf(subject, sizeof(subject), "%s.%s", prefix, master->offer.fleet.exploration);
    char *text = spex_trial_offer_write(&master->offer);
    if (text)
        spex_link_send(master->link, subject, text, strlen(text));
    free(text);
}

/* Its trials would not be comparable. */
static void tell_other_class(struct spex_trial_master *master, struct spex_known_worker *known) {
    const struct spex_known_worker *ours =
        spex_worker_list_first(&master->workers, master->offer.fleet.class);
    if (known->told || !ours || strcmp(known->class, master->offer.fleet.class) == 0)
        return;
    size_t c = SPEX_ON_KERNEL;
    while (c + 1 < SPEX_ON_COUNT &&
           strcmp(known->worker.machine.texts[c], ours->worker.machine.texts[c]) == 0)
        c++;
    known->told = true;
    tell(master, "host %s runs no trials here: it is of another class, %s, with %s %s and not %s",
         known->worker.machine.texts[SPEX_ON_HOST], known->class, spex_circumstance_names[c],
         known->worker.machine.texts[c], ours->worker.machine.texts[c]);
}

static int take_signs(struct spex_trial_master *master, double now, struct spex_error *error) {
    struct spex_link_message message;
    int err = 0;
    for (int most = SIGNS_MOST; most-- && !err && spex_link_take(master->signs, 0, &message);) {
        struct spex_trial_worker worker;
        struct spex_error reason;
        if (spex_trial_worker_read(message.data, message.size, &worker, &reason)) {
            tell_once(master, &reason);
        } else {
            if (strcmp(worker.key, master->offer.key) == 0)
                err = spex_worker_list_hear(&master->workers, &worker, now);
            spex_circumstances_free(&worker.machine);
        }
        spex_link_message_free(&message);
    }
    spex_worker_list_forget(&master->workers, now - SPEX_GONE_SECONDS);
    return err ? spex_fail(error, err, "out of memory") : 0;
}

static void tell_of_workers(struct spex_trial_master *master) {
    if (!master->offer.fleet.class[0])
        return;
    bool alone = !spex_worker_list_count(&master->workers, master->offer.fleet.class);
    for (size_t w = 0; w < master->workers.count; w++)
        tell_other_class(master, &master->workers.items[w]);
    if (alone && !master->was_alone)
        tell(master, "no agent of class %s is there that may run this space and program: waiting",
             master->offer.fleet.class);
    master->was_alone = alone;
}

static bool is_stopped(const struct spex_trial_master *master, int timeout_ms) {
    struct pollfd fd = {.fd = master->of.options->stop_fd, .events = POLLIN};
    return spex_wait_ready(&fd, 1, timeout_ms) > 0;
}

/* 1: connected. 0: not now, after a short wait. -EINTR, or why it cannot go on. */
static int step(struct spex_trial_master *master, struct spex_error *error) {
    double now = spex_clock_seconds(CLOCK_BOOTTIME);
    if (is_stopped(master, 0))
        return spex_fail(error, -EINTR, "interrupted");
    int state = spex_link_state(master->link, error);
    if (state < 0)
        return state;
    if (state != master->was_connected)
        tell(master, "NATS is %s", state ? "there again" : "not there");
    master->was_connected = state;
    send_offer(master, now);
    int err = take_signs(master, now, error);
    if (err)
        return err;
    tell_of_workers(master);
    if (!state)
        is_stopped(master, TICK_MS);
    return state;
}

/* Fails, with a line for each class, where the user has to choose. */
static int only_class(struct spex_trial_master *master, struct spex_error *error) {
    const struct spex_worker_list *list = &master->workers;
    size_t classes = 0;
    char text[512];
    for (size_t w = 0; w < list->count; w++)
        classes += spex_worker_list_first(list, list->items[w].class) == &list->items[w];
    if (classes == 1) {
        memcpy(master->offer.fleet.class, list->items[0].class, SPEX_CLASS_BYTES);
        return 0;
    }
    for (size_t w = 0; w < list->count; w++)
        if (spex_worker_list_first(list, list->items[w].class) == &list->items[w]) {
            spex_worker_list_class_text(list, list->items[w].class, text, sizeof(text));
            tell(master, "%s", text);
        }
    return spex_fail(error, -EINVAL,
                     "--class was expected: hosts of %zu classes are there, whose results are not "
                     "comparable",
                     classes);
}

/* Waits for workers, without a limit. */
static int choose_class(struct spex_trial_master *master, struct spex_error *error) {
    double first = INFINITY, now = spex_clock_seconds(CLOCK_BOOTTIME);
    bool waits = false;
    while (now - first < CHOICE_SECONDS) {
        int state = step(master, error);
        if (state < 0)
            return state;
        now = spex_clock_seconds(CLOCK_BOOTTIME);
        if (!master->workers.count) {
            if (!waits)
                tell(master, "no agent is there that may run this space and program: waiting");
            waits = true;
            first = INFINITY;
        } else if (!isfinite(first)) {
            first = now;
        }
        if (is_stopped(master, TICK_MS))
            return spex_fail(error, -EINTR, "interrupted");
    }
    return only_class(master, error);
}

static int wanted_class(struct spex_trial_master *master, struct spex_error *error) {
    const char *wanted = master->options->class;
    char *class = master->offer.fleet.class;
    if (!wanted)
        return 0;
    if (*class && strcmp(class, wanted) != 0)
        return spex_fail(error, -EEXIST,
                         "the store %s has trials of class %s: --class %s needs another one",
                         master->of.options->store, class, wanted);
    snprintf(class, SPEX_CLASS_BYTES, "%s", wanted);
    return 0;
}

static int master_open(void *user, const struct spex_exploration *of, struct spex_error *error) {
    struct spex_trial_master *master = user;
    char text[512];
    master->of = *of;
    master->offer.fleet = *of->fleet;
    if (spex_trial_key(of->file, of->options->argv, master->offer.key))
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = wanted_class(master, error);
    if (!err && !master->offer.fleet.class[0])
        err = choose_class(master, error);
    if (err)
        return err;
    *of->fleet = master->offer.fleet;
    if (spex_worker_list_count(&master->workers, of->fleet->class)) {
        spex_worker_list_class_text(&master->workers, of->fleet->class, text, sizeof(text));
        tell(master, "%s", text);
    }
    return 0;
}

static size_t master_places(void *user) {
    const struct spex_trial_master *master = user;
    size_t places = spex_worker_list_count(&master->workers, master->offer.fleet.class);
    places = places < SPEX_CPU_PARTS_MAX ? places : SPEX_CPU_PARTS_MAX;
    return places ? places : 1;
}

static int master_start(void *user, const struct spex_plan *plan, const struct spex_trial_id *id,
                        struct spex_error *error) {
    struct spex_trial_master *master = user;
    const struct spex_trial_task task = {master->offer.fleet, *id, *plan};
    int err = spex_handed_trials_add(&master->handed, &task, &master->of.file->space);
    return err ? spex_fail(error, err, "out of memory") : 0;
}

/* Whatever is there already stays. Another connection may be to a server that has lost all. */
static int make_queue(struct spex_trial_master *master, const char *stream, const char *of,
                      struct spex_error *error) {
    const char *fleet = master->options->fleet, *exploration = master->offer.fleet.exploration;
    char prefix[SPEX_LINK_NAME_BYTES], subjects[SPEX_LINK_NAME_BYTES];
    spex_trial_prefix(prefix, fleet, of);
    spex_trial_subjects(subjects, fleet, of, exploration);
    int err = spex_queue_stream(master->link, stream, prefix, error);
    return err ? err
               : spex_queue_make(master->link, stream, exploration, subjects, SPEX_TRIALS_PATIENCE,
                                 error);
}

static int make_queues(struct spex_trial_master *master, struct spex_error *error) {
    int err = make_queue(master, master->trials, SPEX_TRIALS, error);
    err = err ? err : make_queue(master, master->results, SPEX_RESULTS, error);
    return err ? err
               : spex_queue_open(master->link, master->results, master->offer.fleet.exploration,
                                 &master->queue, error);
}

/* 1: there are queues. 0: not now. */
static int keep_queues(struct spex_trial_master *master, struct spex_error *error) {
    uint64_t connects = spex_link_connects(master->link);
    double now = spex_clock_seconds(CLOCK_BOOTTIME);
    if (master->queue && connects == master->connects)
        return 1;
    if (now - master->tried < SPEX_SIGN_SECONDS)
        return 0;
    master->tried = now;
    spex_queue_close(master->queue);
    master->queue = NULL;
    master->drained = false;
    int err = make_queues(master, error);
    if (err == -EACCES || err == -ENOMEM)
        return err;
    if (err)
        tell_once(master, error);
    else
        master->connects = connects;
    master->refreshed = -INFINITY;
    return !err;
}

static int send_trials(struct spex_trial_master *master, struct spex_error *error) {
    double now = spex_clock_seconds(CLOCK_BOOTTIME);
    bool all = now - master->refreshed >= AGAIN_SECONDS;
    int err = spex_handed_trials_send(&master->handed, master->link, master->options->fleet,
                                      &master->offer.fleet, all, error);
    if (all && !err)
        master->refreshed = now;
    if (err == -EACCES || err == -E2BIG)
        return err;
    if (err)
        tell_once(master, error);
    return 0;
}

/* 1: it is awaited. 0: not; *end says what is to become of it. */
static int consider(struct spex_trial_master *master, struct spex_trial_result *result,
                    enum spex_queue_end *end, struct spex_error *error) {
    const struct spex_space *space = &master->of.file->space;
    const struct spex_link_message *message = &master->job.message;
    *end = SPEX_QUEUE_DONE;
    int err = spex_trial_result_read(message->data, message->size, space, &master->offer.fleet,
                                     result, error);
    if (err)
        return err;
    const struct spex_handed_trial *handed = spex_handed_trials_find(&master->handed, &result->id);
    enum spex_trial_state state = master->of.state(master->of.explorer, &result->id);
    if (handed && state == SPEX_TRIAL_AWAITED) {
        if (memcmp(handed->levels, result->trial.levels,
                   space->parameter_count * sizeof(*handed->levels)) == 0)
            return 1;
        err = spex_fail(error, -EINVAL, "another configuration was expected");
    } else if (state == SPEX_TRIAL_UNKNOWN) {
        err = spex_fail(error, -EINVAL, "no such trial was handed out");
    } else if (state == SPEX_TRIAL_WAITS) {
        *end = SPEX_QUEUE_LATER;
    }
    spex_trial_result_free(result);
    return err;
}

/* 1: a result, which stays in its queue until it is stored. */
static int take_result(struct spex_trial_master *master, struct spex_trial_result *result,
                       struct spex_error *error) {
    enum spex_queue_end end;
    struct spex_error reason;
    int got = spex_queue_take(master->queue, TICK_MS, &master->job);
    if (got == -ENOENT) {
        spex_queue_close(master->queue);
        master->queue = NULL;
    }
    if (got <= 0) {
        master->drained |= got == 0;
        return 0;
    }
    int good = consider(master, result, &end, &reason);
    master->holds = good == 1;
    master->taken = result->id;
    if (good == 1)
        return 1;
    if (good < 0 && good != -ENOMEM) {
        struct spex_error line = {""};
        spex_error_set(&line, "a result of %.60s is refused: %s", master->job.message.subject,
                       reason.text);
        tell_once(master, &line);
    }
    spex_queue_end(&master->job, good == -ENOMEM ? SPEX_QUEUE_LATER : end);
    return good == -ENOMEM ? spex_fail(error, good, "out of memory") : 0;
}

static int master_wait(void *user, struct spex_trial_result *result, struct spex_error *error) {
    struct spex_trial_master *master = user;
    int got = 0;
    while (got == 0) {
        got = step(master, error);
        got = got > 0 ? keep_queues(master, error) : got;
        if (got <= 0) {
            if (got == 0)
                is_stopped(master, TICK_MS);
            continue;
        }
        got = master->drained ? send_trials(master, error) : 0;
        got = got ? got : take_result(master, result, error);
    }
    return got < 0 ? got : 0;
}

/* Only now the result leaves its queue. A worker to whom the trial was given again runs it in
 * vain. */
static int master_stored(void *user, struct spex_error *error) {
    struct spex_trial_master *master = user;
    struct spex_handed_trial *handed = spex_handed_trials_find(&master->handed, &master->taken);
    (void)error;
    if (!master->holds || !handed)
        return 0;
    spex_queue_end(&master->job, SPEX_QUEUE_DONE);
    master->holds = false;
    spex_handed_trials_remove(&master->handed, handed);
    return 0;
}

/* Message by message: a purge of some of a stream can make its other queues lose messages. */
static void empty_queue(struct spex_queue *queue) {
    struct spex_queue_job job;
    while (spex_queue_take(queue, TICK_MS, &job) > 0)
        spex_queue_end(&job, SPEX_QUEUE_DONE);
    spex_queue_close(queue);
}

/* Removes the rest of an exploration that has ended. Errors are ignored. */
static int master_over(void *user, struct spex_error *error) {
    struct spex_trial_master *master = user;
    const char *exploration = master->offer.fleet.exploration;
    struct spex_queue *trials;
    struct spex_error ignored;
    (void)error;
    if (!master->queue)
        return 0;
    empty_queue(master->queue);
    master->queue = NULL;
    if (spex_queue_open(master->link, master->trials, exploration, &trials, &ignored) == 0)
        empty_queue(trials);
    spex_queue_delete(master->link, master->trials, exploration, &ignored);
    spex_queue_delete(master->link, master->results, exploration, &ignored);
    return 0;
}

struct spex_elsewhere spex_trial_master_elsewhere(struct spex_trial_master *master) {
    return (struct spex_elsewhere){
        .user = master,
        .open = master_open,
        .places = master_places,
        .start = master_start,
        .wait = master_wait,
        .stored = master_stored,
        .over = master_over,
    };
}
