/* SPDX-License-Identifier: MIT */
#include "tune/session.h"

#include <math.h>
#include <string.h>

#include "base/student.h"

const struct spex_group *spex_tune_session_best(const struct spex_tune_session *tuning) {
    return spex_summary_best(&tuning->summary, spex_tune_session_space(tuning)->parameter_count, 0);
}

static bool same_levels(const struct spex_tune_session *tuning, const size_t *a, const size_t *b) {
    return memcmp(a, b, spex_tune_session_space(tuning)->parameter_count * sizeof(*a)) == 0;
}

/* Of the mean over a configuration's runs, by what each run says of itself. */
static double error_within(const struct spex_tune_session *tuning, const struct spex_group *group,
                           size_t c) {
    double squares = 0;
    for (size_t t = 0; t < tuning->trials.count; t++) {
        const struct spex_trial *trial = &tuning->trials.items[t];
        if (trial->ok && same_levels(tuning, trial->levels, group->levels))
            squares += trial->measured[c].error * trial->measured[c].error;
    }
    return sqrt(squares) / (double)group->trials;
}

/* By how they differ; so that 1.96 of it make a 95 % interval. Two tell too little of that. */
static double error_between(const struct spex_group *group, size_t c) {
    double freedom = (double)group->trials - 1;
    if (freedom < 2)
        return NAN;
    return sqrt(group->criteria[c].squares / freedom / (freedom + 1)) * spex_student_95(freedom) /
           SPEX_NORMAL_95;
}

static void report_best(const struct spex_tune_session *tuning, struct spex_tune_report *report) {
    const struct spex_space *space = spex_tune_session_space(tuning);
    const struct spex_group *best = spex_tune_session_best(tuning);
    if (!best)
        return;
    report->best_trials = best->trials;
    report->best_allowed = spex_group_allowed(space, best);
    for (size_t p = 0; report->best_levels && p < space->parameter_count; p++)
        report->best_levels[p] = best->levels[p];
    for (size_t c = 0; report->best_measured && c < space->criterion_count; c++)
        report->best_measured[c] = (struct spex_measured){
            .value = best->criteria[c].mean,
            .error = fmax(error_within(tuning, best, c), error_between(best, c)),
        };
}

void spex_tune_session_report(const struct spex_tune_session *tuning,
                              struct spex_tune_report *report) {
    report->running = tuning->running;
    report->result = tuning->result;
    report->trials = tuning->trials.count;
    report->failed = tuning->failed;
    report->trials_expected = tuning->expected;
    report->best_trials = 0;
    report->best_allowed = false;
    report->applied = tuning->applied;
    for (size_t p = 0; report->levels && p < spex_tune_session_space(tuning)->parameter_count; p++)
        report->levels[p] = tuning->now[p];
    memcpy(report->why, tuning->why, sizeof(report->why));
    report_best(tuning, report);
}
