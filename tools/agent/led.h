/* SPDX-License-Identifier: MIT */
/* An agent's side of a master: the policy and what is desired, which it watches in NATS, and the
 * reports that it sends. */
#ifndef SPEX_TOOLS_AGENT_LED_H
#define SPEX_TOOLS_AGENT_LED_H

#include "fleet/decide/message.h"
#include "fleet/lead/profile_message.h"
#include "fleet/link/link.h"
#include "tools/agent/hosted.h"
#include "tools/common/complain.h"

struct spex_led {
    struct spex_link *link;
    const char *fleet;
    char host[SPEX_FLEET_NAME_BYTES];
    char bucket[SPEX_LINK_NAME_BYTES];
    uint32_t agent;
    /* Of this machine; and of what chance decides. */
    char boot[SPEX_FLEET_BOOT_BYTES];
    uint64_t random;
    /* For how long the master may be silent before everything goes off. */
    double patience;
    struct spex_link_inbox *masters;
    struct spex_link_watch *policies, *wishes;
    /* Connections that were made when the watches were. */
    uint64_t connects;
    /* Seconds, CLOCK_BOOTTIME: when the master was heard, the watches were made or tried, and a
     * report was sent last. */
    double heard, watched, reported;
    /* The last of these by the clock of what programs have told. */
    uint64_t reported_ns;
    /* NULL: it is not known yet. `changed`: since the last look at it. */
    struct spex_fleet_policy *policy;
    char *text;
    struct spex_selection response;
    bool changed;
    struct spex_fleet_desired desired;
    /* What is to be told: a connection or a master that has come or gone, or what is wrong. */
    bool connected, led;
    struct spex_repeated complaints;
    /* It was told that profiles of probes are too large. */
    bool left_out;
};

/* Connects; `host` NULL: the system's name. 0 or a negative errno value with the reason. */
int spex_led_open(struct spex_led *led, const struct spex_link_options *options, const char *fleet,
                  const char *host, double patience, struct spex_error *error);
void spex_led_close(struct spex_led *led);

/* Takes what has come. Returns 1 where the wishes may be others than before, 0, or a negative errno
 * value with the reason after which it is over. */
int spex_led_step(struct spex_led *led, struct spex_error *error);

/* What is wanted of a process. */
struct spex_hosted_wish spex_led_wish(const struct spex_led *led, const struct spex_hosted *hosted);

/* Sends a report of these processes about once a second, when all have told something new. 0 or
 * -ENOMEM. */
int spex_led_report(struct spex_led *led, const struct spex_hosted *hosted, size_t count);

#endif
