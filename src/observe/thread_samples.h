/* SPDX-License-Identifier: MIT */
/* Samples what the threads of another process use, as /proc says it, and keeps the last samples
 * of each thread. */
#ifndef SPEX_OBSERVE_THREAD_SAMPLES_H
#define SPEX_OBSERVE_THREAD_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Threads that are sampled at most, and samples of each that are kept. */
enum { SPEX_SAMPLED_THREADS = 256, SPEX_SAMPLES = 64 };

enum spex_used {
    /* Seconds of each second: on a CPU; of these in the program and in the kernel, both counted in
     * clock ticks; and ready to run, without a CPU. */
    SPEX_USED_CPU,
    SPEX_USED_USER,
    SPEX_USED_SYSTEM,
    SPEX_USED_WAIT,
    /* Page faults a second, without and with reading from storage. */
    SPEX_USED_MINOR,
    SPEX_USED_MAJOR,
    /* Context switches a second, because the thread waited, and because others were to run. */
    SPEX_USED_VOLUNTARY,
    SPEX_USED_INVOLUNTARY,
    /* Bytes a second from and to storage. */
    SPEX_USED_READ,
    SPEX_USED_WRITTEN,
    /* Bytes a second by which the resident memory of the process has grown. */
    SPEX_USED_MEMORY,
    SPEX_USED_COUNT
};

/* Resources that one thread has used, per second. */
struct spex_thread_use {
    /* The time it covers; 0: unknown. */
    double seconds;
    /* Bit u: used[u] is known. */
    uint32_t known;
    double used[SPEX_USED_COUNT];
};

struct spex_thread_samples;

/* 0 or a negative errno value. Close it with spex_thread_samples_close, which takes NULL, too. */
int spex_thread_samples_open(pid_t process, struct spex_thread_samples **samples);
void spex_thread_samples_close(struct spex_thread_samples *samples);

/* Takes a sample of each thread. `now`: seconds of any clock that the caller chooses. */
void spex_thread_samples_take(struct spex_thread_samples *samples, double now);

/* What a thread has used between the samples around [from, until], or the nearest ones to those
 * times. `seconds` is 0 when there are no two samples. */
struct spex_thread_use spex_thread_samples_between(const struct spex_thread_samples *samples,
                                                   uint32_t thread, double from, double until);

/* A message about a figure that this system or user cannot read; each comes once, then NULL. */
const char *spex_thread_samples_missing(struct spex_thread_samples *samples);

#endif
