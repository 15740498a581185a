/* SPDX-License-Identifier: MIT */
/* Two steps. After each pass it accounts for what was spent since the last, by the records of each type alone, which
 * is quick; every so often, or as soon as the budget is overdrawn, it decides anew: what each probe's executions
 * were, how many records of each can be had for what may be spent, and the periods that come to that. What executions
 * cost that make no record is taken to go on as it was, until they are counted. */
#define _GNU_SOURCE
#include "controller.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <spex/rate_policy.h>
#include <spex/spex.h>

#include "budget.h"
#include "clock.h"
#include "collecting_cost.h"
#include "collector.h"
#include "controller_probing.h"
#include "experiment.h"
#include "message.h"
#include "metrics.h"
#include "period.h"
#include "probe_type.h"
#include "prober.h"
#include "profile_source.h"
#include "rings.h"
#include "samples/spending.h"
#include "sites.h"
#include "threads.h"

#include "../policies/rates.h"

/* Between decisions, in seconds; the second when the budget is overdrawn or a probe is being tried, which may cost more
 * than all that is saved. */
#define INTERVAL      0.1
#define INTERVAL_RUSH 0.002

/* What is overdrawn by less is no reason to hurry: in the long run it is about nothing. */
#define OVERDRAWN_SECONDS 0.02

/* So much of the budget's, spent beyond it since the last decision, is a reason for the next. */
#define SURPRISE_SECONDS 0.1

/* Records worth so much of the budget's, in a CPU's ring, are a reason to look before the collector's sleep is over. */
#define ALARM_SECONDS 0.05

/* A probe that is held is tried again after so long, and after twice as long each time that it must be held
 * again. */
#define HELD_SECONDS     1.0
#define HELD_SECONDS_MAX 64.0

/* Records a second that a probe gets if it executes so often, before others get more. */
#define RECORDS_LEAST 100.0

/* Or looks, where it is probed: a policy gives all that is left for more. */
#define LOOKS_LEAST 10.0

/* A probe that is probed is not counted: after so long, and after twice as long each time that it comes to the same,
 * it is recorded for a moment. */
#define PROBED_SECONDS     1.0
#define PROBED_SECONDS_MAX 16.0

/* Of a look, in seconds, before there was one. */
#define SAMPLE_COST 5e-6

/* So many executions tell how often there are any, however short the time. */
#define EXECUTIONS_SURE 20.0

/* How many CPUs are busy is told by so many seconds. */
#define CPUS_SECONDS 0.05

/* Counting executions may take so much of one CPU; where it takes long, it is done less often. */
#define COUNTING_SHARE      0.005
#define COUNTING_SHARE_RUSH 0.1

/* After an experiment. */
#define WAITING_SECONDS 0.005

/* Of a factor that an experiment has found, against what was found before; what it differs by less, or by less than so
 * many of its standard errors, is chance. In doubt probes are dear. */
#define SURE_DEARER    1.0
#define SURE_CHEAPER   2.0
#define FINDING_WEIGHT 0.6
#define FINDING_LEAST  1.25

/* In so many seconds half of what a frequency was too high is forgotten: bursts are remembered as long, whether it is
 * measured often or not. */
#define FALL_SECONDS 0.06

/* What executes less often than that does not execute. */
#define FREQUENCY_LEAST 1e-3

/* What executions may take of the budget, so that something is left for records: a little less than policies let
 * them. */
#define DETECTION_MOST 0.94

/* What is known of a probe, by the index of its first site. */
struct probe {
    bool seen;        /* what follows is known */
    double measured;  /* when it last was, in seconds */
    uint64_t count;   /* of executions, as of then */
    uint64_t counted; /* when last decided */
    double frequency;
    double held_until;  /* seconds; 0: it is not held */
    double held_before; /* how long it was, last time */
    bool trying;        /* it was held, and has not been measured since */
    double
        factor; /* what it costs, as a multiple of what calibration says, by experiment; 0: not known */
    uint32_t period;
    const char *why;
    double probed_until;  /* seconds; while its period is SPEX_SITE_PROBED */
    double probed_before; /* how long it was, last time */
    struct spex_probing_share share;
};

