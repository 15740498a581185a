/* SPDX-License-Identifier: MIT */
/* A figure is the logarithm of a ratio: the CPU time per execution of the witness with the group
 * on, over that with the group off, over four slices. A session makes figures until their
 * trimmed mean is precise enough, and joins it with the results of former sessions of the same
 * group, weighted by precision. */
#include "rate/experiment/experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "site/registry.h"

/* A figure has four slices: on off off on, or off on on off, so that a slow trend cancels out. */
enum { SLICES = 4, FIGURES_LEAST = 8, GROUP_MAX = 16, SESSIONS_MOST = 8 };

#define SLICE_SECONDS 0.01

/* The same where executions call the library, which is more than the budget pays for. */
#define SLICE_CALLED_SECONDS 0.002

/* Seconds between sessions: at first, and at most. */
#define INTERVAL_LEAST 2.0
#define INTERVAL_MOST  60.0

/* Seconds after a session without a result. */
#define INTERVAL_AGAIN 0.4

/* The group is chosen until it has this share of the calibrated cost of all probes. A group that
 * takes less than COST_LEAST of the budget is not worth a session. */
#define GROUP_SHARE 0.85
#define COST_LEAST  0.1

/* Least frequency of a witness, in Hz. */
#define WITNESS_FREQUENCY 300.0

/* Standard error of the witness's count in executions: each end of a slice cuts an execution. */
#define WITNESS_ROUNDING 0.4

/* A session ends when the standard error is at most this share of the finding, or of the budget. */
#define PRECISION 0.12

/* A session ends when the frequency of a probe changes by this factor: the controller then has to
 * decide again. */
#define CHANGE 3.0

/* Results of sessions about a group, as multiples of the calibrated cost. */
struct known {
    uint32_t firsts[GROUP_MAX];
    size_t count;
    bool called; /* they are about executions that call the library */
    struct spex_results_known results;
    unsigned sessions; /* sessions that were not precise enough */
};

static struct {
    bool running;
    /* Earliest beginning of the next session, and the interval after a precise one. */
    double next;
    double interval;
    struct spex_random random;
    struct spex_subject group[GROUP_MAX];
    uint32_t firsts[GROUP_MAX]; /* first sites of the group */
    size_t group_count;
    struct spex_subject witness;
    /* The group is one probe, which is the witness, too, and is `dear` or `cheap` instead of on or
     * off. */
    bool alone;
    double share;
    /* The slice that runs; SLICES: a first slice that belongs to no figure. */
    unsigned slice;
    bool inverted; /* the figure is off on on off */
    bool off;      /* the group is off in this slice */
    double slice_begun;
    double slice_end;
    /* The program's progress at the beginning of the slice. */
    uint64_t cpu_ns;
    uint64_t threads;
    uint64_t witnessed;
    uint64_t executed[GROUP_MAX];
    /* The figure so far. If it is spoilt, it is not used, and the session ends. */
    double figure;
    bool spoilt;
    struct known known;
    /* Figures of this session. */
    double figures[SPEX_FIGURES_MOST];
    size_t figure_count;
    /* Least count of the witness in a slice. */
    double witnessed_least;
    /* Sums over the slices in which the group was on: its calibrated cost, and the program's CPU
     * time, in seconds. */
    double believed;
    double on_seconds;
    /* What the session has cost by calibration beyond what the group costs when it is on. */
    double extra;
} session;

void spex_experiment_reset(uint64_t seed) {
    memset(&session, 0, sizeof(session));
    session.interval = INTERVAL_LEAST;
    spex_random_seed(&session.random, seed, 0);
}

bool spex_experiment_running(void) {
    return session.running;
}

double spex_experiment_due(double now) {
    return session.slice_end > now ? session.slice_end - now : 0;
}

/* Calibrated cost of a probe, in seconds a second. */
static double subject_spending(const struct spex_subject *subject) {
    return subject->frequency * subject->on.cost;
}

static int by_spending(const void *a, const void *b) {
    double one = subject_spending(a), other = subject_spending(b);
    return (one < other) - (one > other);
}

/* The most frequent of the subjects behind the first `count`; NULL: none is frequent enough. */
static const struct spex_subject *witness_behind(const struct spex_subject *subjects, size_t all_of,
                                                 size_t count, double part) {
    const struct spex_subject *found = NULL;
    for (size_t s = count; s < all_of; s++)
        if (subjects[s].frequency * part >= WITNESS_FREQUENCY &&
            (!found || subjects[s].frequency > found->frequency))
            found = &subjects[s];
    return found;
}

/* Makes the group of the dearest subjects, and leaves a witness. `subjects` are sorted by cost.
 * False: there is no group that is worth a session. */
static bool session_choose_group(const struct spex_subject *subjects, size_t count, double total,
                                 double part) {
    double sum = 0;
    const struct spex_subject *witness = NULL;
    session.group_count = 0;
    for (size_t s = 0; s < count && s < GROUP_MAX && sum < total * GROUP_SHARE; s++) {
        const struct spex_subject *next = witness_behind(subjects, count, s + 1, part);
        if (!next)
            break;
        witness = next;
        sum += subject_spending(&subjects[s]);
        session.group[s] = subjects[s];
        session.firsts[s] = subjects[s].first;
        session.group_count = s + 1;
    }
    if (!witness)
        return false;
    session.witness = *witness;
    return sum >= COST_LEAST * session.share;
}

