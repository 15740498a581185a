/* SPDX-License-Identifier: MIT */
#include "rate/experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "site/registry.h"

/* A figure is made of four slices, on off off on or the other way round, so that what changes
 * slowly cancels. */
enum { SLICES = 4, FIGURES_LEAST = 8, FIGURES_MOST = 20, GROUP_MAX = 16, SESSIONS_MOST = 8 };

#define SLICE_SECONDS 0.01

/* From one session to the next: at first and at most. */
#define INTERVAL_LEAST 2.0
#define INTERVAL_MOST  60.0

/* And when little has come of one. */
#define INTERVAL_AGAIN 0.4

/* Probes that make up so much of what is believed to be spent are tried together; what does not
 * take so much of the budget is not worth it. */
#define GROUP_SHARE 0.85
#define COST_LEAST  0.1

/* The witness must be executed so often. */
#define WITNESS_FREQUENCY 300.0

/* Whole executions are counted, of which each end of a slice cuts one: that need not even out. */
#define WITNESS_ROUNDING 0.4

/* A session ends when the finding is known to so much of itself, or of the budget. */
#define PRECISION 0.12

/* When a probe is executed so many times more or less often than before, there is something else
 * to do: for the controller to decide. */
#define CHANGE 3.0

/* Of figures, so many are left out at each end. */
#define TRIMMED 0.2

/* Of what former sessions have found, so much counts after one more. */
#define KEPT 0.85

/* How wrong a belief may be before anything is tried, as a multiple of it. */
#define GUESS 2.0

/* A factor that is beyond that is none. */
#define FACTOR_LEAST 0.5
#define FACTOR_MOST  50.0

/* What sessions have found about a group, as a multiple of the belief, weighted by their
 * precision. */
struct known {
    uint32_t firsts[GROUP_MAX];
    size_t count;
    double weight, sum;
    unsigned sessions; /* in a row that were not precise enough */
};

static struct {
    bool running;
    double next; /* session, at the earliest */
    double interval;
    struct spex_random random;
    struct spex_subject group[GROUP_MAX];
    uint32_t firsts[GROUP_MAX]; /* of the group */
    size_t group_count;
    struct spex_subject witness;
    double share;
    /* The slice that goes on; what is not known of the first, which follows upon other times. */
    unsigned slice;
    bool inverted; /* off on on off */
    bool off;
    double slice_begun;
    double slice_end;
    uint64_t cpu_ns;
    uint64_t threads;
    uint64_t witnessed;
    uint64_t executed[GROUP_MAX];
    /* The figure that is being made. */
    double figure;
    bool spoilt;
    struct known known;
    /* All so far. */
    double figures[FIGURES_MOST];
    size_t figure_count;
    double witnessed_least; /* in a slice */
    double believed; /* seconds that the group cost while it was on, and the CPU time of that */
    double on_seconds;
} all;

void spex_experiment_reset(uint64_t seed) {
    memset(&all, 0, sizeof(all));
    all.interval = INTERVAL_LEAST;
    spex_random_seed(&all.random, seed, 0);
}

bool spex_experiment_running(void) {
    return all.running;
}

double spex_experiment_due(double now) {
    return all.slice_end > now ? all.slice_end - now : 0;
}

static double spending(const struct spex_subject *subject) {
    return subject->frequency * subject->cost;
}

static int by_spending(const void *a, const void *b) {
    double one = spending(a), other = spending(b);
    return (one < other) - (one > other);
}

/* The most often executed of those behind the first `count`. */
static const struct spex_subject *witness_behind(const struct spex_subject *subjects, size_t all_of,
                                                 size_t count) {
    const struct spex_subject *found = NULL;
    for (size_t s = count; s < all_of; s++)
        if (subjects[s].frequency >= WITNESS_FREQUENCY &&
            (!found || subjects[s].frequency > found->frequency))
            found = &subjects[s];
    return found;
}

