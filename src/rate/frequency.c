/* SPDX-License-Identifier: MIT */
/* A frequency that rises is believed at once, since what it costs is spent at once; one that falls
 * may rise again, so half of what it was too high is forgotten every FALL_SECONDS. */
#include "rate/frequency.h"

#include <math.h>

#include "base/grown.h"
#include "rate/accounts.h"

/* So many executions suffice to measure a frequency, however short the time; fewer of a probe that
 * is on for a trial, of which little is known yet. */
#define EXECUTIONS_SURE  500.0
#define EXECUTIONS_TRIAL 100.0

/* Largest share that the executions of a trial, with the look at it, may cost of what the budget
 * earned while the probe was held off. */
#define TRIAL_SHARE 0.01

/* Half-life of the excess of a frequency over newer measurements. In seconds and not in
 * measurements, so that bursts are remembered equally long however often frequencies are
 * measured. */
#define FALL_SECONDS 0.06

/* Half-life of measurements in the mean between slices. */
#define MEAN_SECONDS 0.17

/* A frequency so many times the one before is measured again soon, where the probe's executions
 * take such a share of the budget without records. */
#define RISE       1.5
#define RISE_SHARE 0.1

/* A lower frequency counts as 0. */
#define FREQUENCY_LEAST 1e-3

/* Returns whether a slice goes on: until it is as long as planned, or has cost as much as planned,
 * or, for the sake of a better frequency, while its executions cost little of what the budget
 * earned during the hold-off before. */
static bool slice_goes_on(uint32_t first, const struct spex_controlled *probe, double seconds,
                          double executions) {
    double skip, report;
    double steady = spex_budget_steady(&spex_controller.budget, spex_controlled_cpus());
    spex_accounts_probe_costs(first, &skip, &report);
    double cost = executions * (skip + report / (probe->period ? probe->period : 1));
    bool planned = seconds < probe->slice && cost < steady * (probe->slice + probe->held.length);
    bool cheap = cost + spex_accounts_decision_cost() < TRIAL_SHARE * steady * probe->held.length;
    return probe->trying && (planned || (seconds < SPEX_DECISION_SECONDS && cheap));
}

/* Notes that the frequency just measured is far above the one before, where that matters. */
static void note_rise(uint32_t first, const struct spex_controlled *probe) {
    double skip, report;
    double steady = spex_budget_steady(&spex_controller.budget, spex_controlled_cpus());
    spex_accounts_probe_costs(first, &skip, &report);
    spex_controller.rising |=
        probe->fresh > RISE * probe->frequency && probe->fresh * skip > RISE_SHARE * steady;
}

/* Returns the frequency that decisions go by, after a measurement over `seconds`. It rises at once
 * and falls slowly. Between slices it is a mean, so that a program that comes in bursts is judged
 * by what it does on average. */
static double frequency_estimate(const struct spex_controlled *probe, double seconds) {
    bool slices = probe->tried > 0;
    double since = slices ? seconds + probe->held.length : seconds;
    if (!slices && probe->fresh > probe->frequency)
        return probe->fresh;
    double kept = exp2(-since / (slices ? MEAN_SECONDS : FALL_SECONDS));
    return probe->fresh + (probe->frequency - probe->fresh) * kept;
}

bool spex_frequency_measure(uint32_t first, struct spex_controlled *probe, uint64_t count) {
    double executions = (double)spex_grown(probe->count, count);
    if (!probe->seen)
        probe->measured = spex_controller.decided;
    probe->seen = true;
    double seconds = spex_controller.now - probe->measured;
    double sure = probe->trying ? EXECUTIONS_TRIAL : EXECUTIONS_SURE;
    if (seconds < SPEX_DECISION_SECONDS_RUSH ||
        (seconds < SPEX_DECISION_SECONDS && executions < sure))
        return false;
    if (slice_goes_on(first, probe, seconds, executions))
        return false;
    probe->fresh = executions / seconds;
    note_rise(first, probe);
    probe->frequency = frequency_estimate(probe, seconds);
    if (probe->frequency < FREQUENCY_LEAST)
        probe->frequency = 0;
    probe->count = count;
    probe->measured = spex_controller.now;
    return true;
}
