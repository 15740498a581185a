/* SPDX-License-Identifier: MIT */
/* What a comparison of two commands has found: a table, a verdict in words, JSON. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/criterion.h"
#include "profile/columns.h"
#include "text/quantity.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/common/verdict.h"
#include "tools/explore/versus.h"

/* The fewest pairs of which an interval can be told at the level of a look (harness/pairs.h):
 * all signs are the same by chance in 2 of 2^9. */
enum { PAIRS_LEAST = 9 };

/* A smaller disturbance is as good as none. */
#define DISTURBED_LEAST 0.02

/* Whether two runs at a time disturb each other, surely. */
static bool disturbed(const struct spex_versus *versus) {
    double least = log(1 + DISTURBED_LEAST);
    return versus->beside_count && (versus->beside.low > least || versus->beside.high < -least);
}

/* A ratio with its interval, from logarithms. */
struct ratio {
    double value, low, high;
};

static struct ratio ratio_of(const struct spex_estimate *logs) {
    return (struct ratio){exp(logs->value), exp(logs->low), exp(logs->high)};
}

static struct ratio inverse(struct ratio ratio) {
    return (struct ratio){1 / ratio.value, 1 / ratio.high, 1 / ratio.low};
}

/* "1.23 (95 %: 1.20 to 1.26)" */
static void ratio_text(struct ratio ratio, char *text, size_t size) {
    char value[32], range[64];
    double margin = (ratio.high - ratio.low) / 2;
    spex_quantity_text(ratio.value, margin, "", value, sizeof(value));
    snprintf(text, size, "%s (95 %%: %s)", value,
             spex_range_text(ratio.low, ratio.high, "", range, sizeof(range)));
}

/* The side whose figure is better, by the ratio of B to A. */
static unsigned better(const struct spex_versus *versus) {
    bool b_greater = versus->pairs.log_ratio.value > 0;
    return b_greater == (versus->criterion->goal == SPEX_MAXIMISE);
}

static bool is_time(const struct spex_versus *versus) {
    return *spex_criterion_unit(versus->criterion) == 's';
}

static void tell_difference(const struct spex_versus *versus, char *text, size_t size) {
    struct ratio ratio = ratio_of(&versus->pairs.log_ratio);
    unsigned winner = better(versus);
    char words[128], name[128];
    const char *who = winner ? "B" : "A", *other = winner ? "A" : "B";
    spex_criterion_name(versus->criterion, name, sizeof(name));
    if (is_time(versus)) {
        ratio_text(winner ? inverse(ratio) : ratio, words, sizeof(words));
        snprintf(text, size, "%s is %.*s times as fast as %s%s", who,
                 (int)(strchrnul(words, ' ') - words), words, other, strchrnul(words, ' '));
    } else {
        ratio_text(winner ? ratio : inverse(ratio), words, sizeof(words));
        snprintf(text, size, "%s is better: its %s is %.*s times that of %s%s", who, name,
                 (int)(strchrnul(words, ' ') - words), words, other, strchrnul(words, ' '));
    }
}

/* What an hour more would bring: the interval shrinks with the square root of the number of pairs, of
 * which so many are looked at. "" where there can be no more. */
static void tell_more(const struct spex_versus *versus, char *text, size_t size) {
    const struct spex_estimate *logs = &versus->pairs.log_ratio;
    double count = (double)versus->pairs.count, half = (logs->high - logs->low) / 2;
    double all = fmin(count + 3600 * count / versus->seconds, SPEX_PAIRS_MOST);
    char then[32];
    text[0] = '\0';
    if (versus->pairs.outcome == SPEX_PAIRS_UNKNOWN && all > count)
        snprintf(text, size, "; an hour more would bring ± %s",
                 spex_percent_text(half * sqrt(count / all), 2, then, sizeof(then)));
}

/* Whether as little memory as this cannot be told. */
static bool at_floor(const struct spex_versus *versus, double median) {
    return spex_criterion_is_memory(versus->criterion) && median <= spex_usage_memory_floor();
}

static void tell_ratio(const struct spex_versus *versus, char *text, size_t size) {
    const struct spex_estimate *logs = &versus->pairs.log_ratio;
    char range[64];
    spex_range_text(exp(logs->low), exp(logs->high), "", range, sizeof(range));
    if (versus->pairs.outcome == SPEX_PAIRS_SAME)
        snprintf(text, size, "the same within %g %%: B to A is %s (95 %%)",
                 SPEX_PAIRS_INDIFFERENT * 100, range);
    else
        snprintf(text, size, "cannot tell: B to A is %s (95 %%)", range);
}

static void tell(const struct spex_versus *versus, char *text, size_t size) {
    const struct spex_pairs *pairs = &versus->pairs;
    size_t runs = versus->sides[0].count;
    char result[512], more[96];
    if (!isfinite(pairs->log_ratio.low)) {
        snprintf(text, size,
                 "cannot tell: %zu run%s each, of %d that are needed; --for gives more time", runs,
                 runs == 1 ? "" : "s", PAIRS_LEAST * (versus->duet ? 2 : 1));
        return;
    }
    if (pairs->outcome == SPEX_PAIRS_DIFFER)
        tell_difference(versus, result, sizeof(result));
    else
        tell_ratio(versus, result, sizeof(result));
    tell_more(versus, more, sizeof(more));
    snprintf(text, size, "%s, after %zu runs each%s", result, runs, more);
}

