/* SPDX-License-Identifier: MIT */
/* A cache of the last million keys: an open hash table with linear probing, whose lookups
 * mostly succeed. Operations take tens of nanoseconds, so that its probes execute many million
 * times a second. */
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <spex/probe.h>

#include "budget_random.h"
#include "budget_workload.h"

enum { LOOKUP = 1, INSERT, ERASE, WINDOW };
SPEX_PROBE_NAME(LOOKUP, "lookup");
SPEX_PROBE_NAME(INSERT, "insert");
SPEX_PROBE_NAME(ERASE, "erase");
SPEX_PROBE_NAME(WINDOW, "window");

enum {
    ENTRIES = 1000000,
    SLOTS = 1 << 21, /* a power of two */
    LOOKUPS = 16,    /* for each new key */
    REPETITIONS = 8, /* new keys in a call of hash_work */
};

struct entry {
    uint64_t key; /* 0: the slot is empty */
    uint64_t value;
};

struct table {
    uint64_t random;
    /* Keys are newest - ENTRIES + 1 to newest. */
    uint64_t newest;
    /* Sum of the values that were found. */
    uint64_t found;
    struct entry slots[SLOTS];
};

/* Fibonacci hashing. */
static size_t slot_of_key(uint64_t key) {
    return (size_t)((key * 0x9E3779B97F4A7C15u) >> 43) & (SLOTS - 1);
}

/* The slot of the key, or the empty slot where it would be. */
static size_t table_find(const struct table *table, uint64_t key) {
    size_t slot = slot_of_key(key);
    while (table->slots[slot].key && table->slots[slot].key != key)
        slot = (slot + 1) & (SLOTS - 1);
    return slot;
}

static void table_insert(struct table *table, uint64_t key) {
    table->slots[table_find(table, key)] = (struct entry){.key = key, .value = key ^ table->found};
}

/* Moves the following entries up, each at most to its own slot (Knuth, volume 3, section 6.4,
 * algorithm R). */
static void table_erase(struct table *table, uint64_t key) {
    size_t hole = table_find(table, key);
    for (size_t next = (hole + 1) & (SLOTS - 1); table->slots[next].key;
         next = (next + 1) & (SLOTS - 1)) {
        size_t wanted = slot_of_key(table->slots[next].key);
        if (((next - wanted) & (SLOTS - 1)) < ((next - hole) & (SLOTS - 1)))
            continue;
        table->slots[hole] = table->slots[next];
        hole = next;
    }
    table->slots[hole].key = 0;
}

static void table_look_up(struct table *table) {
    uint64_t key = table->newest - budget_random(&table->random, ENTRIES);
    SPEX_LAT_PROBE_BEGIN(LOOKUP, 1);
    table->found += table->slots[table_find(table, key)].value;
    SPEX_LAT_PROBE_END(LOOKUP);
}

static void table_renew(struct table *table) {
    SPEX_CNT_PROBE_BEGIN(INSERT, 1);
    table_insert(table, ++table->newest);
    SPEX_CNT_PROBE_END(INSERT);
    SPEX_CNT_PROBE_BEGIN(ERASE, 1);
    table_erase(table, table->newest - ENTRIES);
    SPEX_CNT_PROBE_END(ERASE);
}

static void *hash_prepare(void) {
    struct table *table = calloc(1, sizeof(*table));
    if (!table)
        err(1, "hash");
    table->random = 1;
    while (table->newest < ENTRIES)
        table_insert(table, ++table->newest);
    return table;
}

static unsigned hash_work(void *state) {
    struct table *table = state;
    for (unsigned r = 0; r < REPETITIONS; r++) {
        for (unsigned l = 0; l < LOOKUPS; l++)
            table_look_up(table);
        table_renew(table);
    }
    SPEX_SNAPSHOT_PROBE(WINDOW, 1, table->newest, table->found);
    return REPETITIONS * (LOOKUPS + 1);
}

const struct budget_workload budget_hash = {
    .name = "hash", .prepare = hash_prepare, .work = hash_work};
