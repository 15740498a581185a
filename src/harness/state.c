/* SPDX-License-Identifier: MIT */
/* The clocks of a batch are read outside of its iterations; those of single iterations with fences,
 * so that the processor neither begins the iteration before the reading nor reads before the
 * iteration has ended. */
#define _GNU_SOURCE
#include "harness/state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <spex/ticks.h>

#include "base/clock.h"
#include "text/printable.h"

int64_t spex_bench_arg(const struct spex_bench_state *state, unsigned index) {
    return index < SPEX_BENCH_PARAMETERS_MAX ? state->instance->args[index] : 0;
}

unsigned spex_bench_thread(const struct spex_bench_state *state) {
    return state->thread;
}

unsigned spex_bench_threads(const struct spex_bench_state *state) {
    return state->instance->threads;
}

uint64_t spex_bench_iterations(const struct spex_bench_state *state) {
    return state->iterations;
}

void *spex_bench_fixture(const struct spex_bench_state *state) {
    return state->fixture;
}

void spex_bench_set_fixture(struct spex_bench_state *state, void *fixture) {
    state->fixture = fixture;
}

void spex_bench_bytes(struct spex_bench_state *state, double bytes) {
    state->bytes = bytes;
}

void spex_bench_items(struct spex_bench_state *state, double items) {
    state->items = items;
}

static void fail(struct spex_bench_state *state, const char *reason) {
    if (!*state->error)
        snprintf(state->error, sizeof(state->error), "%s", reason);
    spex_make_printable(state->error);
}

void spex_bench_counter(struct spex_bench_state *state, const char *name, double value) {
    struct spex_bench_own *own = state->own, *end = own + state->own_count;
    while (own < end && strcmp(own->name, name) != 0)
        own++;
    if (own == state->own + SPEX_BENCH_COUNTERS_MAX || strlen(name) >= sizeof(own->name)) {
        fail(state, "it has more than 8 figures of its own, or a name of more than 31 bytes");
        return;
    }
    state->own_count += own == end;
    *own = (struct spex_bench_own){.sum = value, .count = 1};
    snprintf(own->name, sizeof(own->name), "%s", name);
    spex_make_printable(own->name);
}

void spex_bench_skip(struct spex_bench_state *state, const char *reason) {
    fail(state, *reason ? reason : "skipped");
}

#if defined(__x86_64__)
static inline void instructions_end(void) {
    __builtin_ia32_lfence();
}
#else
static inline void instructions_end(void) {
    __asm__ __volatile__("isb" : : : "memory");
}
#endif

static inline uint64_t ticks_between(void) {
    instructions_end();
    uint64_t ticks = spex_ticks();
    instructions_end();
    return ticks;
}

static struct spex_bench_time time_now(void) {
    double cpu = (double)spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    double real = (double)spex_clock_ns(CLOCK_MONOTONIC_RAW);
    return (struct spex_bench_time){.real_ns = real, .cpu_ns = cpu, .ticks = (double)spex_ticks()};
}

/* The processor's own clock is read after the iterations and before the dear system call. */
static void time_add(struct spex_bench_state *state) {
    double ticks = (double)spex_ticks();
    double real = (double)spex_clock_ns(CLOCK_MONOTONIC_RAW);
    double cpu = (double)spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    state->spent.ticks += ticks - state->begun.ticks;
    state->spent.real_ns += real - state->begun.real_ns;
    state->spent.cpu_ns += cpu - state->begun.cpu_ns;
}

static struct spex_bench_switches switches_now(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return (struct spex_bench_switches){0};
    return (struct spex_bench_switches){(uint64_t)usage.ru_nivcsw, (uint64_t)usage.ru_nvcsw};
}

static void counters_begin(struct spex_bench_state *state) {
    for (size_t e = 0; e < state->events->count; e++) {
        const struct spex_bench_event *event = &state->events->items[e];
        if (!spex_counter_ready(state->counters, event->counter))
            spex_counter_open(state->counters, event->counter);
    }
    for (size_t e = 0; e < state->events->count; e++)
        spex_counter_read(state->counters, state->events->items[e].counter, &state->readings[e]);
}

