/* SPDX-License-Identifier: MIT */
/* Requests while spex is started: selections by the program, by commands and by the library itself;
 * streams; models.
 *
 * The functions named …_locked need the lock of start and stop. The program's threads wait for it.
 * The control thread only tries it, in the request_… functions: the holder of the lock may be a
 * stop that waits for the control thread's end. The control thread repeats a request that got
 * -EBUSY. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/grown.h"
#include "base/memory/memory.h"
#include "collect/collector.h"
#include "collect/stream.h"
#include "kernels/kernel_sampler.h"
#include "rate/controller.h"
#include "ring/doorbell.h"
#include "site/registry.h"
#include "site/selection.h"
#include "site/selection_check.h"
#include "start/dormant.h"
#include "start/life.h"
#include "start/life_state.h"
#include "text/message.h"

/* What a command that this process calls gets, unless it asks for another interval. */
enum { REPORT_INTERVAL_MS = 1000 };

/* Adds a message to a command's answer, or writes it to standard error where `answer` is NULL. */
__attribute__((format(printf, 3, 4))) static void answer_write(char *answer, size_t size,
                                                               const char *format, ...) {
    char line[SPEX_SELECTION_CHECK_BYTES + 64];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    size_t before = answer ? strlen(answer) : 0;
    if (answer)
        snprintf(answer + before, size - before, "%s%s", before ? "; " : "", line);
    else
        spex_message("%s", line);
}

/* Warns of what has no effect, at present or at all. True: all of the selection's items match no
 * probe that is there. */
static bool warn_locked(const struct spex_selection *selection, char *answer, size_t size) {
    static int (*const checks[])(const struct spex_selection *, char *, size_t) = {
        spex_selection_unpolled, spex_selection_refused, spex_selection_unmatched};
    char warning[SPEX_SELECTION_CHECK_BYTES];
    size_t without_probe = 0;
    for (size_t c = 0; c < sizeof(checks) / sizeof(*checks); c++) {
        int found = checks[c](selection, warning, sizeof(warning));
        if (found <= 0)
            continue;
        answer_write(answer, size, "%s", warning);
        without_probe += checks[c] == spex_selection_unpolled ? 0 : (size_t)found;
    }
    return without_probe && without_probe == selection->count;
}

/* Parses the selection before it opens or starts anything, so that a wrong selection changes
 * nothing. A request of a command (`answer` is set) opens no table. Warnings do not fail the
 * selection: probes that cannot be polled or have no room, and items that match no probe, which a
 * library may bring later. Returns the number of sites that are on. */
static int select_locked(const struct spex_control_selection *wanted, char *answer, size_t size) {
    const char *probes = wanted->probes;
    struct spex_lease lease = wanted->lease;
    struct spex_selection selection;
    struct spex_error error;
    int err = spex_selection_parse(probes ? probes : "", &selection, &error);
    if (err) {
        answer_write(answer, size, "probe selection: %s", error.text);
        return err;
    }
    bool any = spex_selection_any_on(&selection);
    if (any)
        err = spex_collectors_running() ? spex_collection_output_open(!answer)
                                        : spex_collection_start(!answer);
    /* A message on standard error has said why. */
    if (err) {
        if (answer)
            answer_write(answer, size, "records cannot be collected: %s", strerror(-err));
        spex_selection_free(&selection);
        return err;
    }
    bool unmatched = warn_locked(&selection, answer, size);
    if (wanted->unmatched)
        *wanted->unmatched = unmatched;
    int on = lease.ms ? spex_sites_lease(selection, &lease) : spex_sites_select(selection);
    if (on < 0)
        answer_write(answer, size, "probe selection: stays as it was: %s", strerror(-on));
    /* Probes that go off need no collector. Those that a budget holds off do. */
    if (any || lease.ms)
        spex_doorbell_ring();
    return on;
}

