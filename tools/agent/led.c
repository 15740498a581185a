/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tools/agent/led.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/whole_file.h"
#include "text/printable.h"

/* Programs tell something new once a second, and a report follows on that: what waits here for its
 * turn is answered later. At least and at most between two reports. */
#define REPORT_LEAST 0.85
#define REPORT_MOST  1.1

/* Between looks at what may have escaped a watch. */
#define WATCH_SECONDS 30.0
#define RETRY_SECONDS 1.0

/* Messages of masters that wait. */
enum { MASTERS_MOST = 64 };

static void complain(struct spex_led *led, const struct spex_error *error) {
    spex_repeated_complain(&led->complaints, error->text, spex_clock_ns(CLOCK_MONOTONIC));
}

/* Names of hosts have dots, which divide subjects. */
static int name_host(struct spex_led *led, const char *host, struct spex_error *error) {
    if (host)
        snprintf(led->host, sizeof(led->host), "%s", host);
    else if (gethostname(led->host, sizeof(led->host) - 1) != 0)
        return spex_fail(error, -errno, "the host has no name: %s", strerror(errno));
    for (char *c = led->host; !host && *c; c++)
        *c = *c == '.' ? '_' : *c;
    if (spex_link_is_name(led->host) && (!host || strcmp(led->host, host) == 0))
        return 0;
    return spex_fail(error, -EINVAL,
                     "--host: a name of 1 to 63 letters, digits, \"-\" and \"_\" was expected, not "
                     "\"%s\"",
                     host ? host : led->host);
}

/* Without it a restart of the machine is told by the numbers of processes alone. */
static void read_boot(struct spex_led *led) {
    char *text = NULL;
    size_t size = 0;
    struct spex_error error;
    if (spex_whole_file_read("/proc/sys/kernel/random/boot_id", SPEX_FILE_ANY, 1 << 20, &text,
                             &size, &error) == 0)
        snprintf(led->boot, sizeof(led->boot), "%.*s", (int)strcspn(text, "\n"), text);
    spex_make_printable(led->boot);
    free(text);
}

int spex_led_open(struct spex_led *led, const struct spex_link_options *options, const char *fleet,
                  const char *host, double patience, struct spex_error *error) {
    char prefix[SPEX_LINK_NAME_BYTES];
    *led = (struct spex_led){.fleet = fleet, .patience = patience, .heard = -INFINITY};
    led->watched = led->reported = -INFINITY;
    led->connected = true;
    led->complaints.who = "agent: ";
    if (getrandom(&led->agent, sizeof(led->agent), 0) != (ssize_t)sizeof(led->agent))
        led->agent = (uint32_t)getpid();
    led->random = led->agent;
    read_boot(led);
    snprintf(led->bucket, sizeof(led->bucket), "spex_%s", fleet);
    snprintf(prefix, sizeof(prefix), "spex.%s.master", fleet);
    int err = name_host(led, host, error);
    err = err ? err : spex_link_open(options, &led->link, error);
    if (err)
        return err;
    err = spex_link_listen(led->link, prefix, MASTERS_MOST, &led->masters);
    return err ? spex_fail(error, err, "cannot listen to masters: %s", strerror(-err)) : 0;
}

static void unwatch(struct spex_led *led) {
    spex_link_watch_free(led->policies);
    spex_link_watch_free(led->wishes);
    led->policies = led->wishes = NULL;
}

void spex_led_close(struct spex_led *led) {
    spex_repeated_end(&led->complaints);
    unwatch(led);
    spex_link_inbox_free(led->masters);
    spex_link_close(led->link);
    spex_fleet_policy_free(led->policy);
    free(led->text);
    spex_selection_free(&led->response);
    spex_fleet_desired_free(&led->desired);
}

static int watch(struct spex_led *led, struct spex_error *error) {
    char key[SPEX_LINK_NAME_BYTES];
    snprintf(key, sizeof(key), "host.%s", led->host);
    unwatch(led);
    int err = spex_link_watch(led->link, led->bucket, "policy", &led->policies, error);
    err = err ? err : spex_link_watch(led->link, led->bucket, key, &led->wishes, error);
    if (err)
        unwatch(led);
    return err;
}

/* Watches are made anew with each connection, since the server may have lost them, and now and then
 * besides. A bucket that is not there yet is waited for. */
