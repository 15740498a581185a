/* SPDX-License-Identifier: MIT */
/* Every probe macro in every kind of place, in what C and C++ have in common. Each function returns
 * what it would return without probes, and counts what it makes records of. */
#ifndef SPEX_TEST_USAGE_H
#define SPEX_TEST_USAGE_H

#include "other.h"

SPEX_PROBE_NAME(USAGE_PLAIN, "usage.plain");
SPEX_PROBE_NAME(USAGE_MACRO_ID, "usage.macro");

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
    USAGE_RAN(SPEX_TPT);
    LAT_PROBE_END(USAGE_PLAIN);
    USAGE_RAN(SPEX_LAT);
    CNT_PROBE_END(USAGE_PLAIN);
    USAGE_RAN(SPEX_CNT);
    return x;
}

static int usage_snapshots(int x) {
    SNAPSHOT_PROBE(USAGE_PLAIN, 1);
    SNAPSHOT_PROBE(USAGE_PLAIN, 1, usage_value());
    SNAPSHOT_PROBE(USAGE_PLAIN, 1, x, -1);
    SNAPSHOT_PROBE(USAGE_PLAIN, 1, 'a', 2.5, 3u);
    SNAPSHOT_PROBE(USAGE_PLAIN, 1, 1, 2, 3, 4);
    SNAPSHOT_PROBE(USAGE_PLAIN, 1, 1, 2, 3, 4, 5);
    SNAPSHOT_PROBE(USAGE_PLAIN, 1, 1, 2, 3, 4, 5, x > 0 ? 6 : 7);
    for (int i = 0; i < 7; i++)
        USAGE_RAN(SPEX_SNAPSHOT);
    return x;
}

/* The types that read counters of the thread; all at once. */
static int usage_counters(int x) {
    LLC_PROBE_BEGIN(USAGE_TYPES, 1);
    FLT_PROBE_BEGIN(USAGE_TYPES, 1);
    CTXSW_PROBE_BEGIN(USAGE_TYPES, 1);
    PERFCNTR_PROBE_BEGIN(USAGE_TYPES, 1, USAGE_COUNTER);
    x += 1;
    PERFCNTR_PROBE_END(USAGE_TYPES);
    CTXSW_PROBE_END(USAGE_TYPES);
    FLT_PROBE_END(USAGE_TYPES);
    LLC_PROBE_END(USAGE_TYPES);
    USAGE_RAN(SPEX_PERFCNTR);
    USAGE_RAN(SPEX_CTXSW);
    USAGE_RAN(SPEX_FLT);
    USAGE_RAN(SPEX_LLC);
    return x;
}

static int usage_kernels(int x) {
    KERNEL_PROBE_BEGIN(USAGE_PLAIN, 1);
    SPEX_KERNEL_PROBE_BEGIN(USAGE_MACRO_ID, 1, x, x * 2, 'a', 2.5);
    x += 1;
    for (int i = 0; i < 3; i++) {
        KERNEL_PROBE_BEGIN(USAGE_NESTED, 1, i);
        if (i == 1)
            continue;
        KERNEL_PROBE_END(USAGE_NESTED);
        USAGE_RAN(SPEX_KERNEL);
    }
    SPEX_KERNEL_PROBE_END(USAGE_MACRO_ID);
    KERNEL_PROBE_END(USAGE_PLAIN);
    USAGE_RAN(SPEX_KERNEL);
    USAGE_RAN(SPEX_KERNEL);
    return x;
}

/* BEGIN and END in two functions, with keys of several types. */
static void usage_spans_end(const int *place, int x) {
    SPEX_SPAN_END(7, 'a');
    SPEX_SPAN_END("usage.span", usage_value());
    SPEX_SPAN_PROBE_END(USAGE_MACRO_ID, x);
    SPAN_PROBE_END(USAGE_PLAIN, place);
    for (int i = 0; i < 4; i++)
        USAGE_RAN(SPEX_SPAN);
}

static int usage_spans(int x) {
    if (x > 0)
        SPAN_PROBE_BEGIN(USAGE_PLAIN, 1, &x);
    else
        SPAN_PROBE_BEGIN(USAGE_PLAIN, 10, &x);
    SPEX_SPAN_PROBE_BEGIN(USAGE_MACRO_ID, 2, x);
    SPEX_SPAN_BEGIN("usage.span", usage_value());
    SPEX_SPAN_BEGIN(7, 'a');
    usage_spans_end(&x, x);
    return x;
}