/* What the calibration of types and the start of collectors take is part of the budget. */
int spex_life_select_locked(const struct spex_control_selection *selection, char *answer,
                            size_t size) {
    uint64_t begin = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    int on = select_locked(selection, answer, size);
    spex_controller_charge(spex_grown(begin, spex_clock_ns(CLOCK_THREAD_CPUTIME_ID)));
    return on;
}

/* The reader of SPEX_OUT's stream has asked for exactly the selected probes. */
static int hold_locked(const struct spex_lease *lease, double share, char *answer, size_t size) {
    int err = spex_life_out_after(SPEX_OUT_STREAM) ? -EPERM : spex_controller_hold(lease, share);
    if (err)
        answer_write(answer, size, "the budget cannot be kept: %s",
                     err == -EPERM ? "a command that measures this program takes all records"
                                   : "too many commands hold budgets of this program");
    return err;
}

/* A budget holds before its probes go on. */
static int budget_locked(const struct spex_control_selection *selection, char *answer,
                         size_t size) {
    return selection->budget > 0 ? hold_locked(&selection->lease, selection->budget, answer, size)
                                 : 0;
}

/* The holder of the budget that stays when its command has gone. Clients that lease take numbers at
 * random. */
#define BUDGET_HOLDER UINT32_MAX

static int request_budget(double share, char *answer, size_t size) {
    const struct spex_lease lease = {.holder = BUDGET_HOLDER};
    if (!spex_lock_try(&spex_life.lock))
        return -EBUSY;
    int err = spex_life.started ? 0 : -EPERM;
    if (!err && share > 0)
        err = hold_locked(&lease, share, answer, size);
    else if (!err)
        spex_controller_renew(&lease);
    spex_lock_give(&spex_life.lock);
    return err;
}

/* What the holder has asked for goes together: without the selection there is no budget. */
static int held_locked(const struct spex_control_selection *selection, char *answer, size_t size) {
    int on = budget_locked(selection, answer, size);
    if (on)
        return on;
    on = spex_life_select_locked(selection, answer, size);
    if (on < 0 && selection->budget > 0)
        spex_controller_renew(&(struct spex_lease){.holder = selection->lease.holder});
    spex_life.settings.follow |= selection->follow && on >= 0;
    return on;
}

/* The requests of the control thread: -EBUSY at once where the lock is taken. */
static int request_select(const struct spex_control_selection *selection, char *answer,
                          size_t size) {
    if (!spex_lock_try(&spex_life.lock))
        return -EBUSY;
    int on = spex_life.started ? held_locked(selection, answer, size) : -EPERM;
    spex_lock_give(&spex_life.lock);
    return on;
}

/* A stream that is attached owns the socket; after an error the connection keeps it. */
static int stream_locked(const struct spex_stream_asked *asked, char *answer, size_t size) {
    int err = spex_life.started ? spex_stream_attach(asked, spex_life.settings.collectors) : -EPERM;
    if (err == -EUSERS)
        answer_write(answer, size, "this program streams to %d others already: no more may be",
                     SPEX_STREAMS_MAX);
    else if (err)
        answer_write(answer, size, "records cannot be streamed: %s",
                     err == -EPERM ? "spex has not been started" : strerror(-err));
    return err;
}

static int request_stream(const struct spex_stream_asked *asked, char *answer, size_t size) {
    if (!spex_lock_try(&spex_life.lock))
        return -EBUSY;
    int err = stream_locked(asked, answer, size);
    spex_lock_give(&spex_life.lock);
    return err;
}

/* Replaces the models, or returns to those of the settings where `path` is NULL. The request is
 * remembered also while no collector runs, for the collection that starts next; then the file is
 * only checked, so that its errors are reported to who asked. After an error the former models stay
 * in use. */
