/* SPDX-License-Identifier: MIT */
/* `spex agent --explore`: runs trials of a fleet's explorations. */
#ifndef SPEX_TOOLS_AGENT_EXPLORE_AGENT_H
#define SPEX_TOOLS_AGENT_EXPLORE_AGENT_H

#include "fleet/link/link.h"

/* Until a signal ends it. An exit status. */
int spex_explore_agent(const struct spex_link_options *options, const char *fleet, const char *host,
                       const char *space, char *const *program, bool json);

#endif