/* The word of BEGIN is the name, whatever it is as a macro. */
#define usage_word USAGE_NEVER(

static int usage_words(int x) {
    SPEX_CNT_BEGIN(usage_word);
    SPEX_LAT_BEGIN(usage_word, 10);
    SPEX_TPT_BEGIN(usage_word);
    SPEX_LLC_BEGIN(usage_word);
    SPEX_FLT_BEGIN(usage_word, USAGE_COUNTER);
    SPEX_CTXSW_BEGIN(usage_word);
    SPEX_PERFCNTR_BEGIN(usage_word, USAGE_COUNTER);
    SPEX_PERFCNTR_BEGIN(usage_sampled, 10, USAGE_COUNTER);
    SPEX_KERNEL_BEGIN(usage_word, 1, x);
    x += 1;
    SPEX_KERNEL_END(usage_word);
    SPEX_PERFCNTR_END(usage_sampled);
    SPEX_PERFCNTR_END(usage_word);
    SPEX_CTXSW_END(usage_word);
    SPEX_FLT_END(usage_word);
    SPEX_LLC_END(usage_word);
    SPEX_TPT_END(usage_word);
    SPEX_LAT_END(usage_word);
    SPEX_CNT_END(usage_word);
    USAGE_RAN(SPEX_PERFCNTR);
    for (unsigned type = 0; type < SPEX_PROBE_TYPES; type++)
        usage_executed[type] += !(1u << type & (SPEX_SNAPSHOT | SPEX_SPAN));
    return x;
}

static int usage_names(int x) {
    SPEX_CNT_SCOPE("usage.scope");
    SPEX_LAT_SCOPE("usage.scope", 10);
    SPEX_TPT_SCOPE("usage.scope");
    SPEX_LLC_SCOPE("usage.scope", 10);
    SPEX_FLT_SCOPE("usage.scope");
    SPEX_CTXSW_SCOPE("usage.scope");
    SPEX_PERFCNTR_SCOPE("usage.scope", USAGE_COUNTER);
    SPEX_PERFCNTR_SCOPE("usage.scope", 10, USAGE_COUNTER);
    SPEX_KERNEL_SCOPE("usage.scope", 1, x);
    SPEX_SPAN_BEGIN("usage.sampled", 10, x);
    SPEX_SNAPSHOT("usage.values");
    SPEX_SNAPSHOT("usage.values", usage_value(), -1, 2.5, "text", &x, x);
    SPEX_SPAN_END("usage.sampled", x);
    USAGE_RAN(SPEX_PERFCNTR);
    USAGE_RAN(SPEX_SNAPSHOT);
    for (unsigned type = 0; type < SPEX_PROBE_TYPES; type++)
        usage_executed[type]++;
    return x;
}

static int usage_long_counters(int x) {
    SPEX_LLC_PROBE_BEGIN(USAGE_MACRO_ID, 1);
    SPEX_FLT_PROBE_BEGIN(USAGE_MACRO_ID, 1);
    SPEX_CTXSW_PROBE_BEGIN(USAGE_MACRO_ID, 1);
    SPEX_PERFCNTR_PROBE_BEGIN(USAGE_MACRO_ID, 1, 7);
    if (x < 0)
        return x;
    SPEX_LLC_PROBE_END(USAGE_MACRO_ID);
    SPEX_FLT_PROBE_END(USAGE_MACRO_ID);
    SPEX_CTXSW_PROBE_END(USAGE_MACRO_ID);
    SPEX_PERFCNTR_PROBE_END(USAGE_MACRO_ID);
    USAGE_RAN(SPEX_PERFCNTR);
    USAGE_RAN(SPEX_CTXSW);
    USAGE_RAN(SPEX_FLT);
    USAGE_RAN(SPEX_LLC);
    return x;
}

