/* SPDX-License-Identifier: MIT */
#include "fleet/trials/trial_worker.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "explore/trial/leftovers.h"
#include "fleet/link/queue.h"
#include "fleet/trials/trial_message.h"
#include "fleet/trials/trial_names.h"
#include "fleet/trials/work_place.h"
#include "text/waits.h"

/* A trial that was given to workers so often and never ended fails. */
enum { DELIVERIES_MOST = 5 };

/* Between two looks at everything; and how long a trial is waited for meanwhile. */
enum { TICK_MS = 100, TAKE_MS = 250 };

/* Offers that wait. */
enum { OFFERS_MOST = 1024 };

#define KEEP_SECONDS (SPEX_TRIALS_PATIENCE / 3.0)

struct worker {
    const struct spex_trial_worker_options *options;
    struct spex_link *link;
    struct spex_link_inbox *offers;
    struct spex_work_place place;
    struct spex_trial_worker sign;
    char class[SPEX_CLASS_BYTES];
    /* The exploration whose trials are taken, and when it was heard of last. */
    struct spex_trial_offer offer;
    double heard;
    /* Its trials; NULL: the queue is to be opened. */
    struct spex_queue *queue;
    uint64_t connects;
    /* The trial that runs, or whose result is to be sent. */
    struct spex_queue_job job;
    struct spex_trial_task task;
    bool runs;
    char *result;
    double signed_at, kept, tried;
    bool was_connected, was_ready;
    struct spex_error told;
};

static void tell_once(struct worker *worker, const struct spex_error *error) {
    if (strcmp(worker->told.text, error->text) != 0)
        worker->options->tell(error->text);
    worker->told = *error;
}

static void tell_trial(const struct worker *worker, const char *event, const char *status) {
    if (worker->options->trial)
        worker->options->trial(worker->options->user, event, &worker->place.file->space,
                               worker->task.plan.levels, status);
}

/* The program may be built anew at any time, which makes another class of the machine. */
static int look_at_machine(struct worker *worker, struct spex_error *error) {
    struct spex_circumstances now;
    if (spex_circumstances_now(worker->options->argv[0], &now))
        return spex_fail(error, -ENOMEM, "out of memory");
    if (worker->options->host) {
        free(now.texts[SPEX_ON_HOST]);
        now.texts[SPEX_ON_HOST] = strdup(worker->options->host);
    }
    spex_circumstances_free(&worker->sign.machine);
    worker->sign.machine = now;
    if (!now.texts[SPEX_ON_HOST])
        return spex_fail(error, -ENOMEM, "out of memory");
    spex_circumstances_class(&now, worker->class);
    return 0;
}

static int open_link(struct worker *worker, struct spex_error *error) {
    const struct spex_trial_worker_options *options = worker->options;
    char prefix[SPEX_LINK_NAME_BYTES];
    spex_trial_prefix(prefix, options->fleet, SPEX_OFFERS);
    int err = spex_link_open(&options->link, &worker->link, error);
    if (!err && (err = spex_link_listen(worker->link, prefix, OFFERS_MOST, &worker->offers)))
        spex_error_set(error, "cannot listen to explorations: %s", strerror(-err));
    return err;
}

static int worker_open(struct worker *worker, struct spex_error *error) {
    const struct spex_trial_worker_options *options = worker->options;
    uint32_t drawn = 0;
    int err = spex_work_place_open(options->space, options->argv, &worker->place, error);
    err = err ? err : look_at_machine(worker, error);
    if (!err && strcmp(worker->sign.machine.texts[SPEX_ON_BUILD], "unknown") == 0)
        err = spex_fail(error, -ENOENT, "program %s: a file that can be run was expected",
                        options->argv[0]);
    if (!err && spex_trial_key(worker->place.file, options->argv, worker->sign.key))
        err = spex_fail(error, -ENOMEM, "out of memory");
    if (!err && getrandom(&drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn))
        err = spex_fail(error, -errno, "no random number: %s", strerror(errno));
    worker->sign.id = drawn;
    return err ? err : open_link(worker, error);
}

static void forget_trial(struct worker *worker) {
    spex_trial_task_free(&worker->task);
    free(worker->result);
    worker->result = NULL;
    worker->runs = false;
}

/* Ends the worker. A trial that was running is given to another one at once. */
static void worker_close(struct worker *worker) {
    spex_runner_destroy(worker->place.runner);
    worker->place.runner = NULL;
    if (worker->job.handle)
        spex_queue_end(&worker->job, SPEX_QUEUE_AGAIN);
    forget_trial(worker);
    spex_queue_close(worker->queue);
    spex_link_inbox_free(worker->offers);
    spex_link_close(worker->link);
    spex_circumstances_free(&worker->sign.machine);
    spex_work_place_close(&worker->place);
}

/* Says once that explorations can find it from now on. */
static void tell_ready(struct worker *worker) {
    struct spex_error line = {""};
    spex_error_set(&line, "host %s waits for trials of fleet %s",
                   worker->sign.machine.texts[SPEX_ON_HOST], worker->options->fleet);
    if (!worker->was_ready)
        worker->options->tell(line.text);
    worker->was_ready = true;
}

