/* SPDX-License-Identifier: MIT */
/* `spex agent`: the programs of one host, by a policy. It keeps nothing but what the programs tell
 * it: started again, it finds all of it again. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "observe/control_client.h"
#include "text/number.h"
#include "tools/agent/agent_output.h"
#include "tools/attach/wanted.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/options.h"
#include "tools/common/stop_signals.h"

static const char agent_usage[] =
    "usage: spex agent --policy FILE.xml [--lease SECONDS] [--json] [PID… | NAME…]\n"
    "\n"
    "Switches on what the policy of a fleet wants in the programs of this host that spex can\n"
    "control, and follows those that come and go: all, or these. Runs until a signal ends it, and\n"
    "then switches that off again. Where it is killed, the programs do so when the lease is over.\n"
    "\n"
    "  --policy FILE    the policy; docs/fleet.md describes it\n"
    "  --lease SECONDS  probes stay on for so long without the agent; the default is 10, and 1 to\n"
    "                   3600 may be\n"
    "  --json           a JSON object for each change instead of a line\n";

static const struct spex_syntax agent_syntax = {
    "agent", agent_usage, "processes or names were expected", 0, 1000, SPEX_OPTIONS_ANYWHERE};

/* From one report of a program to the next, and how often answers to leases are looked for. */
enum { INTERVAL_MS = 1000, TICK_MS = 100 };

/* For all programs together to end the leases. */
#define END_SECONDS 10.0

struct agent {
    const char *path;
    double lease;
    bool json;
    struct spex_wanted wanted;
    struct spex_fleet_policy *policy;
    struct spex_worker_feed feed;
    struct spex_hosted *hosted;
    size_t count;
    /* What could not be done was said already. */
    bool complained;
};

