/* SPDX-License-Identifier: MIT */
#include "tools/fleet/fleet_reports.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "observe/profile_reader.h"
#include "tools/common/json.h"
#include "tools/common/profile_json.h"

/* Messages that wait, of profiles and of kernels, and for how long they are taken in one turn. */
enum { PROFILES_MOST = 65536, KERNELS_MOST = 4096 };
#define TAKE_NS UINT64_C(20000000)

/* When the first snapshot of a history is taken, at the latest. */
#define FIRST_SECONDS 30.0

/* Probes of one answer: each has up to 4 KB. */
enum { PROBES_MOST = 200 };

int spex_fleet_reports_open(struct spex_fleet_reports *reports, struct spex_link *link,
                            const char *fleet) {
    char prefix[SPEX_LINK_NAME_BYTES];
    spex_fleet_sums_init(&reports->sums);
    snprintf(prefix, sizeof(prefix), "spex.%s.profile", fleet);
    return spex_link_listen(link, prefix, PROFILES_MOST, &reports->inbox);
}

void spex_fleet_reports_close(struct spex_fleet_reports *reports) {
    spex_link_inbox_free(reports->inbox);
    spex_fleet_store_close(reports->store);
    spex_fleet_sums_free(&reports->sums);
}

/* With the first snapshot all others are compared: all instances have reported then. */
int spex_fleet_reports_keep(struct spex_fleet_reports *reports, struct spex_fleet_kernels *kernels,
                            const char *path, const char *fleet, double every,
                            struct spex_error *error) {
    reports->every = every;
    reports->due = fmin(FIRST_SECONDS, every);
    int err = spex_fleet_store_open(path, fleet, &reports->store, error);
    return err ? err : spex_fleet_store_read_kernels(reports->store, fleet, kernels, error);
}

int spex_fleet_reports_write(struct spex_fleet_reports *reports, struct spex_fleet_kernels *kernels,
                             double now, struct spex_error *error) {
    if (!reports->store || now < reports->due)
        return 0;
    reports->due = now + reports->every;
    double time = spex_clock_seconds(CLOCK_REALTIME);
    return spex_fleet_store_write(reports->store, time, &reports->sums, kernels, error);
}

/* 0, -EINVAL with the reason, or -ENOMEM. */
static int take_profile(void *user, const struct spex_lead *lead,
                        const struct spex_link_message *message, double now,
                        struct spex_error *error) {
    struct spex_fleet_reports *reports = user;
    struct spex_fleet_reports_by by;
    struct spex_profile profile = {.rows = NULL};
    int err = spex_link_is_name(message->subject)
                  ? spex_fleet_profile_read(message->data, message->size, &by, &profile, error)
                  : spex_fail(error, -EINVAL, "a host's name was expected");
    if (!err && spex_lead_is_others(lead, message->subject, by.agent))
        err = spex_fail(error, -EINVAL, "another agent reports for it");
    if (!err)
        err = spex_fleet_sums_take(&reports->sums, message->subject, &by, &profile, now);
    spex_profile_free(&profile);
    return err < 0 ? err : 0;
}

/* What is taken of each message of an inbox: 0, -EINVAL with the reason, or -ENOMEM. */
struct taking {
    struct spex_link_inbox *inbox;
    int (*take)(void *user, const struct spex_lead *lead, const struct spex_link_message *message,
                double now, struct spex_error *error);
    void *user;
    const char *what, *verb;
    uint64_t *refused;
};

static int take_all(const struct taking *taking, const struct spex_lead *lead, double now,
                    struct spex_error *error) {
    struct spex_link_message message;
    uint64_t until_ns = spex_clock_ns(CLOCK_MONOTONIC) + TAKE_NS;
    int err = 0;
    error->text[0] = '\0';
    while (err != -ENOMEM && spex_clock_ns(CLOCK_MONOTONIC) < until_ns &&
           spex_link_take(taking->inbox, 0, &message)) {
        struct spex_error why = {""};
        err = taking->take(taking->user, lead, &message, now, &why);
        if (err && err != -ENOMEM) {
            ++*taking->refused;
            spex_error_set(error, "%s of host %s %s refused: %s", taking->what, message.subject,
                           taking->verb, why.text);
        }
        spex_link_message_free(&message);
    }
    return err == -ENOMEM ? err : 0;
}

int spex_fleet_reports_take(struct spex_fleet_reports *reports, const struct spex_lead *lead,
                            double now, struct spex_error *error) {
    const struct taking taking = {reports->inbox, take_profile, reports,
                                  "a profile",    "was",        &reports->refused};
    int err = take_all(&taking, lead, now, error);
    return err ? err : spex_fleet_sums_age(&reports->sums, now);
}

static json_t *number_or_null(double number, bool known) {
    return known && isfinite(number) ? json_real(number) : json_null();
}

/* "rate" is that of an instance while the probe is on there, as the mean over them. */
static json_t *probe_json(const struct spex_fleet_sum *sum) {
    double low = 0, high = 0;
    bool known = spex_reported_rate(&sum->between, &low, &high);
    json_t *json = spex_profile_row_json(&sum->profile, &sum->profile.rows[0]);
    int err =
        !json || json_object_set_new(json, "instances", json_integer((json_int_t)sum->instances));
    err = err || json_object_set_new(json, "rate_low", number_or_null(low, known));
    err = err || json_object_set_new(json, "rate_high", number_or_null(high, known));
    return spex_json_unless(err, json);
}

