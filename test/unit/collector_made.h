/* SPDX-License-Identifier: MIT */
/* Collectors alone, with rings, sinks, chores and a clock of the test's. Their threads are that of
 * the test. To be included once, with _GNU_SOURCE. */
#ifndef SPEX_TEST_COLLECTOR_MADE_H
#define SPEX_TEST_COLLECTOR_MADE_H

#include <errno.h>
#include <math.h>
#include <pthread.h>

#include <spex/ticks.h>

#include "../check.h"
#include "collect/collector.h"

static uint64_t made_ticks(void);
static void *made_malloc(size_t bytes);
static int made_join(pthread_t thread, void **result);

#define spex_ticks   made_ticks
#define spex_malloc  made_malloc
#define pthread_join made_join
#include "collect/collector.c"
#undef spex_malloc
#undef pthread_join

enum { CPUS = 2, RINGS = (CPUS + 1) * SPEX_PROBE_TYPES, EVENTS = 4000, RESTS = 500, PASSES = 400 };

struct spex_rings spex_rings;

/* What a collector has done, in order. */
struct event {
    enum { BATCH, PASS, CHORE } kind;
    unsigned number; /* the ring, the collector, or the chore */
    size_t count;
    uint64_t watermark;
};

static int joined;

static struct {
    uint64_t ticks;
    uint32_t used, sites_on;
    enum spex_commit commit;
    /* Of each ring: records in it, when the next one was made, and what is told of it. */
    size_t pending[RINGS];
    uint64_t times[RINGS];
    bool stuck[RINGS], undrained[RINGS];
    double fills[RINGS];
    bool prompt, holds;
    uint64_t due_ns[2];
    struct event events[EVENTS];
    size_t event_count;
    /* The rests, and after how many the collectors stop. */
    struct {
        uint64_t ns;
        bool idle;
    } rests[RESTS];
    size_t rest_count, stop_after;
    void (*at_rest)(void), (*at_pass)(void);
    size_t passes;
    unsigned rung;
    unsigned alarms;
    /* CPU time of the calling thread, and when it was noted. */
    uint64_t cpu_ns;
    unsigned notes;
    int prepare_error, thread_error, allocations_left, blocks;
    unsigned threads_left, started, forgotten;
} world;

static uint64_t made_ticks(void) {
    return world.ticks;
}

static int made_join(pthread_t thread, void **result) {
    (void)thread;
    assert_null(result);
    return joined++ < 0;
}

static void *made_malloc(size_t bytes) {
    return world.allocations_left-- > 0 ? malloc(bytes) : NULL;
}

uint32_t spex_sites_on(void) {
    return world.sites_on;
}

unsigned spex_rings_count(void) {
    return RINGS;
}

uint32_t spex_rings_used(void) {
    return world.used;
}

struct spex_ring spex_rings_at(const struct spex_rings *rings, unsigned ring) {
    assert_ptr_equal(rings, &spex_rings);
    assert_true(ring < RINGS);
    return (struct spex_ring){.mask = ring, .record_words = 2 + ring, .commit = world.commit};
}

double spex_ring_fill(const struct spex_ring *ring) {
    return world.fills[ring->mask];
}

bool spex_ring_stuck(const struct spex_ring *ring) {
    return world.stuck[ring->mask];
}

bool spex_ring_drained(const struct spex_ring *ring) {
    return !world.undrained[ring->mask];
}

size_t spex_decode_ring(unsigned ring, struct spex_record *records, size_t max, uint64_t *scratch) {
    size_t count = world.pending[ring] < max ? world.pending[ring] : max;
    for (size_t r = 0; r < count; r++) {
        records[r] = (struct spex_record){.timestamp = world.times[ring]++};
        scratch[(r + 1) * SPEX_RECORD_WORDS_MAX - 1] = ring;
    }
    world.pending[ring] -= count;
    return count;
}

int spex_decode_prepare(void) {
    return world.prepare_error;
}