/* What is set is no event, so that it says the same on every machine. */
static int usage_settings(void) {
#ifdef SPEX_DISABLE
    const int refused = 0;
#else
    const int refused = -22;
#endif
    SET_PERFCNTR(USAGE_COUNTER, ~UINT64_C(0), 0);
    SET_PERFCNTR_NAME(USAGE_COUNTER, "no such event");
    int event = SPEX_SET_PERFCNTR(USAGE_COUNTER, ~UINT64_C(0), 0);
    int name = SET_PERFCNTR_NAME(USAGE_COUNTER, "no such event");
    return event == refused && name == refused &&
           SPEX_SET_PERFCNTR_NAME(8u, "no such counter") == refused &&
           SET_PERFCNTR(8u, 0, 0) == refused;
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
    USAGE_RAN(SPEX_TPT);
    USAGE_RAN(SPEX_LAT);
    USAGE_RAN(SPEX_CNT);
    USAGE_RAN(SPEX_SNAPSHOT);
    return x;
}

/* Blocks that are left in every way. */
static int usage_scopes(int x) {
    SPEX_CNT_SCOPE(USAGE_SCOPE, 1);
    SPEX_LAT_SCOPE(USAGE_SCOPE, 1);
    SPEX_TPT_SCOPE(USAGE_MACRO_ID, 10);
    SPEX_LLC_SCOPE(USAGE_SCOPE, 1);
    SPEX_FLT_SCOPE(USAGE_SCOPE, 1);
    SPEX_CTXSW_SCOPE(USAGE_SCOPE, 1);
    SPEX_PERFCNTR_SCOPE(USAGE_SCOPE, 1, USAGE_COUNTER);
    SPEX_KERNEL_SCOPE(USAGE_SCOPE, 1, x);
    for (unsigned type = 0; type < SPEX_PROBE_TYPES; type++)
        usage_executed[type] += !(1u << type & (SPEX_SNAPSHOT | SPEX_SPAN));
    for (int i = 0; i < 5; i++) {
        SPEX_LAT_SCOPE(USAGE_SCOPE, 1);
        SPEX_PERFCNTR_SCOPE(USAGE_SCOPE, 1, 0);
        USAGE_RAN(SPEX_LAT);
        USAGE_RAN(SPEX_PERFCNTR);
        if (i == 0)
            continue;
        if (i == 1)
            goto next;
        if (i == x)
            break;
        {
            SPEX_LAT_SCOPE(USAGE_PLAIN, 1);
            USAGE_RAN(SPEX_LAT);
        }
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
        USAGE_RAN(SPEX_LAT);
    }
    LAT_PROBE_END(USAGE_NESTED);
    CNT_PROBE_END(USAGE_PLAIN);
    USAGE_RAN(SPEX_LAT);
    USAGE_RAN(SPEX_CNT);
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
        USAGE_RAN(SPEX_TPT);
        if (i > 100)
            break;
    }
    do
        SNAPSHOT_PROBE(USAGE_NESTED, 1, 1);
    while (0);
    USAGE_RAN(SPEX_SNAPSHOT);
    return sum;
}

static int usage_label(int x) {
again:
    CNT_PROBE_BEGIN(USAGE_LABEL, 1);
    x--;
    CNT_PROBE_END(USAGE_LABEL);
    USAGE_RAN(SPEX_CNT);
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
        USAGE_RAN(SPEX_LAT);
        break;
    }
    case 2:
        SNAPSHOT_PROBE(USAGE_SWITCH, 1, 2);
        USAGE_RAN(SPEX_SNAPSHOT);
        break;
    default:
        USAGE_RAN(SPEX_SNAPSHOT);
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
    USAGE_RAN(SPEX_LAT);
    return deepest;
}

static int usage_recursive_scopes(int depth) {
    SPEX_FLT_SCOPE(USAGE_RECURSIVE, 1);
    SPEX_LLC_SCOPE(USAGE_RECURSIVE, 1);
    USAGE_RAN(SPEX_FLT);
    USAGE_RAN(SPEX_LLC);
    return depth > 0 ? usage_recursive_scopes(depth - 1) : 0;
}

