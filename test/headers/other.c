/* SPDX-License-Identifier: MIT */
/* The other translation unit of usage.c and usage.cpp, compiled as C or C++. */
#include "other.h"

__attribute__((visibility("default"))) int usage_other(int x) {
    PERFCNTR_PROBE_BEGIN(USAGE_SHARED, 1, 1);
    x = usage_shared(x) + usage_shared(x);
    PERFCNTR_PROBE_END(USAGE_SHARED);
    USAGE_RAN(SPEX_PERFCNTR);
    return x;
}
