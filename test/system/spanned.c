/* SPDX-License-Identifier: MIT */
/* Spans of every fate, a known number of each. */
#include <pthread.h>
#include <stdint.h>

#include <spex/spex.h>

enum { ANSWERED = 100, REPLACED = 7, LEFT = 5, UNKNOWN = 11 };

__attribute__((noinline)) static void begin(uint64_t key) {
    SPEX_SPAN_BEGIN("request", key);
}

static void *answer(void *arg) {
    for (uint64_t key = 0; key < ANSWERED + UNKNOWN; key++)
        SPEX_SPAN_END("request", key);
    return arg;
}

int main(void) {
    pthread_t thread;
    spex_start(NULL);
    for (uint64_t key = 0; key < ANSWERED; key++)
        begin(key);
    for (uint64_t key = 0; key < REPLACED; key++)
        begin(key);
    if (pthread_create(&thread, NULL, answer, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    for (uint64_t key = 0; key < LEFT; key++)
        begin(key);
    return spex_stop();
}
