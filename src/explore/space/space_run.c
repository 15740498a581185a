/* SPDX-License-Identifier: MIT */
/* Reads the run rules. Attributes that are missing keep the defaults of spex_rules_default. */
#include "explore/space/space_run.h"

#include <inttypes.h>
#include <string.h>

#include "text/number.h"

/* Limits against typing errors: of repetitions, of all trials, of records a thread, and of
 * times. */
#define TRIALS_MAX     1000
#define TRIALS_ALL_MAX 1000000000
#define RECORDS_MAX    1000000000
#define SECONDS_MAX    86400

/* An optional whole number; *value stays when the attribute is not there. */
static int take_count(struct spex_xml *xml, const xmlNode *element, const char *name, int64_t low,
                      int64_t high, int64_t *value) {
    const char *text = spex_xml_attribute(element, name);
    if (!text || (spex_number_integer(text, value) && *value >= low && *value <= high))
        return 0;
    return spex_xml_fail(xml, element,
                         "%s=\"%s\": a whole number of %" PRId64 " to %" PRId64 " was expected",
                         name, text, low, high);
}

/* The same for seconds, with or without a fraction. */
static int take_seconds(struct spex_xml *xml, const xmlNode *element, const char *name,
                        double *value) {
    const char *text = spex_xml_attribute(element, name);
    if (!text || (spex_number_seconds(text, value) && *value <= SECONDS_MAX))
        return 0;
    return spex_xml_fail(xml, element, "%s=\"%s\": seconds of 0 to %d were expected", name, text,
                         SECONDS_MAX);
}

/* "auto", the default, leaves *seconds negative: the end of the warm-up is looked for. */
static int take_warmup(struct spex_xml *xml, const xmlNode *element, double *seconds) {
    const char *text = spex_xml_attribute(element, "warmup");
    if (!text || strcmp(text, "auto") == 0)
        return 0;
    if (spex_number_seconds(text, seconds) && *seconds <= SECONDS_MAX)
        return 0;
    return spex_xml_fail(xml, element, "warmup=\"%s\": auto, or seconds of 0 to %d, was expected",
                         text, SECONDS_MAX);
}

/* The share of finals, or "none"; their zone, and how sure the winner is to be. */
static int take_finals(struct spex_xml *xml, const xmlNode *element, struct spex_rules *rules) {
    const char *text = spex_xml_attribute(element, "finals");
    int err = 0;
    if (text && strcmp(text, "none") == 0)
        rules->finals = -1;
    else
        err = spex_xml_part(xml, element, "finals", &rules->finals);
    err = err ? err : spex_xml_part(xml, element, "zone", &rules->finals_zone);
    err = err ? err : spex_xml_part(xml, element, "sure", &rules->finals_sure);
    if (!err && (rules->finals >= 1 || rules->finals_zone >= 1 || rules->finals_sure >= 1))
        err = spex_xml_fail(xml, element, "finals, zone and sure: less than 100%% was expected");
    return err;
}

/* What is set after an error is not used. */
int spex_run_take(struct spex_xml *xml, const xmlNode *element, struct spex_rules *rules) {
    static const char *const known[] = {"trials_per_config",
                                        "records_per_thread",
                                        "threads",
                                        "precision",
                                        "warmup",
                                        "startup",
                                        "duration",
                                        "trials",
                                        "seed",
                                        "least",
                                        "finals",
                                        "zone",
                                        "sure",
                                        NULL};
    int64_t trials = rules->trials_per_config, records = rules->records_per_thread, all = 0,
            seed = (int64_t)rules->seed;
    int err = spex_xml_check(xml, element, known, 0);
    err = err ? err : take_count(xml, element, "trials_per_config", 1, TRIALS_MAX, &trials);
    err = err ? err : take_count(xml, element, "records_per_thread", 1, RECORDS_MAX, &records);
    err = err ? err : take_count(xml, element, "trials", 1, TRIALS_ALL_MAX, &all);
    err = err ? err : take_count(xml, element, "seed", 0, INT64_MAX, &seed);
    err = err ? err : spex_xml_part(xml, element, "precision", &rules->precision);
    err = err ? err : take_warmup(xml, element, &rules->warmup_seconds);
    err = err ? err : take_seconds(xml, element, "startup", &rules->startup_seconds);
    err = err ? err : take_seconds(xml, element, "duration", &rules->duration_seconds);
    err = err ? err : take_seconds(xml, element, "least", &rules->least_seconds);
    err = err ? err : take_finals(xml, element, rules);
    if (!err && rules->startup_seconds <= 0)
        err = spex_xml_fail(xml, element, "startup: more than 0 seconds were expected");
    if (!err && rules->duration_seconds <= 0)
        err = spex_xml_fail(xml, element, "duration: more than 0 seconds were expected");
    if (!err && rules->warmup_seconds >= rules->duration_seconds)
        err = spex_xml_fail(xml, element, "duration=%gs was expected to be longer than warmup=%gs",
                            rules->duration_seconds, rules->warmup_seconds);
    if (!err && spex_xml_attribute(element, "least") &&
        rules->least_seconds > rules->duration_seconds)
        err = spex_xml_fail(xml, element, "least=%gs was expected not to be above duration=%gs",
                            rules->least_seconds, rules->duration_seconds);
    rules->trials_per_config = (unsigned)trials;
    rules->records_per_thread = (unsigned)records;
    rules->trials_max = (uint64_t)all;
    rules->seed = (uint64_t)seed;
    return err;
}