static struct {
    struct spex_budget budget;
    struct probe *probes; /* SPEX_MAX_SITES of them; NULL: there is no budget */
    const struct spex_rate_policy_ops *policy;
    void *workspace;
    struct spex_rate_class *classes;
    struct spex_rate_decision *decisions;
    struct spex_subject *subjects;
    uint32_t *firsts;      /* of the classes */
    double now;            /* seconds since it began */
    double decided;        /* when it last did */
    double decided_tokens; /* what it then had */
    bool holding;          /* a probe that is selected, as of then */
    bool trying;           /* one that was held, of which nothing is known yet */
    bool overdue;          /* a decision, whatever the interval */
    double waiting_until;  /* until when there is to be none */
    bool failed;           /* the policy, and it has been told */
    uint64_t monotonic_ns;
    double process_at;              /* when its CPU time was last asked for */
    uint64_t process_ns;            /* what it was */
    uint64_t process_collectors_ns; /* of it */
    uint64_t collectors_ns;
    uint64_t looker_ns; /* and what samples of kernels by their models have cost */
    double tick_rate;   /* 0: not known yet */
    double cpus;        /* that the program keeps busy */
    double seconds;     /* of all those CPUs, since it began */
    double spent;
    struct spex_collecting collecting;
    uint64_t produced[SPEX_PROBE_TYPES]; /* records, when last accounted for */
    uint64_t *executions;                /* of each probe, by the index of its first site */
    double
        skipping; /* seconds a second that executions took which made no record, when they were last counted */
    double skipped;                   /* seconds accounted for by that since then */
    double counting;                  /* seconds that counting them takes */
    double factors[SPEX_PROBE_TYPES]; /* of records, the mean over probes; 0: 1 */
} controller;

static void buffers_free(void) {
    free(controller.probes);
    free(controller.classes);
    free(controller.decisions);
    free(controller.subjects);
    free(controller.firsts);
    free(controller.executions);
    free(controller.workspace);
    memset(&controller, 0, sizeof(controller));
}

static int buffers_allocate(void) {
    size_t workspace = controller.policy->workspace_size(SPEX_MAX_SITES);
    controller.probes = calloc(SPEX_MAX_SITES, sizeof(*controller.probes));
    controller.classes = calloc(SPEX_MAX_SITES, sizeof(*controller.classes));
    controller.decisions = calloc(SPEX_MAX_SITES, sizeof(*controller.decisions));
    controller.subjects = calloc(SPEX_MAX_SITES, sizeof(*controller.subjects));
    controller.firsts = calloc(SPEX_MAX_SITES, sizeof(*controller.firsts));
    controller.executions = calloc(SPEX_MAX_SITES, sizeof(*controller.executions));
    controller.workspace = malloc(workspace ? workspace : 1);
    return controller.probes && controller.classes && controller.decisions && controller.subjects &&
                   controller.firsts && controller.executions && controller.workspace
               ? 0
               : -ENOMEM;
}

static int begin(double share, const struct spex_rate_policy_ops *policy) {
    buffers_free();
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        spex_rings_alarm_at(t, INFINITY);
    if (!policy || share <= 0)
        return 0;
    controller.policy = policy;
    if (buffers_allocate() != 0) {
        buffers_free();
        return -ENOMEM;
    }
    spex_budget_begin(&controller.budget, share);
    spex_experiment_reset(spex_clock_ns(CLOCK_MONOTONIC));
    controller.monotonic_ns = spex_clock_ns(CLOCK_MONOTONIC);
    controller.process_ns = spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    controller.collectors_ns = spex_collectors_cpu_ns();
    controller.looker_ns = spex_spending_spent_ns();
    controller.process_collectors_ns = controller.collectors_ns;
    spex_collecting_begin(&controller.collecting, controller.collectors_ns);
    controller.cpus = 1;
    return 0;
}

/* The control thread may be looking at what there was before. */
int spex_controller_begin(double share, const struct spex_rate_policy_ops *policy) {
    spex_metrics_lock();
    int err = begin(share, policy);
    spex_metrics_unlock();
    return err;
}

void spex_controller_end(void) {
    spex_controller_begin(0, NULL);
}

/* Seconds for an execution that makes no record, and how much more one that makes one takes. False: not known, nor how
 * long a tick is in the first milliseconds; then they are 0. */