/* Makes a group of the dearest subject alone. False: that is not worth a session. */
static bool session_choose_alone(const struct spex_subject *dearest, double part) {
    double dearer = dearest->frequency * (dearest->dear.cost - dearest->cheap.cost);
    if (dearest->frequency * part < WITNESS_FREQUENCY || !(dearer > 0) ||
        dearer < COST_LEAST * session.share)
        return false;
    session.alone = true;
    session.witness = session.group[0] = *dearest;
    session.firsts[0] = dearest->first;
    session.group_count = 1;
    return true;
}

/* Whether what rounds the witness's count alone is an error above what a session is to have. */
static bool witness_is_coarse(const struct spex_subject *witness, double part) {
    double witnessed = witness->frequency * part * SLICE_SECONDS;
    return WITNESS_ROUNDING > PRECISION * session.share * witnessed;
}

/* Chooses a group with a witness, or, where that is another way or a better one, the dearest
 * subject alone. False: nothing is worth a session. */
static bool session_choose(struct spex_subject *subjects, size_t count, double total, double part) {
    session.alone = false;
    bool found = session_choose_group(subjects, count, total, part);
    bool coarse = !found || (witness_is_coarse(&session.witness, part) &&
                             session.witness.frequency < subjects[0].frequency);
    return (coarse && session_choose_alone(&subjects[0], part)) || found;
}

/* Switches the probes of the group off, or on with their periods. */
static void switch_group(bool off) {
    session.off = off;
    for (size_t g = 0; g < session.group_count; g++) {
        const struct spex_subject *subject = &session.group[g];
        uint32_t on = session.alone ? subject->dear.period : subject->on.period;
        uint32_t without = session.alone ? subject->cheap.period : SPEX_SITE_HELD;
        spex_probe_throttle(subject->first, off ? without : on);
    }
}

/* Whether executions call the library where the group is dear. */
static bool is_called(void) {
    return session.alone && session.group[0].dear.period == SPEX_SITE_CALLED;
}

/* Begins a slice. Without `progress` the slice belongs to no figure. */
static void slice_begin(double now, const struct spex_progress *progress) {
    session.slice_begun = now;
    session.slice_end = now + (is_called() ? SLICE_CALLED_SECONDS : SLICE_SECONDS);
    if (!progress)
        return;
    session.cpu_ns = progress->cpu_ns;
    session.threads = progress->threads;
    session.witnessed = progress->executions[session.witness.first];
    for (size_t g = 0; g < session.group_count; g++)
        session.executed[g] = progress->executions[session.group[g].first];
}

/* Keeps the results of former sessions if they were about the same group, compared in the same way,
 * else forgets them. */
static void session_recall(void) {
    size_t bytes = session.group_count * sizeof(*session.firsts);
    if (session.known.count == session.group_count && session.known.called == is_called() &&
        memcmp(session.known.firsts, session.firsts, bytes) == 0)
        return;
    session.known = (struct known){.count = session.group_count, .called = is_called()};
    memcpy(session.known.firsts, session.firsts, bytes);
}

/* With a witness besides the group, if there is one. */
bool spex_experiment_begin(const struct spex_subject *subjects, size_t count, double share,
                           double part, double now) {
    double total = 0;
    for (size_t s = 0; s < count; s++)
        total += subject_spending(&subjects[s]);
    if (session.running || now < session.next || total < COST_LEAST * share || !count)
        return false;
    struct spex_subject *sorted = malloc(count * sizeof(*sorted));
    if (!sorted)
        return false;
    memcpy(sorted, subjects, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), by_spending);
    session.share = share;
    session.running = session_choose(sorted, count, total, part);
    free(sorted);
    if (!session.running) {
        session.next = now + INTERVAL_AGAIN;
        return false;
    }
    session.slice = SLICES;
    session.spoilt = false;
    session.figure_count = 0;
    session.believed = session.on_seconds = session.extra = 0;
    session.witnessed_least = HUGE_VAL;
    slice_begin(now, NULL);
    session_recall();
    return true;
}

/* Switches the group on again. The next session may begin after INTERVAL_AGAIN. */
static void session_end(double now) {
    for (size_t g = 0; g < session.group_count; g++)
        spex_probe_throttle(session.group[g].first, session.group[g].on.period);
    session.running = false;
    session.next = now + INTERVAL_AGAIN;
}

bool spex_experiment_saved(void) {
    return !is_called();
}

double spex_experiment_extra(uint32_t *first) {
    *first = session.firsts[0];
    return session.extra;
}

void spex_experiment_rest(double until) {
    session.next = fmax(session.next, until);
}

void spex_experiment_abort(double now) {
    if (session.running)
        session_end(now);
}