static int models_locked(const char *path, double samples, double share, char *answer,
                         size_t size) {
    char *copy = path ? spex_strdup(path) : NULL;
    struct spex_error why = {""};
    int err = spex_life.started ? 0 : -EPERM;
    if (err || (path && !copy)) {
        answer_write(answer, size, "models cannot be gone by: %s", strerror(err ? EPERM : ENOMEM));
        spex_free(copy);
        return err ? err : -ENOMEM;
    }
    struct spex_models_asked before = spex_life.models_asked;
    spex_life.models_asked = (struct spex_models_asked){copy, samples, share};
    if (spex_collectors_running())
        err = spex_collection_models_begin(&why);
    else if (copy)
        err = spex_kernel_sampler_check(copy, &why);
    spex_free(err ? copy : before.path);
    /* The former models stay in use. */
    if (err) {
        answer_write(answer, size, "%s", why.text);
        spex_life.models_asked = before;
    }
    return err;
}

static int request_models(const char *path, double samples, double share, char *answer,
                          size_t size) {
    if (!spex_lock_try(&spex_life.lock))
        return -EBUSY;
    int err = models_locked(path, samples, share, answer, size);
    spex_lock_give(&spex_life.lock);
    return err;
}

const struct spex_control_requests spex_life_requests = {
    .select = request_select,
    .budget = request_budget,
    .stream = request_stream,
    .models = request_models,
};

/* Opens the control socket. A program runs without one, too: an error is reported only where the
 * user has set SPEX_CONTROL or selected probes. Children that follow their parent are silent: in a
 * program that has changed its root there would be a line for each of them. */
static void door_open(void) {
    struct spex_error error;
    if (spex_life.settings.closed)
        return;
    int err;
    if (!spex_dormant_begin(&spex_life_requests, &err, &error))
        err = spex_control_start(&spex_life_requests, spex_life.settings.control,
                                 spex_life.settings.polls, &error);
    if (err && !spex_life.followed && (spex_life.settings.control || spex_life.settings.probes))
        spex_message("no control socket: %s", error.text);
}

/* Without the control socket the program runs all the same. A command that cannot be called is an
 * error: it has started the program to get the figures. */
void spex_life_control_start(void) {
    const char *command = spex_life_out_command();
    struct spex_error error;
    int err = command ? spex_control_call(&spex_life_requests, command,
                                          &spex_life.settings.handover, REPORT_INTERVAL_MS, &error)
                      : 0;
    if (err) {
        spex_message("SPEX_OUT: %s; the probes stay off", error.text);
        spex_life_out_give_up();
    }
    door_open();
}

static void select_standing(const char *text, int err) {
    char answer[SPEX_CONTROL_ANSWER_BYTES] = "";
    if (err)
        snprintf(answer, sizeof(answer), "%s", strerror(-err));
    else
        err = spex_life_select_locked(&(struct spex_control_selection){.probes = text}, answer,
                                      sizeof(answer));
    if (err < 0)
        spex_message("the selection of `spex set --follow`: %s", answer);
    else
        spex_life.settings.follow = true;
}

void spex_life_select_standing(void) {
    char *text = NULL;
    int err = spex_control_standing(&text);
    if (err != -ENOENT)
        select_standing(text, err);
    spex_free(text);
}

/* As spex_life_select_locked, for the selection that the process itself makes: an empty one never
 * starts a collection, and there is no table. */
static int need_locked(const char *probes, struct spex_error *error) {
    struct spex_selection selection;
    int err = spex_selection_parse(probes, &selection, error);
    if (err)
        return err;
    if (spex_selection_any_on(&selection) && !spex_collectors_running())
        err = spex_collection_start(false);
    if (err) {
        spex_selection_free(&selection);
        return spex_fail(error, err, "records cannot be collected: %s", strerror(-err));
    }
    spex_sites_need(selection);
    spex_doorbell_ring();
    return 0;
}

/* Called by the tuning thread, which holds no lock of its own here: a stop may hold the lock of
 * start and stop for as long as its sinks take to finish. */
int spex_life_need(const char *probes, struct spex_error *error) {
    struct spex_uninterrupted before;
    int err = spex_life_take(&before);
    if (err)
        return spex_fail(error, err, "spex is being called from within");
    err = spex_life.started ? need_locked(probes, error)
                            : spex_fail(error, -EPERM, "spex has not been started");
    spex_life_give(&before);
    return err;
}
