/* SPDX-License-Identifier: MIT */
/* `spex fleet master`: takes the agents' reports, decides once a second, and writes what is desired
 * on each host. What it must not lose is in NATS: started again, it goes on with that. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/files/whole_file.h"
#include "fleet/decide/why.h"
#include "fleet/lead/lead_status.h"
#include "fleet/link/link_options.h"
#include "text/printable.h"
#include "text/waits.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/stop_signals.h"
#include "tools/fleet/fleet.h"
#include "tools/fleet/fleet_course.h"
#include "tools/fleet/fleet_hook.h"
#include "tools/fleet/fleet_reports.h"

/* How long requests are waited for in one turn of the loop. */
enum { TICK_MS = 50 };

/* Between decisions; and for how long a master listens before it leads, so that it hears another
 * one and the reports of all hosts. */
#define DECIDE_SECONDS 1.0
#define LISTEN_SECONDS 2.5

/* Messages that wait for the master. */
enum { REPORTS_MOST = 65536, ASKS_MOST = 1024, POLICY_BYTES = 1 << 20 };

struct master {
    struct spex_link_options options;
    const char *path, *store;
    double every;
    bool json;
    struct spex_fleet_policy *policy;
    char *text;
    size_t text_size;
    struct spex_link *link;
    struct spex_link_inbox *reports, *asks, *masters;
    struct spex_lead lead;
    struct spex_fleet_reports profiles;
    struct spex_fleet_sampled sampled;
    struct spex_fleet_hook hook;
    char bucket[SPEX_LINK_NAME_BYTES], id[24], host[SPEX_FLEET_NAME_BYTES];
    uint64_t begin_ns, connects;
    /* When to decide again, and since when it leads; NaN: it does not yet. */
    double next, leads;
    struct spex_fleet_course course;
    struct spex_repeated complaints;
};

static double now_of(const struct master *master) {
    return (double)(spex_clock_ns(CLOCK_MONOTONIC) - master->begin_ns) / 1e9;
}

static void subject(const struct master *master, const char *what, char *text, size_t size) {
    snprintf(text, size, "spex.%s.%s", master->policy->name, what);
}

static int say(const struct master *master, const char *event, const char *text) {
    if (!master->json) {
        printf("%s\n", text);
        return spex_written(stdout);
    }
    json_t *json = json_pack("{s:s, s:f, s:o}", "event", event, "time", now_of(master), "text",
                             spex_text_json(text));
    if (!json)
        return -ENOMEM;
    json_dumpf(json, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(json);
    putchar('\n');
    return spex_written(stdout);
}

static void complain(struct master *master, const struct spex_error *error) {
    spex_repeated_complain(&master->complaints, error->text, spex_clock_ns(CLOCK_MONOTONIC));
}

static void take_reports(struct master *master) {
    struct spex_link_message message;
    for (int m = 0; m < REPORTS_MOST && spex_link_take(master->reports, 0, &message); m++) {
        struct spex_fleet_report report;
        struct spex_error error = {""};
        bool named = spex_link_is_name(message.subject);
        int err = named ? spex_fleet_report_read(message.data, message.size, &report, &error)
                        : spex_fail(&error, -EINVAL, "a host's name was expected");
        if (err)
            master->lead.refused++;
        else
            err = spex_lead_take(&master->lead, message.subject, &report, now_of(master));
        if (err == -EEXIST)
            spex_error_set(&error, "two agents have this name; --host gives others");
        else if (err == -E2BIG)
            spex_error_set(&error, "there are more than %d hosts", SPEX_LEAD_HOSTS_MAX);
        if (err) {
            struct spex_error with = {""};
            spex_error_set(&with, "a report of host %s was refused: %s", message.subject,
                           error.text);
            complain(master, &with);
        }
        spex_link_message_free(&message);
    }
}

/* What programs have measured: their profiles, and samples of their kernels. 0 or -ENOMEM. */
static int take_profiles(struct master *master) {
    struct spex_error error;
    int err = spex_fleet_reports_take(&master->profiles, &master->lead, now_of(master), &error);
    if (error.text[0])
        complain(master, &error);
    err = err ? err
              : spex_fleet_sampled_take(&master->sampled, &master->lead, now_of(master), &error);
    if (error.text[0])
        complain(master, &error);
    if (!err && spex_fleet_reports_write(&master->profiles, &master->sampled.kernels,
                                         now_of(master), &error) != 0)
        complain(master, &error);
    return err;
}

/* Of two that lead, the one with the greater number ends. */
static int check_others(struct master *master) {
    struct spex_link_message message;
    int status = SPEX_EXIT_OK;
    while (status == SPEX_EXIT_OK && spex_link_take(master->masters, 0, &message)) {
        int order = strcmp(message.subject, master->id);
        spex_make_printable(message.data);
        if (order && (isnan(master->leads) || order < 0))
            status = spex_complain(SPEX_EXIT_FAILED,
                                   "fleet master: another master leads fleet %s, at %.80s",
                                   master->policy->name, message.data);
        spex_link_message_free(&message);
    }
    return status;
}

static json_t *about_me(const struct master *master) {
    return json_pack("{s:s, s:i, s:f, s:b, s:o}", "host", master->host, "process", (int)getpid(),
                     "seconds", now_of(master), "leads", isnan(master->leads) ? 0 : 1, "hook",
                     master->hook.last[0] ? spex_text_json(master->hook.last) : json_null());
}

/* "status FROM", "why INSTANCE", "profile FROM [INSTANCE]" or "models [CLASS [PATH]]". */
static json_t *answer_json(struct master *master, const struct spex_link_message *message) {
    json_t *json = NULL;
    if (strcmp(message->subject, "status") == 0)
        json = spex_lead_status(&master->lead, strtoul(message->data, NULL, 10));
    else if (strcmp(message->subject, "why") == 0)
        json = spex_lead_why(&master->lead, message->data);
    else if (strcmp(message->subject, "profile") == 0)
        json = spex_fleet_reports_answer(&master->profiles, message->data);
    else if (strcmp(message->subject, "models") == 0)
        json = spex_fleet_sampled_answer(&master->sampled, message->data);
    else
        json = json_pack("{s:s}", "error", "status, why, profile or models was expected");
    if (json) {
        json_object_set_new(json, "fleet", json_string(master->policy->name));
        json_object_set_new(json, "master", about_me(master));
        json_object_set_new(json, "dropped",
                            json_integer((json_int_t)spex_link_dropped(master->reports)));
    }
    return json;
}

/* Measurements of kernels are read back as they were. */
static void answer(struct master *master, const struct spex_link_message *message) {
    json_t *json = message->reply[0] ? answer_json(master, message) : NULL;
    int digits = strcmp(message->subject, "models") == 0 ? 17 : 6;
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(digits)) : NULL;
    if (text)
        spex_link_send(master->link, message->reply, text, strlen(text));
    free(text);
    json_decref(json);
}