static bool costs_of(uint32_t type, double *skip, double *report) {
    struct spex_cost cost;
    double rate = controller.tick_rate;
    *skip = *report = 0;
    if (rate <= 0 || spex_cost_get(type, &cost) != 0)
        return false;
    *skip = cost.skip / rate;
    *report = cost.record > cost.skip ? (cost.record - cost.skip) / rate : 0;
    return true;
}

static double factor_of(const struct probe *probe) {
    return probe->factor > 0 ? probe->factor : 1;
}

/* The same of a probe, with what experiments have found. */
static bool probe_costs(uint32_t first, double *skip, double *report) {
    double factor = factor_of(&controller.probes[first]);
    bool known = costs_of(spex_site_info(first)->probe_type, skip, report);
    *skip *= factor;
    *report *= factor;
    return known;
}

/* Collectors look at a CPU's ring before what is in it, and unaccounted for, is much of the budget. Not sooner than
 * need be: being woken costs, too. `seconds`: a record's. */
static void alarm_at(unsigned ring, double seconds) {
    if (seconds > 0)
        spex_rings_alarm_at(ring, ALARM_SECONDS * controller.budget.share / seconds);
}

/* What a type's records have cost since it was last asked, or could last tell. */
static double spent_on(unsigned ring) {
    uint64_t now = spex_metrics_totals(ring).produced, *last = &controller.produced[ring];
    double records = (double)spex_grown(*last, now), skip, report;
    if (!costs_of(spex_probe_type_of_ring(ring), &skip, &report))
        return 0;
    *last = now;
    double factor = controller.factors[ring] > 0 ? controller.factors[ring] : 1;
    alarm_at(ring, report * factor + controller.collecting.record);
    return records * report * factor;
}

static void spend(double seconds, double spent) {
    controller.spent += spent;
    spex_budget_advance(&controller.budget, seconds, controller.cpus, spent);
}

/* `ns`: now. */
static void account(uint64_t ns) {
    uint64_t collectors = spex_collectors_cpu_ns();
    double seconds = (double)(ns - controller.monotonic_ns) / 1e9;
    controller.tick_rate = spex_metrics_tick_rate();
    uint64_t looker = spex_spending_spent_ns();
    double spent = (double)(collectors - controller.collectors_ns) / 1e9 +
                   (double)spex_grown(controller.looker_ns, looker) / 1e9;
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        spent += spent_on(t);
    controller.skipped += controller.skipping * seconds;
    spent += controller.skipping * seconds;
    controller.monotonic_ns = ns;
    controller.collectors_ns = collectors;
    controller.looker_ns = looker;
    controller.now += seconds;
    controller.seconds += seconds * (controller.cpus > 1 ? controller.cpus : 1);
    spend(seconds, spent);
}

/* Of a probe that is probed, for which its executions are taken to be as frequent as when they were counted. */
static double publishing(const struct probe *probe, double seconds) {
    return probe->period == SPEX_SITE_PROBED
               ? probe->frequency * seconds * spex_probing_execution_cost()
               : 0;
}

/* What executions without a record have really cost since they were last counted. */
static double skipping_since(uint32_t sites, double seconds) {
    double sum = 0, skip, report;
    for (uint32_t i = 0; i < sites; i++) {
        sum += publishing(&controller.probes[i], seconds);
        uint64_t fresh = spex_grown(controller.probes[i].counted, controller.executions[i]);
        if (!fresh || !probe_costs(i, &skip, &report))
            continue;
        controller.probes[i].counted = controller.executions[i];
        sum += (double)fresh * skip;
    }
    return sum;
}

