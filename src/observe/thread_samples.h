/* SPDX-License-Identifier: MIT */
/* What the threads of another process use, as the system tells it, sampled now and then; the last of it is kept. */
#ifndef SPEX_OBSERVE_THREAD_SAMPLES_H
#define SPEX_OBSERVE_THREAD_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Threads that are looked at, and samples of each that are kept. */
enum { SPEX_SAMPLED_THREADS = 256, SPEX_SAMPLES = 64 };

enum spex_used {
    SPEX_USED_CPU,         /* seconds of each second: on a CPU, */
    SPEX_USED_USER,        /*   of these in the program (coarse), */
    SPEX_USED_SYSTEM,      /*   and in the system (coarse); */
    SPEX_USED_WAIT,        /*   ready to run, without a CPU */
    SPEX_USED_MINOR,       /* each second: page faults without reading, */
    SPEX_USED_MAJOR,       /*   and with; */
    SPEX_USED_VOLUNTARY,   /*   switches, since it waited, */
    SPEX_USED_INVOLUNTARY, /*   and since others were to run; */
    SPEX_USED_READ,        /*   bytes from storage, */
    SPEX_USED_WRITTEN,     /*   and to it; */
    SPEX_USED_MEMORY,      /*   bytes by which the process has grown */
    SPEX_USED_COUNT
};

/* Of one thread, a second. */
struct spex_thread_use {
    double seconds; /* that it is of; 0: there is none */
    uint32_t known; /* a bit for each that could be told */
    double used[SPEX_USED_COUNT];
};

struct spex_thread_samples;

/* 0 or a negative errno value. */
int spex_thread_samples_open(pid_t process, struct spex_thread_samples **samples);
void spex_thread_samples_close(struct spex_thread_samples *samples);

/* `now`: seconds of the caller's clock. */
void spex_thread_samples_take(struct spex_thread_samples *samples, double now);

/* Between the samples that lie around [from, until], as far as there are such. */
struct spex_thread_use spex_thread_samples_between(const struct spex_thread_samples *samples,
                                                   uint32_t thread, double from, double until);

/* What the system does not tell of this process, once: as text; NULL: nothing more to be said. */
const char *spex_thread_samples_missing(struct spex_thread_samples *samples);

#endif
