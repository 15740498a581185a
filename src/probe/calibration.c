/* SPDX-License-Identifier: MIT */
/* Measures costs with the code that probes execute: loops run over a site of their own, in the
 * states off, counted and recorded, and write into rings that no collector reads. The cost is the
 * shortest of several runs, because disturbances only make a run longer, minus the shortest run of
 * the empty loop. The spans that the loops time are empty, so their records tell what a span of
 * nothing reads. Runs on the thread that switches the first site of the type on. */
#include "probe/calibration.h"

#include <math.h>
#include <stdlib.h>

#include <spex/atomic.h>
#include <spex/kernel.h>

#include "probe/recording.h"
#include "site/cost.h"

/* RUN_TICKS is the length of a run: long compared with reading the clock, and short enough that all
 * runs of a type together take less than a millisecond. */
enum {
    RUNS = 7,
    TRIAL_REPETITIONS = 16,
    REPETITIONS_MAX = 500,
    RUN_TICKS = 100000,
    RING_RECORDS = 512,
};

/* What the loops work on. The site belongs to no module; its index is that of the extra row that
 * tables by site have behind the last site. */
struct calibration {
    struct spex_site site;
    struct spex_rings rings;
};

/* Each loop is a function of its own, so that the probe's type is a constant, as in a program. The
 * empty assembly keeps the compiler from moving the site's loads out of the loop. */
#define CALIBRATION_LOOP(name, ...)                                                                \
    static uint64_t name(struct calibration *bench, size_t repetitions) {                          \
        uint64_t start = spex_ticks();                                                             \
        for (size_t i = 0; i < repetitions; i++) {                                                 \
            __asm__ volatile("" : : "r"(bench) : "memory");                                        \
            __VA_ARGS__                                                                            \
        }                                                                                          \
        return spex_ticks() - start;                                                               \
    }

/* The loop of each kind of type, in the same steps as the macros of spex/probe.h. */
/* clang-format off */
CALIBRATION_LOOP(run_empty, )
CALIBRATION_LOOP(run_cnt,
     uint32_t weight = spex_sample_(&bench->site);
     if (SPEX_UNLIKELY(weight))
         spex_record_count(&bench->rings, &bench->site, weight, spex_ticks());)
CALIBRATION_LOOP(run_ticks,
     struct spex_span span = spex_lat_begin_(spex_sample_(&bench->site));
     if (SPEX_UNLIKELY(span.weight))
         spex_record_ticks(&bench->rings, spex_site_type_(&bench->site), &bench->site, span.weight,
                           span.begin, spex_ticks());)
CALIBRATION_LOOP(run_kernel,
     struct spex_kernel_span span = {0, 0, 0, 0};
     const uint64_t parameters[SPEX_KERNEL_PARAMETERS] = {i};
     if (SPEX_UNLIKELY(spex_load_relaxed(&bench->site.control))) {
         spex_kernel_enter_(&span, 0);
         span.weight = spex_sample_(&bench->site);
         if (SPEX_UNLIKELY(span.weight)) {
             span.begin = spex_ticks();
             spex_record_kernel(&bench->rings, &bench->site, span.weight, span.context, span.begin,
                                spex_ticks(), parameters);
         }
         spex_kernel_leave_(&span);
     })
CALIBRATION_LOOP(run_snapshot,
     uint32_t weight = spex_sample_(&bench->site);
     if (SPEX_UNLIKELY(weight)) {
         const uint64_t values[SPEX_MAX_FIELDS] = {i};
         spex_record_snapshot(&bench->rings, &bench->site, weight, spex_ticks(), values);
     })
CALIBRATION_LOOP(run_faults,
     uint32_t weight = spex_sample_(&bench->site);
     if (SPEX_UNLIKELY(weight))
         spex_record_events(&bench->rings, SPEX_FLT, SPEX_COUNTER_FAULTS, &bench->site,
                            spex_events_begin(SPEX_COUNTER_FAULTS, weight));)
CALIBRATION_LOOP(run_switches,
     uint32_t weight = spex_sample_(&bench->site);
     if (SPEX_UNLIKELY(weight))
         spex_record_events(&bench->rings, SPEX_CTXSW, SPEX_COUNTER_SWITCHES, &bench->site,
                            spex_events_begin(SPEX_COUNTER_SWITCHES, weight));)
CALIBRATION_LOOP(run_counters,
     struct spex_counter_span span;
     uint32_t weight = spex_sample_(&bench->site);
     if (SPEX_UNLIKELY(weight)) {
         spex_counters_begin(&bench->site, &span);
         spex_record_counters(&bench->rings, &bench->site, weight, &span);
     })
CALIBRATION_LOOP(run_polled,
     uint32_t weight = spex_sample_(&bench->site);
     SPEX_FINISH_(&bench->site, weight, abort());)
/* clang-format on */

typedef uint64_t calibration_loop(struct calibration *bench, size_t repetitions);