static void count_executions(double seconds) {
    uint64_t begin = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    spex_metrics_executions(controller.executions);
    double cost = skipping_since(spex_sites_count(), seconds);
    spend(0, cost - controller.skipped);
    controller.skipped = 0;
    controller.skipping = seconds > 0 ? cost / seconds : 0;
    controller.counting = (double)(spex_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / 1e9;
}

/* The program's own, without the collectors that it did not ask for. In a short time it cannot be told apart from
 * what collectors have not noted yet. */
static void note_cpus(void) {
    double seconds = controller.now - controller.process_at;
    if (seconds < CPUS_SECONDS)
        return;
    uint64_t process = spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    double all = (double)spex_grown(controller.process_ns, process) / 1e9;
    double collectors =
        (double)spex_grown(controller.process_collectors_ns, controller.collectors_ns) / 1e9;
    controller.cpus = all > collectors ? (all - collectors) / seconds : 0;
    controller.process_ns = process;
    controller.process_at = controller.now;
    controller.process_collectors_ns = controller.collectors_ns;
}

static void note_collecting(void) {
    uint64_t records = 0;
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        records += spex_metrics_totals(t).records;
    spex_collecting_note(&controller.collecting, controller.now, records, controller.collectors_ns);
}

/* What the probe has done since it was last measured. False: of few executions in a short time nothing follows. */
static bool measure(struct probe *probe, uint64_t count) {
    double executions = (double)spex_grown(probe->count, count);
    if (!probe->seen)
        probe->measured = controller.decided;
    probe->seen = true;
    double seconds = controller.now - probe->measured;
    if (seconds < INTERVAL_RUSH || (seconds < INTERVAL && executions < EXECUTIONS_SURE))
        return false;
    double fresh = executions / seconds;
    /* Quick to rise, slow to fall; but what was before it was held off is no reason to hold it off again. */
    bool rises = fresh > probe->frequency || probe->trying;
    double kept = rises ? 0 : exp2(-seconds / FALL_SECONDS);
    probe->frequency = fresh + (probe->frequency - fresh) * kept;
    if (probe->frequency < FREQUENCY_LEAST)
        probe->frequency = 0;
    probe->count = count;
    probe->measured = controller.now;
    return true;
}

static void measure_from_now(struct probe *probe, uint64_t count) {
    probe->seen = true;
    probe->count = count;
    probe->measured = controller.now;
}

/* Of one that is only probed nothing is counted. */
static bool measure_all(struct probe *probe, uint32_t first, uint64_t count) {
    bool probed = probe->period == SPEX_SITE_PROBED;
    bool measured = !probed && measure(probe, count);
    if (probed)
        measure_from_now(probe, count);
    if (spex_probing_policy(controller.policy) && (probed || measured))
        spex_probing_measure(&probe->share, first, probed, probe->frequency);
    return measured;
}

/* Few records for a moment, to see how often it executes. */
static void count_again(uint32_t first, struct probe *probe) {
    probe->trying = controller.trying = true;
    probe->period = spex_period_whole(probe->frequency, RECORDS_LEAST);
    probe->why = "recorded for a moment, as executions that are probed are not counted";
    spex_probe_slow(first, probe->period);
}

/* Of what does not execute nothing can be known, but that it costs nothing. */
static void record_all(uint32_t first, struct probe *probe) {
    probe->trying = false;
    probe->period = 0;
    probe->why = "traced: it hardly executes";
    spex_probe_slow(first, 0);
}

/* False: nothing is to be decided, as it is off, probed by its user's wish, or still being tried. */
static bool look_at(uint32_t first, struct spex_rate_class *class) {
    struct probe *probe = &controller.probes[first];
    struct spex_probe_state state = spex_probe_state(first, 0);
    uint64_t count = controller.executions[first];
    if (state.by_hand && probe->period)
        spex_probe_slow(first, 0);
    if (!state.selected || state.by_hand)
        *probe = (struct probe){.counted = probe->counted, .factor = probe->factor};
    if (!state.selected || state.by_hand || probe->held_until > 0)
        measure_from_now(probe, count);
    if (!state.selected || state.by_hand)
        return false;
    if (probe->held_until > controller.now) {
        controller.holding = true;
        spex_probe_slow(first, SPEX_SITE_HELD);
        return false;
    }
    *class = (struct spex_rate_class){
        .name = spex_site_info(first)->name, .weight = 1, .min_frequency = RECORDS_LEAST};
    if (probe->held_until > 0) /* to be tried again, of which nothing is known beforehand */
        return true;
    if (measure_all(probe, first, count))
        probe->trying = false;
    if (probe->period == SPEX_SITE_PROBED && probe->probed_until <= controller.now) {
        count_again(first, probe);
        return false;
    }
    if (spex_probing_policy(controller.policy) && probe->frequency <= 0) {
        record_all(first, probe);
        return false;
    }
    if (spex_probing_policy(controller.policy)) {
        class->share = probe->share.share;
        class->min_frequency = LOOKS_LEAST;
    }
    class->frequency = probe->frequency;
    class->wanted = probe->frequency / state.selected;
    probe_costs(first, &class->detect_cost, &class->report_cost);
    class->report_cost += controller.collecting.record;
    controller.trying |= probe->trying;
    return !probe->trying;
}

static size_t look_at_all(void) {
    size_t count = 0;
    for (uint32_t i = spex_profile_next_probe(0); i < spex_sites_count();
         i = spex_profile_next_probe(i + 1))
        if (look_at(i, &controller.classes[count]))
            controller.firsts[count++] = i;
    return count;
}

/* Twice as long as before. */
static double longer(double before, double least, double most) {
    double seconds = before > 0 ? before * 2 : least;
    return seconds < most ? seconds : most;
}

static void hold(struct probe *probe, const char *why) {
    probe->held_before = longer(probe->held_before, HELD_SECONDS, HELD_SECONDS_MAX);
    probe->held_until = controller.now + probe->held_before;
    probe->period = SPEX_SITE_HELD;
    controller.holding = true;
    probe->why = why;
}

/* With few records, so that it costs no more than it must. Collectors may be asleep for want of any. */
static void try_again(struct probe *probe) {
    probe->held_until = 0;
    probe->trying = controller.trying = true;
    probe->period = spex_period_whole(probe->frequency, RECORDS_LEAST);
    probe->why = "tried again";
}

static void give(struct probe *probe, const struct spex_rate_class *class,
                 const struct spex_rate_decision *decision) {
    bool all = decision->frequency >= spex_rate_most(class);
    double exact = all ? 1 : spex_period_exact(class->frequency, decision->frequency);
    if (spex_period_differs(probe->period, exact))
        probe->period = all ? 0 : spex_period_whole(class->frequency, decision->frequency);
    probe->held_before = 0;
    probe->probed_before = 0;
    probe->why = decision->reason;
}

static void leave_to_prober(struct probe *probe, const char *why) {
    if (probe->period != SPEX_SITE_PROBED) {
        probe->probed_before = longer(probe->probed_before, PROBED_SECONDS, PROBED_SECONDS_MAX);
        probe->probed_until = controller.now + probe->probed_before;
    }
    probe->period = SPEX_SITE_PROBED;
    probe->held_before = 0;
    probe->why = why;
}

/* What was decided becomes the probe's period. It is said again when it is the same: sites may have been off by
 * selection in between, or have been loaded since. */
static void apply(uint32_t first, const struct spex_rate_class *class,
                  const struct spex_rate_decision *decision) {
    struct probe *probe = &controller.probes[first];
    uint32_t before = probe->period;
    if (probe->held_until > 0)
        try_again(probe);
    else if (decision->mode == SPEX_RATE_OFF)
        hold(probe, decision->reason);
    else if (decision->mode == SPEX_RATE_PROBED &&
             !spex_probe_type_lasts(spex_site_info(first)->probe_type))
        hold(probe, "held off: it is not worth its records, and takes no time to be probed");
    else if (decision->mode == SPEX_RATE_PROBED)
        leave_to_prober(probe, decision->reason);
    else if (probe->period != SPEX_SITE_PROBED) /* until it is counted again */
        give(probe, class, decision);
    spex_probe_slow(first, probe->period);
    if (before == SPEX_SITE_HELD && probe->period != SPEX_SITE_HELD)
        spex_collectors_wake();
}

/* What may be spent at present; but debts are paid by records alone: no probe goes off for want of what its executions
 * cost, when that is within the budget in the long run. */
static double allowed(size_t count) {
    /* Where looks wake the collector, they are charged for it. */
    double resting = spex_probing_policy(controller.policy) ? 0 : controller.collecting.rest;
    double steady = spex_budget_steady(&controller.budget, controller.cpus) - resting;
    double rate = spex_budget_rate(&controller.budget, controller.cpus) - resting;
    double detection = 0;
    for (size_t c = 0; c < count && !spex_probing_policy(controller.policy); c++)
        detection += controller.classes[c].frequency * controller.classes[c].detect_cost;
    if (spex_probing_policy(controller.policy))
        detection = spex_probing_base(controller.classes, count);
    double least = detection / DETECTION_MOST;
    if (least > steady)
        least = steady;
    if (least < 0)
        least = 0;
    return rate > least ? rate : least;
}

/* What records cost of each type, by how many each probe is believed to make. */
static void note_factors(size_t count) {
    double records[SPEX_PROBE_TYPES] = {0}, sums[SPEX_PROBE_TYPES] = {0};
    for (size_t c = 0; c < count; c++) {
        const struct probe *probe = &controller.probes[controller.firsts[c]];
        unsigned ring = spex_probe_type_ring(spex_site_info(controller.firsts[c])->probe_type);
        double made = probe->frequency / (probe->period ? probe->period : 1);
        records[ring] += made;
        sums[ring] += made * factor_of(probe);
    }
    for (unsigned ring = 0; ring < SPEX_PROBE_TYPES; ring++)
        controller.factors[ring] = records[ring] > 0 ? sums[ring] / records[ring] : 1;
}

/* Probes that were just decided about, and are on. */
static size_t subjects_of(size_t count) {
    size_t subjects = 0;
    for (size_t c = 0; c < count; c++) {
        uint32_t first = controller.firsts[c];
        const struct probe *probe = &controller.probes[first];
        double skip, report, period = probe->period ? probe->period : 1;
        if (probe->held_until > 0 || probe->trying || probe->period == SPEX_SITE_PROBED ||
            !costs_of(spex_site_info(first)->probe_type, &skip, &report))
            continue;
        controller.subjects[subjects++] = (struct spex_subject){.first = first,
                                                                .period = probe->period,
                                                                .frequency = probe->frequency,
                                                                .cost = skip + report / period};
    }
    return subjects;
}

static void take_finding(const struct spex_finding *finding) {
    for (size_t f = 0; f < finding->count; f++) {
        struct probe *probe = &controller.probes[finding->firsts[f]];
        double before = factor_of(probe), ratio = finding->factor / before;
        double change = finding->factor - before;
        bool sure =
            change > SURE_DEARER * finding->error || change < -SURE_CHEAPER * finding->error;
        if (sure && (ratio > FINDING_LEAST || ratio < 1 / FINDING_LEAST))
            probe->factor = before + change * (probe->factor > 0 ? FINDING_WEIGHT : 1);
    }
}

/* What probes did while some were held off says little about what they do, and nothing about what has just changed: they
 * are looked at for a moment before anything is decided. */
static void session_over(void) {
    for (uint32_t i = 0; i < spex_sites_count(); i++)
        if (controller.probes[i].seen)
            measure_from_now(&controller.probes[i], controller.executions[i]);
    controller.overdue = true;
    controller.waiting_until = controller.now + WAITING_SECONDS;
}

/* It is overdrawn, or much of what was saved has gone since it last decided, or little is known of a probe. */
static bool is_in_a_rush(void) {
    double steady = spex_budget_steady(&controller.budget, controller.cpus);
    double tokens = controller.budget.tokens;
    return tokens < -OVERDRAWN_SECONDS * steady ||
           tokens < controller.decided_tokens - SURPRISE_SECONDS * steady || controller.trying;
}

/* True: nothing is to be decided, as there is a session, or has just been one. It ends when there is a rush. */
static bool experiment(void) {
    struct spex_progress progress = {.executions = controller.executions};
    struct spex_finding finding = {.count = 0};
    if (!spex_experiment_running())
        return controller.now < controller.waiting_until;
    bool rush = is_in_a_rush();
    if (!rush && spex_experiment_due(controller.now) > 0)
        return true;
    spex_metrics_executions(controller.executions);
    if (rush || !spex_threads_cpu_ns(&progress.cpu_ns, &progress.threads))
        spex_experiment_abort(controller.now);
    else if (!spex_experiment_step(controller.now, &progress, &finding))
        return true;
    take_finding(&finding);
    session_over();
    return true;
}

/* Where it costs too much even to be probed, the dearest are held off. How many are left. */
static size_t hold_dearest(size_t count) {
    double most = DETECTION_MOST * spex_budget_steady(&controller.budget, controller.cpus);
    while (count > 0 && spex_probing_base(controller.classes, count) > most) {
        size_t dearest = spex_probing_dearest(controller.classes, count);
        uint32_t first = controller.firsts[dearest];
        hold(&controller.probes[first], "held off: its executions alone cost more than the budget");
        spex_probe_slow(first, SPEX_SITE_HELD);
        count--;
        controller.classes[dearest] = controller.classes[count];
        controller.firsts[dearest] = controller.firsts[count];
    }
    return count;
}

static double sample_cost(void) {
    double cost = spex_prober_cost();
    return cost > 0 ? cost : SAMPLE_COST;
}

/* 0, or what the policy failed with. */
static int decide(void) {
    double seconds = controller.now - controller.decided;
    note_cpus();
    count_executions(seconds);
    note_collecting();
    controller.holding = controller.trying = controller.overdue = false;
    size_t count = look_at_all();
    if (spex_probing_policy(controller.policy))
        count = hold_dearest(count);
    struct spex_rate_problem problem = {.size = sizeof(problem),
                                        .budget = allowed(count),
                                        .sample_cost = sample_cost(),
                                        .class_count = count,
                                        .classes = controller.classes};
    if (spex_probing_policy(controller.policy))
        spex_probing_without_base(&problem, controller.classes);
    struct spex_rate_plan plan = {.size = sizeof(plan), .decisions = controller.decisions};
    controller.decided = controller.now;
    controller.decided_tokens = controller.budget.tokens;
    int err = controller.policy->decide(&problem, controller.workspace, &plan);
    if (err)
        return err; /* the periods stay */
    for (size_t c = 0; c < count; c++)
        apply(controller.firsts[c], &controller.classes[c], &controller.decisions[c]);
    spex_probing_apply(&plan, count);
    note_factors(count);
    double share = spex_budget_steady(&controller.budget, controller.cpus);
    if (controller.budget.tokens >= 0 && !controller.trying)
        spex_experiment_begin(controller.subjects, subjects_of(count), share, controller.now);
    return 0;
}

/* Once in a collection. */
static void tell_failure(int err) {
    if (err && !controller.failed)
        spex_message("the rate policy %s cannot decide: %s; periods stay as they are",
                     controller.policy->name, strerror(err < 0 ? -err : err));
    controller.failed |= err != 0;
}

void spex_controller_pass(void) {
    if (!controller.probes)
        return;
    spex_metrics_lock();
    account(spex_clock_ns(CLOCK_MONOTONIC));
    bool busy = experiment(), rush = is_in_a_rush();
    double since = controller.now - controller.decided;
    int err = 0;
    double least = controller.counting / (rush ? COUNTING_SHARE_RUSH : COUNTING_SHARE);
    double interval = rush ? INTERVAL_RUSH : INTERVAL;
    if (!busy && (controller.overdue || since >= (least > interval ? least : interval)))
        err = decide();
    spex_metrics_unlock();
    tell_failure(err);
}

void spex_controller_close_accounts(uint64_t end_ns) {
    if (!controller.probes)
        return;
    spex_metrics_lock();
    account(end_ns);
    count_executions(controller.now - controller.decided);
    spex_metrics_unlock();
}

uint64_t spex_controller_due_ns(void) {
    if (!controller.probes)
        return UINT64_MAX;
    if (spex_experiment_running())
        return (uint64_t)(spex_experiment_due(controller.now) * 1e9) + 1;
    return controller.trying || controller.overdue ? (uint64_t)(INTERVAL_RUSH * 1e9) : UINT64_MAX;
}

bool spex_controller_holds(void) {
    return controller.holding || spex_experiment_running();
}

struct spex_controller_view spex_controller_look(uint32_t first) {
    if (!controller.probes)
        return (struct spex_controller_view){.why = NULL};
    const struct probe *probe = &controller.probes[first];
    return (struct spex_controller_view){
        .frequency = probe->frequency,
        .period = probe->period,
        .why = probe->why,
    };
}

struct spex_controller_totals spex_controller_totals(void) {
    return (struct spex_controller_totals){
        .policy = controller.probes ? controller.policy->name : NULL,
        .share = controller.probes ? controller.budget.share : 0,
        .seconds = controller.seconds,
        .spent = controller.spent,
    };
}
