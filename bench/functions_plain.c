/* SPDX-License-Identifier: MIT */
#include "functions.h"

uint64_t bench_plain(uint64_t value) {
    __asm__ volatile("" : "+r"(value));
    return value;
}