/* The dearest, so many that there is a witness left. */
static bool choose(struct spex_subject *subjects, size_t count, double total) {
    double sum = 0;
    const struct spex_subject *witness = NULL;
    all.group_count = 0;
    for (size_t s = 0; s < count && s < GROUP_MAX && sum < total * GROUP_SHARE; s++) {
        const struct spex_subject *next = witness_behind(subjects, count, s + 1);
        if (!next)
            break;
        witness = next;
        sum += spending(&subjects[s]);
        all.group[s] = subjects[s];
        all.firsts[s] = subjects[s].first;
        all.group_count = s + 1;
    }
    if (!witness)
        return false;
    all.witness = *witness;
    return sum >= COST_LEAST * all.share;
}

static void switch_group(bool off) {
    all.off = off;
    for (size_t g = 0; g < all.group_count; g++)
        spex_probe_throttle(all.group[g].first, off ? SPEX_SITE_HELD : all.group[g].period);
}

static void slice_begin(double now, const struct spex_progress *progress) {
    all.slice_begun = now;
    all.slice_end = now + SLICE_SECONDS;
    if (!progress)
        return;
    all.cpu_ns = progress->cpu_ns;
    all.threads = progress->threads;
    all.witnessed = progress->executions[all.witness.first];
    for (size_t g = 0; g < all.group_count; g++)
        all.executed[g] = progress->executions[all.group[g].first];
}

/* Of the group now, from former sessions: what belongs to another group is forgotten. */
static void recall(void) {
    size_t bytes = all.group_count * sizeof(*all.firsts);
    if (all.known.count == all.group_count && memcmp(all.known.firsts, all.firsts, bytes) == 0)
        return;
    all.known = (struct known){.count = all.group_count};
    memcpy(all.known.firsts, all.firsts, bytes);
}

bool spex_experiment_begin(const struct spex_subject *subjects, size_t count, double share,
                           double now) {
    double total = 0;
    for (size_t s = 0; s < count; s++)
        total += spending(&subjects[s]);
    if (all.running || now < all.next || total < COST_LEAST * share || count < 2)
        return false;
    struct spex_subject *sorted = malloc(count * sizeof(*sorted));
    if (!sorted)
        return false;
    memcpy(sorted, subjects, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), by_spending);
    all.share = share;
    all.running = choose(sorted, count, total);
    free(sorted);
    if (!all.running) {
        all.next = now + INTERVAL_AGAIN;
        return false;
    }
    all.slice = SLICES; /* the first slice is of no figure */
    all.spoilt = false;
    all.figure_count = 0;
    all.believed = all.on_seconds = 0;
    all.witnessed_least = HUGE_VAL;
    slice_begin(now, NULL);
    recall();
    return true;
}

static void end(double now) {
    switch_group(false);
    all.running = false;
    all.next = now + INTERVAL_AGAIN;
}

void spex_experiment_abort(double now) {
    if (all.running)
        end(now);
}

/* What the group did in a slice in which it was on, at what it is believed to cost. */
static void note_belief(double seconds, const uint64_t *executions) {
    all.on_seconds += seconds;
    for (size_t g = 0; g < all.group_count; g++) {
        uint64_t now = executions[all.group[g].first];
        if (now > all.executed[g])
            all.believed += (double)(now - all.executed[g]) * all.group[g].cost;
    }
}

static bool changed(const struct spex_subject *subject, double executions, double seconds) {
    double expected = subject->frequency * seconds;
    return executions > CHANGE * expected + 10 || executions < expected / CHANGE - 10;
}

static void slice_end(double now, const struct spex_progress *progress) {
    const uint64_t *executions = progress->executions;
    double seconds = (double)(progress->cpu_ns - all.cpu_ns) / 1e9;
    double witnessed = (double)(executions[all.witness.first] - all.witnessed);
    double executed = (double)(executions[all.group[0].first] - all.executed[0]);
    double passed = now - all.slice_begun;
    all.spoilt |= changed(&all.witness, witnessed, passed) ||
                  (!all.off && changed(&all.group[0], executed, passed));
    if (!(seconds > 0) || !(witnessed > 0) || progress->threads != all.threads)
        all.spoilt = true;
    if (all.spoilt)
        return;
    if (witnessed < all.witnessed_least)
        all.witnessed_least = witnessed;
    double time = log(seconds / witnessed);
    all.figure += all.off ? -time / 2 : time / 2;
    if (!all.off)
        note_belief(seconds, executions);
}