static int keep_watches(struct spex_led *led, double now, struct spex_error *error) {
    uint64_t connects = spex_link_connects(led->link);
    double after = !led->wishes ? RETRY_SECONDS : WATCH_SECONDS;
    bool anew = connects != led->connects && led->wishes;
    if (!anew && now - led->watched < after)
        return 0;
    led->watched = now;
    int err = watch(led, error);
    if (!err)
        led->connects = connects;
    if (err && err != -ENOENT && err != -EACCES)
        complain(led, error);
    return err == -EACCES ? err : 0;
}

/* The text comes again with each watch: only another one is taken. */
static void take_policy(struct spex_led *led, struct spex_link_message *message) {
    struct spex_fleet_policy *policy = NULL;
    struct spex_selection response = {.items = NULL};
    struct spex_error error = {""};
    if (!message->data || (led->text && strcmp(led->text, message->data) == 0))
        return;
    int err = spex_fleet_policy_parse("the policy in NATS", message->data, &policy, &error);
    err = err ? err : spex_selection_parse(policy->response.probe, &response, &error);
    if (err) {
        complain(led, &error);
        spex_fleet_policy_free(policy);
        return;
    }
    spex_fleet_policy_free(led->policy);
    spex_selection_free(&led->response);
    free(led->text);
    led->text = message->data;
    message->data = NULL;
    led->policy = policy;
    led->response = response;
    led->changed = true;
}

/* A value that was deleted desires nothing. */
static void take_desired(struct spex_led *led, const struct spex_link_message *message) {
    struct spex_fleet_desired desired = {.count = 0};
    struct spex_error error = {""};
    if (message->data &&
        spex_fleet_desired_read(message->data, message->size, &desired, &error) != 0) {
        complain(led, &error);
        return;
    }
    spex_fleet_desired_free(&led->desired);
    led->desired = desired;
}

static int take_values(struct spex_led *led) {
    struct spex_link_message message;
    int taken = 0;
    while (led->policies && spex_link_watch_take(led->policies, &message)) {
        take_policy(led, &message);
        spex_link_message_free(&message);
        taken = 1;
    }
    while (led->wishes && spex_link_watch_take(led->wishes, &message)) {
        take_desired(led, &message);
        spex_link_message_free(&message);
        taken = 1;
    }
    return taken;
}

static bool is_led(const struct spex_led *led) {
    return led->policy && spex_clock_seconds(CLOCK_BOOTTIME) - led->heard < led->patience;
}

static void take_masters(struct spex_led *led, double now) {
    struct spex_link_message message;
    while (spex_link_take(led->masters, 0, &message)) {
        led->heard = now;
        spex_link_message_free(&message);
    }
}

int spex_led_step(struct spex_led *led, struct spex_error *error) {
    double now = spex_clock_seconds(CLOCK_BOOTTIME);
    int state = spex_link_state(led->link, error);
    if (state < 0)
        return state;
    int err = state ? keep_watches(led, now, error) : 0;
    if (err)
        return err;
    take_masters(led, now);
    spex_repeated_look(&led->complaints, spex_clock_ns(CLOCK_MONOTONIC));
    int taken = take_values(led);
    bool before = led->led, was = led->connected;
    led->led = is_led(led);
    led->connected = state;
    if (was != led->connected)
        spex_complain(0, "agent: NATS is %s", state ? "there again" : "not there");
    if (before && !led->led)
        spex_complain(0, "agent: nothing was heard of a master for %g s: probes go off",
                      led->patience);
    return taken || before != led->led;
}

struct spex_hosted_wish spex_led_wish(const struct spex_led *led,
                                      const struct spex_hosted *hosted) {
    const struct spex_fleet_instance_key key = {hosted->process, hosted->loaded_ns};
    const struct spex_fleet_wanted *wanted = spex_fleet_desired_find(&led->desired, &key);
    return (struct spex_hosted_wish){.response = &led->response,
                                     .any = led->led,
                                     .texts = wanted ? &led->desired.probes : NULL,
                                     .set = wanted ? &wanted->probes : NULL};
}

/* A number for each probe that there may be: none is known. */
static float *no_numbers(void) {
    float *numbers = malloc(SPEX_FLEET_PROBES_MAX * sizeof(*numbers));
    for (size_t p = 0; numbers && p < SPEX_FLEET_PROBES_MAX; p++)
        numbers[p] = -1;
    return numbers;
}

