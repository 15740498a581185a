/* SPDX-License-Identifier: MIT */
/* Each figure is the least of a few runs, since what disturbs a run only makes it longer, less what
 * the same loop takes without a probe. */
#include "probe/calibration.h"

#include <stdlib.h>

#include <spex/atomic.h>
#include <spex/kernel.h>

#include "probe/recording.h"
#include "site/cost.h"

enum {
    RUNS = 7,
    TRIAL_REPETITIONS = 16,
    REPETITIONS_MAX = 500,
    RUN_TICKS = 100000, /* so long a run is long enough */
    RING_RECORDS = 512,
};

/* A site of no module, at the index behind the last, and rings that no collector reads. */
struct bench {
    struct spex_site site;
    struct spex_rings rings;
};

/* Each its own function, so that a probe's type is a constant, as it is in a program. */
#define LOOP(name, ...)                                                                            \
    static uint64_t name(struct bench *bench, size_t repetitions) {                                \
        uint64_t start = spex_ticks();                                                             \
        for (size_t i = 0; i < repetitions; i++) {                                                 \
            __asm__ volatile("" : : "r"(bench) : "memory");                                        \
            __VA_ARGS__                                                                            \
        }                                                                                          \
        return spex_ticks() - start;                                                               \
    }

/* clang-format off */
LOOP(run_empty, )
LOOP(run_cnt,
     uint32_t weight = spex_sample_(&bench->site);
     if (SPEX_UNLIKELY(weight))
         spex_record_count(&bench->rings, &bench->site, weight, spex_ticks());)
LOOP(run_ticks,
     struct spex_span span = spex_lat_begin_(spex_sample_(&bench->site));
     if (SPEX_UNLIKELY(span.weight))
         spex_record_ticks(&bench->rings, spex_site_type_(&bench->site), &bench->site, span.weight,
                           span.begin, spex_ticks());)
LOOP(run_kernel,
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
LOOP(run_snapshot,
     uint32_t weight = spex_sample_(&bench->site);
     if (SPEX_UNLIKELY(weight)) {
         const uint64_t values[SPEX_MAX_FIELDS] = {i};
         spex_record_snapshot(&bench->rings, &bench->site, weight, spex_ticks(), values);
     })
LOOP(run_faults,
     uint32_t weight = spex_sample_(&bench->site);
     if (SPEX_UNLIKELY(weight))
         spex_record_events(&bench->rings, SPEX_FLT, SPEX_COUNTER_FAULTS, &bench->site,
                            spex_events_begin(SPEX_COUNTER_FAULTS, weight));)
LOOP(run_switches,
     uint32_t weight = spex_sample_(&bench->site);
     if (SPEX_UNLIKELY(weight))
         spex_record_events(&bench->rings, SPEX_CTXSW, SPEX_COUNTER_SWITCHES, &bench->site,
                            spex_events_begin(SPEX_COUNTER_SWITCHES, weight));)
LOOP(run_counters,
     struct spex_counter_span span;
     uint32_t weight = spex_sample_(&bench->site);
     if (SPEX_UNLIKELY(weight)) {
         spex_counters_begin(&bench->site, &span);
         spex_record_counters(&bench->rings, &bench->site, weight, &span);
     })
LOOP(run_polled,
     uint32_t weight = spex_sample_(&bench->site);
     SPEX_FINISH_(&bench->site, weight, abort());)
/* clang-format on */

typedef uint64_t loop(struct bench *bench, size_t repetitions);

static loop *loop_of(uint32_t type) {
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

/* Ticks for one repetition. The first run, a short one, is for caches and to see how long they
 * take. */
static double ticks_of(loop *run, struct bench *bench) {
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

static double cost_at(loop *run, struct bench *bench, uint32_t control) {
    bench->site.control = control;
    double cost = ticks_of(run, bench) - ticks_of(run_empty, bench);
    return cost > 0 ? cost : 0;
}

static void type_measure(uint32_t type, unsigned detail, struct bench *bench) {
    const uint32_t generation = 1u << SPEX_CONTROL_GENERATION_SHIFT;
    /* Nobody is to be called; where a commit is atomic, a run that does is not the least. */
    bench->rings.look = UINT64_MAX;
    bench->site = (struct spex_site){
        .index = SPEX_MAX_SITES,
        .type_number = (uint8_t)SPEX_TYPE_NUMBER_(type),
        .detail = (uint8_t)(type == SPEX_SNAPSHOT ? SPEX_MAX_FIELDS
                            : type == SPEX_KERNEL ? SPEX_KERNEL_PARAMETERS
                                                  : detail),
    };
    const struct spex_cost cost = {
        .test = cost_at(loop_of(type), bench, 0),
        .skip = cost_at(loop_of(type), bench, generation | SPEX_CONTROL_PERIOD_MAX),
        .record = cost_at(loop_of(type), bench, generation | 1),
    };
    if (!spex_costs_known())
        spex_cost_polled_set(cost_at(run_polled, bench, generation));
    spex_cost_set(type, &cost);
}

void spex_calibrate(uint32_t type, unsigned detail) {
    struct bench *bench;
    if (spex_costs_known() & type || !spex_thread_attach())
        return;
    bench = malloc(sizeof(*bench));
    if (!bench)
        return;
    /* Without memory for it there is no figure; probes do without. */
    if (spex_rings_map(&bench->rings, RING_RECORDS, spex_rings.cpus, spex_rings.commit) == 0) {
        type_measure(type, detail, bench);
        spex_rings_unmap(&bench->rings);
    }
    free(bench);
}
