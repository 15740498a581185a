/* SPDX-License-Identifier: MIT */
/* The rings of a process that has died, as commands read them: what has not come is there
 * once, and a file with anything in it harms nobody. */
#include "observe/remains/remains.h"

#include <sys/mman.h>

#include "../check.h"
#include "ring/record_layout.h"
#include "ring/rings.h"

enum { RECORDS = 64, CPUS = 2, SITE = 3, GARBAGE_FILES = 2000, THREAD = 12345 };

static struct {
    size_t count;
    struct spex_record records[4 * RECORDS];
} taken;

static void take(void *user, const struct spex_record *records, uint32_t count) {
    (void)user;
    for (uint32_t r = 0; r < count; r++)
        if (taken.count < COUNT_OF(taken.records))
            taken.records[taken.count++] = records[r];
}

static struct spex_stream_probes probes;

/* Rings in a file, as the process has them. */
struct dead {
    int file;
    struct spex_rings rings;
};

static void dead_make(struct dead *dead, enum spex_commit commit) {
    spex_rings_lay_out(&dead->rings, RECORDS, CPUS, commit);
    dead->file = memfd_create("test", MFD_CLOEXEC);
    assert_int_equal(ftruncate(dead->file, (off_t)dead->rings.bytes), 0);
    dead->rings.memory =
        mmap(NULL, dead->rings.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, dead->file, 0);
    assert_true(dead->rings.memory != MAP_FAILED);
    ((uint32_t *)(void *)(dead->rings.memory + dead->rings.threads_at))[THREAD] = 77;
}

static struct spex_remains *dead_open(const struct dead *dead, uint64_t consumed) {
    const struct spex_stream_rings rings = {dead->rings.bytes, RECORDS, CPUS, dead->rings.commit,
                                            SPEX_PROBE_TYPES};
    const struct spex_stream_header header = {.consumed = consumed};
    const struct spex_stream_site site = {
        .index = SITE, .probe_id = 9, .probe_type = SPEX_LAT, .values = 1};
    struct spex_remains *remains = spex_remains_open(&header, &rings, dup(dead->file), &probes);
    assert_non_null(remains);
    spex_stream_probes_note(&probes, &site);
    return remains;
}

static void dead_end(struct dead *dead, struct spex_remains *remains) {
    spex_remains_free(remains);
    munmap(dead->rings.memory, dead->rings.bytes);
    close(dead->file);
}

/* As the library pushes it on CPU 1. */
static void push(const struct spex_rings *rings, unsigned site, uint64_t number) {
    struct spex_ring ring =
        spex_rings_at(rings, SPEX_PROBE_TYPES + (unsigned)__builtin_ctz(SPEX_LAT));
    uint64_t at = ring.producer->commit, *slot = ring.slots + (at & ring.mask) * ring.record_words;
    ring.producer->reserve = at + 1;
    slot[0] = 1000 + number;
    slot[1] = spex_pack(1, THREAD, site, 0);
    slot[2] = number;
    ring.producer->commit = at + 1;
}

/* The collector takes `count`, of which the first `sent` come. */
static void collect(const struct dead *dead, struct spex_remains *remains, size_t count,
                    size_t sent) {
    struct spex_ring ring =
        spex_rings_at(&dead->rings, SPEX_PROBE_TYPES + (unsigned)__builtin_ctz(SPEX_LAT));
    uint64_t words[RECORDS * SPEX_RECORD_WORDS_MAX];
    const struct spex_stream_packed from = {.cpu = 1, .probe_type = SPEX_LAT};
    assert_int_equal(spex_ring_read(&ring, words, count), count);
    spex_remains_received(remains, &from, (uint32_t)sent);
}

static void check_taken(uint64_t first, size_t count) {
    assert_int_equal(taken.count, count);
    for (size_t r = 0; r < count; r++) {
        assert_int_equal(taken.records[r].fields[0], first + r);
        assert_int_equal(taken.records[r].timestamp, 1000 + first + r);
        assert_int_equal(taken.records[r].probe_id, 9);
        assert_int_equal(taken.records[r].cpu_id, 1);
        assert_int_equal(taken.records[r].thread_id, 77);
    }
    taken.count = 0;
}

