/* SPDX-License-Identifier: MIT */
/* A network that the test makes, in virtual time: what comes and what fails at which second, and a
 * line for each call. It stands in the place of src/fleet/link; a program that includes this is
 * linked with --wrap=spex_wait_ready and --wrap=spex_clock_seconds. */
#ifndef SPEX_TEST_FLEET_MADE_LINK_H
#define SPEX_TEST_FLEET_MADE_LINK_H

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../check.h"
#include "fleet/link/queue.h"

/* What happens from a second on, once: "message" and "job" come; "down" and "up" of the connection;
 * "finished" and "stop" are readable; and by the name of a call, it fails with `number`. */
struct event {
    double at;
    const char *what;
    int number;
    const char *text;
};

enum { EVENTS_MAX = 64, STOP_FD = 1000, FINISHED_FD = 1001 };

struct spex_link {
    bool connected;
    uint64_t connects;
};

struct spex_link_inbox {
    int most;
};

struct spex_queue {
    char name[2 * SPEX_LINK_NAME_BYTES];
};

static struct {
    const struct event *events;
    bool used[EVENTS_MAX];
    int64_t now_ms;
    struct spex_link link;
    /* The text of a message or job; to be freed. */
    char *(*text_of)(const struct event *event);
    char *sent;
    unsigned calls, sent_count, open_count;
    char told[32768];
    size_t length;
} made;

static double made_now(void) {
    return (double)made.now_ms / 1000;
}

__attribute__((format(printf, 1, 2))) static void told(const char *format, ...) {
    va_list arguments;
    size_t room = sizeof(made.told);
    va_start(arguments, format);
    made.length += (size_t)snprintf(made.told + made.length, room - made.length, "%g ", made_now());
    made.length +=
        (size_t)vsnprintf(made.told + made.length, room - made.length, format, arguments);
    made.length += (size_t)snprintf(made.told + made.length, room - made.length, "\n");
    va_end(arguments);
    assert_true(made.length < room);
}

static void made_begin(const struct event *events, char *(*text_of)(const struct event *event)) {
    memset(&made, 0, sizeof(made));
    made.events = events;
    made.text_of = text_of;
    made.link = (struct spex_link){true, 1};
}

/* The event, if it is time for one; it is used up unless it is only looked at. */
static const struct event *event_of(const char *what, bool look) {
    if (++made.calls > 100000)
        fail_msg("it goes on without end: %s", made.told);
    for (size_t e = 0; made.events[e].what; e++)
        if (!made.used[e] && made.events[e].at <= made_now() &&
            strcmp(made.events[e].what, what) == 0) {
            made.used[e] = !look;
            return &made.events[e];
        }
    return NULL;
}

/* The error of a call. */
static int failure_of(const char *call, struct spex_error *error) {
    const struct event *event = event_of(call, false);
    if (event && error)
        spex_error_set(error, "%s fails", call);
    return event ? event->number : 0;
}

static bool is_readable(int fd) {
    return (fd == STOP_FD && event_of("stop", true)) ||
           (fd == FINISHED_FD && event_of("finished", true));
}

