/* SPDX-License-Identifier: MIT */
/* A turn is what `spex train --pid` does, for a moment: the records of the kernels come over a
 * stream of the program, into a training of their own, of which the master gets a part. */
#include "tools/agent/led_kernels.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "fleet/lead/kernel_message.h"
#include "observe/control_client.h"
#include "ring/probe_type.h"

/* From the beginning of a turn to that of the next one, and how long one is at most. */
#define NEXT_SECONDS 5.0
#define TURN_SECONDS 2.0

/* A turn is over with so many records; and what is told of each kernel, and of all, as long as that
 * is one of each. */
enum { RECORDS_MOST = 65536, ROWS_MOST = 256, ROWS_ALL = 1024 };

/* How often is read what has come, before the other programs are looked after. */
enum { TAKES_MOST = 16 };

bool spex_led_kernels_busy(const struct spex_led_kernels *kernels) {
    return kernels->process != 0;
}

void spex_led_kernels_close(struct spex_led_kernels *kernels) {
    spex_training_kernels_free(kernels->kernels);
    spex_training_destroy(kernels->training);
    spex_receiver_close(kernels->receiver);
    spex_circumstances_free(&kernels->machine);
    kernels->kernels = NULL;
    kernels->training = NULL;
    kernels->receiver = NULL;
    kernels->process = 0;
}

/* Whether a kernel of the map is on there. */
static bool has_kernels(const struct spex_hosted *hosted) {
    for (size_t p = 0; p < hosted->probes.count; p++) {
        const struct spex_hosted_probe *probe = &hosted->probes.items[p];
        if (probe->type == SPEX_KERNEL && probe->mapped && spex_hosted_probe_is_on(probe))
            return hosted->lease.state == SPEX_HELD && !hosted->elsewhere;
    }
    return false;
}

/* What was sampled last of a program stands for the time since, if its kernels were on. */
static void forget_times(struct spex_hosted *hosted, size_t count) {
    for (size_t h = 0; h < count; h++)
        if (!has_kernels(&hosted[h]))
            hosted[h].sampled = 0;
}

/* Whose turn is next: the one with the next greater number, or else with the least. NULL: nobody's,
 * since none has kernels that are on. */
static const struct spex_hosted *choose(const struct spex_hosted *hosted, size_t count,
                                        pid_t last) {
    const struct spex_hosted *next = NULL, *least = NULL;
    for (size_t h = 0; h < count; h++) {
        const struct spex_hosted *one = &hosted[h];
        if (!has_kernels(one))
            continue;
        if (!least || one->process < least->process)
            least = one;
        if (one->process > last && (!next || one->process < next->process))
            next = one;
    }
    return next ? next : least;
}

static double tick_rate(const struct spex_worker_feed *feed, pid_t process) {
    for (size_t w = 0; w < feed->count; w++)
        if (feed->workers[w].process == process && feed->workers[w].has_now)
            return feed->workers[w].now.process.ticks_per_second;
    return 0;
}

/* Asks for the stream without waiting for it. False: it cannot be had now. */
static bool connect_stream(struct spex_led_kernels *kernels, pid_t process) {
    struct spex_error error;
    int fd = spex_client_connect(process, 0, &error);
    int err = fd < 0 ? fd : spex_client_send(fd, SPEX_CONTROL_STREAM, 0, "kernel", &error);
    err = err ? err : spex_receiver_of(fd, &kernels->receiver, &error);
    if (err && fd >= 0)
        spex_client_close(fd);
    return !err;
}

static int begin(struct spex_led_kernels *kernels, const struct spex_hosted *hosted, double rate,
                 double now) {
    kernels->last = hosted->process;
    kernels->next = now + NEXT_SECONDS;
    if (!(rate > 0) || !connect_stream(kernels, hosted->process))
        return 0;
    kernels->process = hosted->process;
    kernels->loaded_ns = hosted->loaded_ns;
    kernels->began = now;
    kernels->records = kernels->left_out = kernels->lost_before = 0;
    kernels->told = false;
    char program[32];
    snprintf(program, sizeof(program), "/proc/%d/exe", (int)kernels->process);
    if (spex_circumstances_now(program, &kernels->machine) != 0 ||
        spex_training_create(&kernels->training, (uint64_t)spex_clock_ns(CLOCK_MONOTONIC)) != 0)
        return -ENOMEM;
    kernels->kernels =
        spex_training_kernels_new(kernels->training, kernels->receiver, &kernels->none, rate);
    return kernels->kernels ? 0 : -ENOMEM;
}

