/* SPDX-License-Identifier: MIT */
/* Measures what a record takes where records of many probes alternate: the tracer alone, with its
 * memory in the caches, and with caches that were filled with other things before each batch, as
 * the program fills them.
 *
 *     traced [--json] [--rounds N]
 *
 * Nanoseconds of CPU time a record, medians over the rounds with 95 % confidence intervals. Cases
 * take turns. Each record has a weight above 1, so that it is added to the sums of margins, too. */
#define _GNU_SOURCE
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <spex/record.h>

#include "base/clock.h"
#include "base/random.h"
#include "bench.h"
#include "stats/tracer.h"

enum { CASES = 6, RECORDS = 2000, WEIGHT = 20, OTHER_BYTES = 32 << 20, ROUNDS_MAX = 10000 };

static const struct {
    unsigned probes;
    bool cold;
} cases[CASES] = {{1, false}, {32, false}, {100, false}, {1000, false}, {100, true}, {1000, true}};

static struct spex_record records[RECORDS];
static struct spex_random chance;

/* Times of about a thousand ticks. */
static void make_records(unsigned probes) {
    for (unsigned r = 0; r < RECORDS; r++) {
        unsigned probe = 1 + (unsigned)(spex_random_next(&chance) % probes);
        records[r] = (struct spex_record){.probe_id = (uint16_t)probe,
                                          .probe_type = SPEX_LAT,
                                          .weight = WEIGHT,
                                          .field_count = 1};
        records[r].fields[0] = 900 + spex_random_next(&chance) % 200;
    }
}

/* Adds a batch; nanoseconds a record. */
static double batch_add(struct spex_tracer *tracer) {
    uint64_t begin = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (spex_tracer_add(tracer, records, RECORDS) != 0)
        errx(1, "out of memory");
    return (double)(spex_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / RECORDS;
}

static void print(bool json, double *const *ns, size_t rounds) {
    printf(json ? "{\"bench\": \"traced\", \"rounds\": %zu, \"results\": ["
                : "records of many probes, %zu rounds\nprobes  caches  ns a record\n",
           rounds);
    for (size_t c = 0; c < CASES; c++) {
        struct bench_result result = bench_median(ns[c], rounds);
        printf(json ? "%s{\"probes\": %u, \"caches\": \"%s\", \"ns\": %.1f, \"ci95\": [%.1f, %.1f]}"
                    : "%s%6u  %-6s  %5.0f (%.0f to %.0f)\n",
               json && c > 0 ? ", " : "", cases[c].probes, cases[c].cold ? "cold" : "warm",
               result.median, result.low, result.high);
    }
    if (json)
        puts("]}");
}

int main(int argc, char **argv) {
    struct spex_tracer *tracers[CASES];
    double *ns[CASES];
    char *other = malloc(OTHER_BYTES);
    size_t rounds = 200;
    bool json = false;
    bench_options(argc, argv, 2, ROUNDS_MAX, &rounds, &json);
    spex_random_seed(&chance, 1, 1);
    for (size_t c = 0; c < CASES; c++) {
        ns[c] = calloc(rounds, sizeof(*ns[c]));
        if (!other || !ns[c] || spex_tracer_create(&tracers[c]) != 0)
            errx(1, "out of memory");
        for (unsigned first = 0; first < 20; first++) {
            make_records(cases[c].probes);
            batch_add(tracers[c]);
        }
    }
    for (size_t r = 0; r < rounds; r++)
        for (size_t c = 0; c < CASES; c++) {
            make_records(cases[c].probes);
            batch_add(tracers[c]);
            make_records(cases[c].probes);
            if (cases[c].cold)
                memset(other, (int)r, OTHER_BYTES);
            ns[c][r] = batch_add(tracers[c]);
        }
    print(json, ns, rounds);
    for (size_t c = 0; c < CASES; c++) {
        spex_tracer_destroy(tracers[c]);
        free(ns[c]);
    }
    free(other);
    return 0;
}
