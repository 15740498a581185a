/* SPDX-License-Identifier: MIT */
#include "tools/bench/bench_verdict.h"

#include <math.h>

#include "text/quantity.h"
#include "tools/common/verdict.h"

/* Counts the verdicts that are worse, or that differ, and finds the one that is furthest from 1. */
static size_t count_verdicts(const struct spex_bench_findings *findings, bool worse,
                             const struct spex_bench_verdict **most) {
    size_t count = 0;
    double furthest = -1;
    for (size_t v = 0; v < findings->verdict_count; v++) {
        const struct spex_bench_verdict *verdict = &findings->verdicts[v];
        if (!(worse ? verdict->worse : verdict->differs))
            continue;
        count++;
        double distance = fabs(log(verdict->ratio.value));
        if (!*most || distance > furthest)
            *most = verdict;
        furthest = fmax(distance, furthest);
    }
    return count;
}

/* "B is worse in 2 of 12 benchmarks, most in parse: B/A 1.05 (95 %: 1.04 to 1.06)". */
static void two_text(const struct spex_bench_findings *findings, char *text, size_t size) {
    const struct spex_bench_verdict *most = NULL;
    size_t worse = count_verdicts(findings, true, &most), of = findings->verdict_count;
    size_t found = worse ? worse : count_verdicts(findings, false, &most);
    char interval[64] = "", allowed[48] = "", what[160], percent[32];
    if (!found) {
        snprintf(text, size, "%zu benchmark%s: no difference between A and B was found", of,
                 of == 1 ? "" : "s");
        return;
    }
    if (isfinite(most->ratio.low) && isfinite(most->ratio.high))
        snprintf(interval, sizeof(interval), " (95 %%: %.4f to %.4f)", most->ratio.low,
                 most->ratio.high);
    if (findings->allowed > 0)
        snprintf(allowed, sizeof(allowed), " by more than %s",
                 spex_percent_text(findings->allowed, 3, percent, sizeof(percent)));
    if (worse)
        snprintf(what, sizeof(what), "is worse%s in %zu of %zu", allowed, found, of);
    else
        snprintf(what, sizeof(what), "is surely worse%s in none, and differs in %zu of %zu",
                 allowed, found, of);
    snprintf(text, size, "B %s benchmarks, most in %s: B/A %.4f%s", what, most->series->name,
             most->ratio.value, interval);
}

/* "12 benchmarks, the least certain parse, ± 3.1 %". */
static void one_text(const struct spex_bench_findings *findings, char *text, size_t size) {
    size_t count = 0;
    double worst = -1;
    const char *name = "";
    char percent[32], least[512] = "";
    for (size_t i = 0; i < findings->results->count; i++) {
        const struct spex_bench_series *series = &findings->results->items[i];
        const struct spex_bench_values *values = &series->sides[0];
        if (!values->count)
            continue;
        struct spex_estimate estimate = spex_centre(values->values, values->count);
        double error = (estimate.high - estimate.low) / 2 / estimate.value;
        count++;
        if (!isfinite(error) || error <= worst)
            continue;
        worst = error;
        name = series->name;
    }
    if (worst >= 0)
        snprintf(least, sizeof(least), ", the least certain %s, ±%s", name,
                 spex_percent_text(worst, 2, percent, sizeof(percent)));
    snprintf(text, size, "%zu benchmark%s%s", count, count == 1 ? "" : "s", least);
}

void spex_bench_tell_verdict(const struct spex_bench_findings *findings, double seconds,
                             const char *saved) {
    char text[1024] = "", result[1200], took[32], next[1024] = "";
    bool two = findings->sides == 2;
    (two ? two_text : one_text)(findings, text, sizeof(text));
    snprintf(result, sizeof(result), "%s; %lu round%s in %s", text, findings->rounds,
             findings->rounds == 1 ? "" : "s", spex_elapsed_text(seconds, took, sizeof(took)));
    if (two)
        snprintf(next, sizeof(next), "--rounds %lu would find differences half as large",
                 4 * findings->rounds);
    else if (saved)
        snprintf(next, sizeof(next), "spex bench PROGRAM --baseline %s", saved);
    else
        snprintf(next, sizeof(next),
                 "--save FILE keeps this, and --baseline FILE compares with it");
    spex_verdict(result, next);
}
