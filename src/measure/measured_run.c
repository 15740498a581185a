/* SPDX-License-Identifier: MIT */
/* One run: finds the criteria's probes, shows records to the measure and to the policy, and writes
 * the status. The status is one line for the user; it names the probe and what was expected of it.
 * One thread calls these functions for a run; the policy may be shared with other runs, whose
 * threads hold its lock in turn. */
#include "measure/measured_run.h"

#include <errno.h>

#include "site/provider.h"

int spex_measured_run_open(struct spex_measured_run *run, double ticks_per_second,
                           struct spex_error *error) {
    int err = 0;
    for (size_t c = 0; c < run->space->criterion_count && !err; c++)
        err = spex_selection_parse(run->space->criteria[c].probe, &run->selections[c], error);
    if (!err && spex_measure_create(run->space, ticks_per_second, &run->measure))
        err = spex_fail(error, -ENOMEM, "out of memory");
    return err;
}

void spex_measured_run_close(struct spex_measured_run *run) {
    spex_measure_destroy(run->measure);
    for (size_t c = 0; c < run->space->criterion_count; c++)
        spex_selection_free(&run->selections[c]);
}

static int run_end_ambiguous(struct spex_measured_run *run, size_t c,
                             const struct spex_selection_probe *one,
                             const struct spex_selection_probe *other) {
    char texts[2][SPEX_PROBE_TEXT_BYTES];
    const struct spex_selection_probe *probes[] = {one, other};
    for (int p = 0; p < 2; p++)
        spex_probe_called(probes[p]->provider, probes[p]->name, probes[p]->id, texts[p],
                          sizeof(texts[p]));
    return spex_trial_end(run->trial, "%s names two probes of the program, %s and %s",
                          run->space->criteria[c].probe, texts[0], texts[1]);
}

/* Sites of one probe have one number. Two numbers mean that the criterion's name matches two
 * probes, whose records cannot be one figure. */
static int criterion_find_probe(struct spex_measured_run *run, size_t c,
                                spex_measured_run_site *site_of, const void *user, size_t count) {
    struct spex_selection_probe site, found = {.name = NULL};
    for (size_t s = 0; s < count; s++) {
        if (!site_of(user, s, &site) || !spex_selection_sampling(&run->selections[c], &site).period)
            continue;
        if (run->known[c] && found.number != site.number)
            return run_end_ambiguous(run, c, &found, &site);
        found = site;
        run->known[c] = true;
    }
    if (run->known[c])
        spex_measure_probe(run->measure, c, found.number, found.type);
    return 0;
}

int spex_measured_run_find_probes(struct spex_measured_run *run, spex_measured_run_site *site,
                                  const void *user, size_t count) {
    int over = 0;
    for (size_t c = 0; c < run->space->criterion_count && !over; c++)
        if (!run->known[c])
            over = criterion_find_probe(run, c, site, user, count);
    return over;
}

/* Ends the run with its values. The measure is ended first, which makes its values exact. A
 * criterion without a value fails the run, because the policy could not rank it. */
static int run_succeed(struct spex_measured_run *run) {
    const struct spex_record *used;
    size_t used_count;
    if (spex_measure_end(run->measure, &used, &used_count))
        return -ENOMEM;
    spex_measure_values(run->measure, run->trial->measured);
    for (size_t c = 0; c < run->space->criterion_count; c++) {
        const struct spex_criterion *criterion = &run->space->criteria[c];
        if (!run->known[c])
            return spex_trial_end(run->trial, "%s %s", run->unknown, criterion->probe);
        if (isnan(run->trial->measured[c].value))
            return spex_trial_end(run->trial, "the records of %s have no %s%s", criterion->probe,
                                  criterion->metric, criterion->field ? " of this field" : "");
    }
    run->trial->ok = true;
    return spex_trial_end(run->trial, "ok");
}

static void policy_lock(struct spex_measured_run *run) {
    if (run->policy_lock)
        pthread_mutex_lock(run->policy_lock);
}

static void policy_unlock(struct spex_measured_run *run) {
    if (run->policy_lock)
        pthread_mutex_unlock(run->policy_lock);
}

/* Asks the policy whether it has seen enough; if so, ends the run. A short run has no reliable
 * errors, by which a policy could tell; `last`: it gets no longer. */
static int policy_ask(struct spex_measured_run *run, bool last) {
    struct spex_run so_far = spex_measure_run(run->measure);
    if (so_far.records == 0 || (!last && so_far.seconds < run->space->rules.least_seconds))
        return 0;
    spex_measure_values(run->measure, run->measured);
    so_far.levels = run->plan->levels;
    so_far.measured = run->measured;
    policy_lock(run);
    bool enough = spex_policy_stop_run(run->policy, run->policy_state, run->space, &so_far);
    policy_unlock(run);
    return enough ? run_succeed(run) : 0;
}

/* Shows the records that were used to the policy, then asks it. */
static int policy_show(struct spex_measured_run *run, const struct spex_record *used, size_t count,
                       bool last) {
    if (count == 0 && !last)
        return 0;
    if (count && run->policy->process_records) {
        policy_lock(run);
        run->policy->process_records(run->policy_state, used, count);
        policy_unlock(run);
    }
    return policy_ask(run, last);
}

int spex_measured_run_add(struct spex_measured_run *run, const struct spex_record *records,
                          size_t count) {
    const struct spex_record *used;
    size_t used_count;
    if (spex_measure_add(run->measure, records, count, &used, &used_count))
        return -ENOMEM;
    return policy_show(run, used, used_count, false);
}

int spex_measured_run_end_records(struct spex_measured_run *run) {
    const struct spex_record *used;
    size_t used_count;
    if (spex_measure_end(run->measure, &used, &used_count))
        return -ENOMEM;
    return policy_show(run, used, used_count, true);
}

/* `ticks`: the end of the run's time, from which the silence of the objective is counted. */
int spex_measured_run_end_by_duration(struct spex_measured_run *run, uint64_t ticks,
                                      const char *words) {
    const char *objective = run->space->criteria[0].probe;
    if (spex_measure_run(run->measure).records == 0)
        return spex_trial_end(run->trial, "%sno record of %s after the warm-up in %g s%s",
                              run->hung, objective, run->plan->duration_seconds, words);
    if (spex_measure_silent(run->measure, ticks))
        return spex_trial_end(run->trial, "%sthe records of %s ended %.3g s before the run did%s",
                              run->hung, objective, spex_measure_silence(run->measure, ticks),
                              words);
    return run_succeed(run);
}

int spex_measured_run_account(struct spex_measured_run *run, uint64_t lost) {
    struct spex_run all = spex_measure_run(run->measure);
    run->trial->records_used = all.records;
    run->trial->records_lost = lost;
    run->trial->seconds = all.seconds;
    return run->trial->status ? 0 : -ENOMEM;
}
