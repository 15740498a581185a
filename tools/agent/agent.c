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
#include "fleet/link/link_options.h"
#include "observe/control_client.h"
#include "text/number.h"
#include "text/waits.h"
#include "tools/agent/agent_output.h"
#include "tools/agent/explore_agent.h"
#include "tools/agent/led_kernels.h"
#include "tools/agent/led_profiles.h"
#include "tools/attach/wanted.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/options.h"
#include "tools/common/stop_signals.h"

static const char agent_usage[] =
    "usage: spex agent --policy FILE.xml [--lease SECONDS] [--json] [PID… | NAME…]\n"
    "       spex agent --nats URL --fleet NAME [OPTIONS] [PID… | NAME…]\n"
    "       spex agent --nats URL --fleet NAME --explore SPACE.xml\n"
    "                  -- PROGRAM [ARGUMENT…]\n"
    "\n"
    "Switches on what the policy of a fleet wants in the programs of this host that\n"
    "spex can control, and follows those that come and go: those of the policy's\n"
    "program, or these. Runs until a signal ends it, and then switches that off\n"
    "again. Where it is killed, the programs do so when the lease is over.\n"
    "With --nats a master says what is to be on (spex fleet master), and has the\n"
    "policy; when nothing is heard of it for the time of a lease, nothing is on.\n"
    "With --explore the agent switches nothing on: it runs trials of this space and\n"
    "program, and of no other ones, one at a time, for a `spex explore --nats` with\n"
    "the same space and arguments.\n"
    "\n"
    "  --policy FILE        the policy; docs/fleet.md describes it\n"
    "  --lease SECONDS      probes stay on for so long without the agent; the default\n"
    "                       is 10, and 1 to 3600 may be\n"
    "  --json               a JSON object for each change instead of a line\n"
    "  --fleet NAME         the fleet, by the name of its policy\n"
    "  --host NAME          what the master calls this host; the host's own name\n"
    "                       without it\n"
    "  --explore SPACE.xml  run trials of this space\n"
    "\n" SPEX_LINK_USAGE;

static const struct spex_syntax agent_syntax = {
    "agent", agent_usage, "processes or names were expected", 0, 1000, SPEX_OPTIONS_PROGRAM};

/* From one report of a program to the next, and how often answers to leases are looked for. */
enum { INTERVAL_MS = 1000, TICK_MS = 100 };

/* How often a stream of kernels' records is read, so that a program need not wait for that. */
enum { STREAM_MS = 10 };

/* What a program is asked for, as a part of the lease: it hears of a renewal, and ends what is
 * over, a little later. So it ends within one lease of the agent's end. */
#define LEASE_ASKED 0.95

/* For all programs together to end the leases. */
#define END_SECONDS 10.0

struct agent {
    const char *path;
    double lease;
    bool json;
    struct spex_wanted wanted;
    struct spex_link_options options;
    const char *fleet, *host;
    /* The space whose trials it runs, with this program; NULL: it runs none. */
    const char *space;
    char *const *program;
    /* Under a master, whose policy it is; else of the file. */
    struct spex_led led;
    struct spex_led_kernels kernels;
    struct spex_fleet_policy *policy;
    struct spex_worker_feed feed;
    struct spex_hosted *hosted;
    size_t count;
    /* What could not be done was said already. */
    bool complained;
    /* Why NATS cannot be used any more; empty: it can. */
    struct spex_error lost;
};

/* There is a policy or a master, and what belongs to that. */
static int agent_check(const struct agent *agent) {
    const char *wrong = NULL;
    if (!agent->space != !agent->program)
        wrong = "--explore SPACE.xml and \"-- PROGRAM\" were expected together";
    else if (agent->space && (!agent->options.url || agent->wanted.count))
        wrong = "--explore was expected with --nats, and without processes";
    else if (!agent->path == !agent->options.url)
        wrong = agent->path ? "--policy or --nats was expected, not both"
                            : "--policy was expected, or --nats";
    else if (agent->options.url)
        wrong = spex_link_missing(&agent->options);
    else if (agent->fleet || agent->host)
        wrong = "--fleet and --host were expected with --nats alone";
    if (!wrong && agent->options.url && !(agent->fleet && spex_link_is_name(agent->fleet)))
        wrong = "--fleet with the name of a fleet was expected";
    return wrong ? spex_complain(SPEX_EXIT_USAGE, "agent: %s", wrong) : SPEX_EXIT_OK;
}