static int by_size(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* Mean of the middle ones, and its standard error by those that are left out brought in to the
 * outermost that are not (Tukey and McLaughlin, Sankhya A 25, 1963). */
static void trimmed_mean(double *mean, double *error) {
    double sorted[FIGURES_MOST];
    size_t n = all.figure_count, out = (size_t)((double)n * TRIMMED), left = n - 2 * out;
    memcpy(sorted, all.figures, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_size);
    double sum = 0, brought_in = 0, squares = 0;
    for (size_t f = out; f < n - out; f++)
        sum += sorted[f];
    *mean = sum / (double)left;
    for (size_t f = 0; f < n; f++) {
        size_t at = f < out ? out : f >= n - out ? n - out - 1 : f;
        brought_in += sorted[at];
    }
    brought_in /= (double)n;
    for (size_t f = 0; f < n; f++) {
        size_t at = f < out ? out : f >= n - out ? n - out - 1 : f;
        squares += (sorted[at] - brought_in) * (sorted[at] - brought_in);
    }
    double deviation = sqrt(squares / (double)(n - 1));
    *error = deviation / (((double)left / (double)n) * sqrt((double)n));
}

/* What is known with this session's, by which former ones count for less. */
static struct known joined(double ratio, double error) {
    struct known known = all.known;
    double weight = 1 / (error * error);
    known.weight = known.weight * KEPT + weight;
    known.sum = known.sum * KEPT + weight * ratio;
    return known;
}

/* The belief itself is a guess, that may be wrong by twice itself. */
static double factor(const struct known *known) {
    const double guess = 1 / (GUESS * GUESS);
    double factor = (known->sum + guess) / (known->weight + guess);
    return factor < FACTOR_LEAST ? FACTOR_LEAST : factor > FACTOR_MOST ? FACTOR_MOST : factor;
}

/* False: more figures are needed. */
static bool conclude(struct spex_finding *finding, bool *precise) {
    double mean, error, without = all.on_seconds - all.believed;
    if (all.figure_count < FIGURES_LEAST)
        return false;
    trimmed_mean(&mean, &error);
    error = hypot(error, WITNESS_ROUNDING / all.witnessed_least);
    /* As extra time over the time without. */
    double measured = exp(mean) - 1, believed = without > 0 ? all.believed / without : 1;
    if (!(believed > 0) || !(error > 0))
        return true;
    struct known known = joined(measured / believed, error / believed);
    double least = PRECISION * (measured > all.share ? measured : all.share);
    *precise = believed / sqrt(known.weight) <= least;
    if (!*precise && all.figure_count < FIGURES_MOST)
        return false;
    all.known = known;
    *finding = (struct spex_finding){.firsts = all.firsts,
                                     .count = all.group_count,
                                     .factor = factor(&known),
                                     .error = 1 / sqrt(known.weight)};
    return true;
}

/* What is not known well enough is tried again soon, some times. */
static void wait_longer(double now, bool precise) {
    if (!precise && ++all.known.sessions % SESSIONS_MOST != 0)
        return;
    all.next = now + all.interval;
    all.interval = all.interval * 2 < INTERVAL_MOST ? all.interval * 2 : INTERVAL_MOST;
}

static void figure_begin(void) {
    all.slice = 0;
    all.figure = 0;
    all.spoilt = false;
    all.inverted = spex_random_next(&all.random) & 1;
}

bool spex_experiment_step(double now, const struct spex_progress *progress,
                          struct spex_finding *finding) {
    *finding = (struct spex_finding){.count = 0};
    if (now < all.slice_end)
        return false;
    if (all.slice < SLICES)
        slice_end(now, progress);
    if (all.spoilt) {
        end(now);
        return true;
    }
    if (all.slice == SLICES - 1)
        all.figures[all.figure_count++] = all.figure;
    if (all.slice >= SLICES - 1) {
        bool precise = false;
        if (conclude(finding, &precise)) {
            end(now);
            wait_longer(now, precise);
            return true;
        }
        figure_begin();
    } else {
        all.slice++;
    }
    bool outer = all.slice == 0 || all.slice == SLICES - 1;
    switch_group(outer == all.inverted);
    slice_begin(now, progress);
    return false;
}
