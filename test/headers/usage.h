/* SPDX-License-Identifier: MIT */
/* Every probe macro in every kind of place, in what C and C++ have in common. Each function returns
 * what it would return without probes. */
#ifndef SPEX_TEST_USAGE_H
#define SPEX_TEST_USAGE_H

#include <stdint.h>

#include <spex/probe.h>

enum usage_probe {
    USAGE_PLAIN = 1,
    USAGE_NESTED,
    USAGE_LABEL,
    USAGE_SWITCH,
    USAGE_RECURSIVE,
    USAGE_SCOPE
};
#define USAGE_MACRO_ID 100

SPEX_PROBE_NAME(USAGE_PLAIN, "usage.plain");
SPEX_PROBE_NAME(USAGE_MACRO_ID, "usage.macro");

static int usage_evaluated;

static uint64_t usage_value(void) {
    usage_evaluated++;
    return 5;
}

static int usage_plain(int x) {
    CNT_PROBE_BEGIN(USAGE_PLAIN, 1);
    LAT_PROBE_BEGIN(USAGE_PLAIN, 1);
    TPT_PROBE_BEGIN(USAGE_PLAIN, 1);
    x += 1;
    TPT_PROBE_END(USAGE_PLAIN);
    LAT_PROBE_END(USAGE_PLAIN);
    CNT_PROBE_END(USAGE_PLAIN);
    SNAPSHOT_PROBE(USAGE_PLAIN, 1);
    SNAPSHOT_PROBE(USAGE_PLAIN, 1, usage_value());
    SNAPSHOT_PROBE(USAGE_PLAIN, 1, 1, 2, 3, 4, 5, 6);
    return x;
}

static int usage_long_names(int x) {
    SPEX_CNT_PROBE_BEGIN(USAGE_MACRO_ID, 10);
    SPEX_LAT_PROBE_BEGIN(7, 10);
    SPEX_TPT_PROBE_BEGIN(65535, SPEX_CONTROL_PERIOD_MAX);
    x += 1;
    SPEX_TPT_PROBE_END(65535);
    SPEX_LAT_PROBE_END(7);
    SPEX_CNT_PROBE_END(USAGE_MACRO_ID);
    SPEX_SNAPSHOT_PROBE(0, 1, usage_value(), usage_value());
    return x;
}

/* Blocks that are left in every way; five of the LAT probe USAGE_SCOPE for x = 3. */
static int usage_scopes(int x) {
    SPEX_CNT_SCOPE(USAGE_SCOPE, 1);
    SPEX_LAT_SCOPE(USAGE_SCOPE, 1);
    SPEX_TPT_SCOPE(USAGE_MACRO_ID, 10);
    for (int i = 0; i < 5; i++) {
        SPEX_LAT_SCOPE(USAGE_SCOPE, 1);
        if (i == 0)
            continue;
        if (i == 1)
            goto next;
        if (i == x)
            break;
        { SPEX_LAT_SCOPE(USAGE_PLAIN, 1); }
    next:;
    }
    if (x > 0)
        return x;
    return -x;
}

/* The same id again in an inner block, overlapping spans, leaving from between BEGIN and END. */
static int usage_nested(int x) {
    LAT_PROBE_BEGIN(USAGE_NESTED, 1);
    CNT_PROBE_BEGIN(USAGE_PLAIN, 1);
    {
        LAT_PROBE_BEGIN(USAGE_PLAIN, 1);
        if (x < 0)
            return -1;
        LAT_PROBE_END(USAGE_PLAIN);
    }
    LAT_PROBE_END(USAGE_NESTED);
    CNT_PROBE_END(USAGE_PLAIN);
    return x;
}

static int usage_loops(int times) {
    int sum = 0;
    for (int i = 0; i < times; i++) {
        TPT_PROBE_BEGIN(USAGE_PLAIN, 2);
        if (i == 3)
            continue;
        sum += i;
        TPT_PROBE_END(USAGE_PLAIN);
        if (i > 100)
            break;
    }
    do
        SNAPSHOT_PROBE(USAGE_NESTED, 1, 1);
    while (0);
    return sum;
}

static int usage_label(int x) {
again:
    CNT_PROBE_BEGIN(USAGE_LABEL, 1);
    x--;
    CNT_PROBE_END(USAGE_LABEL);
    if (x > 0)
        goto again;
    return x;
}

static int usage_switch(int x) {
    switch (x) {
    case 1: {
        LAT_PROBE_BEGIN(USAGE_SWITCH, 1);
        x = 10;
        LAT_PROBE_END(USAGE_SWITCH);
        break;
    }
    case 2:
        SNAPSHOT_PROBE(USAGE_SWITCH, 1, 2);
        break;
    default:
        if (x)
            SNAPSHOT_PROBE(USAGE_SWITCH, 1);
        else
            SNAPSHOT_PROBE(USAGE_SWITCH, 1, 0);
    }
    return x;
}

static int usage_recursive(int depth) {
    LAT_PROBE_BEGIN(USAGE_RECURSIVE, 1);
    int deepest = depth > 0 ? usage_recursive(depth - 1) : 0;
    LAT_PROBE_END(USAGE_RECURSIVE);
    return deepest;
}

static inline int usage_inline(int x) {
    CNT_PROBE_BEGIN(USAGE_PLAIN, 1);
    x *= 2;
    CNT_PROBE_END(USAGE_PLAIN);
    return x;
}

static int usage_all(void) {
    return usage_plain(1) == 2 && usage_long_names(1) == 2 && usage_nested(4) == 4 &&
           usage_nested(-4) == -1 && usage_loops(10) == 42 && usage_label(5) == 0 &&
           usage_switch(1) == 10 && usage_switch(2) == 2 && usage_switch(0) == 0 &&
           usage_switch(9) == 9 && usage_recursive(5) == 0 && usage_inline(4) == 8 &&
           usage_scopes(3) == 3 && usage_scopes(-9) == 9;
}

#endif
