/* SPDX-License-Identifier: MIT */
/* The loop of the tuning thread during a run: waits for records (feed.h), passes them to the run
 * (measure/measured_run.h), and ends it when the policy has seen enough or the time is over. The
 * time for the first record, startup_seconds, is followed by that for the run. */
#include "tune/tune_run.h"

#include <errno.h>

#include <spex/ticks.h>

#include "base/clock.h"
#include "base/service_thread.h"
#include "measure/measured_run.h"
#include "ring/rings.h"
#include "site/registry.h"

/* The state of a run. */
struct tune_run {
    const struct spex_tune_setup *setup;
    struct spex_measured_run of;
    /* Number of sites that the criteria's probes have been looked for among. */
    uint32_t sites;
    /* The probes of the plan. */
    struct spex_selection probes;
    uint64_t deadline_ns;
    /* Records lost in the process before the run. */
    uint64_t lost;
};

/* CLOCK_MONOTONIC so many seconds from now, in ns. */
static uint64_t deadline_in(double seconds) {
    return spex_clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
}

/* Presents the process's sites to the run. False: the site is a region's and no probe. */
static bool site_selected_by(const void *user, size_t index, struct spex_selection_probe *site) {
    const struct spex_site_info *info = spex_site_info((uint32_t)index);
    (void)user;
    *site = spex_site_selected_by(info);
    return !spex_site_is_region(info);
}

/* Looks for the criteria's probes again when a library that was loaded has brought sites. */
static int run_find_probes(struct tune_run *run) {
    uint32_t sites = spex_sites_count();
    if (sites == run->sites)
        return 0;
    run->sites = sites;
    spex_feed_select(run->setup->feed, &run->probes);
    return spex_measured_run_find_probes(&run->of, site_selected_by, NULL, sites);
}

/* Passes records on to the run. *until: all records made before it have been taken. The first
 * record of the objective begins the time of the run. */
static int run_take_records(struct tune_run *run, uint64_t *until) {
    const struct spex_record *records;
    size_t count;
    int over = run_find_probes(run);
    over = over ? over : spex_feed_take(run->setup->feed, &records, &count, until);
    if (over || count == 0)
        return over;
    bool started = spex_measure_started(run->of.measure);
    over = spex_measured_run_add(&run->of, records, count);
    if (!started && spex_measure_started(run->of.measure))
        run->deadline_ns = deadline_in(run->of.plan->duration_seconds);
    return over;
}

/* Returns whether the criterion's probe has no site that is on. The status of a run without records
 * says so, since the user's own selection may have switched it off. */
static bool probe_is_off(const struct tune_run *run, size_t c) {
    for (uint32_t i = 0; i < run->sites; i++) {
        struct spex_selection_probe by;
        bool loaded;
        if (site_selected_by(NULL, i, &by) &&
            spex_selection_sampling(&run->of.selections[c], &by).period &&
            spex_site_sampling(i, &loaded).period)
            return false;
    }
    return true;
}

/* No record of the objective came within startup_seconds. */
static int run_fail_startup(struct tune_run *run) {
    const char *objective = run->of.space->criteria[0].probe;
    if (!run->of.known[0])
        return spex_trial_end(run->of.trial, "has no probe %s", objective);
    return spex_trial_end(run->of.trial, "no record of %s in %g s%s", objective,
                          run->of.space->rules.startup_seconds,
                          probe_is_off(run, 0) ? ": it is off" : "");
}

/* `until` (ticks): all records before it have been taken, so the run is measured up to there. */
static int run_deadline_over(struct tune_run *run, uint64_t until) {
    if (!spex_measure_started(run->of.measure))
        return run_fail_startup(run);
    int over = spex_measured_run_end_records(&run->of);
    return over ? over : spex_measured_run_end_by_duration(&run->of, until, "");
}

/* Takes records once. The clock is read before: records that were made by the deadline count. */
static int run_step(struct tune_run *run) {
    uint64_t until = 0, deadline_ns = run->deadline_ns;
    spex_feed_wait(run->setup->feed, deadline_ns);
    if (spex_feed_stopped(run->setup->feed))
        return -ECANCELED;
    bool late = spex_clock_ns(CLOCK_MONOTONIC) >= deadline_ns;
    int over = run_take_records(run, &until);
    if (over || !late || run->deadline_ns != deadline_ns)
        return over;
    return run_deadline_over(run, until);
}

/* Losses of the rings are those of the whole process, so records of other probes may be among them:
 * what the account says is an upper bound. */
static int run_measure(struct tune_run *run) {
    int over = 0;
    run->lost = spex_rings_totals().lost;
    run->deadline_ns = deadline_in(run->of.space->rules.startup_seconds);
    spex_feed_begin(run->setup->feed, &run->probes, spex_ticks());
    while (!over) {
        over = run_step(run);
        spex_service_cpu_note(run->setup->cpu_ns);
    }
    uint64_t lost = spex_rings_totals().lost - run->lost;
    int err = spex_measured_run_account(&run->of, spex_feed_dropped(run->setup->feed) + lost);
    spex_feed_end(run->setup->feed);
    return over < 0 ? over : err;
}

/* Everything of the run is freed here; what stays is in the trial. */
int spex_tune_run(const struct spex_tune_setup *setup, const struct spex_plan *plan,
                  struct spex_trial *trial, struct spex_error *error) {
    struct tune_run run = {.setup = setup,
                           .of = {.space = setup->space,
                                  .plan = plan,
                                  .trial = trial,
                                  .policy = setup->policy,
                                  .policy_state = setup->policy_state,
                                  .unknown = "has no probe",
                                  .hung = ""}};
    int err = spex_selection_parse(plan->probes, &run.probes, error);
    err = err ? err : spex_measured_run_open(&run.of, setup->ticks_per_second, error);
    if (!err) {
        err = run_measure(&run);
        if (err)
            spex_error_set(error, "%s", err == -ENOMEM ? "out of memory" : "stopped");
    }
    spex_measured_run_close(&run.of);
    spex_selection_free(&run.probes);
    return err;
}
