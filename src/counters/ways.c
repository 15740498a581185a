/* SPDX-License-Identifier: MIT */
/* The ways by name, and their order of preference for each counter. */
#include "counters/ways.h"

#include <string.h>

#include <spex/compiler.h>

#define ALL_WAYS ((1u << SPEX_WAYS) - 1)

static const struct {
    const char *name;
    const char *text;
} way_names[SPEX_WAYS] = {
    [SPEX_WAY_NONE] = {"none", "nothing"},
    [SPEX_WAY_FAULT_RECORDS] = {"fault-records", "the head of a ring with a record for each"},
    [SPEX_WAY_SWITCH_COUNT] = {"switch-count", "the count in a mapped event page"},
    [SPEX_WAY_SWITCH_RECORDS] = {"switch-records", "the head of a ring with two records for each"},
    [SPEX_WAY_RDPMC] = {"rdpmc", "the processor's instruction"},
    [SPEX_WAY_READ] = {"read", "read() on the event"},
    [SPEX_WAY_RUSAGE] = {"rusage", "getrusage"},
};

/* Mask of the ways that SPEX_COUNTERS allows. Relaxed: it is set before threads open counters. */
static uint32_t allowed_ways = ALL_WAYS;

const char *spex_way_text(enum spex_way way) {
    return way_names[way].text;
}

/* Memory that the kernel keeps up to date comes first, then the processor's instruction, then
 * system calls: the order of cost. */
const enum spex_way *spex_ways_of(enum spex_counter counter) {
    static const enum spex_way faults[] = {SPEX_WAY_FAULT_RECORDS, SPEX_WAY_RUSAGE, SPEX_WAY_NONE};
    static const enum spex_way switches[] = {SPEX_WAY_SWITCH_COUNT, SPEX_WAY_SWITCH_RECORDS,
                                             SPEX_WAY_RUSAGE, SPEX_WAY_NONE};
    static const enum spex_way others[] = {SPEX_WAY_RDPMC, SPEX_WAY_READ, SPEX_WAY_NONE};
    return counter == SPEX_COUNTER_FAULTS     ? faults
           : counter == SPEX_COUNTER_SWITCHES ? switches
                                              : others;
}

/* The way of this name; SPEX_WAYS: there is none. */
static enum spex_way way_named(const char *name, size_t length) {
    for (enum spex_way way = SPEX_WAY_NONE; way < SPEX_WAYS; way++)
        if (strlen(way_names[way].name) == length && memcmp(way_names[way].name, name, length) == 0)
            return way;
    return SPEX_WAYS;
}

/* The way "none" needs not be allowed: it is what remains when no other works. */
SPEX_COLD bool spex_ways_parse(const char *list, uint32_t *allowed) {
    *allowed = ALL_WAYS;
    if (!list || !*list)
        return true;
    *allowed = 0;
    for (;;) {
        size_t length = strcspn(list, ",");
        enum spex_way way = way_named(list, length);
        if (way == SPEX_WAYS)
            return false;
        *allowed |= 1u << way;
        if (!list[length])
            return true;
        list += length + 1;
    }
}

bool spex_way_allowed(enum spex_way way) {
    return spex_load_relaxed(&allowed_ways) >> way & 1;
}

bool spex_ways_allow(uint32_t allowed) {
    bool changed = allowed != spex_load_relaxed(&allowed_ways);
    spex_store_relaxed(&allowed_ways, allowed);
    return changed;
}
