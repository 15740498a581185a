/* SPDX-License-Identifier: MIT */
/* Reads what a criterion is about and its bound. Which probes and metrics are possible is decided
 * in measure/criterion.h, which programs that tune themselves share. */
#define _GNU_SOURCE
#include "xml/xml_criterion.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/criterion.h"
#include "site/selection.h"
#include "text/number.h"

/* Greatest number of a value in a record that a space may name. */
#define FIELD_MAX 255

/* Checks that the selection names a single probe, and sets its type. */
static int take_probe(struct spex_xml *xml, const xmlNode *element, const char *probe,
                      uint32_t *type) {
    struct spex_selection selection;
    struct spex_error error;
    int err = spex_selection_parse(probe, &selection, &error);
    if (err == -ENOMEM)
        return spex_fail(xml->error, err, "out of memory");
    if (err)
        return spex_xml_fail(xml, element, "probe=%s", error.text);
    if (!spex_criterion_names_one(&selection, probe))
        err = spex_xml_fail(xml, element,
                            "probe=\"%s\": one probe and its type was expected, as \"query:tpt\"",
                            probe);
    else
        *type = selection.items[0].types;
    spex_selection_free(&selection);
    return err;
}

/* The number of a value in the records of the probe; 0 where it is not given. */
static int take_field(struct spex_xml *xml, const xmlNode *element, unsigned *field) {
    const char *text = spex_xml_attribute(element, "field");
    int64_t value = 0;
    if (text && (!spex_number_integer(text, &value) || value < 0 || value > FIELD_MAX))
        return spex_xml_fail(xml, element,
                             "field=\"%s\": a whole number of 0 to %d was expected: which of a "
                             "record's values",
                             text, FIELD_MAX);
    *field = (unsigned)value;
    return 0;
}

int spex_xml_take_metric(struct spex_xml *xml, const xmlNode *element,
                         struct spex_criterion *criterion) {
    const char *probe = NULL, *metric = NULL;
    uint32_t type = 0;
    int err = spex_xml_required(xml, element, "probe", &probe);
    err = err ? err : spex_xml_required(xml, element, "metric", &metric);
    err = err ? err : take_probe(xml, element, probe, &type);
    err = err ? err : take_field(xml, element, &criterion->field);
    if (err)
        return err;
    if (!spex_criterion_fits(metric, type))
        return spex_xml_fail(xml, element, "metric=\"%s\": %s was expected", metric,
                             type == SPEX_CNT ? "throughput, as of any cnt probe,"
                             : type == SPEX_SNAPSHOT
                                 ? "mean, min, max or a quantile as p50 or p99.9"
                                 : "throughput, mean, min, max or a quantile as p50 "
                                   "or p99.9");
    criterion->probe = strdup(probe);
    criterion->metric = strdup(metric);
    return criterion->probe && criterion->metric ? 0
                                                 : spex_fail(xml->error, -ENOMEM, "out of memory");
}

/* Parses a bound: a number; for a time or bytes also with a unit, as "2ms". */
static bool parse_bound(const struct spex_criterion *criterion, const char *text, double *bound) {
    static const struct {
        const char *suffix, *unit;
        double factor;
    } units[] = {{"ns", "s", 1e-9},     {"us", "s", 1e-6},     {"ms", "s", 1e-3},
                 {"s", "s", 1},         {"GiB", "B", 1 << 30}, {"MiB", "B", 1 << 20},
                 {"KiB", "B", 1 << 10}, {"B", "B", 1}};
    size_t length = strlen(text);
    const char *unit = spex_criterion_unit(criterion);
    char digits[64];
    for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
        size_t suffix = strlen(units[u].suffix);
        if (strcmp(unit, units[u].unit) != 0 || length <= suffix || length >= sizeof(digits) ||
            strcmp(text + length - suffix, units[u].suffix) != 0)
            continue;
        snprintf(digits, sizeof(digits), "%.*s", (int)(length - suffix), text);
        if (!spex_number_real(digits, bound))
            return false;
        *bound *= units[u].factor;
        return true;
    }
    return spex_number_real(text, bound);
}

int spex_xml_take_bound(struct spex_xml *xml, const xmlNode *element,
                        struct spex_criterion *criterion) {
    const char *most = spex_xml_attribute(element, "at_most");
    const char *least = spex_xml_attribute(element, "at_least");
    if (!most == !least)
        return spex_xml_fail(xml, element, "either at_most or at_least was expected");
    criterion->goal = most ? SPEX_AT_MOST : SPEX_AT_LEAST;
    const char *unit = spex_criterion_unit(criterion);
    if (!parse_bound(criterion, most ? most : least, &criterion->bound))
        return spex_xml_fail(xml, element, "%s=\"%s\": a number%s was expected",
                             most ? "at_most" : "at_least", most ? most : least,
                             *unit == 's'   ? " of seconds, or one with ms, us or ns,"
                             : *unit == 'B' ? " of bytes, or one with KiB, MiB or GiB,"
                                            : "");
    return 0;
}
