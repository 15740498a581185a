/* SPDX-License-Identifier: MIT */
#include "tools/agent/explore_agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "fleet/trials/trial_worker.h"
#include "measure/summary.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/stop_signals.h"

static struct spex_repeated complaints = {.who = "agent: "};

static void tell(const char *line) {
    spex_repeated_complain(&complaints, line, spex_clock_ns(CLOCK_MONOTONIC));
}

static void print_json(const char *event, const char *configuration, const char *status) {
    json_t *json = json_pack("{s:s, s:s, s:s*}", "event", event, "configuration", configuration,
                             "status", status);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    if (text)
        puts(text);
    free(text);
    json_decref(json);
}

/* What cannot be printed is not what the agent is for: it goes on. */
static void tell_trial(void *user, const char *event, const struct spex_space *space,
                       const size_t *levels, const char *status) {
    const bool *json = user;
    char configuration[512];
    spex_levels_text(space, levels, configuration, sizeof(configuration));
    if (*json)
        print_json(event, configuration, status);
    else
        printf("trial %s: %s%s%s\n", event, configuration, status ? ": " : "",
               status ? status : "");
    fflush(stdout);
}

int spex_explore_agent(const struct spex_link_options *options, const char *fleet, const char *host,
                       const char *space, char *const *program, bool json) {
    struct spex_trial_worker_options worker = {
        .link = *options,
        .fleet = fleet,
        .host = host,
        .space = space,
        .argv = program,
        .stop_fd = spex_stop_signals_open(),
        .tell = tell,
        .trial = tell_trial,
        .user = &json,
    };
    struct spex_error error = {""};
    if (worker.stop_fd < 0)
        return spex_complain(SPEX_EXIT_FAILED, "agent: cannot wait for signals: %s",
                             strerror(errno));
    worker.link.name = "spex agent";
    int err = spex_trial_worker_run(&worker, &error);
    spex_repeated_end(&complaints);
    close(worker.stop_fd);
    return err ? spex_complain(SPEX_EXIT_FAILED, "agent: %s", error.text) : SPEX_EXIT_OK;
}
