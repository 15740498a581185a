/* SPDX-License-Identifier: MIT */
/* Experiments are sessions, and the slices of the time in which a probe is on that is too dear.
 *
 * A session needs quiet: it is not begun in debt or during a trial, and ends when a decision is
 * urgent. Afterwards all frequencies are measured anew. */
#include "rate/experiments.h"

#include <math.h>

#include "collect/metrics.h"
#include "rate/accounts.h"
#include "rate/controller_state.h"
#include "rate/experiment/experiment.h"
#include "rate/experiment/sliced.h"
#include "site/registry.h"

/* Seconds' worth of tokens: a smaller debt is not urgent, since it evens out, and one that has
 * grown by less was decided about. */
#define OVERDRAWN_SECONDS 0.02

/* Seconds' worth of tokens: so much overspending since the last decision makes the next one
 * urgent. */
#define SURPRISE_SECONDS 0.1

/* Seconds between the end of a session and the next decision. */
#define WAITING_SECONDS 0.005

/* Share of the budget that the collector may take for sessions: a session has a pass every 10
 * ms. */
#define SESSIONS_SHARE 0.1

/* When a factor found by an experiment replaces the former one: where the two differ by more than
 * FINDING_LEAST, and by so many standard errors. A higher cost is accepted with less certainty than
 * a lower one, so that the budget is kept. FINDING_WEIGHT is the new factor's part in the mean. */
#define SURE_DEARER    1.0
#define SURE_CHEAPER   2.0
#define FINDING_WEIGHT 0.6
#define FINDING_LEAST  1.25

/* A session without a witness makes the period so many times as long. */
#define SPARSER 4

/* With a standard error below such a share of it a factor counts whole. */
#define FINDING_PRECISE 0.1

/* Of so many slices without a witness, executions call the library in one, first and once a factor
 * is known. */
enum { CALLED_FIRST = 2, CALLED_KNOWN = 12 };

/* Slices that are compared without a witness lie further apart than a slice and its hold-offs: what
 * other programs do meanwhile makes the error greater than the figures' spread. */
#define ALONE_ERROR 2.0

/* With a smaller standard error a factor is known, be it 1. */
#define FINDING_KNOWN 1.0

/* Of 20 true factors 19 are less than what was found and so many standard errors. */
#define MOST_ERRORS 1.64

/* Takes a factor over, where it differs surely from the one before. The first finding and precise
 * ones count whole, others with FINDING_WEIGHT, and as if nothing were cheaper than calibrated. One
 * that is precise enough ends the caution (accounts.c). */
static void take_factor(struct spex_controlled *probe, const struct spex_finding *finding) {
    bool precise = finding->error < FINDING_PRECISE * finding->factor;
    double found = precise ? finding->factor : fmax(finding->factor, 1);
    double before = spex_controlled_factor(probe), ratio = found / before;
    double change = found - before;
    bool sure = change > SURE_DEARER * finding->error || change < -SURE_CHEAPER * finding->error;
    if (sure && (ratio > FINDING_LEAST || ratio < 1 / FINDING_LEAST))
        probe->factor = before + change * (precise || probe->factor <= 0 ? 1 : FINDING_WEIGHT);
    else if (probe->factor <= 0 && finding->error < FINDING_KNOWN)
        probe->factor = before;
    probe->most = fmax(finding->factor + MOST_ERRORS * finding->error, 1);
    if (probe->factor <= 0)
        return;
    probe->doubt = finding->error;
    spex_controller.found = probe->factor;
}

static void take_finding(const struct spex_finding *told) {
    struct spex_finding finding = *told;
    if (!spex_experiment_saved())
        spex_finding_of_calls(&finding);
    for (size_t f = 0; f < finding.count; f++)
        take_factor(&spex_controller.probes[finding.firsts[f]], &finding);
}

/* What a session has held off tells nothing, neither as a frequency nor as a witness. */
static void measure_anew(uint32_t first) {
    if (spex_experiment_saved())
        spex_controlled_measure_from_now(&spex_controller.probes[first],
                                         spex_controller.executions[first]);
    spex_controller.probes[first].sliced.cpu_ns = 0;
}