/* Adds the probe, if there is anything of it. 0, or another number without memory. */
static int add_probe(json_t *probes, const struct spex_fleet_sums *sums, size_t probe,
                     const struct spex_fleet_reports_instance *instance) {
    struct spex_fleet_sum sum;
    if (spex_fleet_sums_of(sums, probe, instance, &sum) != 0)
        return -ENOMEM;
    int err = sum.instances ? json_array_append_new(probes, probe_json(&sum)) : 0;
    spex_profile_free(&sum.profile);
    return err;
}

static json_t *count_json(uint64_t count) {
    return json_integer((json_int_t)count);
}

static json_t *reports_json(const struct spex_fleet_reports *reports) {
    const struct spex_fleet_sums *sums = &reports->sums;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "messages",
                     count_json(sums->messages), "refused", count_json(reports->refused), "stale",
                     count_json(sums->refused[SPEX_FLEET_STALE]), "returned",
                     count_json(sums->refused[SPEX_FLEET_OVER]), "no_room",
                     count_json(sums->refused[SPEX_FLEET_NO_ROOM]), "dropped",
                     count_json(reports->inbox ? spex_link_dropped(reports->inbox) : 0),
                     "probes_left_out", count_json(sums->probes_left_out), "instances",
                     count_json(sums->count), "gone", count_json(sums->gone_count), "bytes",
                     count_json(sums->bytes));
}

static json_t *answer_json(const struct spex_fleet_reports *reports, size_t from,
                           const struct spex_fleet_reports_instance *instance) {
    size_t count = reports->sums.probe_count, to = from;
    json_t *probes = json_array();
    int err = !probes;
    for (; to < count && !err && json_array_size(probes) < PROBES_MOST; to++)
        err = add_probe(probes, &reports->sums, to, instance);
    return spex_json_unless(err, json_pack("{s:o, s:o, s:o}", "probes", probes, "next",
                                           to < count ? count_json(to) : json_null(), "told",
                                           reports_json(reports)));
}

/* NULL: there is none of that name, "HOST/PROCESS". */
static const struct spex_fleet_reports_instance *instance_of(const struct spex_fleet_sums *sums,
                                                             const char *name) {
    char host[SPEX_FLEET_NAME_BYTES];
    const char *slash = strchr(name, '/');
    if (!slash || slash - name >= (int)sizeof(host))
        return NULL;
    snprintf(host, sizeof(host), "%.*s", (int)(slash - name), name);
    return spex_fleet_sums_find(sums, host, (int32_t)strtol(slash + 1, NULL, 10));
}

json_t *spex_fleet_reports_answer(const struct spex_fleet_reports *reports, const char *request) {
    char *rest;
    size_t from = strtoul(request, &rest, 10);
    const struct spex_fleet_reports_instance *instance =
        *rest == ' ' ? instance_of(&reports->sums, rest + 1) : NULL;
    if (*rest == ' ' && !instance)
        return json_pack("{s:s}", "error",
                         "no such instance has reported; spex fleet status lists "
                         "instances");
    return answer_json(reports, from, instance);
}

int spex_fleet_sampled_open(struct spex_fleet_sampled *sampled, struct spex_link *link,
                            const char *fleet) {
    char prefix[SPEX_LINK_NAME_BYTES];
    snprintf(prefix, sizeof(prefix), "spex.%s.kernels", fleet);
    return spex_link_listen(link, prefix, KERNELS_MOST, &sampled->inbox);
}

void spex_fleet_sampled_close(struct spex_fleet_sampled *sampled) {
    spex_link_inbox_free(sampled->inbox);
    spex_fleet_kernels_free(&sampled->kernels);
}

/* 0, -EINVAL with the reason, or -ENOMEM. */
static int take_kernels(void *user, const struct spex_lead *lead,
                        const struct spex_link_message *message, double now,
                        struct spex_error *error) {
    struct spex_fleet_sampled *sampled = user;
    struct spex_kernel_message told = {.count = 0};
    int err = spex_link_is_name(message->subject)
                  ? spex_kernel_message_read(message->data, message->size, &told, error)
                  : spex_fail(error, -EINVAL, "a host's name was expected");
    if (!err && spex_lead_is_others(lead, message->subject, told.agent))
        err = spex_fail(error, -EINVAL, "another agent reports for it");
    err = err ? err : spex_fleet_kernels_take(&sampled->kernels, &told, false, now);
    spex_kernel_message_free(&told);
    return err;
}

int spex_fleet_sampled_take(struct spex_fleet_sampled *sampled, const struct spex_lead *lead,
                            double now, struct spex_error *error) {
    const struct taking taking = {sampled->inbox, take_kernels, sampled,
                                  "kernels",      "were",       &sampled->refused};
    return take_all(&taking, lead, now, error);
}

static json_t *overview(const struct spex_fleet_sampled *sampled) {
    json_t *json = spex_fleet_kernels_json(&sampled->kernels);
    json_object_set_new(json, "refused", json_integer((json_int_t)sampled->refused));
    json_object_set_new(json, "dropped",
                        json_integer((json_int_t)spex_link_dropped(sampled->inbox)));
    return json_pack("{s:o}", "kernels", json);
}

json_t *spex_fleet_sampled_answer(const struct spex_fleet_sampled *sampled, const char *request) {
    char name[SPEX_CLASS_BYTES];
    size_t length = strcspn(request, " ");
    if (!*request)
        return overview(sampled);
    snprintf(name, sizeof(name), "%.*s", (int)length, request);
    const struct spex_fleet_class *class =
        length < sizeof(name) ? spex_fleet_class_find(&sampled->kernels, name) : NULL;
    if (!class)
        return json_pack("{s:s}", "error",
                         "no kernels of such a class were told; spex fleet models lists classes");
    return json_pack(
        "{s:o}", "message",
        spex_fleet_class_kernel_json(class, request[length] ? request + length + 1 : NULL));
}
