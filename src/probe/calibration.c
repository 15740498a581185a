/* SPDX-License-Identifier: MIT */
/* Measures costs with the code that probes execute: loops run over a site of their own, in the
 * states off, counted, recorded and recorded by chance, and write into rings that no collector
 * reads. The loops run in short batches, in turn. Disturbances only make a batch longer, so of each
 * loop the shortest batch counts: it is seldom interrupted, and it finds the moments at which the
 * other processor of the core is idle, if there are any. The cost is its time minus that of the
 * empty loop. The spans that the loops time are empty, so their records tell what a span of nothing
 * reads. Runs on the thread that switches the first site of the type on. */
#include "probe/calibration.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include <spex/atomic.h>
#include <spex/kernel.h>
#include <spex/region.h>

#include "base/ascending.h"
#include "base/clock.h"
#include "base/memory/memory.h"
#include "probe/recording.h"
#include "site/cost.h"
#include "site/sampling_rate.h"

/* BATCH_TICKS is the length of a batch: long compared with reading the clock, and short enough that
 * most batches are not interrupted. TYPE_TICKS limits all batches of a type together, about 0.1 ms,
 * except where reading a counter takes long. The ring's records fit into the first-level cache,
 * with any type: what larger rings cost differs from start to start, by where their pages lie. */
enum {
    ROUNDS = 120,
    ROUNDS_LEAST = 7,
    TYPE_TICKS = 250000,
    TRIAL_REPETITIONS = 16,
    REPETITIONS_MAX = 250,
    BATCH_TICKS = 1000,
    DRAWN_PERIOD = 4,
    DRAWN_TICKS = 4000,
    DRAWN_ROUNDS = 4,
    RING_RECORDS = 64,
    SPAN_BUCKETS = 64,
    CLOCK_STEPS = 16,
    CLOCK_READINGS = 100000,
    REGION_ROUNDS = 15,
    REGION_EXECUTIONS = 8,
};

/* Ticks that a pass through a region takes at least, so that its cost is not unknown. */
#define REGION_PASS_LEAST 0.1

/* What the loops work on. The site belongs to no module; its index is that of the extra row that
 * tables by site have behind the last site. */
