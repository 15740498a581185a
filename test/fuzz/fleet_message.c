/* SPDX-License-Identifier: MIT */
/* Any bytes as a report of an agent and as what a master desires: refused with one line, or within
 * the limits; a report is then decided about, as a master does. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "fleet/lead/lead_status.h"
#include "fuzz.h"
#include "text/printable.h"

static struct spex_fleet_policy *policy_made(void) {
    static struct spex_fleet_policy *policy;
    struct spex_error error;
    if (!policy)
        spex_fleet_policy_parse(
            "p",
            "<profiling-spec name='p'><instrumentation-map><unit type='glob' name='*' modes='lat'/>"
            "</instrumentation-map><qos-requirements><response-time probe='q:lat' metric='mean'"
            " at_most='1'/></qos-requirements></profiling-spec>",
            &policy, &error);
    FUZZ_CHECK(policy);
    return policy;
}

static void check_error(int err, const struct spex_error *error) {
    FUZZ_CHECK(err == -EINVAL);
    FUZZ_CHECK(*error->text && !strchr(error->text, '\n') && spex_is_printable(error->text));
}

static void check_report(const struct spex_fleet_report *report) {
    FUZZ_CHECK(report->probes.count <= SPEX_FLEET_PROBES_MAX);
    FUZZ_CHECK(report->count <= SPEX_FLEET_HOST_INSTANCES_MAX);
    for (size_t i = 0; i < report->count; i++) {
        const struct spex_fleet_reported *item = &report->items[i];
        FUZZ_CHECK(item->key.process > 0 && spex_is_printable(item->program));
        FUZZ_CHECK(spex_is_printable(item->why));
        FUZZ_CHECK(isnan(item->response) || item->response >= 0);
        for (size_t p = report->probes.count; p < SPEX_FLEET_PROBES_MAX; p++)
            FUZZ_CHECK(!spex_fleet_set_has(&item->on, p) && !spex_fleet_set_has(&item->here, p));
    }
}

static void gone(void *user, const char *host) {
    (void)user, (void)host;
}

/* Some seconds of a fleet in which the report comes again and again. */
static void lead_by(const char *text, size_t size) {
    struct spex_lead lead;
    struct spex_error error;
    spex_lead_init(&lead, policy_made(), false, 1);
    for (int s = 0; s < 6; s++) {
        struct spex_fleet_report report;
        FUZZ_CHECK(spex_fleet_report_read(text, size, &report, &error) == 0);
        FUZZ_CHECK(spex_lead_take(&lead, "h", &report, s) == 0);
        FUZZ_CHECK(spex_lead_decide(&lead, s, gone, NULL) == 0);
    }
    struct spex_fleet_desired desired;
    char *written = spex_lead_desired(&lead, &lead.hosts[0], 6);
    FUZZ_CHECK(written);
    FUZZ_CHECK(spex_fleet_desired_read(written, strlen(written), &desired, &error) == 0);
    FUZZ_CHECK(desired.count == lead.hosts[0].report.count);
    json_t *status = spex_lead_status(&lead, 0);
    FUZZ_CHECK(status);
    json_decref(status);
    spex_fleet_desired_free(&desired);
    free(written);
    spex_lead_free(&lead);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct spex_fleet_report report;
    struct spex_fleet_desired desired;
    struct spex_error error = {""};
    char *text = fuzz_text(data, size);
    int err = spex_fleet_report_read(text, size, &report, &error);
    if (err)
        check_error(err, &error);
    else
        check_report(&report);
    spex_fleet_report_free(&report);
    if (!err)
        lead_by(text, size);
    err = spex_fleet_desired_read(text, size, &desired, &error);
    if (err)
        check_error(err, &error);
    spex_fleet_desired_free(&desired);
    free(text);
    return 0;
}

size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    static const char *const seeds[] = {
        "{\"format\":1,\"agent\":5,\"desired\":0,\"probes\":[\"a:lat\",\"b:lat\"],\"instances\":["
        "{\"instance\":\"1.2\",\"program\":\"p\",\"response\":0.01,\"throughput\":9.5,"
        "\"budget\":0.01,\"here\":\"3\",\"on\":\"3\",\"costs\":[0.1,null],\"rates\":[10,20],"
        "\"why\":\"\"},"
        "{\"instance\":\"2.2\",\"program\":\"p\",\"response\":null,\"throughput\":null,"
        "\"budget\":0,\"here\":\"3\",\"on\":\"1\",\"costs\":[0.1],\"rates\":[10],\"why\":\"w\"}]}",
        "{\"format\":1,\"number\":9,\"probes\":[\"a:lat\",\"b:lat\"],\"instances\":["
        "{\"instance\":\"1.2\",\"on\":\"2\"}]}",
    };
    return fuzz_text_seed(seeds, sizeof(seeds) / sizeof(seeds[0]), number, data, room);
}

const char *const fuzz_words[] = {"{",         "}",         "[",          "]",          "\"",
                                  ",",         ":",         "null",       "1e400",      "-1",
                                  "0",         "1",         "7",          "f",          "999999999",
                                  "\"a:lat\"", "\"1.2\"",   "\\u0000",    "\\u001b",    "\xff",
                                  "\"on\":",   "\"here\":", "\"costs\":", "\"rates\":", NULL};