TEST(what_has_not_come_is_there) {
    struct dead dead;
    dead_make(&dead, SPEX_COMMIT_RSEQ);
    struct spex_remains *remains = dead_open(&dead, 0);
    for (uint64_t n = 0; n < 50; n++)
        push(&dead.rings, SITE, n);
    collect(&dead, remains, 20, 20);
    collect(&dead, remains, 20, 5);
    assert_int_equal(spex_remains_take(remains, take, NULL), 0);
    check_taken(25, 25);
    dead_end(&dead, remains);
}

/* 150 - 64 were overwritten. */
TEST(what_was_overwritten_is_lost) {
    struct dead dead;
    dead_make(&dead, SPEX_COMMIT_RSEQ);
    struct spex_remains *remains = dead_open(&dead, 0);
    for (uint64_t n = 0; n < 150; n++)
        push(&dead.rings, SITE, n);
    assert_int_equal(spex_remains_take(remains, take, NULL), 150 - RECORDS);
    check_taken(150 - RECORDS, RECORDS);
    dead_end(&dead, remains);
}

TEST(unknown_sites_are_lost) {
    struct dead dead;
    dead_make(&dead, SPEX_COMMIT_RSEQ);
    struct spex_remains *remains = dead_open(&dead, 0);
    push(&dead.rings, SITE, 0);
    push(&dead.rings, SITE + 1, 1);
    assert_int_equal(spex_remains_take(remains, take, NULL), 1);
    check_taken(0, 1);
    dead_end(&dead, remains);
}

TEST(records_with_atomic_commits_are_there) {
    struct dead dead;
    dead_make(&dead, SPEX_COMMIT_ATOMIC);
    struct spex_remains *remains = dead_open(&dead, 0);
    for (uint64_t n = 0; n < 10; n++) {
        const uint64_t words[] = {1000 + n, spex_pack(1, THREAD, SITE, 0), n};
        spex_rings_push_atomic(&dead.rings, (unsigned)__builtin_ctz(SPEX_LAT), words, 3);
    }
    assert_int_equal(spex_remains_take(remains, take, NULL), 0);
    assert_int_equal(taken.count, 10);
    taken.count = 0;
    dead_end(&dead, remains);
}

TEST(other_rings_are_refused) {
    struct dead dead;
    const struct spex_stream_header header = {0};
    dead_make(&dead, SPEX_COMMIT_RSEQ);
    const struct spex_stream_rings good = {dead.rings.bytes, RECORDS, CPUS, SPEX_COMMIT_RSEQ,
                                           SPEX_PROBE_TYPES};
    struct spex_stream_rings wrong[] = {good, good, good, good, good, good};
    wrong[0].bytes++;
    wrong[1].records = RECORDS - 1;
    wrong[2].cpus = UINT32_MAX;
    wrong[3].commit = 3;
    wrong[4].types--;
    wrong[5].records = 0;
    for (size_t w = 0; w < COUNT_OF(wrong); w++)
        assert_null(spex_remains_open(&header, &wrong[w], dup(dead.file), &probes));
    assert_int_equal(ftruncate(dead.file, 4096), 0);
    assert_null(spex_remains_open(&header, &good, dup(dead.file), &probes));
    dead_end(&dead, NULL);
}

/* The words that say where a ring's records are, and some of the records, are at random. */
TEST(garbage_harms_nobody) {
    uint64_t random = 1;
    for (int f = 0; f < GARBAGE_FILES; f++) {
        struct dead dead;
        dead_make(&dead, f & 1 ? SPEX_COMMIT_ATOMIC : SPEX_COMMIT_RSEQ);
        struct spex_remains *remains = dead_open(&dead, 0);
        uint64_t *words = (uint64_t *)dead.rings.memory;
        for (size_t w = 0; w < dead.rings.bytes / sizeof(*words); w += 1 + random_below(&random, 8))
            words[w] = random_next(&random) >> random_below(&random, 64);
        spex_remains_take(remains, take, NULL);
        taken.count = 0;
        dead_end(&dead, remains);
    }
}
