/* SPDX-License-Identifier: MIT */
/* A library with a probe of every kind that a list tells apart, to be read as a file. */
#define SPEX_NO_SHORT_NAMES
#include <spex/kernel.h>
#include <spex/probe.h>

SPEX_PROBE_NAME(40, "observed.work");
SPEX_PROBE_NAME(7, "another");
SPEX_PROBE_NAME(9, "declared");

static inline __attribute__((always_inline)) void work(unsigned times) {
    SPEX_LAT_PROBE_BEGIN(40, 10);
    __asm__ volatile("" ::"r"(times));
    SPEX_LAT_PROBE_END(40);
}

__attribute__((visibility("default"))) void observed_work(unsigned times);
__attribute__((visibility("default"))) void observed_more(unsigned times);
__attribute__((visibility("default"))) void observed_most(unsigned times);

void observed_work(unsigned times) {
    work(times);
    SPEX_SNAPSHOT_PROBE(40, 1, times, 2, 3);
    SPEX_PERFCNTR_PROBE_BEGIN(3, 1, 5);
    SPEX_CNT_PROBE_BEGIN(7, 16777214);
    SPEX_CNT_PROBE_END(7);
    SPEX_PERFCNTR_PROBE_END(3);
}

void observed_more(unsigned times) {
    work(times);
}

void observed_most(unsigned times) {
    work(times);
    SPEX_LAT_BEGIN(undeclared, 1);
    SPEX_CNT_BEGIN(declared, 1);
    SPEX_CNT_END(declared);
    SPEX_LAT_END(undeclared);
    SPEX_KERNEL_PROBE_BEGIN(8, 1, times, times + 1);
    __asm__ volatile("" ::"r"(times));
    SPEX_KERNEL_PROBE_END(8);
}