/* Takes what has come, in any order. 1: there is more; 0; or a negative errno value: the stream is
 * not one. */
static int take(struct spex_led_kernels *kernels) {
    struct spex_error error;
    size_t count = 0;
    int more = spex_receiver_take(kernels->receiver, &error);
    if (more < 0)
        return more;
    spex_receiver_sites(kernels->receiver, &count);
    if (count && !kernels->told) {
        kernels->told = true;
        kernels->lost_before = spex_receiver_lost(kernels->receiver);
    }
    const struct spex_record *records = spex_receiver_records(kernels->receiver, true, &count);
    int err = spex_training_kernels_take(kernels->kernels, records, count, &kernels->records,
                                         &kernels->left_out, &error);
    return err ? err : more;
}

static int send_part(void *user, const char *text, size_t size) {
    const struct spex_led *led = user;
    char subject[SPEX_LINK_NAME_BYTES];
    snprintf(subject, sizeof(subject), "spex.%s.kernels.%s", led->fleet, led->host);
    /* What is lost is a part of a sample: others follow. */
    spex_link_send(led->link, subject, text, size);
    return 0;
}

/* How many executions each of the turn stands for. */
static double factor_of(const struct spex_led_kernels *kernels, const struct spex_hosted *hosted,
                        double now) {
    double since = hosted->sampled > 0 ? hosted->sampled : kernels->began;
    return now > kernels->began ? (now - since) / (now - kernels->began) : 1;
}

/* The rows of each kernel that are told. */
static size_t rows_each(const struct spex_training *training) {
    struct spex_trained_about about;
    size_t count = 0;
    for (const char *path = NULL; spex_training_next(training, path, &about); path = about.path)
        count++;
    size_t each = count ? ROWS_ALL / count : ROWS_MOST;
    return each > ROWS_MOST ? ROWS_MOST : each ? each : 1;
}

static int tell(struct spex_led_kernels *kernels, struct spex_led *led, struct spex_hosted *hosted,
                double now) {
    const struct spex_kernel_writer writer = {
        .agent = led->agent,
        .machine = &kernels->machine,
        .lost = kernels->told ? spex_receiver_lost(kernels->receiver) - kernels->lost_before : 0,
        .most = rows_each(kernels->training),
        .factor = factor_of(kernels, hosted, now),
        .send = send_part,
        .user = led};
    hosted->sampled = now;
    return spex_kernel_messages_write(&writer, kernels->training);
}

static struct spex_hosted *hosted_of(const struct spex_led_kernels *kernels,
                                     struct spex_hosted *hosted, size_t count) {
    for (size_t h = 0; h < count; h++)
        if (hosted[h].process == kernels->process && hosted[h].loaded_ns == kernels->loaded_ns)
            return &hosted[h];
    return NULL;
}

/* A program that has become another one is of another build: what it has told is left. */
static int go_on(struct spex_led_kernels *kernels, struct spex_led *led, struct spex_hosted *hosted,
                 double now) {
    int more = 1;
    for (int t = 0; t < TAKES_MOST && more == 1 && kernels->records < RECORDS_MOST; t++)
        more = take(kernels);
    bool over = kernels->records >= RECORDS_MOST || now - kernels->began >= TURN_SECONDS ||
                spex_receiver_ended(kernels->receiver);
    int err = more == -ENOMEM ? more : 0;
    if (more >= 0 && over && hosted)
        err = tell(kernels, led, hosted, now);
    if (err || more < 0 || over || !hosted)
        spex_led_kernels_close(kernels);
    return err;
}

int spex_led_kernels_step(struct spex_led_kernels *kernels, struct spex_led *led,
                          struct spex_hosted *hosted, size_t count,
                          const struct spex_worker_feed *feed) {
    double now = spex_clock_seconds(CLOCK_MONOTONIC);
    forget_times(hosted, count);
    if (spex_led_kernels_busy(kernels))
        return go_on(kernels, led, hosted_of(kernels, hosted, count), now);
    if (!led->led || !led->connected || now < kernels->next)
        return 0;
    const struct spex_hosted *next = choose(hosted, count, kernels->last);
    int err = next ? begin(kernels, next, tick_rate(feed, next->process), now) : 0;
    if (err)
        spex_led_kernels_close(kernels);
    return err;
}
