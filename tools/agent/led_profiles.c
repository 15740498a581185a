/* SPDX-License-Identifier: MIT */
#include "tools/agent/led_profiles.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/lead/profile_message.h"
#include "tools/common/complain.h"

/* Between profiles of an instance. */
#define PROFILE_SECONDS 10.0

struct telling {
    struct spex_led *led;
    const struct spex_hosted *hosted;
};

static bool is_told(void *user, const struct spex_profile_probe *probe) {
    const struct telling *telling = user;
    const struct spex_hosted_probes *probes = &telling->hosted->probes;
    for (size_t p = 0; p < probes->count; p++)
        if (probes->items[p].probe_id == probe->probe_id &&
            probes->items[p].type == probe->probe_type)
            return probes->items[p].mapped || probes->items[p].response;
    return false;
}

static int send_part(void *user, const char *data, size_t size) {
    const struct telling *telling = user;
    char subject[SPEX_LINK_NAME_BYTES];
    snprintf(subject, sizeof(subject), "spex.%s.profile.%s", telling->led->fleet,
             telling->led->host);
    /* What is lost comes again. */
    spex_link_send(telling->led->link, subject, data, size);
    return 0;
}

static struct spex_fleet_profile_writer writer_of(struct telling *telling) {
    struct spex_fleet_profile_writer writer = {.by = {.agent = telling->led->agent,
                                                      .process = telling->hosted->process,
                                                      .loaded_ns = telling->hosted->loaded_ns},
                                               .wanted = is_told,
                                               .send = send_part,
                                               .user = telling};
    memcpy(writer.by.boot, telling->led->boot, sizeof(writer.by.boot));
    return writer;
}

static int tell(struct spex_led *led, const struct spex_hosted *hosted,
                const struct spex_profile *profile) {
    struct telling telling = {led, hosted};
    struct spex_fleet_profile_writer writer = writer_of(&telling);
    int err = spex_fleet_profile_write(&writer, profile);
    if (!err && writer.left_out && !led->left_out)
        spex_complain(0,
                      "agent: %zu probes of process %d (%s) are too large for a message, and "
                      "their profiles stay here",
                      writer.left_out, (int)hosted->process, hosted->command);
    led->left_out |= writer.left_out != 0;
    return err;
}

/* From 0 to 1. Agents that have started together do not tell together. */
static double draw(struct spex_led *led) {
    led->random = led->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(led->random >> 32) / 0x1p32;
}

static struct spex_hosted *hosted_of(struct spex_hosted *hosted, size_t count, pid_t process) {
    for (size_t h = 0; h < count; h++)
        if (hosted[h].process == process)
            return &hosted[h];
    return NULL;
}

/* A report whose program the agent has taken notice of, and that is not told yet. */
static bool is_new(const struct spex_hosted *hosted, const struct spex_worker *worker) {
    return hosted && worker->has_now && !worker->now.process.elsewhere &&
           worker->now.process.loaded_ns == hosted->loaded_ns && worker->now.process.seconds > 0 &&
           worker->now.process.ticks_per_second > 0 && worker->heard_ns != hosted->profiled_ns;
}

int spex_led_profiles(struct spex_led *led, struct spex_hosted *hosted, size_t count,
                      const struct spex_worker_feed *feed) {
    double now = spex_clock_seconds(CLOCK_MONOTONIC);
    int err = 0;
    if (!led->led || !led->connected)
        return 0;
    for (size_t w = 0; w < feed->count && !err; w++) {
        const struct spex_worker *worker = &feed->workers[w];
        struct spex_hosted *one = hosted_of(hosted, count, worker->process);
        if (!is_new(one, worker) || (now < one->profile_due && worker->socket >= 0))
            continue;
        err = tell(led, one, &worker->now);
        one->profiled_ns = worker->heard_ns;
        one->profile_due = now + PROFILE_SECONDS * (0.75 + draw(led) / 2);
    }
    return err;
}

int spex_led_gone(struct spex_led *led, const struct spex_hosted *hosted) {
    struct telling telling = {led, hosted};
    struct spex_fleet_profile_writer writer = writer_of(&telling);
    bool ended = kill(hosted->process, 0) != 0 && errno == ESRCH;
    writer.by.gone = true;
    return ended && hosted->profiled_ns ? spex_fleet_profile_write(&writer, NULL) : 0;
}
