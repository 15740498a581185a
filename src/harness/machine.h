/* SPDX-License-Identifier: MIT */
/* Facts of the machine, and reasons why it may be unfit for measuring. */
#ifndef SPEX_HARNESS_MACHINE_H
#define SPEX_HARNESS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

enum { SPEX_BENCH_CACHES_MAX = 8 };

struct spex_bench_cache {
    char type[32];
    unsigned level, sharing;
    unsigned long bytes;
};

struct spex_bench_machine {
    char host[256];
    char executable[4096];
    /* CPUs that the process may use. */
    unsigned cpus;
    /* 0: not told. */
    double mhz;
    /* A governor changes the frequency by what there is to do. */
    bool scaling;
    bool virtual;
    /* Ticks have a constant rate, and go on while a CPU sleeps. */
    bool invariant_ticks;
    double load[3];
    size_t cache_count;
    struct spex_bench_cache caches[SPEX_BENCH_CACHES_MAX];
};

void spex_bench_machine_find(struct spex_bench_machine *machine);

/* The reason number `index` why figures of this machine are doubtful; NULL: there are no more.
 * `text` has room for a line. */
const char *spex_bench_machine_doubt(const struct spex_bench_machine *machine, size_t index,
                                     char *text, size_t size);

/* The share of all processors' time that other programs, and other virtual machines, have taken
 * since the first call; the process's own and its ended children's does not count. 0 where the
 * system does not tell. */
double spex_bench_others(void);

#endif
