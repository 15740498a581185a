/* SPDX-License-Identifier: MIT */
/* What two translation units have in common: inline functions that each of them may have a copy of,
 * of which the linker keeps one. */
#ifndef SPEX_TEST_OTHER_H
#define SPEX_TEST_OTHER_H

#include <stdint.h>

#include <spex/kernel.h>
#include <spex/probe.h>

enum usage_probe {
    USAGE_PLAIN = 1,
    USAGE_NESTED,
    USAGE_LABEL,
    USAGE_SWITCH,
    USAGE_RECURSIVE,
    USAGE_SCOPE,
    USAGE_TYPES,
    USAGE_SHARED
};
#define USAGE_MACRO_ID 100
#define USAGE_COUNTER  2

#ifdef __cplusplus
extern "C" {
#endif

/* How often an execution of a probe of each type, by its bit, has come to its end; and a value has
 * been evaluated. */
extern uint64_t usage_executed[SPEX_PROBE_TYPES];
extern int usage_evaluated;

/* In another translation unit, which may be a shared library. */
int usage_other(int x);

#ifdef __cplusplus
}
#endif

#define USAGE_RAN(type) (void)usage_executed[__builtin_ctz(type)]++

#ifdef __cplusplus

template <typename Number> struct UsageShared {
    Number value;
    explicit UsageShared(Number start) : value(start) {
        SPEX_LAT_SCOPE(USAGE_SHARED, 1);
        USAGE_RAN(SPEX_LAT);
    }
    Number twice() const {
        TPT_PROBE_BEGIN(USAGE_SHARED, 1);
        Number result = static_cast<Number>(value * 2);
        TPT_PROBE_END(USAGE_SHARED);
        USAGE_RAN(SPEX_TPT);
        return result;
    }
};

inline int usage_shared(int x) {
    SPEX_CTXSW_SCOPE(USAGE_SHARED, 1);
    USAGE_RAN(SPEX_CTXSW);
    SNAPSHOT_PROBE(USAGE_SHARED, 1, x);
    USAGE_RAN(SPEX_SNAPSHOT);
    return UsageShared<int>(x).twice();
}

#else

static inline int usage_shared(int x) {
    SPEX_CTXSW_SCOPE(USAGE_SHARED, 1);
    USAGE_RAN(SPEX_CTXSW);
    SNAPSHOT_PROBE(USAGE_SHARED, 1, x);
    USAGE_RAN(SPEX_SNAPSHOT);
    return x * 2;
}

#endif
#endif