static void counters_end(struct spex_bench_state *state) {
    struct spex_reading now[SPEX_BENCH_EVENTS_MAX];
    size_t count = state->events->count;
    for (size_t e = count; e-- > 0;)
        spex_counter_read(state->counters, state->events->items[e].counter, &now[e]);
    for (size_t e = 0; e < count; e++) {
        uint64_t values[2];
        bool scaled, known = spex_counter_delta(&state->readings[e], &now[e], values, &scaled);
        state->counted[e] = known ? (double)values[state->events->items[e].value] : NAN;
    }
}

/* A benchmark that is skipped meets the others all the same, so that none waits for it. */
uint64_t spex_bench_begin(struct spex_bench_state *state) {
    if (state->phase != SPEX_BENCH_BEFORE) {
        fail(state, "it has a second SPEX_BENCH_LOOP");
        return 0;
    }
    if (!*state->error && !state->singles)
        counters_begin(state);
    if (state->start)
        pthread_barrier_wait(state->start);
    if (*state->error) {
        state->phase = SPEX_BENCH_ENDED;
        return 0;
    }
    state->phase = SPEX_BENCH_RUNNING;
    if (state->singles) {
        state->singles_begun = state->single_begun = ticks_between();
        return 1;
    }
    state->switches_before = switches_now();
    state->begun = time_now();
    return state->iterations;
}

static uint64_t end_batch(struct spex_bench_state *state) {
    if (state->phase == SPEX_BENCH_RUNNING)
        time_add(state);
    struct spex_bench_switches now = switches_now();
    state->switches.preemptions = now.preemptions - state->switches_before.preemptions;
    state->switches.waits = now.waits - state->switches_before.waits;
    if (!state->singles)
        counters_end(state);
    state->phase = SPEX_BENCH_ENDED;
    return 0;
}

/* The next iteration's time begins when this one's is in the histogram. */
static uint64_t next_single(struct spex_bench_state *state, uint64_t now) {
    const struct spex_bench_singles *singles = state->singles;
    uint64_t ticks = state->single_spent;
    if (state->phase == SPEX_BENCH_RUNNING)
        ticks += now - state->single_begun;
    ticks = ticks > singles->clock_ticks ? ticks - singles->clock_ticks : 0;
    spex_histogram_add(singles->histogram, ticks, 1);
    if (++state->executed == state->iterations ||
        now - state->singles_begun > singles->ticks_most) {
        state->phase = SPEX_BENCH_ENDED;
        return 0;
    }
    state->phase = SPEX_BENCH_RUNNING;
    state->single_spent = 0;
    state->single_begun = ticks_between();
    return 1;
}

uint64_t spex_bench_next(struct spex_bench_state *state, uint64_t left) {
    if (state->singles && !left)
        return next_single(state, ticks_between());
    if (left)
        fail(state, "it has left its loop before the end");
    return end_batch(state);
}

void spex_bench_pause(struct spex_bench_state *state) {
    if (state->phase != SPEX_BENCH_RUNNING)
        return;
    state->phase = SPEX_BENCH_PAUSED;
    if (state->singles)
        state->single_spent += ticks_between() - state->single_begun;
    else
        time_add(state);
}

void spex_bench_resume(struct spex_bench_state *state) {
    if (state->phase != SPEX_BENCH_PAUSED)
        return;
    state->phase = SPEX_BENCH_RUNNING;
    if (state->singles)
        state->single_begun = ticks_between();
    else
        state->begun = time_now();
}

void spex_bench_state_run(struct spex_bench_state *state) {
    state->instance->family->function(state);
    if (state->phase == SPEX_BENCH_ENDED)
        return;
    if (state->phase != SPEX_BENCH_BEFORE)
        fail(state, "it has left its loop before the end");
    else if (state->start)
        pthread_barrier_wait(state->start);
    fail(state, "it has no SPEX_BENCH_LOOP");
}