/* Waits a little for requests, and answers those that have come. */
static void answer_all(struct master *master) {
    struct spex_link_message message;
    int wait_ms = TICK_MS;
    for (int m = 0; m < ASKS_MOST && spex_link_take(master->asks, wait_ms, &message); m++) {
        answer(master, &message);
        spex_link_message_free(&message);
        wait_ms = 0;
    }
}

/* What the bucket must have after each connection: the server may be another one. */
static int prepare(struct master *master, struct spex_error *error) {
    int err = spex_link_bucket_make(master->link, master->bucket, error);
    return err ? err
               : spex_link_put(master->link, master->bucket, "policy", master->text,
                               master->text_size, error);
}

static void host_key(const char *host, char *key, size_t size) {
    snprintf(key, size, "host.%s", host);
}

/* Hosts of which nothing is known yet may have what an earlier master desired. 0, or an error after
 * which it is tried again. */
static int ask_before(struct master *master, struct spex_error *error) {
    for (size_t h = 0; h < master->lead.host_count; h++) {
        struct spex_lead_host *host = &master->lead.hosts[h];
        struct spex_link_message value;
        struct spex_error ignored;
        char key[SPEX_LINK_NAME_BYTES];
        if (host->asked)
            continue;
        host_key(host->name, key, sizeof(key));
        int err = spex_link_get(master->link, master->bucket, key, &value, error);
        if (err && err != -ENOENT)
            return err;
        host->asked = true;
        if (err || !value.data)
            continue;
        spex_fleet_desired_read(value.data, value.size, &host->before, &ignored);
        spex_link_message_free(&value);
    }
    return 0;
}

static int write_desired(struct master *master, struct spex_lead_host *host,
                         struct spex_error *error) {
    char key[SPEX_LINK_NAME_BYTES];
    char *text = spex_lead_desired(&master->lead, host, now_of(master));
    if (!text)
        return spex_fail(error, -ENOMEM, "out of memory");
    host_key(host->name, key, sizeof(key));
    int err = spex_link_put(master->link, master->bucket, key, text, strlen(text), error);
    /* It is due again. */
    if (err)
        host->number = 0;
    free(text);
    return err;
}

static int write_all(struct master *master, struct spex_error *error) {
    int err = 0;
    for (size_t h = 0; h < master->lead.host_count && !err; h++)
        if (spex_lead_is_due(&master->lead, &master->lead.hosts[h], now_of(master)))
            err = write_desired(master, &master->lead.hosts[h], error);
    return err;
}