struct calibration {
    struct spex_site site;
    struct spex_rings rings;
    struct spex_open_spans spans;
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
CALIBRATION_LOOP(run_span,
     if (SPEX_UNLIKELY(spex_load_relaxed(&bench->site.control)))
         spex_record_span_begin(&bench->spans, &bench->site, spex_sample_(&bench->site), i);
     if (SPEX_UNLIKELY(spex_load_relaxed(&bench->site.control)))
         spex_record_span_end(&bench->rings, &bench->spans, &bench->site, i);)
CALIBRATION_LOOP(run_polled,
     uint32_t weight = spex_sample_(&bench->site);
     SPEX_FINISH_(&bench->site, weight, abort());)
/* Passes without an execution, and with REGION_EXECUTIONS of them. */
CALIBRATION_LOOP(run_region,
     struct spex_region_pass pass = {&bench->site, NULL, 0, 0, 0};
     spex_region_enter_(&pass);
     __asm__ volatile("" : : : "memory");
     spex_region_leave_(&pass);)
CALIBRATION_LOOP(run_region_executions,
     struct spex_region_pass pass = {&bench->site, NULL, 0, 0, 0};
     spex_region_enter_(&pass);
     for (int n = 0; n < REGION_EXECUTIONS; n++) {
         spex_region_count_(&pass);
         __asm__ volatile("" : "+r"(pass.sum) : : "memory");
     }
     spex_region_leave_(&pass);)
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
    case SPEX_SPAN:
        return run_span;
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

/* A loop in one state of the site. */
struct measured_loop {
    calibration_loop *run;
    uint32_t control;
    uint32_t ticks; /* how long a batch is to be */
    size_t repetitions;
    /* Ticks of the shortest batch. */
    uint64_t best;
};

static uint64_t batch_ticks(struct calibration *bench, const struct measured_loop *loop,
                            size_t repetitions) {
    bench->site.control = loop->control;
    return loop->run(bench, repetitions);
}

/* Decides how many repetitions a batch has. The first of the two short batches fills the caches. */
SPEX_COLD static void loop_begin(struct calibration *bench, struct measured_loop *loop) {
    batch_ticks(bench, loop, TRIAL_REPETITIONS);
    uint64_t trial = batch_ticks(bench, loop, TRIAL_REPETITIONS) / TRIAL_REPETITIONS;
    size_t repetitions = loop->ticks / (trial ? trial : 1);
    loop->repetitions = repetitions > REPETITIONS_MAX     ? REPETITIONS_MAX
                        : repetitions < TRIAL_REPETITIONS ? TRIAL_REPETITIONS
                                                          : repetitions;
    loop->best = UINT64_MAX;
}

/* Runs a batch; returns its ticks. The repetition before it belongs to the change of the site's
 * state. */
static uint64_t loop_batch(struct calibration *bench, struct measured_loop *loop) {
    batch_ticks(bench, loop, 1);
    return batch_ticks(bench, loop, loop->repetitions);
}

static int order_readings(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

/* Reads the first values of the type's records in all rings, up to RING_RECORDS; returns how
 * many. */
SPEX_COLD static size_t readings_take(const struct spex_rings *rings, uint32_t type,
                                      uint64_t *readings) {
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

/* The step of a clock that stands still between two readings in a row; 0: it does not. */
SPEX_COLD static uint64_t clock_step(void) {
    uint64_t step = UINT64_MAX, last = spex_ticks();
    unsigned stood = 0, steps = 0;
    while (steps < CLOCK_STEPS && stood < CLOCK_READINGS) {
        uint64_t now = spex_ticks();
        stood += now == last;
        steps += now != last;
        step = now != last && now - last < step ? now - last : step;
        last = now;
    }
    return stood && steps ? step : 0;
}

/* Returns what a span of nothing reads, from the records of a batch. The largest readings, a
 * tenth, are left out: they contain disturbances, but for those that are a step of the clock larger. A
 * reading is no surer than the clock's step, which is a tick at least. */
SPEX_COLD static struct spex_empty_span readings_mean(uint64_t *readings, size_t count) {
    double sum = 0, squares = 0;
    uint64_t step = count ? clock_step() : 0;
    qsort(readings, count, sizeof(*readings), order_readings);
    size_t all = count;
    count -= count / 10;
    uint64_t most = count ? readings[count - 1] + step : 0;
    while (step && count < all && readings[count] <= most)
        count++;
    for (size_t r = 0; r < count; r++)
        sum += (double)readings[r];
    double mean = count ? sum / (double)count : 0;
    for (size_t r = 0; r < count; r++)
        squares += ((double)readings[r] - mean) * ((double)readings[r] - mean);
    double deviation = count ? sqrt(squares / (double)count) : 0;
    double by_step = SPEX_STEP_DEVIATION * (double)(step ? step : 1);
    return (struct spex_empty_span){mean, count ? fmax(deviation, by_step) : 0};
}

/* What a type is measured by. LOOP_CLOCK is an empty loop without repetitions: the two readings of
 * the clock, which every batch contains. */
enum {
    LOOP_CLOCK,
    LOOP_EMPTY,
    LOOP_OFF,
    LOOP_SKIP,
    LOOP_RECORD,
    LOOPS_OF_TYPE,
    LOOP_POLLED = LOOPS_OF_TYPE,
    LOOP_CALLED,
    LOOPS
};

/* Ticks that an execution takes in this loop. */
static double loop_cost(const struct measured_loop *loops, int loop) {
    double clock = (double)loops[LOOP_CLOCK].best;
    double empty = ((double)loops[LOOP_EMPTY].best - clock) / (double)loops[LOOP_EMPTY].repetitions;
    double cost = ((double)loops[loop].best - clock) / (double)loops[loop].repetitions - empty;
    return cost > 0 ? cost : 0;
}

/* The batches in which chance chooses the records. How many there are differs from batch to batch,
 * so the shortest one tells nothing. */
struct drawn_batches {
    struct measured_loop loop;
    size_t count;
    double ticks[ROUNDS], records[ROUNDS];
};

static double records_made(const struct spex_rings *rings, uint32_t type) {
    double made = 0;
    for (unsigned cpu = 0; cpu <= rings->cpus; cpu++) {
        struct spex_ring ring =
            spex_rings_at(rings, cpu * SPEX_PROBE_TYPES + spex_probe_type_ring(type));
        made += (double)spex_ring_count(&ring).produced;
    }
    return made;
}

SPEX_COLD static void drawn_batch(struct calibration *bench, uint32_t type,
                                  struct drawn_batches *drawn) {
    batch_ticks(bench, &drawn->loop, 1);
    double before = records_made(&bench->rings, type);
    drawn->ticks[drawn->count] = (double)batch_ticks(bench, &drawn->loop, drawn->loop.repetitions);
    drawn->records[drawn->count] = records_made(&bench->rings, type) - before;
    drawn->count += drawn->records[drawn->count] > 0;
}

/* Returns the ticks of a record that chance has chosen: of the batches with the least for a record,
 * a tenth, the greatest. `base` is what a repetition takes without a record. */
SPEX_COLD static double drawn_cost(struct drawn_batches *drawn, double clock, double base) {
    double without = clock + base * (double)drawn->loop.repetitions;
    for (size_t b = 0; b < drawn->count; b++)
        drawn->ticks[b] = (drawn->ticks[b] - without) / drawn->records[b];
    qsort(drawn->ticks, drawn->count, sizeof(*drawn->ticks), spex_ascending);
    return drawn->count ? drawn->ticks[drawn->count / 10] : 0;
}

/* Runs the batches of the first `count` loops in turn. `readings` are those of the shortest batch
 * with records; returns how many there are. */
SPEX_COLD static size_t batches_run(struct calibration *bench, uint32_t type,
                                    struct measured_loop *loops, int count,
                                    struct drawn_batches *drawn, uint64_t *readings) {
    size_t read = 0;
    for (int l = 0; l < count; l++)
        loop_begin(bench, &loops[l]);
    loop_begin(bench, &drawn->loop);
    loops[LOOP_CLOCK].repetitions = 0;
    uint64_t begin = spex_ticks();
    for (int r = 0; r < ROUNDS && (r < ROUNDS_LEAST || spex_ticks() - begin < TYPE_TICKS); r++) {
        for (int l = 0; l < count; l++) {
            uint64_t ticks = loop_batch(bench, &loops[l]);
            if (ticks >= loops[l].best)
                continue;
            loops[l].best = ticks;
            if (l == LOOP_RECORD && spex_probe_type_ticks(type))
                read = readings_take(&bench->rings, type, readings);
        }
        if (r % DRAWN_ROUNDS == 0)
            drawn_batch(bench, type, drawn);
    }
    return read;
}

/* Measures the type in all states. The period of the state "counted" is so long that no batch
 * reaches it. A polled execution costs the same for all types, and so do calls of the library: the
 * first type measures both. */
SPEX_COLD static void type_measure(uint32_t type, unsigned detail, struct calibration *bench) {
    enum { COUNTED = 1, DRAWN = 2, CALLED = 6 }; /* generations */
    const uint32_t generation = COUNTED << SPEX_CONTROL_GENERATION_SHIFT;
    uint64_t readings[RING_RECORDS];
    /* With this mask pushes do not look at the ring's fill level, so no collector is called. An
     * atomic push does look once a quarter; such a batch is longer and therefore not the result. */
    bench->rings.look = UINT64_MAX;
    bench->site = (struct spex_site){
        .index = SPEX_MAX_SITES,
        .type_number = (uint8_t)SPEX_TYPE_NUMBER_(type),
        .detail = (uint8_t)(type == SPEX_SNAPSHOT ? SPEX_MAX_FIELDS
                            : type == SPEX_KERNEL ? SPEX_KERNEL_PARAMETERS
                                                  : detail),
    };
    spex_sampling_rate_set(
        SPEX_MAX_SITES, DRAWN,
        &(struct spex_sampling){.period = DRAWN_PERIOD, .kind = SPEX_SAMPLING_GEOMETRIC});
    spex_sampling_rate_set(SPEX_MAX_SITES, CALLED,
                           &(struct spex_sampling){.period = 1, .kind = SPEX_SAMPLING_CALLED});
    calibration_loop *run = calibration_loop_of(type);
    struct measured_loop loops[LOOPS] = {
        [LOOP_CLOCK] = {.run = run_empty, .ticks = BATCH_TICKS},
        [LOOP_EMPTY] = {.run = run_empty, .ticks = BATCH_TICKS},
        [LOOP_OFF] = {.run = run, .ticks = BATCH_TICKS},
        [LOOP_SKIP] = {run, generation | SPEX_CONTROL_PERIOD_MAX, .ticks = BATCH_TICKS},
        [LOOP_RECORD] = {run, generation | 1, .ticks = BATCH_TICKS},
        [LOOP_POLLED] = {run_polled, generation, .ticks = BATCH_TICKS},
        [LOOP_CALLED] = {run, CALLED << SPEX_CONTROL_GENERATION_SHIFT | SPEX_CONTROL_COUNTDOWN,
                         .ticks = BATCH_TICKS},
    };
    struct drawn_batches drawn = {
        .loop = {run, DRAWN << SPEX_CONTROL_GENERATION_SHIFT | SPEX_CONTROL_COUNTDOWN,
                 .ticks = DRAWN_TICKS}};
    bool first = !spex_costs_known();
    size_t read = batches_run(bench, type, loops, first ? LOOPS : LOOPS_OF_TYPE, &drawn, readings);
    const struct spex_cost cost = {.test = loop_cost(loops, LOOP_OFF),
                                   .skip = loop_cost(loops, LOOP_SKIP),
                                   .record = loop_cost(loops, LOOP_RECORD)};
    double clock = (double)loops[LOOP_CLOCK].best;
    double base = ((double)loops[LOOP_SKIP].best - clock) / (double)loops[LOOP_SKIP].repetitions;
    spex_cost_empty_set(type, readings_mean(readings, read));
    spex_cost_drawn_set(type, fmax(cost.record, cost.skip + drawn_cost(&drawn, clock, base)));
    if (first) {
        spex_cost_polled_set(loop_cost(loops, LOOP_POLLED));
        spex_cost_call_set(fmax(loop_cost(loops, LOOP_CALLED) - cost.skip, 0));
    }
    spex_cost_set(type, &cost);
}

static bool can_calibrate(void) {
    struct spex_thread *thread = spex_thread_attach();
    return thread && spex_thread_calibrates(thread) && spex_sampling_rates_make(SPEX_MAX_SITES);
}

SPEX_COLD void spex_calibrate(uint32_t type, unsigned detail) {
    struct calibration *bench;
    if (spex_costs_known() & type || !can_calibrate())
        return;
    bench = spex_malloc(sizeof(*bench));
    if (!bench)
        return;
    /* What the records here take is neither of the thread's budget nor denied by it, and the gaps
     * that are drawn are none of the thread's. */
    struct spex_thread *thread = spex_thread_current();
    const struct spex_thread_budget budget = thread->budget;
    const struct spex_random random = thread->random;
    thread->budget.left = UINT64_MAX;
    /* Without memory for the rings the cost stays unknown, which everyone who asks for it
     * allows. */
    spex_site_switched[SPEX_MAX_SITES] = 1;
    bool spans = type == SPEX_SPAN && spex_open_spans_map(&bench->spans, SPAN_BUCKETS) == 0;
    if (spex_rings_map(&bench->rings, RING_RECORDS, spex_rings.cpus, spex_rings.commit) == 0) {
        if (spans || type != SPEX_SPAN)
            type_measure(type, detail, bench);
        spex_rings_unmap(&bench->rings);
    }
    if (spans)
        spex_open_spans_unmap(&bench->spans);
    thread->budget = budget;
    thread->random = random;
    spex_free(bench);
}

enum { REGION_CLOCK, REGION_EMPTY, REGION_PASS, REGION_COUNTED, REGION_CALL, REGION_LOOPS };

/* Runs the batches in turn. A pass calls the library if the next record may come within as many
 * executions as the region declares. */
SPEX_COLD static void region_batches(struct calibration *bench, struct measured_loop *loops) {
    for (int r = -1; r < REGION_ROUNDS; r++) {
        for (int l = 0; l < REGION_LOOPS; l++) {
            bench->site.subsample = l == REGION_CALL ? SPEX_CONTROL_PERIOD_MAX : 1;
            if (r < 0)
                loop_begin(bench, &loops[l]);
            else
                loops[l].best =
                    (uint64_t)fmin((double)loops[l].best, (double)loop_batch(bench, &loops[l]));
        }
        loops[REGION_CLOCK].repetitions = 0;
    }
}

SPEX_COLD void spex_calibrate_region(void) {
    enum { GENERATION = 4 };
    const uint32_t control = GENERATION << SPEX_CONTROL_GENERATION_SHIFT | SPEX_CONTROL_COUNTDOWN;
    struct calibration *bench;
    if (spex_cost_region().pass > 0 || !can_calibrate() || !(bench = spex_malloc(sizeof(*bench))))
        return;
    struct spex_thread *thread = spex_thread_current();
    const struct spex_random random = thread->random;
    bench->site = (struct spex_site){.index = SPEX_MAX_SITES};
    spex_sampling_rate_set(
        SPEX_MAX_SITES, GENERATION,
        &(struct spex_sampling){.period = SPEX_GAP_PERIOD_MAX, .kind = SPEX_SAMPLING_GEOMETRIC});
    struct measured_loop loops[REGION_LOOPS] = {
        [REGION_CLOCK] = {run_empty, 0, BATCH_TICKS, 0, 0},
        [REGION_EMPTY] = {run_empty, 0, BATCH_TICKS, 0, 0},
        [REGION_PASS] = {run_region, control, BATCH_TICKS, 0, 0},
        [REGION_COUNTED] = {run_region_executions, control, BATCH_TICKS, 0, 0},
        [REGION_CALL] = {run_region, control, BATCH_TICKS, 0, 0},
    };
    region_batches(bench, loops);
    double pass = loop_cost(loops, REGION_PASS);
    const struct spex_region_cost cost = {
        .pass = fmax(pass, REGION_PASS_LEAST),
        .execution = fmax(loop_cost(loops, REGION_COUNTED) - pass, 0) / REGION_EXECUTIONS,
        .call = fmax(loop_cost(loops, REGION_CALL) - pass, 0)};
    spex_cost_region_set(&cost);
    thread->random = random;
    spex_free(bench);
}