static int agent_parse(int argc, char **argv, struct agent *agent) {
    const struct spex_option known[] = {
        {"policy", .text = &agent->path},
        {"lease", .number = &agent->lease, .range = {1, 3600},
         .error = "1 to 3600 seconds were expected"},
        {"json", .flag = &agent->json},
        {"fleet", .text = &agent->fleet},
        {"host", .text = &agent->host},
        {"explore", .text = &agent->space},
        SPEX_LINK_OPTIONS(&agent->options),
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&agent_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    agent->wanted = (struct spex_wanted){operands.list, (size_t)operands.count};
    agent->program = *operands.program ? operands.program : NULL;
    status = agent_check(agent);
    if (status)
        return status;
    return spex_wanted_check("agent", &agent->wanted);
}

/* Those that are named, else the policy's. Under a master that has not told its policy: none. */
static bool is_wanted(const void *user, pid_t process) {
    const struct agent *agent = user;
    if (agent->wanted.count)
        return spex_wanted_has(&agent->wanted, process);
    return agent->policy && spex_wanted_is_called(agent->policy->program, process);
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
        if (!err && agent->led.link)
            err = spex_led_gone(&agent->led, hosted);
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
    spex_hosted_open(&grown[agent->count++], process, (uint32_t)(LEASE_ASKED * agent->lease * 1e3));
    return 0;
}

/* A report of a process, with what a master wants of it: also, with `wish`, between reports. */
static int take_report(struct agent *agent, const struct spex_worker *worker, bool wish) {
    int err = hosted_of(agent, worker->process) ? 0 : add(agent, worker->process);
    struct spex_hosted *hosted = err ? NULL : hosted_of(agent, worker->process);
    if (err || !agent->policy)
        return err;
    if (!agent->led.link)
        return spex_hosted_report(hosted, agent->policy, NULL, worker);
    struct spex_hosted_wish wanted = spex_led_wish(&agent->led, hosted);
    if (wish)
        err = spex_hosted_wish(hosted, agent->policy, &wanted, worker);
    return err ? err : spex_hosted_report(hosted, agent->policy, &wanted, worker);
}

static int take_reports(struct agent *agent, bool wish) {
    int err = 0;
    for (size_t w = 0; !err && w < agent->feed.count; w++)
        err = take_report(agent, &agent->feed.workers[w], wish);
    return err;
}

/* Another policy holds from here on. */
static int take_policy(struct agent *agent) {
    int err = 0;
    agent->led.changed = false;
    agent->policy = agent->led.policy;
    for (size_t h = 0; h < agent->count && !err; h++)
        err = spex_hosted_forget(&agent->hosted[h]);
    return err ? err
               : spex_agent_print_start(agent->policy, !agent->wanted.count,
                                        (uint32_t)(agent->lease * 1e3), agent->json);
}

/* Hears the master. Sets *wish where it may want something else. 0 or an error. */
static int hear(struct agent *agent, bool *wish) {
    if (!agent->led.link)
        return 0;
    int taken = spex_led_step(&agent->led, &agent->lost);
    if (taken < 0)
        return taken;
    agent->lost.text[0] = '\0';
    *wish = taken > 0;
    return agent->led.changed ? take_policy(agent) : 0;
}

static int report(struct agent *agent) {
    return agent->led.link ? spex_led_report(&agent->led, agent->hosted, agent->count) : 0;
}

static int tell(struct agent *agent) {
    return agent->led.link
               ? spex_led_profiles(&agent->led, agent->hosted, agent->count, &agent->feed)
               : 0;
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

static uint64_t now_ns(void) {
    return spex_clock_ns(CLOCK_MONOTONIC);
}

static int sample(struct agent *agent) {
    return agent->led.link ? spex_led_kernels_step(&agent->kernels, &agent->led, agent->hosted,
                                                   agent->count, &agent->feed)
                           : 0;
}

/* Takes what programs tell, for the time of a tick. */
static int listen_to_programs(struct agent *agent) {
    uint64_t until_ns = now_ns() + TICK_MS * UINT64_C(1000000);
    int err = 0;
    do {
        uint64_t next_ns = now_ns() + STREAM_MS * UINT64_C(1000000);
        bool soon = spex_led_kernels_busy(&agent->kernels) && next_ns < until_ns;
        err = spex_worker_feed_take(&agent->feed, soon ? next_ns : until_ns, SPEX_WORKERS_TIME);
        err = err ? err : sample(agent);
    } while (!err && now_ns() < until_ns);
    return err;
}

static bool is_stopped(int stop_fd) {
    struct pollfd fd = {.fd = stop_fd, .events = POLLIN};
    return spex_wait_ready(&fd, 1, 0) != 0;
}

static int run(struct agent *agent, int stop_fd) {
    int err = 0;
    if (agent->policy)
        err = spex_agent_print_start(agent->policy, !agent->wanted.count,
                                     (uint32_t)(agent->lease * 1e3), agent->json);
    while (!err && !is_stopped(stop_fd)) {
        bool wish = false;
        look(agent);
        err = forget(agent);
        err = err ? err : hear(agent, &wish);
        err = err ? err : take_reports(agent, wish);
        err = err ? err : step(agent);
        err = err ? err : report(agent);
        err = err ? err : listen_to_programs(agent);
        err = err ? err : tell(agent);
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

/* The policy of a file, or a master. An exit status. */
static int begin(struct agent *agent) {
    struct spex_error error = {""};
    agent->options.name = "spex agent";
    int err = agent->path ? spex_fleet_policy_read(agent->path, &agent->policy, &error)
                          : spex_led_open(&agent->led, &agent->options, agent->fleet, agent->host,
                                          agent->lease, &error);
    if (!err)
        return SPEX_EXIT_OK;
    return spex_complain(SPEX_EXIT_FAILED, "%s%s", agent->path ? "" : "agent: ", error.text);
}

static void close_all(struct agent *agent) {
    spex_led_kernels_close(&agent->kernels);
    if (agent->path)
        spex_fleet_policy_free(agent->policy);
    else
        spex_led_close(&agent->led);
}

static int run_and_end(struct agent *agent) {
    const struct spex_workers_of of = {.wanted = is_wanted, .user = agent};
    int stop_fd = spex_stop_signals_open();
    if (stop_fd < 0)
        return spex_complain(SPEX_EXIT_FAILED, "agent: cannot wait for signals: %s",
                             strerror(errno));
    int status = begin(agent);
    if (status == SPEX_EXIT_OK) {
        spex_worker_feed_open(&agent->feed, &of, INTERVAL_MS);
        int err = run(agent, stop_fd);
        status = end(agent);
        if (err)
            status = spex_complain(SPEX_EXIT_FAILED, "agent: cannot go on: %s",
                                   agent->lost.text[0] ? agent->lost.text : strerror(-err));
    }
    close_all(agent);
    close(stop_fd);
    return status;
}

int spex_command_agent(int argc, char **argv) {
    struct agent agent = {.lease = SPEX_HELD_LEASE_MS / 1e3};
    int status = agent_parse(argc, argv, &agent);
    if (!status && agent.space)
        return spex_explore_agent(&agent.options, agent.fleet, agent.host, agent.space,
                                  agent.program, agent.json);
    return status ? status : run_and_end(&agent);
}
