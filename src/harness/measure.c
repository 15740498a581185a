/* SPDX-License-Identifier: MIT */
/* A repetition is some batches one after another, and its time that of the batches which take the
 * same time. Batches during which the system gave the CPU to another thread are left out, if enough
 * others are left, and else count without their wait for it: on a busy machine they take a multiple
 * of the time. Others are up to twice as long while another processor of the same core works. The
 * iterations of a batch follow from shorter ones, as in Google Benchmark; where those told too few,
 * a repetition is made again. */
#define _GNU_SOURCE
#include "harness/measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* Batches of a repetition: with the usual time each is shorter than the time for which a thread
 * gets the CPU on a busy machine, but where threads have to run together for most of a batch. Those
 * of one iteration may be fewer. How many that were not preempted are enough; how many in a row
 * tell the iterations of a batch; most iterations of a batch, and of those timed singly. How many
 * empty ones tell what the clocks take. */
enum {
    BATCHES = 128,
    EMPTY_BATCHES = 64,
    BATCHES_OF_THREADS = 16,
    CALM_LEAST = 8,
    STREAK = 8,
    ITERATIONS_MAX = 1000000000,
    SINGLES_MAX = 4096
};

/* A batch of this share of the wanted time is long enough to tell its iterations; a longer one is
 * tried with the iterations that would take as much more, and at most so many times as many. */
#define LONG_ENOUGH 0.5
#define AIM         1.4
#define GROW        16.0
#define PAUSED_MOST 16.0

/* Share of a repetition's time for single iterations. */
#define SINGLES_SHARE 0.25

/* The state and counters of each thread of a batch. */
struct crew_member {
    struct spex_bench_state state;
    struct spex_thread_counters counters;
    struct spex_histogram *singles;
};

/* A benchmark that is being measured. */
struct crew {
    struct spex_bench_instance *instance;
    const struct spex_bench_manner *manner;
    struct crew_member *members;
    unsigned threads;
    pthread_barrier_t start;
    void *fixture;
    /* Executed in batches that count, by all threads. */
    double iterations;
};

static size_t batches_most(const struct crew *crew) {
    return crew->threads > 1 ? BATCHES_OF_THREADS : BATCHES;
}

static void *member_run(void *of) {
    struct crew_member *member = of;
    spex_bench_state_run(&member->state);
    return NULL;
}

/* A thread's counters end with it. */
static void *thread_run(void *of) {
    struct crew_member *member = of;
    member_run(of);
    spex_counters_close(&member->counters);
    return NULL;
}

static void member_prepare(struct crew *crew, unsigned thread, uint64_t iterations,
                           const struct spex_bench_singles *singles) {
    struct crew_member *member = &crew->members[thread];
    member->state = (struct spex_bench_state){
        .instance = crew->instance,
        .thread = thread,
        .iterations = iterations,
        .fixture = crew->fixture,
        .events = crew->manner->events,
        .start = crew->threads > 1 ? &crew->start : NULL,
        .singles = singles,
        .counters = &member->counters,
    };
}

/* Takes over the first thread's error, for the report. */
static bool crew_failed(struct crew *crew) {
    char *error = crew->instance->figures.error;
    for (unsigned t = 0; t < crew->threads && !*error; t++)
        memcpy(error, crew->members[t].state.error, SPEX_BENCH_TEXT_BYTES);
    return *error;
}

/* Executes a batch in all threads; this one is the first. Those that were started before another
 * could not be wait at the barrier for ever, so the program ends then. 0 or a negative errno
 * value. */
static int crew_run(struct crew *crew) {
    pthread_t threads[SPEX_BENCH_THREADS_MAX];
    for (unsigned t = 1; t < crew->threads; t++) {
        int err = pthread_create(&threads[t], NULL, thread_run, &crew->members[t]);
        if (err)
            return -err;
    }
    member_run(&crew->members[0]);
    for (unsigned t = 1; t < crew->threads; t++)
        pthread_join(threads[t], NULL);
    return 0;
}

static double beyond(double time, double clock) {
    return time > clock ? time - clock : 0;
}

/* Executes so many iterations in each thread; *time is that of the batch, the threads' mean. 0 or a
 * negative errno value. */
static int crew_batch(struct crew *crew, uint64_t iterations, struct spex_bench_time *time) {
    for (unsigned t = 0; t < crew->threads; t++)
        member_prepare(crew, t, iterations, NULL);
    int err = crew_run(crew);
    *time = (struct spex_bench_time){.ticks = 0};
    for (unsigned t = 0; t < crew->threads; t++) {
        const struct spex_bench_time *spent = &crew->members[t].state.spent,
                                     *clock = &crew->manner->clock;
        time->real_ns += beyond(spent->real_ns, clock->real_ns) / crew->threads;
        time->cpu_ns += beyond(spent->cpu_ns, clock->cpu_ns) / crew->threads;
        time->ticks += beyond(spent->ticks, clock->ticks) / crew->threads;
    }
    return err;
}