/* Books what executions have cost more that called the library. */
static void session_charge(void) {
    uint32_t first;
    double extra = spex_experiment_extra(&first) / spex_accounts_part_chosen();
    extra *= spex_controlled_factor(&spex_controller.probes[first]);
    spex_accounts_charge((uint64_t)(extra * 1e9));
}

/* The pause after a session, by what its passes have cost. Begins new measurements of all probes:
 * frequencies during a session, while some probes were held off, are no basis for a decision. */
static void session_over(void) {
    double steady = spex_budget_steady(&spex_controller.budget, spex_controlled_cpus());
    double cost =
        (double)spex_grown(spex_controller.session_ns, spex_controller.collectors_ns) / 1e9;
    session_charge();
    spex_experiment_rest(spex_controller.now + cost / (SESSIONS_SHARE * steady));
    for (uint32_t i = 0; i < spex_sites_count(); i++)
        if (spex_controller.probes[i].seen)
            measure_anew(i);
    spex_controller.overdue = true;
    spex_controller.waiting_until = spex_controller.now + WAITING_SECONDS;
}

bool spex_experiments_overdrawn(void) {
    double steady = spex_budget_steady(&spex_controller.budget, spex_controlled_cpus());
    return spex_controller.budget.tokens < -OVERDRAWN_SECONDS * steady;
}

/* What collectors took is not in it: decisions save nothing of that, they add to it. */
bool spex_experiments_rush(void) {
    double steady = spex_budget_steady(&spex_controller.budget, spex_controlled_cpus());
    double collectors =
        (double)spex_grown(spex_controller.decided_ns, spex_controller.collectors_ns) / 1e9;
    double tokens = spex_controller.budget.tokens + collectors;
    double earned = steady * (spex_controller.now - spex_controller.decided);
    double spent = spex_controller.spent - spex_controller.decided_spent;
    /* A debt grows no further than the budget has it, but more is lost. */
    double lost = fmax(spex_controller.decided_tokens - tokens, spent - collectors - earned);
    double least = tokens < -OVERDRAWN_SECONDS * steady ? OVERDRAWN_SECONDS : SURPRISE_SECONDS;
    return lost > least * steady && lost > spex_accounts_decision_cost();
}

/* Goes on with the session. True: it is over. Executions of all threads are counted at its end, and
 * before where all threads are chosen: counting those of a thousand takes long. */
static bool session_step(struct spex_finding *finding) {
    struct spex_progress progress;
    bool all = spex_accounts_choose_threads();
    if (all)
        spex_accounts_count_all();
    spex_accounts_read_progress(&progress);
    bool over = spex_experiment_step(spex_controller.now, &progress, finding);
    if (over && !all)
        spex_accounts_count_all();
    return over;
}

/* A pass that comes too early for the next slice only keeps decisions away. What a session saves is
 * not to be spent before a rush. */
bool spex_experiments_pass(void) {
    struct spex_finding finding = {.count = 0};
    if (!spex_experiment_running())
        return spex_controller.now < spex_controller.waiting_until;
    spex_controller.decided_tokens =
        fmax(spex_controller.decided_tokens, spex_controller.budget.tokens);
    bool rush = spex_experiments_rush() || spex_controller.trying;
    if (!rush && spex_experiment_due(spex_controller.now) > 0)
        return true;
    if (rush) {
        spex_accounts_count_all();
        spex_experiment_abort(spex_controller.now);
    } else if (!session_step(&finding)) {
        return true;
    }
    take_finding(&finding);
    session_over();
    return true;
}

/* Sets what a session without a witness compares: by what dominates, periods or executions that
 * call the library. Passes of a group are not counted well enough. */
