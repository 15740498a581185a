/* SPDX-License-Identifier: MIT */
/* What the programs of a host have measured, as the agent tells it to a master. */
#ifndef SPEX_TOOLS_AGENT_LED_PROFILES_H
#define SPEX_TOOLS_AGENT_LED_PROFILES_H

#include "observe/worker_feed.h"
#include "tools/agent/led.h"

/* Sends the profiles that are due: of each instance every 10 s, give or take a quarter, and when
 * its connection is lost. To be called before processes that are gone are forgotten. 0 or
 * -ENOMEM. */
int spex_led_profiles(struct spex_led *led, struct spex_hosted *hosted, size_t count,
                      const struct spex_worker_feed *feed);

/* Tells that a process has ended, if it has. 0 or -ENOMEM. */
int spex_led_gone(struct spex_led *led, const struct spex_hosted *hosted);

#endif