/* Time goes on by waiting alone. */
int __wrap_spex_wait_ready(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_spex_wait_ready(struct pollfd *fds, nfds_t count, int timeout_ms) {
    int ready = 0;
    for (; !ready; made.now_ms++, timeout_ms--) {
        for (nfds_t f = 0; f < count; f++) {
            fds[f].revents = is_readable(fds[f].fd) ? POLLIN : 0;
            ready += fds[f].revents != 0;
        }
        if (ready || timeout_ms <= 0)
            break;
    }
    return ready;
}

double __wrap_spex_clock_seconds(clockid_t clock);
double __wrap_spex_clock_seconds(clockid_t clock) {
    assert_int_equal(clock, CLOCK_BOOTTIME);
    return made_now();
}

int spex_link_open(const struct spex_link_options *options, struct spex_link **link,
                   struct spex_error *error) {
    int err = failure_of("open", error);
    told("open %s: %d", options->url, err);
    *link = err ? NULL : &made.link;
    made.open_count += !err;
    return err;
}

void spex_link_close(struct spex_link *link) {
    made.open_count -= link != NULL;
}

int spex_link_state(struct spex_link *link, struct spex_error *error) {
    if (event_of("down", false))
        link->connected = false;
    if (event_of("up", false)) {
        link->connected = true;
        link->connects++;
    }
    int err = failure_of("state", error);
    return err ? err : link->connected;
}

uint64_t spex_link_connects(const struct spex_link *link) {
    return link->connects;
}

/* A text that is told already is not told again. */
static const char *told_once(const char *text) {
    return strstr(made.told, text) ? "as before" : text;
}

/* A line for each message that is not the one before. */
int spex_link_send(struct spex_link *link, const char *subject, const void *data, size_t size) {
    (void)link;
    assert_int_equal(strlen(data), size);
    if (!made.sent || strcmp(made.sent, data) != 0)
        told("send %s %s", subject, told_once(data));
    free(made.sent);
    made.sent = strdup(data);
    made.sent_count++;
    return 0;
}

int spex_link_listen(struct spex_link *link, const char *prefix, int most,
                     struct spex_link_inbox **inbox) {
    int err = failure_of("listen", NULL);
    (void)link;
    told("listen %s %d: %d", prefix, most, err);
    *inbox = err ? NULL : calloc(1, sizeof(**inbox));
    return err;
}

void spex_link_inbox_free(struct spex_link_inbox *inbox) {
    free(inbox);
}

int spex_link_take(struct spex_link_inbox *inbox, int timeout_ms,
                   struct spex_link_message *message) {
    const struct event *event = event_of("message", false);
    assert_true(inbox && timeout_ms == 0);
    if (!event)
        return 0;
    *message = (struct spex_link_message){.data = made.text_of(event)};
    message->size = strlen(message->data);
    return 1;
}

void spex_link_message_free(struct spex_link_message *message) {
    free(message->data);
    message->data = NULL;
}

int spex_queue_stream(struct spex_link *link, const char *stream, const char *prefix,
                      struct spex_error *error) {
    int err = failure_of("stream", error);
    (void)link;
    told("stream %s %s: %d", stream, prefix, err);
    return err;
}

int spex_queue_make(struct spex_link *link, const char *stream, const char *name,
                    const char *filter, int patience, struct spex_error *error) {
    (void)link;
    (void)error;
    told("make %s/%s of %s, %d s", stream, name, filter, patience);
    return 0;
}

int spex_queue_delete(struct spex_link *link, const char *stream, const char *name,
                      struct spex_error *error) {
    (void)link;
    (void)error;
    told("delete %s/%s", stream, name);
    return 0;
}

int spex_queue_put(struct spex_link *link, const char *subject, const char *data, bool once,
                   struct spex_error *error) {
    int err = failure_of("put", error);
    (void)link;
    told("put%s %s %s: %d", once ? " once" : "", subject, told_once(data), err);
    return err;
}

int spex_queue_open(struct spex_link *link, const char *stream, const char *name,
                    struct spex_queue **queue, struct spex_error *error) {
    int err = failure_of("queue", error);
    (void)link;
    told("queue %s/%s: %d", stream, name, err);
    *queue = err ? NULL : calloc(1, sizeof(**queue));
    if (*queue)
        snprintf((*queue)->name, sizeof((*queue)->name), "%s/%s", stream, name);
    made.open_count += !err;
    return err;
}

void spex_queue_close(struct spex_queue *queue) {
    if (!queue)
        return;
    told("close %s", queue->name);
    made.open_count--;
    free(queue);
}

/* A job's number is how often it was given to somebody. */
int spex_queue_take(struct spex_queue *queue, int timeout_ms, struct spex_queue_job *job) {
    int err = failure_of("take", NULL);
    const struct event *event = err ? NULL : event_of("job", false);
    assert_non_null(queue);
    if (err)
        told("take: %d", err);
    if (!event) {
        made.now_ms += err ? 0 : timeout_ms;
        return err;
    }
    *job = (struct spex_queue_job){.deliveries = (uint64_t)event->number, .handle = queue};
    snprintf(job->message.subject, sizeof(job->message.subject), "job.%s", event->text);
    job->message.data = made.text_of(event);
    job->message.size = strlen(job->message.data);
    told("take %s", event->text);
    return 1;
}

void spex_queue_keep(const struct spex_queue_job *job) {
    told("keep %s", job->message.subject);
}

int spex_queue_end(struct spex_queue_job *job, enum spex_queue_end how) {
    static const char *const names[] = {"done", "again", "later"};
    told("end %s: %s", job->message.subject, names[how]);
    spex_link_message_free(&job->message);
    job->handle = NULL;
    return 0;
}

/* All that was opened is closed, and all lines are as expected, or the last ones behind "...". The
 * first that is not is told. */
static void made_end(const char *expected) {
    static const char rest[] = "...\n";
    const char *a = made.told, *b = expected;
    told("%u sent, %u open", made.sent_count, made.open_count);
    free(made.sent);
    if (strncmp(expected, rest, strlen(rest)) == 0) {
        b += strlen(rest);
        a += made.length > strlen(b) ? made.length - strlen(b) : 0;
        assert_true(a == made.told || a[-1] == '\n');
    }
    while (*a && *a == *b) {
        a++;
        b++;
    }
    if (*a == *b)
        return;
    for (; a > made.told && a[-1] != '\n'; a--)
        b--;
    fail_msg("\"%.*s\" and not \"%.*s\"", (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b);
}

#endif