static void subject_set_states(struct spex_subject *subject, double skip, double period) {
    double drawn, report, records = subject->on.cost - skip;
    double called = skip + spex_accounts_call_cost();
    subject->dear = subject->cheap = subject->on;
    if (spex_groups_is(subject->first))
        return;
    spex_accounts_costs_drawn(subject->first, &drawn, &report);
    if (records > skip && period * SPARSER <= SPEX_GAP_PERIOD_MAX)
        subject->cheap = (struct spex_subject_state){(uint32_t)period * SPARSER,
                                                     drawn + report / (period * SPARSER)};
    else
        subject->dear = (struct spex_subject_state){SPEX_SITE_CALLED, called};
}

/* False: nothing is known of its cost. */
static bool subject_of(uint32_t first, struct spex_subject *subject) {
    const struct spex_controlled *probe = &spex_controller.probes[first];
    double skip, report, period = spex_controlled_period(probe);
    bool known = spex_accounts_calibrated_costs(first, &skip, &report);
    *subject = (struct spex_subject){.first = first,
                                     .frequency = probe->frequency,
                                     .on = {probe->period, skip + report / period}};
    subject_set_states(subject, skip, period);
    return known;
}

/* Fills in the subjects: probes with a decision that are on and record. Returns their number. */
static size_t subjects_of(size_t count) {
    size_t subjects = 0;
    for (size_t c = 0; c < count; c++) {
        uint32_t first = spex_controller.firsts[c];
        struct spex_controlled *probe = &spex_controller.probes[first];
        if (probe->held.until > 0 || probe->trying || probe->period == SPEX_SITE_POLLED ||
            (spex_groups_is(first) && spex_accounts_part_chosen() < 1) ||
            !subject_of(first, &spex_controller.subjects[subjects]))
            continue;
        spex_controlled_uncounted(probe);
        subjects++;
    }
    return subjects;
}

/* Whether a slice has enough executions of the witness, if there is one. Its weight is up to twice
 * its frequency. */
static bool slice_has_witness(const struct spex_controlled *probe) {
    return spex_controller.next_weight * probe->slice >= 2 * SPEX_WITNESSED_LEAST;
}

/* What ends when a slice begins, or when it ends. */
static enum spex_slice_over slice_over(const struct spex_controlled *probe, bool alone, bool on) {
    if (!alone)
        return on ? SPEX_SLICE_CHEAP : SPEX_SLICE_DEAR;
    if (on)
        return SPEX_SLICE_NEITHER;
    return probe->sliced.called ? SPEX_SLICE_DEAR : SPEX_SLICE_CHEAP;
}

void spex_experiments_slice(uint32_t first, bool on) {
    struct spex_controlled *probe = &spex_controller.probes[first];
    struct spex_subject subject;
    struct spex_finding finding;
    bool alone = !slice_has_witness(probe) && !spex_groups_is(first);
    uint32_t witness = alone ? first : spex_controller.witness;
    if (!subject_of(first, &subject))
        probe->sliced.cpu_ns = 0;
    else if (spex_experiment_sliced(&probe->sliced, &subject, witness, slice_over(probe, alone, on),
                                    &spex_controller.progress, &finding)) {
        if (alone) {
            finding.error *= ALONE_ERROR;
            spex_finding_of_calls(&finding);
        }
        /* Few slices have slices of others in them, so that a trimmed mean misses those: it is too
         * low. */
        finding.factor = spex_controller.sliced > 1 ? fmax(finding.factor, 1) : finding.factor;
        take_factor(probe, &finding);
    }
    probe->sliced.begun += on;
    if (on)
        probe->sliced.called =
            alone && probe->sliced.alone++ % (probe->factor > 0 ? CALLED_KNOWN : CALLED_FIRST) == 1;
}

void spex_experiments_begin(size_t classes) {
    double share = spex_budget_steady(&spex_controller.budget, spex_controlled_cpus());
    if (spex_controller.budget.tokens >= 0 && !spex_controller.trying &&
        spex_experiment_begin(spex_controller.subjects, subjects_of(classes), share,
                              spex_accounts_part_chosen(), spex_controller.now)) {
        spex_controller.session_ns = spex_controller.collectors_ns;
        spex_controller.chosen_until = 0;
    }
}
