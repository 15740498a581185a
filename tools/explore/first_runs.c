/* SPDX-License-Identifier: MIT */
#include "tools/explore/first_runs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "explore/single_runs.h"
#include "measure/criterion.h"
#include "measure/plan.h"
#include "measure/summary.h"
#include "text/quantity.h"

/* A third run is made where three take no more than this share of the time that there is, or so many
 * seconds: the first one finds cold caches, and is not counted then. */
#define SHARE_MOST   0.1
#define SECONDS_MOST 10

/* What has been seen of the runs; the last two count. */
struct seen {
    unsigned runs;
    double before, last; /* the first objective */
    double seconds;      /* of the last run, with all around it */
};

static double seconds_since(uint64_t begin_ns) {
    return (double)(spex_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e9;
}

static int run_once(const struct spex_single_runs *runs, char *const *argv, struct seen *seen,
                    struct spex_error *error) {
    const struct spex_space *space = &runs->file->space;
    size_t levels[SPEX_PARAMETERS_MAX];
    char configuration[256];
    struct spex_trial trial;
    uint64_t begin_ns = spex_clock_ns(CLOCK_MONOTONIC);
    for (size_t p = 0; p < space->parameter_count; p++)
        levels[p] = space->listed_count ? space->listed[p] : space->parameters[p].default_level;
    int err = spex_single_run(runs, 0, argv, levels, NULL, &trial, error);
    if (err)
        return err;
    spex_levels_text(space, levels, configuration, sizeof(configuration));
    if (!trial.ok)
        err = spex_fail(error, -EINVAL, "it cannot be measured with %s: %s", configuration,
                        trial.status);
    seen->runs++;
    seen->before = seen->last;
    seen->last = trial.measured[0].value;
    seen->seconds = seconds_since(begin_ns);
    spex_trial_free(&trial);
    return err;
}

/* Whether there is time for one more run, that the first need not count. */
static bool one_more(double seconds, double limit) {
    return 3 * seconds <= (limit > 0 ? SHARE_MOST * limit : SECONDS_MOST);
}

static void tell(const struct spex_space *space, const struct seen *seen, char *text, size_t size) {
    char took[48], differ[48], name[128], floor[48];
    double least = spex_usage_memory_floor();
    double middle = fabs(seen->before + seen->last) / 2;
    double apart = fabs(seen->before - seen->last);
    spex_criterion_name(space->criteria, name, sizeof(name));
    int used = snprintf(
        text, size, "a run takes %s; two of the first configuration differ by %s in %s",
        spex_quantity_text(seen->seconds, NAN, "s", took, sizeof(took)),
        spex_percent_text(middle > 0 ? apart / middle : 0, 2, differ, sizeof(differ)), name);
    if (spex_criterion_is_memory(space->criteria) && seen->last <= least && (size_t)used < size)
        snprintf(text + used, size - (size_t)used,
                 ", but less memory than the %s of spex itself cannot be told",
                 spex_quantity_text(least, NAN, "B", floor, sizeof(floor)));
}

int spex_first_runs(const struct spex_space_file *file, char *const *argv, int stop_fd,
                    double limit, uint64_t *trials, char *text, size_t size,
                    struct spex_error *error) {
    uint64_t begin_ns = spex_clock_ns(CLOCK_MONOTONIC);
    struct spex_single_runs runs;
    struct seen seen = {.runs = 0};
    int err = spex_single_runs_open(&runs, file, stop_fd, error);
    while (!err && (seen.runs < 2 || (seen.runs == 2 && one_more(seen.seconds, limit))))
        err = run_once(&runs, argv, &seen, error);
    spex_single_runs_close(&runs);
    if (err)
        return err;
    tell(&file->space, &seen, text, size);
    double fit = (limit - seconds_since(begin_ns)) / seen.seconds;
    *trials = limit > 0 ? (uint64_t)fmin(fmax(fit, 1), 1e9) : 0;
    return 0;
}
