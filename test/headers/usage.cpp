/* SPDX-License-Identifier: MIT */
/* Uses the macros where only C++ has places for them: templates, lambdas, constructors, inline and
 * member functions, exceptions. */
#include "usage.h"

#include <spex/spex.h>

namespace {

template <typename Number> Number twice(Number x) {
    LAT_PROBE_BEGIN(USAGE_PLAIN, 1);
    x = static_cast<Number>(x * 2);
    LAT_PROBE_END(USAGE_PLAIN);
    SNAPSHOT_PROBE(USAGE_PLAIN, 1, x);
    return x;
}

struct Counter {
    int value;
    explicit Counter(int start) : value(start) {
        CNT_PROBE_BEGIN(USAGE_NESTED, 1);
        value++;
        CNT_PROBE_END(USAGE_NESTED);
    }
    ~Counter() {
        SNAPSHOT_PROBE(USAGE_NESTED, 1, value);
    }
    int next() {
        TPT_PROBE_BEGIN(USAGE_NESTED, 1);
        value++;
        TPT_PROBE_END(USAGE_NESTED);
        return value;
    }
};

int thrown(int x) {
    try {
        LAT_PROBE_BEGIN(USAGE_PLAIN, 1);
        if (x > 0)
            throw x;
        LAT_PROBE_END(USAGE_PLAIN);
    } catch (int value) {
        return value;
    }
    return 0;
}

int thrown_through_a_scope(int x) {
    try {
        SPEX_LAT_SCOPE(USAGE_SCOPE, 1);
        if (x > 0)
            throw x;
    } catch (int value) {
        return value;
    }
    return 0;
}

#ifndef SPEX_DISABLE
uint64_t produced() {
    spex_status status = {};
    status.size = sizeof(status);
    return spex_status_get(&status) == 0 ? status.produced : 0;
}
#endif

bool all() {
    auto lambda = [](int x) {
        CNT_PROBE_BEGIN(USAGE_LABEL, 1);
        x += 3;
        CNT_PROBE_END(USAGE_LABEL);
        return x;
    };
    Counter counter(1);
    return usage_all() && twice(2) == 4 && twice(2.5) > 4.9 && twice(2u) == 4 && lambda(1) == 4 &&
           counter.next() == 3 && thrown(7) == 7 && thrown(0) == 0 &&
           thrown_through_a_scope(7) == 7 && thrown_through_a_scope(0) == 0;
}

} // namespace

int main() {
    spex_options options = {};
    options.size = sizeof(options);
    options.out = "/dev/null";
    if (!all() || usage_evaluated != 0)
        return 1;
    if (spex_start(&options) != 0)
        return 2;
#ifndef SPEX_DISABLE
    if (spex_set("*@1") <= 0)
        return 3;
#endif
    if (!all())
        return 4;
#ifndef SPEX_DISABLE
    uint64_t before = produced();
    if (spex_set("6:lat@1") <= 0 || thrown_through_a_scope(7) != 7 || usage_scopes(3) != 3)
        return 5;
    if (produced() - before != 6)
        return 6;
#endif
    return spex_stop();
}