static int agent_parse(int argc, char **argv, struct agent *agent) {
    const struct spex_option known[] = {
        {"policy", .text = &agent->path},
        {"lease", .number = &agent->lease, .range = {1, 3600},
         .error = "1 to 3600 seconds were expected"},
        {"json", .flag = &agent->json},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&agent_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    if (!agent->path)
        return spex_complain(SPEX_EXIT_USAGE, "agent: --policy was expected");
    agent->wanted = (struct spex_wanted){operands.list, (size_t)operands.count};
    return spex_wanted_check("agent", &agent->wanted);
}

static bool is_wanted(const void *user, pid_t process) {
    return spex_wanted_has(user, process);
}

static struct spex_hosted *hosted_of(struct agent *agent, pid_t process) {
    for (size_t h = 0; h < agent->count; h++)
        if (agent->hosted[h].process == process)
            return &agent->hosted[h];
    return NULL;
}

static bool is_followed(const struct agent *agent, pid_t process) {
    for (size_t w = 0; w < agent->feed.count; w++)
        if (agent->feed.workers[w].process == process)
            return true;
    return false;
}

/* Forgets processes that are gone, of which those are told that were. */
static int forget(struct agent *agent) {
    int err = 0;
    struct spex_error error;
    for (size_t h = agent->count; h-- > 0;) {
        struct spex_hosted *hosted = &agent->hosted[h];
        if (is_followed(agent, hosted->process))
            continue;
        if (!err && hosted->is_told)
            err = spex_agent_print_gone(hosted, agent->json);
        spex_held_lease_close(&hosted->lease, spex_deadline_in(0), &error);
        spex_hosted_free(hosted);
        agent->hosted[h] = agent->hosted[--agent->count];
    }
    return err;
}

static int add(struct agent *agent, pid_t process) {
    struct spex_hosted *grown = realloc(agent->hosted, (agent->count + 1) * sizeof(*agent->hosted));
    if (!grown)
        return -ENOMEM;
    agent->hosted = grown;
    spex_hosted_open(&grown[agent->count++], process, (uint32_t)(agent->lease * 1e3));
    return 0;
}

static int take_reports(struct agent *agent) {
    int err = 0;
    for (size_t w = 0; !err && w < agent->feed.count; w++) {
        const struct spex_worker *worker = &agent->feed.workers[w];
        if (!hosted_of(agent, worker->process))
            err = add(agent, worker->process);
        if (!err)
            err = spex_hosted_report(hosted_of(agent, worker->process), agent->policy, worker);
    }
    return err;
}

static int step(struct agent *agent) {
    int err = 0;
    for (size_t h = 0; !err && h < agent->count; h++)
        if (spex_hosted_step(&agent->hosted[h]))
            err = spex_agent_print_state(&agent->hosted[h], agent->json);
    return err;
}

/* Programs that cannot be looked for now may be later: those that are known go on. */
static void look(struct agent *agent) {
    struct spex_error error;
    int err = spex_worker_feed_look(&agent->feed, &error);
    if (err && !agent->complained)
        spex_complain(0, "agent: %s", error.text);
    agent->complained = err != 0;
}

static bool is_stopped(int stop_fd) {
    struct pollfd fd = {.fd = stop_fd, .events = POLLIN};
    return poll(&fd, 1, 0) != 0;
}

static int run(struct agent *agent, int stop_fd) {
    int err = spex_agent_print_start(agent->policy, (uint32_t)(agent->lease * 1e3), agent->json);
    while (!err && !is_stopped(stop_fd)) {
        look(agent);
        err = forget(agent);
        err = err ? err : take_reports(agent);
        err = err ? err : step(agent);
        uint64_t until_ns = spex_clock_ns(CLOCK_MONOTONIC) + TICK_MS * UINT64_C(1000000);
        err = err ? err : spex_worker_feed_take(&agent->feed, until_ns, false);
    }
    return err;
}

/* Each process gets its share of the time, so that those that answer are switched off however many
 * do not. An exit status. */
static int end(struct agent *agent) {
    struct spex_deadline all = spex_deadline_in(END_SECONDS);
    int status = SPEX_EXIT_OK;
    size_t ended = 0;
    spex_client_stop_later();
    for (size_t h = 0; h < agent->count; h++) {
        struct spex_hosted *hosted = &agent->hosted[h];
        struct spex_error error;
        int share_ms = spex_deadline_share_ms(all, (long)(agent->count - h));
        bool held = hosted->lease.state == SPEX_HELD;
        int err = spex_held_lease_close(&hosted->lease, spex_deadline_in(share_ms / 1e3), &error);
        if (err && err != -ESRCH)
            status = spex_complain(SPEX_EXIT_FAILED,
                                   "agent: probes of process %d go off when their lease of %g s is "
                                   "over: %s",
                                   (int)hosted->process, agent->lease, error.text);
        ended += held && !err;
        spex_hosted_free(hosted);
    }
    free(agent->hosted);
    spex_worker_feed_close(&agent->feed);
    int err = status ? 0 : spex_agent_print_end(ended, agent->json);
    return err ? spex_complain(SPEX_EXIT_FAILED, "agent: %s", strerror(-err)) : status;
}

static int run_and_end(struct agent *agent) {
    const struct spex_workers_of of = {.wanted = is_wanted, .user = &agent->wanted};
    int stop_fd = spex_stop_signals_open();
    if (stop_fd < 0)
        return spex_complain(SPEX_EXIT_FAILED, "agent: cannot wait for signals: %s",
                             strerror(errno));
    spex_worker_feed_open(&agent->feed, &of, INTERVAL_MS);
    int err = run(agent, stop_fd);
    int status = end(agent);
    close(stop_fd);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "agent: cannot go on: %s", strerror(-err));
    return status;
}

int spex_command_agent(int argc, char **argv) {
    struct agent agent = {.lease = SPEX_HELD_LEASE_MS / 1e3};
    struct spex_error error = {""};
    int status = agent_parse(argc, argv, &agent);
    if (status)
        return status;
    if (spex_fleet_policy_read(agent.path, &agent.policy, &error) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "%s", error.text);
    status = run_and_end(&agent);
    spex_fleet_policy_free(agent.policy);
    return status;
}