/* -ENOMEM. What there is no room for is left out. */
static int report_probes(const struct spex_hosted *hosted, struct spex_fleet_report *report,
                         struct spex_fleet_reported *item) {
    bool held = hosted->lease.state == SPEX_HELD;
    item->costs = no_numbers();
    item->rates = no_numbers();
    if (!item->costs || !item->rates)
        return -ENOMEM;
    for (size_t p = 0; p < hosted->probes.count; p++) {
        const struct spex_hosted_probe *probe = &hosted->probes.items[p];
        int number = probe->there && probe->mapped
                         ? spex_fleet_texts_add(&report->probes, probe->text)
                         : -E2BIG;
        if (number == -ENOMEM)
            return -ENOMEM;
        if (number < 0)
            continue;
        spex_fleet_set_add(&item->here, (size_t)number);
        if (!held || !spex_hosted_probe_is_on(probe))
            continue;
        spex_fleet_set_add(&item->on, (size_t)number);
        item->costs[number] = (float)probe->share;
        item->rates[number] = (float)probe->rate;
    }
    return 0;
}

/* An instance of the fleet is a process that has the probe of the response time. */
static bool is_instance(const struct spex_hosted *hosted) {
    for (size_t p = 0; p < hosted->probes.count; p++)
        if (hosted->probes.items[p].there && hosted->probes.items[p].response)
            return hosted->heard_ns != 0;
    return false;
}

static int report_item(const struct spex_hosted *hosted, struct spex_fleet_report *report) {
    struct spex_fleet_reported *item = &report->items[report->count++];
    *item = (struct spex_fleet_reported){
        .key = {hosted->process, hosted->loaded_ns},
        .response = hosted->response.response,
        .throughput = hosted->response.throughput,
    };
    snprintf(item->program, sizeof(item->program), "%s", hosted->command);
    snprintf(item->why, sizeof(item->why), "%.*s", (int)sizeof(item->why) - 1,
             hosted->told.why.text);
    /* It may be cut within a character. */
    spex_make_printable(item->why);
    return report_probes(hosted, report, item);
}

/* Whether each instance has told something since the last report. */
static bool all_new(const struct spex_led *led, const struct spex_hosted *hosted, size_t count) {
    bool any = false;
    for (size_t h = 0; h < count; h++) {
        if (!is_instance(&hosted[h]))
            continue;
        any = true;
        if (hosted[h].heard_ns <= led->reported_ns)
            return false;
    }
    return any;
}

static bool is_due(const struct spex_led *led, const struct spex_hosted *hosted, size_t count,
                   double now) {
    double since = now - led->reported;
    return since >= REPORT_MOST || (since >= REPORT_LEAST && all_new(led, hosted, count));
}

int spex_led_report(struct spex_led *led, const struct spex_hosted *hosted, size_t count) {
    struct spex_fleet_report report = {.agent = led->agent, .desired = led->desired.number};
    char subject[SPEX_LINK_NAME_BYTES];
    double now = spex_clock_seconds(CLOCK_BOOTTIME);
    int err = 0;
    if (!led->policy || !is_due(led, hosted, count, now))
        return 0;
    led->reported = now;
    led->reported_ns = spex_clock_ns(CLOCK_MONOTONIC);
    report.items = calloc(count + 1, sizeof(*report.items));
    if (!report.items)
        return -ENOMEM;
    for (size_t h = 0; h < count && report.count < SPEX_FLEET_HOST_INSTANCES_MAX && !err; h++)
        if (is_instance(&hosted[h]))
            err = report_item(&hosted[h], &report);
    char *text = err ? NULL : spex_fleet_report_write(&report);
    spex_fleet_report_free(&report);
    if (!text)
        return -ENOMEM;
    snprintf(subject, sizeof(subject), "spex.%s.report.%s", led->fleet, led->host);
    if (spex_link_send(led->link, subject, text, strlen(text)) == -E2BIG) {
        struct spex_error error = {""};
        spex_error_set(&error, "a report of %zu bytes is too large: name fewer programs",
                       strlen(text));
        complain(led, &error);
    }
    free(text);
    return 0;
}