/* "" where nothing is to be said of it. */
static void beside_text(const struct spex_versus *versus, char *text, size_t size) {
    char words[128], name[128];
    text[0] = '\0';
    if (!versus->duet)
        return;
    if (!versus->beside_count || !isfinite(versus->beside.low)) {
        snprintf(text, size,
                 "whether two runs at a time disturb each other is not known: there was "
                 "too little time\n");
        return;
    }
    spex_criterion_name(versus->criterion, name, sizeof(name));
    ratio_text(ratio_of(&versus->beside), words, sizeof(words));
    snprintf(text, size, "beside itself on the other CPUs, the %s of A is %s times that alone%s\n",
             name, words, disturbed(versus) ? ": two at a time disturb each other" : "");
}

static void print_table(struct spex_versus *versus, const struct spex_estimate medians[2]) {
    const char *unit = spex_criterion_unit(versus->criterion);
    char name[192], text[512];
    spex_criterion_name(versus->criterion, name, sizeof(name));
    const char *headings[] = {"", name, "95 %", "runs", "command"};
    struct spex_columns columns;
    spex_columns_init(&columns, headings, 5, 1 | 1 << 4);
    for (int s = 0; s < 2; s++) {
        const struct spex_estimate *median = &medians[s];
        double margin = (median->high - median->low) / 2;
        spex_columns_add(&columns, "%s", s ? "B" : "A");
        spex_columns_add(&columns, "%s",
                         spex_quantity_text(median->value, margin, unit, text, sizeof(text)));
        spex_columns_add(&columns, "%s",
                         spex_range_text(median->low, median->high, unit, text, sizeof(text)));
        spex_columns_add(&columns, "%zu", versus->sides[s].count);
        spex_columns_add(&columns, "%s", versus->sides[s].command);
    }
    columns.folded = true;
    spex_columns_print_within(&columns, stdout, &(struct spex_columns_room){.texts = 1});
    beside_text(versus, text, sizeof(text));
    fputs(text, stdout);
}

/* null where it is not finite. */
static json_t *number_json(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *interval_json(double value, double low, double high) {
    return json_pack("{s:o, s:o, s:o}", "value", number_json(value), "low", number_json(low),
                     "high", number_json(high));
}

static json_t *ratio_json(const struct spex_estimate *logs, size_t pairs) {
    struct ratio ratio = ratio_of(logs);
    json_t *json = interval_json(ratio.value, ratio.low, ratio.high);
    return spex_json_unless(json_object_set_new(json, "pairs", json_integer((json_int_t)pairs)),
                            json);
}

static json_t *side_json(const struct spex_versus_side *side, const struct spex_estimate *median) {
    return json_pack("{s:o, s:I, s:o}", "command", spex_text_json(side->command), "runs",
                     (json_int_t)side->count, "median",
                     interval_json(median->value, median->low, median->high));
}

static int print_json(const struct spex_versus *versus, const struct spex_estimate medians[2],
                      const char *told) {
    static const char *const outcomes[] = {
        [SPEX_PAIRS_UNKNOWN] = "unknown", [SPEX_PAIRS_SAME] = "same"};
    char name[SPEX_CRITERION_TEXT_BYTES];
    const struct spex_pairs *pairs = &versus->pairs;
    const char *outcome =
        pairs->outcome == SPEX_PAIRS_DIFFER ? better(versus) ? "b" : "a" : outcomes[pairs->outcome];
    spex_criterion_name(versus->criterion, name, sizeof(name));
    json_t *json = json_pack(
        "{s:o, s:s, s:s, s:o, s:o, s:o, s:s, s:s, s:b}", "figure", spex_text_json(name), "unit",
        spex_criterion_unit(versus->criterion), "goal",
        versus->criterion->goal == SPEX_MAXIMISE ? "maximise" : "minimise", "a",
        side_json(&versus->sides[0], &medians[0]), "b", side_json(&versus->sides[1], &medians[1]),
        "ratio", ratio_json(&pairs->log_ratio, pairs->count), "better", outcome, "verdict", told,
        "duet", versus->duet);
    bool err =
        json && versus->duet &&
        (json_object_set_new(json, "beside", ratio_json(&versus->beside, versus->beside_count)) ||
         json_object_set_new(json, "disturbed", json_boolean(disturbed(versus))));
    return spex_json_print(spex_json_unless(err, json), stdout);
}

/* The medians sort the figures, whose order does not matter any more. */
int spex_versus_print(struct spex_versus *versus, bool json) {
    struct spex_estimate medians[2];
    char told[768];
    int err = 0;
    for (int s = 0; s < 2; s++)
        medians[s] = spex_median_estimate(versus->sides[s].values, versus->sides[s].count);
    if (at_floor(versus, medians[0].value) && at_floor(versus, medians[1].value)) {
        versus->pairs.outcome = SPEX_PAIRS_UNKNOWN;
        snprintf(told, sizeof(told), "cannot tell: both need less memory than spex itself has");
    } else {
        tell(versus, told, sizeof(told));
    }
    if (json)
        err = print_json(versus, medians, told);
    else
        print_table(versus, medians);
    err = err ? err : spex_written(stdout);
    if (!err)
        spex_verdict(told, NULL);
    return err;
}
