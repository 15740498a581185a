/* SPDX-License-Identifier: MIT */
/* What the agent prints: a line for each change. */
#ifndef SPEX_TOOLS_AGENT_AGENT_OUTPUT_H
#define SPEX_TOOLS_AGENT_AGENT_OUTPUT_H

#include "tools/agent/hosted.h"

/* Each prints one line, or one JSON object on a line, and flushes it. `by_policy`: the policy tells
 * which programs are looked after. 0, -ENOMEM, or the negative errno value of writing. */
int spex_agent_print_start(const struct spex_fleet_policy *policy, bool by_policy,
                           uint32_t lease_ms, bool json);
int spex_agent_print_state(const struct spex_hosted *hosted, bool json);
int spex_agent_print_gone(const struct spex_hosted *hosted, bool json);
int spex_agent_print_end(size_t processes, bool json);

#endif
