/* SPDX-License-Identifier: MIT */
#include "tune/tune_run.h"

#include <errno.h>

#include <spex/ticks.h>

#include "base/clock.h"
#include "base/service_thread.h"
#include "measure/measured_run.h"
#include "ring/rings.h"
#include "site/registry.h"

struct run {
    const struct spex_tune_setup *setup;
    struct spex_measured_run of;
    uint32_t sites;               /* that have been looked at */
    struct spex_selection probes; /* of the plan */
    uint64_t deadline_ns;
    uint64_t lost; /* when it began */
};

static uint64_t in_seconds(double seconds) {
    return spex_clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
}

static bool site_of(const void *user, size_t index, struct spex_selection_probe *site) {
    const struct spex_site_info *info = spex_site_info((uint32_t)index);
    (void)user;
    *site = spex_site_selected_by(info);
    return !spex_site_is_region(info);
}

/* When libraries have been loaded, probes have come with them. */
static int find_probes(struct run *run) {
    uint32_t sites = spex_sites_count();
    if (sites == run->sites)
        return 0;
    run->sites = sites;
    spex_feed_select(run->setup->feed, &run->probes);
    return spex_measured_run_find_probes(&run->of, site_of, NULL, sites);
}

/* *until: all that was made before has been taken. */
static int take_records(struct run *run, uint64_t *until) {
    const struct spex_record *records;
    size_t count;
    int over = find_probes(run);
    over = over ? over : spex_feed_take(run->setup->feed, &records, &count, until);
    if (over || count == 0)
        return over;
    bool started = spex_measure_started(run->of.measure);
    over = spex_measured_run_add(&run->of, records, count);
    if (!started && spex_measure_started(run->of.measure))
        run->deadline_ns = in_seconds(run->of.plan->duration_seconds);
    return over;
}

static bool is_off(const struct run *run, size_t c) {
    for (uint32_t i = 0; i < run->sites; i++) {
        struct spex_selection_probe by;
        bool loaded;
        if (site_of(NULL, i, &by) && spex_selection_sampling(&run->of.selections[c], &by).period &&
            spex_site_sampling(i, &loaded).period)
            return false;
    }
    return true;
}

/* Too long for a first record. */
static int fail_startup(struct run *run) {
    const char *objective = run->of.space->criteria[0].probe;
    if (!run->of.known[0])
        return spex_trial_end(run->of.trial, "has no probe %s", objective);
    return spex_trial_end(run->of.trial, "no record of %s in %g s%s", objective,
                          run->of.space->rules.startup_seconds,
                          is_off(run, 0) ? ": it is off" : "");
}

static int deadline_over(struct run *run, uint64_t until) {
    if (!spex_measure_started(run->of.measure))
        return fail_startup(run);
    int over = spex_measured_run_end_records(&run->of);
    return over ? over : spex_measured_run_end_by_duration(&run->of, until, "");
}

static int step(struct run *run) {
    uint64_t until = 0, deadline_ns = run->deadline_ns;
    spex_feed_wait(run->setup->feed, deadline_ns);
    if (spex_feed_stopped(run->setup->feed))
        return -ECANCELED;
    bool late = spex_clock_ns(CLOCK_MONOTONIC) >= deadline_ns;
    int over = take_records(run, &until);
    if (over || !late || run->deadline_ns != deadline_ns)
        return over;
    return deadline_over(run, until);
}

static int watch(struct run *run) {
    int over = 0;
    run->lost = spex_rings_totals().lost;
    run->deadline_ns = in_seconds(run->of.space->rules.startup_seconds);
    spex_feed_begin(run->setup->feed, &run->probes, spex_ticks());
    while (!over) {
        over = step(run);
        spex_service_cpu_note(run->setup->cpu_ns);
    }
    uint64_t lost = spex_rings_totals().lost - run->lost;
    int err = spex_measured_run_account(&run->of, spex_feed_dropped(run->setup->feed) + lost);
    spex_feed_end(run->setup->feed);
    return over < 0 ? over : err;
}

int spex_tune_run(const struct spex_tune_setup *setup, const struct spex_plan *plan,
                  struct spex_trial *trial, struct spex_error *why) {
    struct run run = {.setup = setup,
                      .of = {.space = setup->space,
                             .plan = plan,
                             .trial = trial,
                             .policy = setup->policy,
                             .policy_state = setup->policy_state,
                             .unknown = "has no probe",
                             .hung = ""}};
    int err = spex_selection_parse(plan->probes, &run.probes, why->text, sizeof(why->text));
    err = err ? err : spex_measured_run_open(&run.of, setup->ticks_per_second, why);
    if (!err) {
        err = watch(&run);
        if (err)
            spex_error_set(why, "%s", err == -ENOMEM ? "out of memory" : "stopped");
    }
    spex_measured_run_close(&run.of);
    spex_selection_free(&run.probes);
    return err;
}