/* LLC and PERFCNTR read counters in the same way. */
static calibration_loop *calibration_loop_of(uint32_t type) {
    switch (type) {
    case SPEX_CNT:
        return run_cnt;
    case SPEX_LAT:
    case SPEX_TPT:
        return run_ticks;
    case SPEX_KERNEL:
        return run_kernel;
    case SPEX_SNAPSHOT:
        return run_snapshot;
    case SPEX_FLT:
        return run_faults;
    case SPEX_CTXSW:
        return run_switches;
    default:
        return run_counters;
    }
}

/* Returns the ticks of one repetition. The first, short run fills the caches, and its length
 * decides how many repetitions a run has. */
static double loop_ticks(calibration_loop *run, struct calibration *bench) {
    uint64_t trial = run(bench, TRIAL_REPETITIONS) / TRIAL_REPETITIONS;
    size_t repetitions = RUN_TICKS / (trial ? trial : 1);
    if (repetitions > REPETITIONS_MAX)
        repetitions = REPETITIONS_MAX;
    if (repetitions < TRIAL_REPETITIONS)
        repetitions = TRIAL_REPETITIONS;
    uint64_t best = UINT64_MAX;
    for (int r = 0; r < RUNS; r++) {
        uint64_t ticks = run(bench, repetitions);
        best = ticks < best ? ticks : best;
    }
    return (double)best / (double)repetitions;
}

/* Returns the ticks that an execution takes while the site has this control word. */
static double loop_cost(calibration_loop *run, struct calibration *bench, uint32_t control) {
    bench->site.control = control;
    double cost = loop_ticks(run, bench) - loop_ticks(run_empty, bench);
    return cost > 0 ? cost : 0;
}

static int order_readings(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

/* Reads the first values of the type's records in all rings, up to RING_RECORDS; returns how
 * many. */
static size_t readings_take(const struct spex_rings *rings, uint32_t type, uint64_t *readings) {
    uint64_t words[SPEX_RECORD_WORDS_MAX];
    size_t count = 0;
    for (unsigned cpu = 0; cpu <= rings->cpus; cpu++) {
        struct spex_ring ring =
            spex_rings_at(rings, cpu * SPEX_PROBE_TYPES + spex_probe_type_ring(type));
        while (count < RING_RECORDS && spex_ring_read(&ring, words, 1))
            readings[count++] = words[SPEX_HEADER_WORDS];
    }
    return count;
}

/* Returns what a span of nothing reads, from the records of the last run. The largest readings, a
 * tenth, are left out: they contain disturbances. */
static struct spex_empty_span readings_mean(uint64_t *readings, size_t count) {
    double sum = 0, squares = 0;
    qsort(readings, count, sizeof(*readings), order_readings);
    count -= count / 10;
    for (size_t r = 0; r < count; r++)
        sum += (double)readings[r];
    double mean = count ? sum / (double)count : 0;
    for (size_t r = 0; r < count; r++)
        squares += ((double)readings[r] - mean) * ((double)readings[r] - mean);
    return (struct spex_empty_span){mean, count ? sqrt(squares / (double)count) : 0};
}

static void empty_measure(uint32_t type, const struct spex_rings *rings) {
    uint64_t readings[RING_RECORDS];
    size_t count = spex_probe_type_ticks(type) ? readings_take(rings, type, readings) : 0;
    spex_cost_empty_set(type, readings_mean(readings, count));
}

/* Measures the type in all states. The period of the state "counted" is so long that no run reaches
 * it. A polled execution costs the same for all types, so the first type measures it. */
static void type_measure(uint32_t type, unsigned detail, struct calibration *bench) {
    const uint32_t generation = 1u << SPEX_CONTROL_GENERATION_SHIFT;
    /* With this mask pushes do not look at the ring's fill level, so no collector is called. An
     * atomic push does look once a quarter; such a run is longer and therefore not the result. */
    bench->rings.look = UINT64_MAX;
    bench->site = (struct spex_site){
        .index = SPEX_MAX_SITES,
        .type_number = (uint8_t)SPEX_TYPE_NUMBER_(type),
        .detail = (uint8_t)(type == SPEX_SNAPSHOT ? SPEX_MAX_FIELDS
                            : type == SPEX_KERNEL ? SPEX_KERNEL_PARAMETERS
                                                  : detail),
    };
    const struct spex_cost cost = {
        .test = loop_cost(calibration_loop_of(type), bench, 0),
        .skip = loop_cost(calibration_loop_of(type), bench, generation | SPEX_CONTROL_PERIOD_MAX),
        .record = loop_cost(calibration_loop_of(type), bench, generation | 1),
    };
    empty_measure(type, &bench->rings);
    if (!spex_costs_known())
        spex_cost_polled_set(loop_cost(run_polled, bench, generation));
    spex_cost_set(type, &cost);
}

void spex_calibrate(uint32_t type, unsigned detail) {
    struct calibration *bench;
    if (spex_costs_known() & type || !spex_thread_attach())
        return;
    bench = malloc(sizeof(*bench));
    if (!bench)
        return;
    /* Without memory for the rings the cost stays unknown, which everyone who asks for it
     * allows. */
    if (spex_rings_map(&bench->rings, RING_RECORDS, spex_rings.cpus, spex_rings.commit) == 0) {
        type_measure(type, detail, bench);
        spex_rings_unmap(&bench->rings);
    }
    free(bench);
}