/* Probes of all types, scopes without a line of their own, and every way to leave. */
static int usage_region(int x) {
    int sum = 0;
    for (int i = 0; i < 6; i++) {
        SPEX_REGION(1, 20, {
            CNT_PROBE_BEGIN(USAGE_PLAIN, 1);
            PERFCNTR_PROBE_BEGIN(USAGE_TYPES, 1, USAGE_COUNTER);
            CTXSW_PROBE_BEGIN(USAGE_TYPES, 1);
            FLT_PROBE_BEGIN(USAGE_TYPES, 1);
            SPEX_LAT_SCOPE(USAGE_SCOPE, 1);
            SPEX_LAT_SCOPE(USAGE_SCOPE, 1);
            SPEX_LLC_SCOPE(USAGE_SCOPE, 1);
            sum += i, x++;
            FLT_PROBE_END(USAGE_TYPES);
            CTXSW_PROBE_END(USAGE_TYPES);
            PERFCNTR_PROBE_END(USAGE_TYPES);
            CNT_PROBE_END(USAGE_PLAIN);
            SNAPSHOT_PROBE(USAGE_PLAIN, 1, i, sum, x);
            for (unsigned type = 0; type < SPEX_PROBE_TYPES; type++)
                usage_executed[type] += !(1u << type & (SPEX_TPT | SPEX_KERNEL | SPEX_SPAN));
            USAGE_RAN(SPEX_LAT);
            if (i == 1)
                continue;
            if (i == 2)
                goto next;
            if (i == 4)
                break;
            SPEX_TPT_SCOPE(USAGE_MACRO_ID, 1);
            USAGE_RAN(SPEX_TPT);
        })
    next:;
    }
    return sum;
}

static int usage_nested_region(int x) {
    SPEX_REGION(2, 10, {
        SPEX_CNT_SCOPE(USAGE_SCOPE, 1);
        USAGE_RAN(SPEX_CNT);
        for (int i = 0; i < 3; i++)
            SPEX_REGION(USAGE_MACRO_ID, 2, {
                SNAPSHOT_PROBE(USAGE_NESTED, 1, i, x);
                USAGE_RAN(SPEX_SNAPSHOT);
                if (i > 0)
                    SPEX_REGION(3, 1, {
                        SPEX_LAT_SCOPE(USAGE_SCOPE, 1);
                        USAGE_RAN(SPEX_LAT);
                        x += 10;
                        if (x > 20)
                            break;
                        if (x < 0)
                            return x;
                    })
            })
        SNAPSHOT_PROBE(USAGE_NESTED, 1);
        USAGE_RAN(SPEX_SNAPSHOT);
    })
    return x;
}

static int usage_recursive_region(int depth) {
    int deepest = 0;
    SPEX_REGION(4, 1, LAT_PROBE_BEGIN(USAGE_RECURSIVE, 1);
                deepest = depth > 0 ? usage_recursive_region(depth - 1) : 0;
                LAT_PROBE_END(USAGE_RECURSIVE); USAGE_RAN(SPEX_LAT);)
    return deepest;
}

static inline int usage_inline(int x) {
    CNT_PROBE_BEGIN(USAGE_PLAIN, 1);
    x *= 2;
    CNT_PROBE_END(USAGE_PLAIN);
    USAGE_RAN(SPEX_CNT);
    return x;
}

static int usage_all(void) {
    return usage_plain(1) == 2 && usage_snapshots(3) == 3 && usage_counters(1) == 2 &&
           usage_kernels(1) == 2 && usage_spans(1) == 1 && usage_spans(-1) == -1 &&
           usage_words(1) == 2 && usage_names(1) == 1 && usage_long_counters(1) == 1 &&
           usage_long_counters(-1) == -1 && usage_recursive_scopes(5) == 0 && usage_other(1) == 4 &&
           usage_long_names(1) == 2 && usage_nested(4) == 4 && usage_nested(-4) == -1 &&
           usage_loops(10) == 42 && usage_label(5) == 0 && usage_switch(1) == 10 &&
           usage_switch(2) == 2 && usage_switch(0) == 0 && usage_switch(9) == 9 &&
           usage_recursive(5) == 0 && usage_inline(4) == 8 && usage_region(0) == 10 &&
           usage_nested_region(1) == 21 && usage_nested_region(-20) == -10 &&
           usage_recursive_region(3) == 0 && usage_scopes(3) == 3 && usage_scopes(-9) == 9;
}

#endif