static void send_sign(struct worker *worker) {
    char prefix[SPEX_LINK_NAME_BYTES], subject[SPEX_LINK_NAME_BYTES + SPEX_CLASS_BYTES];
    spex_trial_prefix(prefix, worker->options->fleet, SPEX_WORKERS);
    snprintf(subject, sizeof(subject), "%s.%08" PRIx64, prefix, worker->sign.id);
    char *text = spex_trial_worker_write(&worker->sign);
    if (text)
        spex_link_send(worker->link, subject, text, strlen(text));
    free(text);
}

static void follow(struct worker *worker, const struct spex_trial_offer *offer, double now) {
    if (strcmp(offer->fleet.exploration, worker->offer.fleet.exploration) != 0) {
        spex_queue_close(worker->queue);
        worker->queue = NULL;
        worker->tried = -INFINITY;
    }
    worker->offer = *offer;
    worker->heard = now;
}

/* The exploration that is followed is, as long as it is heard of; then another one. */
static void take_offers(struct worker *worker, double now) {
    struct spex_link_message message;
    for (int most = OFFERS_MOST; most-- && spex_link_take(worker->offers, 0, &message);) {
        struct spex_trial_offer offer;
        struct spex_error reason;
        bool free = now - worker->heard > SPEX_GONE_SECONDS;
        if (spex_trial_offer_read(message.data, message.size, &offer, &reason))
            tell_once(worker, &reason);
        else if (strcmp(offer.key, worker->sign.key) == 0 &&
                 strcmp(offer.fleet.class, worker->class) == 0 &&
                 (free || strcmp(offer.fleet.exploration, worker->offer.fleet.exploration) == 0))
            follow(worker, &offer, now);
        spex_link_message_free(&message);
    }
}

static bool is_stopped(const struct worker *worker, int timeout_ms) {
    struct pollfd fds[2] = {
        {.fd = worker->options->stop_fd, .events = POLLIN},
        {.fd = worker->runs ? spex_runner_finished_fd(worker->place.runner) : -1,
         .events = POLLIN}};
    spex_wait_ready(fds, 2, timeout_ms);
    return fds[0].revents != 0;
}

/* A status of its own, without a run. */
static int refuse_trial(struct worker *worker, struct spex_trial *trial, struct spex_error *error) {
    if (spex_trial_init(trial, &worker->place.file->space, worker->task.plan.levels))
        return spex_fail(error, -ENOMEM, "out of memory");
    spex_trial_end(trial, "was given to %d workers, of which none has ended it", DELIVERIES_MOST);
    return 0;
}

/* Takes over what the trial owns. What a machine of another class has measured is of no use: it is
 * given to another worker. */
static int keep_result(struct worker *worker, struct spex_trial *trial, struct spex_error *error) {
    struct spex_trial_result result = {.id = worker->task.id};
    int err = look_at_machine(worker, error);
    worker->runs = false;
    if (!err && strcmp(worker->class, worker->task.fleet.class) != 0) {
        tell_trial(worker, "changed", "the machine is of another class now");
        spex_trial_free(trial);
        spex_queue_end(&worker->job, SPEX_QUEUE_AGAIN);
        forget_trial(worker);
        return 0;
    }
    tell_trial(worker, "ended", trial->status ? trial->status : "out of memory");
    result.trial = *trial;
    result.machine = worker->sign.machine;
    worker->result =
        err ? NULL
            : spex_trial_result_write(&result, &worker->task.fleet, &worker->place.file->space);
    spex_trial_free(trial);
    if (!err && !worker->result)
        err = spex_fail(error, -ENOMEM, "out of memory");
    return err;
}

static int start_trial(struct worker *worker, struct spex_error *error) {
    struct spex_trial trial;
    if (worker->job.deliveries > DELIVERIES_MOST) {
        int err = refuse_trial(worker, &trial, error);
        return err ? err : keep_result(worker, &trial, error);
    }
    int err = spex_runner_start(worker->place.runner, &worker->task.plan, worker->task.id.asked, 0,
                                error);
    worker->runs = !err;
    worker->kept = spex_clock_seconds(CLOCK_BOOTTIME);
    if (!err)
        tell_trial(worker, "began", NULL);
    return err;
}

/* A trial of another class, or malformed, is none of ours: its explorer gives it out again. */
static int take_task(struct worker *worker, struct spex_error *error) {
    const struct spex_link_message *message = &worker->job.message;
    struct spex_error reason;
    int err = spex_trial_task_read(message->data, message->size, &worker->place.file->space,
                                   &worker->task, &reason);
    if (!err && (strcmp(worker->task.fleet.class, worker->class) != 0 ||
                 strcmp(worker->task.fleet.exploration, worker->offer.fleet.exploration) != 0)) {
        err = spex_fail(&reason, -EINVAL, "it is of another exploration or class");
        spex_trial_task_free(&worker->task);
    }
    if (!err)
        return start_trial(worker, error);
    struct spex_error line = {""};
    spex_error_set(&line, "trial %.60s is refused: %s", message->subject, reason.text);
    tell_once(worker, &line);
    spex_queue_end(&worker->job, SPEX_QUEUE_DONE);
    return err == -ENOMEM ? spex_fail(error, err, "out of memory") : 0;
}

