/* SPDX-License-Identifier: MIT */
/* Measures how the controller reacts when a probe executes a hundred times as often, and back.
 *
 *     reaction [--json] [--rounds N] [--seconds S]
 *
 * A loop works for 30 us between executions, then for 0.3 us, then for 30 us again, S seconds
 * each, with a budget of 2 %. About every millisecond it notes what the controller believes was
 * spent, and the period of the probe. Figures are medians over the rounds, and the worst of
 * them. Where other programs use the CPUs, the rate of the loop is not steady, and the period
 * follows it. */
#define _GNU_SOURCE
#include <err.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <spex/spex.h>

#include "bench.h"
#include "collect/metrics.h"
#include "rate/controller.h"
#include "site/registry.h"

#define SHARE       0.02
#define BUDGET      "2%"
#define NOTE_NS     1000000u
#define WINDOW      1.0
#define NEAR        1.25
#define FACTOR      100
#define WORK_NS     300.0
#define ROUNDS_MAX  100
#define SECONDS_MAX 60.0

enum { STEPPED = 1, PHASES = 3 };

struct note {
    /* Since the beginning of the round. */
    double seconds;
    /* Seconds that the budget allowed so far. */
    double allowed;
    double spent;
    uint32_t period;
};

enum figure { WORST, UP, UP_REVERSALS, DOWN, DOWN_REVERSALS, DENIED, FIGURES };

static const char *const figure_names[FIGURES] = {
    "most in a second, over the budget",
    "seconds to settle, x100",
    "reversals, x100",
    "seconds to settle, back",
    "reversals, back",
    "share of the time that the loop was denied a CPU",
};

static struct note *notes;
static size_t notes_count, notes_max;
static volatile unsigned work_sink;

