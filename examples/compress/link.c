/* SPDX-License-Identifier: MIT */
#include "link.h"

#include <pthread.h>

#include "clock.h"
#include "crew.h"

#define NAP_NS 20000000 /* longest sleep, so that the program's end is not missed */

static int64_t speed; /* MB/s, or bytes a microsecond */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t free_at; /* under the lock: when all that was sent has left */

void link_set_speed(int64_t megabytes_per_second) {
    speed = megabytes_per_second;
}

static void sleep_until(uint64_t time) {
    for (uint64_t now; !crew_ends() && (now = clock_ns()) < time;) {
        uint64_t left = time - now < NAP_NS ? time - now : NAP_NS;
        nanosleep(&(struct timespec){.tv_nsec = (long)left}, NULL);
    }
}

void link_send(size_t bytes) {
    if (!speed)
        return;
    pthread_mutex_lock(&lock);
    uint64_t now = clock_ns(), begin = free_at > now ? free_at : now;
    free_at = begin + bytes * 1000 / (uint64_t)speed;
    pthread_mutex_unlock(&lock);
    sleep_until(begin);
}