/* *ns: the time of a batch, or, if that is more, of all that is paused in it over PAUSED_MOST. 0 or
 * a negative errno value. */
static int crew_try(struct crew *crew, uint64_t iterations, double *ns) {
    struct spex_bench_time time;
    uint64_t begin = spex_clock_ns(CLOCK_MONOTONIC);
    int err = crew_batch(crew, iterations, &time);
    *ns = fmax(time.real_ns, (double)(spex_clock_ns(CLOCK_MONOTONIC) - begin) / PAUSED_MOST);
    return err;
}

/* The search for the iterations of a batch: how many batches in a row were long enough, the
 * shortest of them, and their sum. */
struct search {
    uint64_t iterations;
    unsigned streak;
    double least_ns, sum_ns;
};

static uint64_t more_iterations(uint64_t iterations, double factor) {
    double next = (double)iterations * fmin(factor, GROW);
    return (uint64_t)fmin(fmax(next, (double)iterations + 1), ITERATIONS_MAX);
}

/* A batch that is too short ends the row; the next ones have more iterations. */
static void search_go_on(struct search *search, double ns, double wanted_ns) {
    uint64_t n = search->iterations;
    if (ns >= LONG_ENOUGH * wanted_ns || n == ITERATIONS_MAX) {
        search->least_ns = search->streak++ ? fmin(search->least_ns, ns) : ns;
        search->sum_ns += ns;
        return;
    }
    *search = (struct search){.iterations = more_iterations(n, wanted_ns / fmax(ns, 1) * AIM)};
}

/* Finds how many iterations take so long. Batches of so many must do so several times in a row, or
 * twice if they are as long as a repetition: the first ones bring memory and code in, and any can
 * be interrupted. 0 or a negative errno value. */
static int crew_find_iterations(struct crew *crew, double wanted_ns, uint64_t *iterations) {
    struct search search = {.iterations = 1};
    double enough_ns = crew->manner->seconds * 1e9;
    while (search.streak < 2 || (search.streak < STREAK && search.sum_ns < enough_ns)) {
        double ns;
        int err = crew_try(crew, search.iterations, &ns);
        if (err || crew_failed(crew))
            return err;
        search_go_on(&search, ns, wanted_ns);
    }
    double fits = (double)search.iterations * wanted_ns / fmax(search.least_ns, 1);
    *iterations = (uint64_t)fmin(fmax(fits, 1), ITERATIONS_MAX);
    return 0;
}

/* Executes batches that do not count: one at least, but none of a single long iteration. */
static int crew_warm_up(struct crew *crew, uint64_t iterations, bool first) {
    struct spex_bench_time time;
    double ns = 0, wanted_ns = first ? crew->manner->warmup_seconds * 1e9 : 0;
    int err = 0;
    if (iterations == 1 && !wanted_ns)
        return 0;
    do {
        err = crew_batch(crew, iterations, &time);
        ns += time.real_ns;
    } while (!err && ns < wanted_ns && !crew_failed(crew));
    return err;
}

static void own_add(struct spex_bench_repetition *sum, const struct spex_bench_own *own) {
    size_t i = 0;
    while (i < sum->own_count && strcmp(sum->own[i].name, own->name) != 0)
        i++;
    if (i == SPEX_BENCH_COUNTERS_MAX)
        return;
    if (i == sum->own_count)
        sum->own[sum->own_count++] = *own;
    else {
        sum->own[i].sum += own->sum;
        sum->own[i].count += own->count;
    }
}

/* Adds what the threads told and counted; events become means of an iteration at the end. */
static void repetition_add(struct spex_bench_repetition *sum, const struct crew *crew,
                           uint64_t iterations) {
    for (unsigned t = 0; t < crew->threads; t++) {
        const struct spex_bench_state *state = &crew->members[t].state;
        sum->iterations += (double)iterations;
        sum->bytes = state->bytes;
        sum->items = state->items;
        for (size_t e = 0; e < crew->manner->events->count; e++)
            sum->events[e] += state->counted[e];
        for (size_t c = 0; c < state->own_count; c++)
            own_add(sum, &state->own[c]);
    }
}

/* Context switches of the threads in the batch. */
static struct spex_bench_switches crew_switches(const struct crew *crew) {
    struct spex_bench_switches sum = {0};
    for (unsigned t = 0; t < crew->threads; t++) {
        sum.preemptions += crew->members[t].state.switches.preemptions;
        sum.waits += crew->members[t].state.switches.waits;
    }
    return sum;
}