static double seconds_of(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double seconds_now(void) {
    return seconds_of(CLOCK_MONOTONIC);
}

static void work_turns(unsigned turns) {
    for (unsigned i = 0; i < turns; i++)
        work_sink = i;
}

/* How many turns take about WORK_NS. */
static unsigned turns_of_work(void) {
    enum { TURNS = 20000000 };
    double begin = seconds_now();
    work_turns(TURNS);
    double turns = TURNS * WORK_NS * 1e-9 / (seconds_now() - begin);
    return turns > 1 ? (unsigned)turns : 1;
}

static uint32_t stepped_site(void) {
    uint32_t site = 0;
    while (spex_site_info(site)->probe_id != STEPPED)
        site++;
    return site;
}

static void take_note(double begin) {
    if (notes_count == notes_max)
        return;
    uint32_t site = stepped_site();
    bool loaded;
    spex_metrics_lock();
    struct spex_controller_totals totals = spex_controller_totals();
    spex_metrics_unlock();
    uint32_t period = spex_site_sampling(site, &loaded).period;
    notes[notes_count++] = (struct note){.seconds = seconds_now() - begin,
                                         .allowed = totals.seconds * totals.share,
                                         .spent = totals.spent,
                                         .period = period ? period : SPEX_SITE_HELD};
}

static void run_phase(double begin, double until, unsigned turns) {
    enum { TURNS_PER_LOOK = 10000 };
    unsigned since = 0;
    double noted = 0, time;
    while ((time = seconds_now() - begin) < until) {
        if (time - noted >= NOTE_NS / 1e9) {
            take_note(begin);
            noted = time;
        }
        for (since = 0; since < TURNS_PER_LOOK; since += turns) {
            LAT_PROBE_BEGIN(STEPPED, 1);
            LAT_PROBE_END(STEPPED);
            work_turns(turns);
        }
    }
}

static size_t note_at(double seconds) {
    size_t n = 0;
    while (n + 1 < notes_count && notes[n].seconds < seconds)
        n++;
    return n;
}

/* The largest share of the budget that was spent in a window that ends after `from`. */
static double worst_window(double from) {
    double worst = 0;
    for (size_t a = 0, b = note_at(from); b < notes_count; b++) {
        while (notes[b].seconds - notes[a].seconds > WINDOW)
            a++;
        if (a == 0 || notes[b].allowed <= notes[a].allowed)
            continue;
        double share = (notes[b].spent - notes[a].spent) / (notes[b].allowed - notes[a].allowed);
        worst = share > worst ? share : worst;
    }
    return worst;
}

static bool is_near(uint32_t a, uint32_t b) {
    double low = a < b ? a : b, high = a < b ? b : a;
    return high <= low * NEAR || high - low <= 1;
}

static int order_periods(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The median of the last half of the interval. */
static uint32_t final_period(double from, double to) {
    size_t first = note_at((from + to) / 2), count = note_at(to) - first + 1;
    uint32_t *periods = calloc(count, sizeof(*periods));
    if (!periods)
        errx(1, "out of memory");
    for (size_t i = 0; i < count; i++)
        periods[i] = notes[first + i].period;
    qsort(periods, count, sizeof(*periods), order_periods);
    uint32_t median = periods[count / 2];
    free(periods);
    return median;
}

/* The time until the period stays near its final value. */
static double seconds_to_settle(double from, double to) {
    uint32_t final = final_period(from, to);
    double last = from;
    for (size_t i = note_at(from); i < note_at(to); i++)
        if (!is_near(notes[i].period, final))
            last = notes[i].seconds;
    return last - from;
}

/* How often the period has changed its direction; changes within NEAR count as none. */
static double count_reversals(double from, double to) {
    unsigned count = 0;
    int direction = 0;
    uint32_t extreme = notes[note_at(from)].period;
    for (size_t i = note_at(from); i < note_at(to); i++) {
        uint32_t period = notes[i].period;
        int towards = period > extreme ? 1 : -1;
        if (period != extreme && (towards == direction || !is_near(period, extreme))) {
            count += direction && towards != direction;
            direction = towards;
            extreme = period;
        }
    }
    return count;
}

static void run_round(double seconds, unsigned turns, double *figures) {
    const struct spex_options options = {
        .size = sizeof(options), .probes = "*", .out = "/dev/null", .budget = BUDGET};
    if (spex_start(&options) != 0)
        errx(1, "cannot start");
    notes_count = 0;
    double begin = seconds_now(), cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    for (int p = 0; p < PHASES; p++)
        run_phase(begin, seconds * (p + 1), p == 1 ? turns : turns * FACTOR);
    cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
    double denied = 1 - cpu / (seconds_now() - begin);
    spex_stop();
    if (!notes_count)
        errx(1, "there was no time to note anything");
    figures[WORST] = worst_window(seconds);
    figures[DENIED] = denied > 0 ? denied : 0;
    figures[UP] = seconds_to_settle(seconds, 2 * seconds);
    figures[UP_REVERSALS] = count_reversals(seconds, 2 * seconds);
    figures[DOWN] = seconds_to_settle(2 * seconds, 3 * seconds);
    figures[DOWN_REVERSALS] = count_reversals(2 * seconds, 3 * seconds);
}

static void print_result(bool json, const char *name, double *values, size_t rounds, bool last) {
    struct bench_result result = bench_median(values, rounds);
    double worst = values[rounds - 1];
    if (json)
        printf("  {\"what\": \"%s\", \"median\": %.3f, \"worst\": %.3f}%s\n", name, result.median,
               worst, last ? "" : ",");
    else
        printf("%-50s %8.3f, at worst %8.3f\n", name, result.median, worst);
}

int main(int argc, char **argv) {
    static const struct option known[] = {{"json", no_argument, NULL, 'j'},
                                          {"rounds", required_argument, NULL, 'r'},
                                          {"seconds", required_argument, NULL, 's'},
                                          {NULL, 0, NULL, 0}};
    static double values[FIGURES][ROUNDS_MAX];
    unsigned long rounds = 5;
    double seconds = 3;
    bool json = false;
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'j')
            json = true;
        else if (option == 'r')
            rounds = strtoul(optarg, NULL, 10);
        else if (option == 's')
            seconds = strtod(optarg, NULL);
        else
            return 2;
    }
    if (rounds < 1 || rounds > ROUNDS_MAX || !(seconds > 0 && seconds <= SECONDS_MAX))
        errx(2, "1 to %d rounds, of up to %.0f seconds each, were expected", ROUNDS_MAX,
             SECONDS_MAX);
    notes_max = (size_t)(PHASES * seconds * 1e9 / NOTE_NS) + 1;
    notes = calloc(notes_max, sizeof(*notes));
    if (!notes)
        errx(1, "out of memory");
    unsigned turns = turns_of_work();
    for (size_t r = 0; r < rounds; r++) {
        double figures[FIGURES];
        run_round(seconds, turns, figures);
        for (int f = 0; f < FIGURES; f++)
            values[f][r] = figures[f];
    }
    if (json)
        printf("{\"bench\": \"reaction\", \"rounds\": %lu, \"seconds\": %.3f, \"share\": %g, "
               "\"results\": [\n",
               rounds, seconds, SHARE);
    for (int f = 0; f < FIGURES; f++)
        print_result(json, figure_names[f], values[f], rounds, f + 1 == FIGURES);
    if (json)
        puts(" ]}");
    free(notes);
    return 0;
}
