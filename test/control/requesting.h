/* SPDX-License-Identifier: MIT */
/* A probe to select, and requests as packets. */
#ifndef SPEX_TEST_REQUESTING_H
#define SPEX_TEST_REQUESTING_H

enum { WORK = 90, FLICKER, PLACES = 16 };

SPEX_PROBE_NAME(WORK, "request.work");

COMPILED_ONCE static void work(unsigned executions) {
    for (unsigned i = 0; i < executions; i++) {
        LAT_PROBE_BEGIN(WORK, 1);
        __asm__ volatile("" ::: "memory");
        LAT_PROBE_END(WORK);
    }
}

static inline struct spex_control_request request_of(uint16_t kind) {
    return (struct spex_control_request){
        .magic = SPEX_CONTROL_MAGIC, .version = SPEX_CONTROL_VERSION, .kind = kind, .number = 7};
}

#endif