/* The batches of a repetition. Those that were not preempted stand first. */
struct batches {
    size_t count, calm;
    /* Of an iteration in each batch. */
    struct spex_bench_time sum;
    double real[BATCHES], cpu[BATCHES], ticks[BATCHES];
};

static void swap(double *values, size_t a, size_t b) {
    double value = values[a];
    values[a] = values[b];
    values[b] = value;
}

/* Where a batch was preempted and has not waited by itself, what its real time is longer than its
 * CPU time was the wait for a processor. */
static void batches_add(struct batches *batches, const struct spex_bench_time *time,
                        double iterations, struct spex_bench_switches switches) {
    size_t last = batches->count++;
    bool calm = !switches.preemptions;
    double share = calm || switches.waits || !(time->real_ns > time->cpu_ns)
                       ? 1
                       : time->cpu_ns / time->real_ns;
    batches->sum.real_ns += time->real_ns / iterations;
    batches->sum.cpu_ns += time->cpu_ns / iterations;
    batches->sum.ticks += time->ticks / iterations;
    batches->real[last] = time->real_ns * share / iterations;
    batches->cpu[last] = time->cpu_ns / iterations;
    batches->ticks[last] = time->ticks * share / iterations;
    if (calm) {
        swap(batches->real, last, batches->calm);
        swap(batches->cpu, last, batches->calm);
        swap(batches->ticks, last, batches->calm);
        batches->calm++;
    }
}

/* All batches have as many iterations. */
static struct spex_bench_time batches_mean(const struct batches *batches) {
    double count = (double)batches->count;
    return (struct spex_bench_time){batches->sum.real_ns / count, batches->sum.cpu_ns / count,
                                    batches->sum.ticks / count};
}

static struct spex_bench_time batches_time(struct batches *batches) {
    size_t count = batches->calm >= CALM_LEAST ? batches->calm : batches->count;
    return (struct spex_bench_time){spex_bench_undisturbed(batches->real, count),
                                    spex_bench_undisturbed(batches->cpu, count),
                                    spex_bench_undisturbed(batches->ticks, count)};
}

/* Executes the batches that count. 0 or a negative errno value. */
static int crew_measure(struct crew *crew, uint64_t iterations,
                        struct spex_bench_repetition *repetition) {
    struct batches batches = {.count = 0};
    double ns = 0, enough_ns = crew->manner->seconds * 1e9;
    while (batches.count < batches_most(crew) &&
           (!batches.count || iterations > 1 || ns < enough_ns)) {
        struct spex_bench_time time;
        int err = crew_batch(crew, iterations, &time);
        if (err || crew_failed(crew))
            return err;
        repetition_add(repetition, crew, iterations);
        batches_add(&batches, &time, (double)iterations, crew_switches(crew));
        ns += time.real_ns;
    }
    repetition->mean = batches_mean(&batches);
    repetition->time = batches_time(&batches);
    for (size_t e = 0; e < crew->manner->events->count; e++)
        repetition->events[e] /= repetition->iterations;
    return 0;
}

/* Whether all batches together take less time than is long enough, undisturbed. */
static bool is_too_short(const struct crew *crew, uint64_t iterations,
                         const struct spex_bench_repetition *repetition, double *ns) {
    double each = repetition->iterations / crew->threads;
    *ns = repetition->time.real_ns * each;
    return each == (double)(iterations * batches_most(crew)) && iterations < ITERATIONS_MAX &&
           *ns < LONG_ENOUGH * crew->manner->seconds * 1e9;
}

/* Measures with more iterations where it is too short: memory that is not in a cache yet, as of
 * more data than the first batches use, makes those batches long. 0 or a negative errno value. */
static int crew_measure_first(struct crew *crew, uint64_t *iterations,
                              struct spex_bench_repetition *repetition) {
    double wanted_ns = crew->manner->seconds * 1e9 * PAUSED_MOST, ns;
    for (;;) {
        uint64_t begin = spex_clock_ns(CLOCK_MONOTONIC);
        *repetition = (struct spex_bench_repetition){.iterations = 0};
        int err = crew_measure(crew, *iterations, repetition);
        if (err || crew_failed(crew) || !is_too_short(crew, *iterations, repetition, &ns) ||
            (double)(spex_clock_ns(CLOCK_MONOTONIC) - begin) > wanted_ns)
            return err;
        *iterations = more_iterations(*iterations, crew->manner->seconds * 1e9 / fmax(ns, 1));
    }
}

