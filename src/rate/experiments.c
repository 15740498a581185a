/* SPDX-License-Identifier: MIT */
/* A session needs quiet: it is not begun in debt or during a trial, and ends when a decision is
 * urgent. Afterwards all frequencies are measured anew. */
#include "rate/experiments.h"

#include "collect/metrics.h"
#include "probe/threads.h"
#include "rate/accounts.h"
#include "rate/controller_state.h"
#include "site/registry.h"

/* Seconds' worth of tokens: a smaller debt is not urgent, since it evens out. */
#define OVERDRAWN_SECONDS 0.02

/* Seconds' worth of tokens: so much overspending since the last decision makes the next one
 * urgent. */
#define SURPRISE_SECONDS 0.1

/* Seconds between the end of a session and the next decision. */
#define WAITING_SECONDS 0.005

/* When a factor found by an experiment replaces the former one: where the two differ by more than
 * FINDING_LEAST, and by so many standard errors. A higher cost is accepted with less certainty than
 * a lower one, so that the budget is kept. FINDING_WEIGHT is the new factor's part in the mean. */
#define SURE_DEARER    1.0
#define SURE_CHEAPER   2.0
#define FINDING_WEIGHT 0.6
#define FINDING_LEAST  1.25

/* Takes a factor over for each probe of the group, where it differs surely from the one before.
 * The first finding counts whole, later ones with FINDING_WEIGHT. */
static void take_finding(const struct spex_finding *finding) {
    for (size_t f = 0; f < finding->count; f++) {
        struct spex_controlled *probe = &spex_controller.probes[finding->firsts[f]];
        double before = spex_controlled_factor(probe), ratio = finding->factor / before;
        double change = finding->factor - before;
        bool sure =
            change > SURE_DEARER * finding->error || change < -SURE_CHEAPER * finding->error;
        if (sure && (ratio > FINDING_LEAST || ratio < 1 / FINDING_LEAST))
            probe->factor = before + change * (probe->factor > 0 ? FINDING_WEIGHT : 1);
    }
}

/* Begins new measurements of all probes after a session: frequencies during it, while some probes
 * were held off, are no basis for a decision. */
static void session_over(void) {
    for (uint32_t i = 0; i < spex_sites_count(); i++)
        if (spex_controller.probes[i].seen)
            spex_controlled_measure_from_now(&spex_controller.probes[i],
                                             spex_controller.executions[i]);
    spex_controller.overdue = true;
    spex_controller.waiting_until = spex_controller.now + WAITING_SECONDS;
}

bool spex_experiments_rush(void) {
    double steady = spex_budget_steady(&spex_controller.budget, spex_controller.cpus);
    double tokens = spex_controller.budget.tokens;
    return tokens < -OVERDRAWN_SECONDS * steady ||
           tokens < spex_controller.decided_tokens - SURPRISE_SECONDS * steady;
}

/* A pass that comes too early for the next slice only keeps decisions away. */
bool spex_experiments_pass(void) {
    struct spex_progress progress = {.executions = spex_controller.executions};
    struct spex_finding finding = {.count = 0};
    if (!spex_experiment_running())
        return spex_controller.now < spex_controller.waiting_until;
    bool rush = spex_experiments_rush() || spex_controller.trying;
    if (!rush && spex_experiment_due(spex_controller.now) > 0)
        return true;
    spex_metrics_executions(spex_controller.executions);
    if (rush || !spex_threads_cpu_ns(&progress.cpu_ns, &progress.threads))
        spex_experiment_abort(spex_controller.now);
    else if (!spex_experiment_step(spex_controller.now, &progress, &finding))
        return true;
    take_finding(&finding);
    session_over();
    return true;
}

/* Fills in the subjects: probes with a decision that are on and record. Returns their number. */
static size_t subjects_of(size_t count) {
    size_t subjects = 0;
    for (size_t c = 0; c < count; c++) {
        uint32_t first = spex_controller.firsts[c];
        struct spex_controlled *probe = &spex_controller.probes[first];
        double skip, report, period = probe->period ? probe->period : 1;
        if (probe->held.until > 0 || probe->trying || probe->period == SPEX_SITE_POLLED ||
            !spex_accounts_calibrated_costs(first, &skip, &report))
            continue;
        spex_controlled_uncounted(probe);
        spex_controller.subjects[subjects++] =
            (struct spex_subject){.first = first,
                                  .period = probe->period,
                                  .frequency = probe->frequency,
                                  .cost = skip + report / period};
    }
    return subjects;
}

void spex_experiments_begin(size_t classes) {
    double share = spex_budget_steady(&spex_controller.budget, spex_controller.cpus);
    if (spex_controller.budget.tokens >= 0 && !spex_controller.trying)
        spex_experiment_begin(spex_controller.subjects, subjects_of(classes), share,
                              spex_controller.now);
}