/* Adds the calibrated cost of the group in a slice in which it was on. */
static void note_belief(double seconds, const uint64_t *executions) {
    session.on_seconds += seconds;
    for (size_t g = 0; g < session.group_count; g++) {
        const struct spex_subject *subject = &session.group[g];
        uint64_t now = executions[subject->first];
        double executed = now > session.executed[g] ? (double)(now - session.executed[g]) : 0;
        double dearer = session.alone ? subject->dear.cost - subject->cheap.cost : subject->on.cost;
        session.believed += executed * dearer;
        if (session.alone && subject->dear.cost > subject->on.cost)
            session.extra += executed * (subject->dear.cost - subject->on.cost);
    }
}

/* Whether a probe executes CHANGE times more or less often than expected; 10 executions are
 * chance. */
static bool has_changed(const struct spex_subject *subject, double executions, double seconds) {
    double expected = subject->frequency * seconds;
    return executions > CHANGE * expected + 10 || executions < expected / CHANGE - 10;
}

/* Adds a slice to the figure: half of the logarithm of the time per execution of the witness, as
 * there are two slices of each kind. The figure is spoilt if the program has changed its
 * behaviour, did not run, or has other threads than before. */
static void slice_end(double now, const struct spex_progress *progress) {
    const uint64_t *executions = progress->executions;
    double seconds = (double)(progress->cpu_ns - session.cpu_ns) / 1e9;
    double witnessed = (double)(executions[session.witness.first] - session.witnessed);
    double executed = (double)(executions[session.group[0].first] - session.executed[0]);
    double passed = now - session.slice_begun;
    session.spoilt |=
        progress->part >= 1 && (has_changed(&session.witness, witnessed, passed) ||
                                (!session.off && has_changed(&session.group[0], executed, passed)));
    if (!(seconds > 0) || !(witnessed > 0) || progress->threads != session.threads)
        session.spoilt = true;
    if (session.spoilt)
        return;
    if (witnessed < session.witnessed_least)
        session.witnessed_least = witnessed;
    double time = log(seconds / witnessed);
    session.figure += session.off ? -time / 2 : time / 2;
    if (!session.off)
        note_belief(seconds, executions);
}

/* The part of the group's cost that is compared. The rest is as many times what was calibrated, so
 * that its error is that of the part. */
static double session_compared(void) {
    const struct spex_subject *subject = &session.group[0];
    double dearer = subject->dear.cost - subject->cheap.cost;
    return session.alone ? fmin(dearer / subject->on.cost, 1) : 1;
}

/* Makes the finding. False: more figures are needed. `*precise`: it is precise enough. */
static bool session_conclude(struct spex_finding *finding, bool *precise) {
    double mean, error;
    if (session.figure_count < FIGURES_LEAST)
        return false;
    spex_finding_mean(session.figures, session.figure_count, &mean, &error);
    error = hypot(error, WITNESS_ROUNDING / session.witnessed_least);
    /* Both are additional time as a multiple of the time without the group. */
    double measured = exp(mean) - 1, believed = session.believed / session.on_seconds * exp(mean);
    if (!(believed > 0) || !(error > 0))
        return true;
    const struct spex_results_known known =
        spex_finding_join(session.known.results, measured / believed, error / believed);
    double least = PRECISION * fmax(measured, session.share * session_compared());
    *precise = believed / sqrt(known.weight) <= least;
    if (!*precise && session.figure_count < SPEX_FIGURES_MOST)
        return false;
    session.known.results = known;
    *finding = (struct spex_finding){.firsts = session.firsts, .count = session.group_count};
    spex_finding_set(finding, known);
    return true;
}

/* Sets the next session: after an imprecise one soon, up to SESSIONS_MOST times in a row. */
static void wait_longer(double now, bool precise) {
    if (!precise && ++session.known.sessions % SESSIONS_MOST != 0)
        return;
    session.next = now + session.interval;
    session.interval = session.interval * 2 < INTERVAL_MOST ? session.interval * 2 : INTERVAL_MOST;
}

/* Begins a figure with a slice in which the group is on or off by chance. */
static void figure_begin(void) {
    session.slice = 0;
    session.figure = 0;
    session.spoilt = false;
    session.inverted = spex_random_next(&session.random) & 1;
}

/* In the first and the last slice of a figure the group is on, in the two between it is off;
 * inverted, the other way round. */
bool spex_experiment_step(double now, const struct spex_progress *progress,
                          struct spex_finding *finding) {
    *finding = (struct spex_finding){.count = 0};
    if (now < session.slice_end)
        return false;
    if (session.slice < SLICES)
        slice_end(now, progress);
    if (session.spoilt) {
        session_end(now);
        return true;
    }
    if (session.slice == SLICES - 1)
        session.figures[session.figure_count++] = session.figure;
    if (session.slice >= SLICES - 1) {
        bool precise = false;
        if (session_conclude(finding, &precise)) {
            session_end(now);
            wait_longer(now, precise);
            return true;
        }
        figure_begin();
    } else {
        session.slice++;
    }
    bool outer = session.slice == 0 || session.slice == SLICES - 1;
    switch_group(outer == session.inverted);
    slice_begin(now, progress);
    return false;
}
