/* SPDX-License-Identifier: MIT */
/* Torture below the probes: records of every type's size go into rings by the code that probes use,
 * and every word of a record follows from its first, so that each record carries its checksum.
 *
 *     torture_words RING_RECORDS RING_CPUS [--seconds N] [--seed N]
 *
 * SPEX_COMMIT chooses the way of committing; the rest is as in torture.c. */
#define _GNU_SOURCE
#include "torture.h"

#include "probe/recording.h"

enum { TURN_BITS = 16, RINGS = TORTURE_CPUS + 1 };

/* What has come out of a life. */
struct captured {
    uint64_t latest[TORTURE_TYPES][TORTURE_SOURCES][RINGS]; /* turn */
    struct torture_seen turns[TORTURE_TYPES][TORTURE_SOURCES];
};

static struct captured captured[TORTURE_LIVES];
static struct spex_rings rings;
static uint64_t records;

static uint64_t key_of(uint32_t life, enum torture_source source, uint64_t turn) {
    return ((uint64_t)life << 1 | source) << TURN_BITS | turn;
}

static uint64_t word_of(uint64_t key, unsigned type, uint32_t word) {
    return word == 0 ? key
                     : torture_mix((key * SPEX_PROBE_TYPES + type) * SPEX_RECORD_WORDS_MAX + word);
}

static void push(unsigned type, uint64_t key) {
    uint64_t words[SPEX_RECORD_WORDS_MAX];
    uint32_t probe_type = spex_probe_type_of_ring(type);
    uint32_t values = spex_probe_type_values(probe_type);
    for (uint32_t w = 0; w < SPEX_HEADER_WORDS + values; w++)
        words[w] = word_of(key, type, w);
    if (values == 0)
        spex_put0(&rings, probe_type, words[0], words[1]);
    else if (values == 1)
        spex_put1(&rings, probe_type, words[0], words[1], words[2]);
    else
        spex_put(&rings, probe_type, words[0], words[1], words + SPEX_HEADER_WORDS, values);
}

static void turn(struct torture_life *life, enum torture_source source, uint64_t turn) {
    for (unsigned t = 0; t < TORTURE_TYPES; t++) {
        life->executed[source][t]++;
        push(t, key_of(life->number, source, turn));
    }
}

/* `ring` is the type's on a CPU, or the shared one, whose records have the CPU behind their
 * words. */
static void see(const uint64_t *words, uint32_t count, unsigned type, unsigned cpu) {
    uint64_t turn = words[0] & ((1u << TURN_BITS) - 1);
    unsigned source = words[0] >> TURN_BITS & 1;
    uint64_t life = words[0] >> (TURN_BITS + 1);
    bool shared = cpu == rings.cpus;
    for (uint32_t w = 0; w < count - shared; w++)
        if (words[w] != word_of(words[0], type, w))
            torture_fail("a torn record");
    if (life >= TORTURE_LIVES)
        torture_fail("a record of no thread");
    unsigned of = torture_cpu(shared ? (unsigned)words[count - 1] : cpu);
    uint64_t *latest = &captured[life].latest[type][source][shared ? TORTURE_CPUS : of];
    if (turn <= *latest)
        torture_fail("a record twice or out of order");
    *latest = turn;
    torture_see(&captured[life].turns[type][source], turn);
    records++;
}

static uint64_t read_ring(unsigned r, uint64_t *out, size_t max) {
    struct spex_ring ring = spex_rings_at(&rings, r);
    size_t count = spex_ring_read(&ring, out, max);
    for (size_t i = 0; i < count; i++)
        see(out + i * ring.record_words, ring.record_words, r % SPEX_PROBE_TYPES,
            r / SPEX_PROBE_TYPES);
    return count;
}

static unsigned ring_count(void) {
    return (rings.cpus + 1) * SPEX_PROBE_TYPES;
}

static bool all_drained(void) {
    for (unsigned r = 0; r < ring_count(); r++) {
        struct spex_ring ring = spex_rings_at(&rings, r);
        if (!spex_ring_drained(&ring))
            return false;
    }
    return true;
}

/* Until the round is over and everything read. */
static void *read_all(void *arg) {
    enum { BATCH = 128 };
    static uint64_t out[BATCH * SPEX_RECORD_WORDS_MAX];
    bool *over = arg;
    for (uint64_t visit = 1; !spex_load_acquire(over) || !all_drained(); visit++) { /* O1 (O2) */
        for (unsigned r = 0; r < ring_count(); r++)
            read_ring(r, out, 1 + torture_mix(visit) % BATCH);
        sched_yield();
    }
    return NULL;
}

static void check(void) {
    struct spex_ring_counts sum = {0};
    uint64_t executed = torture_executed();
    for (unsigned r = 0; r < ring_count(); r++) {
        struct spex_ring ring = spex_rings_at(&rings, r);
        struct spex_ring_counts one = spex_ring_count(&ring);
        sum.produced += one.produced;
        sum.consumed += one.consumed;
        sum.lost += one.lost;
        sum.pending += one.pending;
    }
    printf("%llu pushed: %llu produced, %llu consumed, %llu lost\n", (unsigned long long)executed,
           (unsigned long long)sum.produced, (unsigned long long)sum.consumed,
           (unsigned long long)sum.lost);
    if (sum.produced != executed)
        torture_fail("produced is not what was pushed");
    if (sum.produced != sum.consumed + sum.lost || sum.pending)
        torture_fail("produced is not consumed + lost");
    if (sum.consumed != records || records == 0)
        torture_fail("consumed is not what was read");
}

static void round_run(size_t capacity, unsigned cpus, enum spex_commit commit, uint64_t *seed) {
    pthread_t reader;
    bool over = false;
    if (spex_rings_map(&rings, capacity, cpus, commit) != 0)
        torture_fail("no rings");
    if (pthread_create(&reader, NULL, read_all, &over) != 0)
        torture_fail("no thread");
    torture_round(seed);
    spex_store_release(&over, true); /* O2 (O1) */
    pthread_join(reader, NULL);
    check();
    memset(captured, 0, torture_lives_count * sizeof(captured[0]));
    records = 0;
    spex_rings_unmap(&rings);
}

int main(int argc, char **argv) {
    uint64_t seconds, seed;
    if (argc < 3)
        return 2;
    const char *wanted = getenv("SPEX_COMMIT");
    bool atomic = wanted && strcmp(wanted, "atomic") == 0;
    enum spex_commit commit =
        atomic || !spex_rseq_available() ? SPEX_COMMIT_ATOMIC : SPEX_COMMIT_RSEQ;
    torture_begin_all(argc, argv, 3, &seconds, &seed);
    torture = (struct torture){.turn = turn};
    uint64_t end = torture_now_ms() + seconds * 1000;
    while (torture_now_ms() < end)
        round_run(strtoul(argv[1], NULL, 10), (unsigned)strtoul(argv[2], NULL, 10), commit, &seed);
    return 0;
}