/* Times iterations singly, in a batch of its own. 0 or a negative errno value. */
static int crew_measure_singles(struct crew *crew) {
    const struct spex_bench_manner *manner = crew->manner;
    struct spex_bench_singles singles[SPEX_BENCH_THREADS_MAX];
    int err = 0;
    for (unsigned t = 0; t < crew->threads; t++) {
        struct spex_histogram *histogram = calloc(1, sizeof(*histogram));
        crew->members[t].singles = histogram;
        err = histogram ? err : -ENOMEM;
        singles[t] = (struct spex_bench_singles){
            .histogram = histogram,
            .clock_ticks = manner->clock_ticks,
            .ticks_most = (uint64_t)(manner->seconds * SINGLES_SHARE * manner->ticks_per_second)};
        member_prepare(crew, t, SINGLES_MAX, &singles[t]);
    }
    err = err ? err : crew_run(crew);
    for (unsigned t = 0; t < crew->threads; t++) {
        if (!err && !crew_failed(crew))
            err =
                spex_bench_figures_add_singles(&crew->instance->figures, crew->members[t].singles);
        free(crew->members[t].singles);
    }
    return err;
}

/* Calls the setup or teardown. */
static void crew_fixture(struct crew *crew, spex_bench_function *function) {
    if (!function)
        return;
    member_prepare(crew, 0, 0, NULL);
    function(&crew->members[0].state);
    crew->fixture = crew->members[0].state.fixture;
    crew_failed(crew);
}

static int crew_repeat(struct crew *crew, uint64_t *iterations) {
    struct spex_bench_repetition repetition = {.iterations = 0};
    bool first = !*iterations;
    int err = 0;
    if (first)
        err = crew_find_iterations(crew, crew->manner->seconds * 1e9 / (double)batches_most(crew),
                                   iterations);
    if (!err && !crew_failed(crew))
        err = crew_warm_up(crew, *iterations, first);
    if (!err && !crew_failed(crew))
        err = first ? crew_measure_first(crew, iterations, &repetition)
                    : crew_measure(crew, *iterations, &repetition);
    if (err || crew_failed(crew))
        return err;
    err = spex_bench_figures_add(&crew->instance->figures, &repetition);
    if (!err && crew->manner->singles)
        err = crew_measure_singles(crew);
    return err;
}

int spex_bench_measure(struct spex_bench_instance *instance, const struct spex_bench_manner *manner,
                       uint64_t *iterations) {
    struct crew crew = {.instance = instance, .manner = manner, .threads = instance->threads};
    crew.members = calloc(crew.threads, sizeof(*crew.members));
    if (!crew.members)
        return -ENOMEM;
    int err = -pthread_barrier_init(&crew.start, NULL, crew.threads);
    if (!err) {
        crew_fixture(&crew, instance->family->setup);
        if (!crew_failed(&crew))
            err = crew_repeat(&crew, iterations);
        crew_fixture(&crew, instance->family->teardown);
        /* Where threads could not be started, others wait at it: the program ends soon. */
        if (!err)
            pthread_barrier_destroy(&crew.start);
    }
    spex_counters_close(&crew.members[0].counters);
    if (!err)
        free(crew.members);
    return err;
}

static void empty(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        spex_bench_clobber();
    }
}

/* Executes it, and takes the median of what each clock tells. */
static void empty_batches(struct spex_bench_state *prepared, struct spex_bench_time *clock) {
    double real[EMPTY_BATCHES], cpu[EMPTY_BATCHES], ticks[EMPTY_BATCHES];
    for (int b = 0; b < EMPTY_BATCHES; b++) {
        struct spex_bench_state state = *prepared;
        spex_bench_state_run(&state);
        real[b] = state.spent.real_ns;
        cpu[b] = state.spent.cpu_ns;
        ticks[b] = state.spent.ticks;
    }
    *clock = (struct spex_bench_time){spex_bench_median(real, EMPTY_BATCHES),
                                      spex_bench_median(cpu, EMPTY_BATCHES),
                                      spex_bench_median(ticks, EMPTY_BATCHES)};
}

void spex_bench_clock_measure(struct spex_bench_manner *manner) {
    static const struct spex_bench_events none;
    const struct spex_benchmark family = {.function = empty};
    const struct spex_bench_instance instance = {.family = &family, .threads = 1};
    struct spex_histogram *histogram = calloc(1, sizeof(*histogram));
    const struct spex_bench_singles singles = {.histogram = histogram, .ticks_most = UINT64_MAX};
    struct spex_bench_state state = {.instance = &instance, .iterations = 1, .events = &none};
    empty_batches(&state, &manner->clock);
    if (!histogram)
        return;
    state.iterations = SINGLES_MAX;
    state.singles = &singles;
    spex_bench_state_run(&state);
    manner->clock_ticks = (uint64_t)spex_histogram_quantile(histogram, 0.5);
    free(histogram);
}
