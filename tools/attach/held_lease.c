/* SPDX-License-Identifier: MIT */
/* The connection stays open between renewals, if the process leaves it open. What was held is
 * renewed over the next one; only when the lease is over it is asked for anew. */
#define _GNU_SOURCE
#include "tools/attach/held_lease.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "observe/control_client.h"

/* Renewals in the time of a lease. */
enum { RENEWALS = 3 };

/* An answer is one frame with a text. */
enum { ANSWER_BYTES = sizeof(struct spex_control_frame) + SPEX_CONTROL_ANSWER_BYTES };

static uint64_t now_ns(void) {
    return spex_clock_ns(CLOCK_BOOTTIME);
}

static uint64_t third_ns(const struct spex_held_lease *lease) {
    return lease->ms * UINT64_C(1000000) / RENEWALS;
}

/* Any number but 0. That of another holder would end what that one holds. */
static uint32_t new_holder(void) {
    uint32_t holder = 0;
    if (getrandom(&holder, sizeof(holder), 0) != (ssize_t)sizeof(holder))
        holder = (uint32_t)getpid() ^ (uint32_t)now_ns();
    return holder ? holder : 1;
}

void spex_held_lease_open(struct spex_held_lease *lease, pid_t process, uint32_t ms) {
    *lease = (struct spex_held_lease){
        .process = process, .ms = ms, .holder = new_holder(), .socket = -1};
}

/* What is asked for by the lease's kind of request; NULL: nothing is, or no memory. */
static char *text_of(const struct spex_held_lease *lease) {
    char *text;
    if (!lease->probes)
        return NULL;
    if (lease->budget <= 0)
        return strdup(lease->probes);
    return asprintf(&text, "%.12f %s", lease->budget, lease->probes) < 0 ? NULL : text;
}

int spex_held_lease_set(struct spex_held_lease *lease, const char *probes) {
    char *copy = probes ? strdup(probes) : NULL;
    if (probes && !copy)
        return -ENOMEM;
    free(lease->probes);
    lease->probes = copy;
    /* An answer that is on its way is to what was to be held before. */
    if (lease->asked)
        spex_client_close(lease->socket);
    lease->socket = lease->asked ? -1 : lease->socket;
    lease->asked = false;
    lease->due_ns = 0;
    if (lease->state == SPEX_HELD_REFUSED || lease->state == SPEX_HELD_ENDED || probes)
        lease->state = SPEX_HELD_NOTHING;
    return 0;
}

static void note_held(struct spex_held_lease *lease, uint64_t asked_ns) {
    lease->state = SPEX_HELD;
    lease->held_ns = asked_ns + lease->ms * UINT64_C(1000000);
    lease->due_ns = asked_ns + third_ns(lease);
}

int spex_held_lease_take(struct spex_held_lease *lease, const char *probes,
                         struct spex_error *error) {
    uint64_t asked_ns = now_ns();
    char *text = spex_held_lease_set(lease, probes) == 0 ? text_of(lease) : NULL;
    if (!text)
        return spex_fail(error, -ENOMEM, "out of memory");
    const struct spex_client_selection selection = {.probes = text,
                                                    .lease_ms = lease->ms,
                                                    .holder = lease->holder,
                                                    .budgeted = lease->budget > 0};
    int err = spex_client_select(lease->process, &selection, &lease->reader,
                                 spex_deadline_in(SPEX_CLIENT_ANSWER_MS / 1e3), error);
    free(text);
    if (!err)
        note_held(lease, asked_ns);
    return err;
}

static void lose(struct spex_held_lease *lease) {
    if (lease->socket >= 0)
        spex_client_close(lease->socket);
    lease->socket = -1;
    lease->asked = false;
    if (lease->state == SPEX_HELD && now_ns() >= lease->held_ns)
        lease->state = SPEX_HELD_NOTHING;
    uint64_t soon_ns = now_ns() + third_ns(lease) / 10;
    lease->due_ns = lease->due_ns > soon_ns ? lease->due_ns : soon_ns;
}