/* Makes what is not there until the explorer has made it, is tried again. */
static int keep_queue(struct worker *worker, double now, struct spex_error *error) {
    uint64_t connects = spex_link_connects(worker->link);
    char stream[SPEX_LINK_NAME_BYTES];
    if ((worker->queue && connects == worker->connects) || now - worker->tried < SPEX_SIGN_SECONDS)
        return 0;
    worker->tried = now;
    spex_queue_close(worker->queue);
    spex_trial_stream(stream, worker->options->fleet, SPEX_TRIALS);
    int err = spex_queue_open(worker->link, stream, worker->offer.fleet.exploration, &worker->queue,
                              error);
    if (!err)
        worker->connects = connects;
    else if (err != -ENOENT && err != -EACCES)
        tell_once(worker, error);
    return err == -EACCES ? err : 0;
}

/* Takes a trial, if there is an exploration. */
static int look_for_work(struct worker *worker, double now, struct spex_error *error) {
    bool any = now - worker->heard <= SPEX_GONE_SECONDS &&
               strcmp(worker->offer.fleet.class, worker->class) == 0;
    int err = any ? keep_queue(worker, now, error) : 0;
    if (err || !any || !worker->queue) {
        is_stopped(worker, TICK_MS);
        return err;
    }
    int got = spex_queue_take(worker->queue, TAKE_MS, &worker->job);
    if (got < 0) {
        spex_queue_close(worker->queue);
        worker->queue = NULL;
    }
    return got > 0 ? take_task(worker, error) : 0;
}

/* The trial leaves its queue when its result is in the other one, which keeps it. */
static int send_result(struct worker *worker, double now, struct spex_error *error) {
    char subject[SPEX_LINK_NAME_BYTES];
    if (now - worker->tried < SPEX_SIGN_SECONDS) {
        is_stopped(worker, TICK_MS);
        return 0;
    }
    spex_trial_subject(subject, worker->options->fleet, SPEX_RESULTS, &worker->task.fleet,
                       &worker->task.id);
    int err = spex_queue_put(worker->link, subject, worker->result, false, error);
    if (!err) {
        spex_queue_end(&worker->job, SPEX_QUEUE_DONE);
        tell_trial(worker, "sent", NULL);
        forget_trial(worker);
        return 0;
    }
    worker->tried = now;
    tell_once(worker, error);
    return err == -EACCES ? err : 0;
}

/* The trial runs on whatever becomes of the network. */
static int watch_trial(struct worker *worker, bool connected, double now,
                       struct spex_error *error) {
    struct pollfd fd = {.fd = spex_runner_finished_fd(worker->place.runner), .events = POLLIN};
    struct spex_trial trial;
    if (connected && now - worker->kept >= KEEP_SECONDS) {
        worker->kept = now;
        spex_queue_keep(&worker->job);
    }
    is_stopped(worker, TICK_MS);
    if (spex_wait_ready(&fd, 1, 0) <= 0)
        return 0;
    int err = spex_runner_wait(worker->place.runner, &trial, error);
    worker->tried = -INFINITY;
    return err ? err : keep_result(worker, &trial, error);
}

static int step(struct worker *worker, struct spex_error *error) {
    double now = spex_clock_seconds(CLOCK_BOOTTIME);
    int state = spex_link_state(worker->link, error);
    if (state < 0)
        return state;
    if (state != worker->was_connected)
        worker->options->tell(state ? "NATS is there again" : "NATS is not there");
    worker->was_connected = state;
    if (now - worker->signed_at >= SPEX_SIGN_SECONDS) {
        int err = worker->runs ? 0 : look_at_machine(worker, error);
        if (err)
            return err;
        worker->signed_at = now;
        send_sign(worker);
        if (state)
            tell_ready(worker);
    }
    take_offers(worker, now);
    if (worker->runs)
        return watch_trial(worker, state, now, error);
    if (!state) {
        is_stopped(worker, TICK_MS);
        return 0;
    }
    return worker->result ? send_result(worker, now, error) : look_for_work(worker, now, error);
}

/* Orphans of the program become children of this process meanwhile, so that they can be ended. */
int spex_trial_worker_run(const struct spex_trial_worker_options *options,
                          struct spex_error *error) {
    struct worker worker = {.options = options, .place = {.lock = -1}, .was_connected = true};
    int adopted_before = spex_leftovers_adopt();
    worker.heard = worker.signed_at = worker.tried = -INFINITY;
    int err = worker_open(&worker, error);
    while (!err && !is_stopped(&worker, 0))
        err = step(&worker, error);
    worker_close(&worker);
    spex_leftovers_let_go(adopted_before);
    return err;
}
