/* SPDX-License-Identifier: MIT */
#include "tools/agent/agent_output.h"

#include <errno.h>
#include <stdio.h>

#include <jansson.h>

#include "fleet/decide/why.h"
#include "text/quantity.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"

/* One object on a line, which is released. */
static int print_json(json_t *json) {
    if (!json)
        return -ENOMEM;
    json_dumpf(json, stdout, JSON_COMPACT | JSON_REAL_PRECISION(SPEX_PLAIN_DIGITS));
    json_decref(json);
    putchar('\n');
    return spex_written(stdout);
}

int spex_agent_print_start(const struct spex_fleet_policy *policy, bool by_policy,
                           uint32_t lease_ms, bool json) {
    if (json)
        return print_json(json_pack("{s:s, s:o, s:o, s:f, s:f}", "event", "start", "policy",
                                    spex_text_json(policy->name), "program",
                                    by_policy ? spex_text_json(policy->program) : json_null(),
                                    "lease_seconds", lease_ms / 1e3, "overhead", policy->budget));
    printf("policy %s: %s%s%sleases of %g s, at most %g %% of the time of each process\n",
           policy->name, by_policy ? "programs called " : "", by_policy ? policy->program : "",
           by_policy ? "; " : "", lease_ms / 1e3, 100 * policy->budget);
    return spex_written(stdout);
}

int spex_agent_print_state(const struct spex_hosted *hosted, bool json) {
    const struct spex_hosted_state *told = &hosted->told;
    const char *mode = spex_fleet_mode_name(told->mode);
    if (json)
        return print_json(
            json_pack("{s:s, s:I, s:o, s:s, s:I, s:I, s:o}", "event", "mode", "pid",
                      (json_int_t)hosted->process, "program", spex_text_json(hosted->command),
                      "mode", mode, "on", (json_int_t)told->on, "wanted", (json_int_t)told->wanted,
                      "why", told->why.text[0] ? spex_text_json(told->why.text) : json_null()));
    printf("process %d (%s): %s, %zu of %zu probes on%s%s\n", (int)hosted->process, hosted->command,
           mode, told->on, told->wanted, told->why.text[0] ? ": " : "", told->why.text);
    return spex_written(stdout);
}

int spex_agent_print_gone(const struct spex_hosted *hosted, bool json) {
    if (json)
        return print_json(json_pack("{s:s, s:I, s:o}", "event", "gone", "pid",
                                    (json_int_t)hosted->process, "program",
                                    spex_text_json(hosted->command)));
    printf("process %d (%s): gone\n", (int)hosted->process, hosted->command);
    return spex_written(stdout);
}

int spex_agent_print_end(size_t processes, bool json) {
    if (json)
        return print_json(
            json_pack("{s:s, s:I}", "event", "end", "processes", (json_int_t)processes));
    printf("end: probes of %zu processes are off again\n", processes);
    return spex_written(stdout);
}
