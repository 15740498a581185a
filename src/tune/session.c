/* SPDX-License-Identifier: MIT */
/* What a tuning's report says: progress, the configuration in force, and the best one with its
 * errors. Called with the tuning's lock held (tune.c). */
#include "tune/session.h"

#include <math.h>
#include <string.h>

#include "base/student.h"

const struct spex_group *spex_tune_session_best(const struct spex_tune_session *session) {
    return spex_summary_best(&session->summary, spex_tune_session_space(session)->parameter_count,
                             0);
}

static bool same_levels(const struct spex_tune_session *session, const size_t *a, const size_t *b) {
    return memcmp(a, b, spex_tune_session_space(session)->parameter_count * sizeof(*a)) == 0;
}

/* Standard error of the mean over a configuration's runs, from the errors that the runs themselves
 * have. Goes through all trials, since the summary keeps no errors of single runs. */
static double error_within(const struct spex_tune_session *session, const struct spex_group *group,
                           size_t c) {
    double squares = 0;
    for (size_t t = 0; t < session->trials.count; t++) {
        const struct spex_trial *trial = &session->trials.items[t];
        if (trial->ok && same_levels(session, trial->levels, group->levels))
            squares += trial->measured[c].error * trial->measured[c].error;
    }
    return sqrt(squares) / (double)group->trials;
}

/* Error of the mean from the differences between runs, such that 1.96 of it make a 95 % interval:
 * Student's quantile replaces the normal one. Fewer than three runs tell too little. */
static double error_between(const struct spex_group *group, size_t c) {
    double freedom = (double)group->trials - 1;
    if (freedom < 2)
        return NAN;
    return sqrt(group->criteria[c].squares / freedom / (freedom + 1)) * spex_student_95(freedom) /
           SPEX_NORMAL_95;
}

/* The greater of both errors: runs may differ by more than each of them shows. fmax ignores the NaN
 * of too few runs. */
static void report_best(const struct spex_tune_session *session, struct spex_tune_report *report) {
    const struct spex_space *space = spex_tune_session_space(session);
    const struct spex_group *best = spex_tune_session_best(session);
    if (!best)
        return;
    report->best_trials = best->trials;
    report->best_allowed = spex_group_allowed(space, best);
    for (size_t p = 0; report->best_levels && p < space->parameter_count; p++)
        report->best_levels[p] = best->levels[p];
    for (size_t c = 0; report->best_measured && c < space->criterion_count; c++)
        report->best_measured[c] = (struct spex_measured){
            .value = best->criteria[c].mean,
            .error = fmax(error_within(session, best, c), error_between(best, c)),
        };
}

/* Arrays of the report are the caller's; NULL: not wanted. */
void spex_tune_session_report(const struct spex_tune_session *session,
                              struct spex_tune_report *report) {
    report->running = session->running;
    report->result = session->result;
    report->trials = session->trials.count;
    report->failed = session->failed;
    report->trials_expected = session->expected;
    report->best_trials = 0;
    report->best_allowed = false;
    report->applied = session->applied;
    for (size_t p = 0; report->levels && p < spex_tune_session_space(session)->parameter_count; p++)
        report->levels[p] = session->now[p];
    memcpy(report->why, session->why, sizeof(report->why));
    report_best(session, report);
}