/* Whoever was stopped for longer than its lease has lost it by that, and not by another client. */
static void note_ended(struct spex_held_lease *lease) {
    lease->state = now_ns() < lease->held_ns ? SPEX_HELD_ENDED : SPEX_HELD_NOTHING;
    lease->due_ns = 0;
}

static void note_answer(struct spex_held_lease *lease) {
    int status = lease->reader.status;
    lease->asked = false;
    if (!lease->probes) {
        lease->state = SPEX_HELD_NOTHING;
        return;
    }
    if (status >= 0) {
        note_held(lease, lease->asked_ns);
    } else if (status == -ENOENT && lease->renews) {
        note_ended(lease);
    } else if (status == -EINVAL || status == -E2BIG || status == -ENOSYS ||
               status == -EPROTONOSUPPORT) {
        lease->state = SPEX_HELD_REFUSED;
        spex_error_set(&lease->error, "%s", lease->reader.text);
    } else {
        /* There may be room, memory or a start of spex later. */
        lose(lease);
    }
}

static void take_answer(struct spex_held_lease *lease) {
    char frame[ANSWER_BYTES];
    ssize_t bytes = recv(lease->socket, frame, sizeof(frame), MSG_DONTWAIT | MSG_TRUNC);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
        /* A process that is stopped answers when it goes on, and its lease is over then. */
        if (lease->asked && now_ns() > lease->asked_ns + RENEWALS * third_ns(lease))
            lose(lease);
        return;
    }
    struct spex_error error;
    bool good = bytes > 0 && bytes <= (ssize_t)sizeof(frame) && lease->asked;
    int taken =
        good ? spex_profile_reader_take(&lease->reader, frame, (size_t)bytes, &error) : -EPROTO;
    if (taken == 1)
        note_answer(lease);
    else
        lose(lease);
}

static bool wants(const struct spex_held_lease *lease) {
    if (!lease->probes)
        return lease->state == SPEX_HELD;
    return lease->state == SPEX_HELD || lease->state == SPEX_HELD_NOTHING;
}

static enum spex_control_kind kind_of(const struct spex_held_lease *lease) {
    if (lease->renews)
        return SPEX_CONTROL_RENEW;
    return lease->budget > 0 ? SPEX_CONTROL_LEASE_BUDGET : SPEX_CONTROL_LEASE;
}

/* Where there is no memory for the text it asks later. */
static void ask(struct spex_held_lease *lease) {
    struct spex_error error;
    lease->renews = lease->state == SPEX_HELD;
    char *text = lease->renews ? NULL : text_of(lease);
    if (lease->socket < 0)
        lease->socket = spex_client_connect(lease->process, 0, &error);
    spex_profile_reader_restart(&lease->reader);
    lease->asked_ns = now_ns();
    lease->asked = lease->socket >= 0 && (text || lease->renews) &&
                   spex_client_send_as(lease->socket, lease->holder, kind_of(lease),
                                       lease->probes ? lease->ms : 0, text, &error) == 0;
    free(text);
    if (!lease->asked)
        lose(lease);
}

uint64_t spex_held_lease_step(struct spex_held_lease *lease) {
    if (lease->socket >= 0)
        take_answer(lease);
    if (!lease->asked && wants(lease) && now_ns() >= lease->due_ns)
        ask(lease);
    if (lease->asked)
        return lease->asked_ns + RENEWALS * third_ns(lease);
    return wants(lease) ? lease->due_ns : UINT64_MAX;
}

int spex_held_lease_close(struct spex_held_lease *lease, struct spex_deadline until,
                          struct spex_error *error) {
    /* Also where the answer to a request has not come: it may have been carried out. */
    bool held = lease->state == SPEX_HELD || lease->asked || now_ns() < lease->held_ns;
    if (lease->socket >= 0)
        spex_client_close(lease->socket);
    int err = held ? spex_client_renew(lease->process, lease->holder, 0, until, error) : 0;
    free(lease->probes);
    spex_profile_reader_free(&lease->reader);
    *lease = (struct spex_held_lease){.socket = -1};
    return err == -ENOENT ? 0 : err;
}