void spex_decode_fork_child(void) {
    world.forgotten++;
}

static void event_add(struct event event) {
    if (world.event_count < EVENTS)
        world.events[world.event_count++] = event;
}

void spex_sinks_records(const struct spex_batch *batch) {
    unsigned ring = batch->record_words - 2;
    assert_true(batch->count > 0);
    assert_int_equal(batch->words[batch->count * SPEX_RECORD_WORDS_MAX - 1], ring);
    assert_int_equal(batch->records[batch->count - 1].timestamp, world.times[ring] - 1);
    assert_int_equal(batch->cpu,
                     ring / SPEX_PROBE_TYPES < CPUS ? ring / SPEX_PROBE_TYPES : SPEX_STREAM_NO_CPU);
    event_add((struct event){.kind = BATCH, .number = ring, .count = batch->count});
}

void spex_sinks_pass(unsigned collector, uint64_t watermark) {
    event_add((struct event){.kind = PASS, .number = collector, .watermark = watermark});
    if (world.at_pass)
        world.at_pass();
}

bool spex_sinks_prompt(void) {
    return world.prompt;
}

void spex_doorbell_ring(void) {
    world.rung++;
}

int32_t spex_doorbell_rings(void) {
    return 41;
}

void spex_doorbell_alarm(void) {
    world.alarms++;
}

void spex_doorbell_rest(uint64_t ns, bool idle, int32_t *seen) {
    assert_int_equal(*seen, 41);
    assert_true(world.rest_count < RESTS);
    world.rests[world.rest_count].ns = ns;
    world.rests[world.rest_count++].idle = idle;
    if (world.at_rest)
        world.at_rest();
    if (world.rest_count == world.stop_after)
        collectors.stopping = true;
}

void spex_service_cpu_note(uint64_t *since) {
    assert_true(*since <= world.cpu_ns);
    *since = world.cpu_ns;
    world.notes++;
}

int spex_service_thread_start(pthread_t *thread, const char *name, size_t stack,
                              void *(*run)(void *), void *arg) {
    (void)thread;
    assert_string_equal(name, "spex-collector");
    assert_int_equal(stack, SPEX_SERVICE_STACK);
    assert_ptr_equal(run, collector_run);
    if (world.started == world.threads_left)
        return -EAGAIN;
    assert_ptr_equal(arg, &collectors.threads[world.started++]);
    return 0;
}

/* ---- chores ---- */

static void first_pass(void) {
    event_add((struct event){.kind = CHORE, .number = 0});
}

static void second_pass(void) {
    event_add((struct event){.kind = CHORE, .number = 1});
}

static uint64_t first_due_ns(void) {
    return world.due_ns[0];
}

static uint64_t second_due_ns(void) {
    return world.due_ns[1];
}

static bool second_holds(void) {
    return world.holds;
}

static const struct spex_chore chores[] = {
    {.pass = first_pass, .due_ns = first_due_ns, .timed = true},
    {.pass = second_pass, .due_ns = second_due_ns, .holds = second_holds},
    {.pass = first_pass},
};

static inline int setup(void **state) {
    (void)state;
    memset(&world, 0, sizeof(world));
    joined = 0;
    world.ticks = 1000;
    world.used = (1u << SPEX_PROBE_TYPES) - 1;
    world.sites_on = 1;
    world.due_ns[0] = world.due_ns[1] = UINT64_MAX;
    world.threads_left = SPEX_MAX_COLLECTORS;
    world.allocations_left = 2 * SPEX_MAX_COLLECTORS;
    spex_rings.cpus = CPUS;
    return 0;
}

static inline int teardown(void **state) {
    (void)state;
    spex_collectors_stop();
    collectors.former_cpu_ns = 0;
    return 0;
}

static inline void begin(unsigned count, unsigned batch) {
    world.started = 0;
    assert_int_equal(spex_collectors_start(count, batch), 0);
    spex_collectors_begin(chores, COUNT_OF(chores));
}

#endif