/* What was desired of a host that is gone is not what it is to begin with when it is back. */
static void host_gone(void *user, const char *name) {
    struct master *master = user;
    struct spex_error error;
    char key[SPEX_LINK_NAME_BYTES], text[SPEX_LINK_NAME_BYTES];
    host_key(name, key, sizeof(key));
    spex_link_delete(master->link, master->bucket, key, &error);
    snprintf(text, sizeof(text), "host %s: gone", name);
    say(master, "gone", text);
}

static int decide(struct master *master, struct spex_error *error) {
    char text[512];
    size_t before = master->lead.decisions;
    int err = ask_before(master, error);
    if (err)
        return err;
    if (spex_lead_decide(&master->lead, now_of(master), host_gone, master) != 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    if (master->lead.decisions != before) {
        spex_fleet_decision_text(&master->lead.acted, text, sizeof(text));
        say(master, "decision", text);
    }
    if (spex_fleet_hook_step(&master->hook, &master->lead, now_of(master)))
        say(master, "hook", master->hook.last);
    return write_all(master, error);
}

static void beat(struct master *master) {
    char what[48], to[SPEX_LINK_NAME_BYTES];
    snprintf(what, sizeof(what), "master.%s", master->id);
    subject(master, what, to, sizeof(to));
    spex_link_send(master->link, to, master->host, strlen(master->host));
}

static void lead_from_now(struct master *master) {
    char text[192];
    if (!isnan(master->leads))
        return;
    master->leads = now_of(master);
    snprintf(text, sizeof(text), "fleet %s: leads %zu hosts", master->policy->name,
             master->lead.host_count);
    say(master, "leads", text);
}

/* A new connection: the bucket is prepared, and hosts have time to be heard. */
static int reconnect(struct master *master, uint64_t connects, struct spex_error *error) {
    int err = prepare(master, error);
    if (err)
        return err;
    master->connects = connects;
    master->next = now_of(master) + LISTEN_SECONDS;
    spex_lead_forgive(&master->lead, now_of(master));
    return 0;
}

static int lead_on(struct master *master, struct spex_error *error) {
    lead_from_now(master);
    beat(master);
    int err = decide(master, error);
    return err ? err
               : spex_fleet_course_step(&master->course, master->profiles.store, &master->lead,
                                        now_of(master), error);
}

/* One turn while there is a connection. An exit status. */
static int turn(struct master *master) {
    struct spex_error error = {""};
    uint64_t connects = spex_link_connects(master->link);
    int status = check_others(master);
    if (status || now_of(master) < master->next)
        return status;
    master->next = now_of(master) + DECIDE_SECONDS;
    int err = connects != master->connects ? reconnect(master, connects, &error)
                                           : lead_on(master, &error);
    if (err)
        complain(master, &error);
    else
        master->complaints.last.text[0] = '\0';
    return err == -EACCES || err == -ENOMEM ? SPEX_EXIT_FAILED : SPEX_EXIT_OK;
}

static bool is_stopped(int stop_fd) {
    struct pollfd fd = {.fd = stop_fd, .events = POLLIN};
    return spex_wait_ready(&fd, 1, 0) != 0;
}

static int run(struct master *master, int stop_fd) {
    int status = SPEX_EXIT_OK, before = 1;
    while (status == SPEX_EXIT_OK && !is_stopped(stop_fd)) {
        struct spex_error error;
        int state = spex_link_state(master->link, &error);
        if (state < 0)
            return spex_complain(SPEX_EXIT_FAILED, "fleet master: %s", error.text);
        if (state != before)
            say(master, state ? "connected" : "disconnected",
                state ? "NATS: connected"
                      : "NATS: not connected; probes stay as they are until "
                        "the agents' leases are over");
        before = state;
        take_reports(master);
        spex_repeated_look(&master->complaints, spex_clock_ns(CLOCK_MONOTONIC));
        if (take_profiles(master) != 0)
            return spex_complain(SPEX_EXIT_FAILED, "fleet master: out of memory");
        if (spex_fleet_hook_look(&master->hook, now_of(master)))
            say(master, "hook", master->hook.last);
        if (state)
            status = turn(master);
        answer_all(master);
        if (!status && ferror(stdout))
            status = spex_complain(SPEX_EXIT_FAILED, "the output cannot be written");
    }
    return status;
}

static int listen_to(struct master *master, const char *what, int most,
                     struct spex_link_inbox **inbox) {
    char prefix[SPEX_LINK_NAME_BYTES];
    subject(master, what, prefix, sizeof(prefix));
    return spex_link_listen(master->link, prefix, most, inbox);
}

static int run_linked(struct master *master, int stop_fd) {
    struct spex_error error = {""};
    if (spex_link_open(&master->options, &master->link, &error) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "fleet master: %s", error.text);
    int err = listen_to(master, "report", REPORTS_MOST, &master->reports);
    err = err ? err : listen_to(master, "ask", ASKS_MOST, &master->asks);
    err = err ? err : listen_to(master, "master", ASKS_MOST, &master->masters);
    err =
        err ? err : spex_fleet_reports_open(&master->profiles, master->link, master->policy->name);
    err = err ? err : spex_fleet_sampled_open(&master->sampled, master->link, master->policy->name);
    int status =
        err ? spex_complain(SPEX_EXIT_FAILED, "fleet master: cannot listen: %s", strerror(-err))
            : SPEX_EXIT_OK;
    if (!err && master->store &&
        spex_fleet_reports_keep(&master->profiles, &master->sampled.kernels, master->store,
                                master->policy->name, master->every, &error) != 0)
        status = spex_complain(SPEX_EXIT_FAILED, "fleet master: --store %s", error.text);
    status = status ? status : run(master, stop_fd);
    /* What has come since the last snapshot. */
    master->profiles.due = 0;
    if (spex_fleet_reports_write(&master->profiles, &master->sampled.kernels, 0, &error) != 0)
        status = spex_complain(SPEX_EXIT_FAILED, "fleet master: --store %s", error.text);
    spex_link_inbox_free(master->reports);
    spex_link_inbox_free(master->asks);
    spex_link_inbox_free(master->masters);
    spex_fleet_reports_close(&master->profiles);
    spex_fleet_sampled_close(&master->sampled);
    spex_link_close(master->link);
    return status;
}

/* Numbers that no other master has: of this one, and of what it writes. */
static void draw_numbers(struct master *master, uint64_t *first) {
    uint64_t drawn[2] = {spex_clock_ns(CLOCK_REALTIME), (uint64_t)getpid()};
    if (getrandom(drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn))
        drawn[1] ^= spex_clock_ns(CLOCK_MONOTONIC) << 16;
    snprintf(master->id, sizeof(master->id), "%016" PRIx64, drawn[0]);
    *first = drawn[1] >> 16;
}

static int lead(struct master *master) {
    uint64_t first;
    int stop_fd = spex_stop_signals_open();
    if (stop_fd < 0)
        return spex_complain(SPEX_EXIT_FAILED, "fleet master: cannot wait for signals: %s",
                             strerror(errno));
    draw_numbers(master, &first);
    if (gethostname(master->host, sizeof(master->host) - 1) != 0)
        snprintf(master->host, sizeof(master->host), "?");
    spex_make_printable(master->host);
    snprintf(master->bucket, sizeof(master->bucket), "spex_%s", master->policy->name);
    master->options.name = "spex fleet master";
    master->begin_ns = spex_clock_ns(CLOCK_MONOTONIC);
    master->hook.removed = -1e9;
    master->leads = NAN;
    spex_lead_init(&master->lead, master->policy, master->hook.command != NULL, first);
    int status = run_linked(master, stop_fd);
    spex_repeated_end(&master->complaints);
    spex_lead_free(&master->lead);
    close(stop_fd);
    return status;
}

/* The policy is read once: what is decided by and what agents get are the same. */
static int read_policy(struct master *master) {
    struct spex_error error = {""};
    int err = spex_whole_file_read(master->path, SPEX_FILE_ANY, POLICY_BYTES, &master->text,
                                   &master->text_size, &error);
    err = err ? err : spex_fleet_policy_parse(master->path, master->text, &master->policy, &error);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "%s", error.text);
    if (spex_link_is_name(master->policy->name) && strlen(master->policy->name) <= 32)
        return SPEX_EXIT_OK;
    return spex_complain(SPEX_EXIT_FAILED,
                         "%s: <profiling-spec>: the name of a fleet was expected, of up to 32 "
                         "letters, digits, \"-\" and \"_\", not \"%s\"",
                         master->path, master->policy->name);
}

int spex_fleet_master(int argc, char **argv) {
    static const struct spex_syntax syntax = {
        "fleet master", spex_fleet_usage, "a policy was expected", 1, 1, SPEX_OPTIONS_ANYWHERE};
    struct master master = {.every = 300, .complaints = {.who = "fleet master: "}};
    const struct spex_option known[] = {SPEX_LINK_OPTIONS(&master.options),
                                        {"hook", .text = &master.hook.command},
                                        {"store", .text = &master.store},
                                        {"every", .number = &master.every, .range = {1, 86400},
                                         .error = "1 to 86400 seconds were expected"},
                                        {"json", .flag = &master.json},
                                        {.name = NULL}};
    struct spex_operands operands;
    int status = spex_options_take(&syntax, known, argc, argv, &operands);
    if (status)
        return status;
    if (spex_link_missing(&master.options))
        return spex_complain(SPEX_EXIT_USAGE, "fleet master: %s",
                             spex_link_missing(&master.options));
    master.path = operands.list[0];
    status = read_policy(&master);
    status = status ? status : lead(&master);
    spex_fleet_policy_free(master.policy);
    free(master.text);
    return status;
}
