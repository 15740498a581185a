/* SPDX-License-Identifier: MIT */
/* Measures whether the collector keeps up with threads that only record, with the metrics
 * computed.
 *
 *     drain [--json] [--seconds S] [--ring-records N]
 *
 * One producer leaves the collector a CPU of its own. With as many producers as CPUs the
 * collector has none, records are lost, and every record must have been counted. */
#define _GNU_SOURCE
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <spex/atomic.h>
#include <spex/spex.h>

enum { PRODUCERS_MAX = 64, PAIR = 1, PAIRS_PER_LOOK = 1000 };

struct producer {
    pthread_t thread;
    int cpu;
    uint64_t pairs;
};

struct result {
    const char *name;
    unsigned producers;
    double seconds;
    uint64_t produced, consumed, lost;
};

static bool producers_end;
static struct producer producers[PRODUCERS_MAX];

static void *producer_run(void *arg) {
    struct producer *self = arg;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(self->cpu, &own);
    if (sched_setaffinity(0, sizeof(own), &own) != 0)
        err(1, "CPU %d", self->cpu);
    while (!spex_load_relaxed(&producers_end)) {
        for (int i = 0; i < PAIRS_PER_LOOK; i++) {
            LAT_PROBE_BEGIN(PAIR, 1);
            LAT_PROBE_END(PAIR);
        }
        self->pairs += PAIRS_PER_LOOK;
    }
    return NULL;
}

/* The numbers of the CPUs that this process may use. */
static unsigned cpus_allowed(int *cpus, unsigned max) {
    cpu_set_t allowed;
    unsigned count = 0;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        err(1, "sched_getaffinity");
    for (int cpu = 0; cpu < CPU_SETSIZE && count < max; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            cpus[count++] = cpu;
    return count;
}

static struct spex_status status_now(void) {
    struct spex_status status = {.size = sizeof(status)};
    spex_status_get(&status);
    return status;
}

static double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Ends the bench when the counts of produced, consumed and lost records do not add up. */
static struct result scenario_run(const char *name, unsigned count, const int *cpus, double seconds,
                                  const struct spex_options *options) {
    struct spex_status before = status_now();
    if (spex_start(options) != 0)
        errx(1, "cannot start");
    struct result result = {.name = name, .producers = count};
    uint64_t pairs = 0;
    producers_end = false;
    double begin = seconds_now();
    for (unsigned p = 0; p < count; p++) {
        producers[p] = (struct producer){.cpu = cpus[p]};
        if (pthread_create(&producers[p].thread, NULL, producer_run, &producers[p]) != 0)
            errx(1, "cannot start a thread");
    }
    nanosleep(&(struct timespec){.tv_sec = (time_t)seconds,
                                 .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)},
              NULL);
    spex_store_relaxed(&producers_end, true);
    for (unsigned p = 0; p < count; p++) {
        pthread_join(producers[p].thread, NULL);
        pairs += producers[p].pairs;
    }
    result.seconds = seconds_now() - begin;
    spex_stop();
    struct spex_status after = status_now();
    result.produced = after.produced - before.produced;
    result.consumed = after.consumed - before.consumed;
    result.lost = after.lost - before.lost;
    if (result.produced != pairs || result.consumed + result.lost != pairs || after.pending)
        errx(1,
             "%s: %" PRIu64 " pairs were executed, but %" PRIu64 " produced, %" PRIu64
             " consumed, %" PRIu64 " lost, %" PRIu64 " pending",
             name, pairs, result.produced, result.consumed, result.lost, after.pending);
    return result;
}

static void print_json(const struct result *results, size_t count, unsigned ring_records) {
    printf("{\"bench\": \"drain\", \"ring_records\": %u, \"scenarios\": [\n", ring_records);
    for (size_t r = 0; r < count; r++)
        printf(
            "  {\"scenario\": \"%s\", \"producers\": %u, \"seconds\": %.3f, \"produced\": %" PRIu64
            ", \"consumed\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"records_per_second\": %.0f}%s\n",
            results[r].name, results[r].producers, results[r].seconds, results[r].produced,
            results[r].consumed, results[r].lost, (double)results[r].consumed / results[r].seconds,
            r + 1 < count ? "," : "");
    puts(" ]}");
}

static void print_table(const struct result *results, size_t count, unsigned ring_records) {
    printf("rings of %u records, one collector\n\n", ring_records);
    for (size_t r = 0; r < count; r++)
        printf("%-32s %.1f s: %" PRIu64 " produced, %" PRIu64 " consumed (%.1f million a second), "
               "%" PRIu64 " lost (%.2f %%)\n",
               results[r].name, results[r].seconds, results[r].produced, results[r].consumed,
               (double)results[r].consumed / results[r].seconds / 1e6, results[r].lost,
               100.0 * (double)results[r].lost / (double)results[r].produced);
}

int main(int argc, char **argv) {
    static const struct option known[] = {{"json", no_argument, NULL, 'j'},
                                          {"seconds", required_argument, NULL, 's'},
                                          {"ring-records", required_argument, NULL, 'r'},
                                          {NULL, 0, NULL, 0}};
    struct spex_options options = {.size = sizeof(options),
                                   .out = "/dev/null",
                                   .probes = "*",
                                   .ring_records = 1 << 20,
                                   .batch_records = 1024};
    double seconds = 10;
    bool json = false;
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'j')
            json = true;
        else if (option == 's')
            seconds = strtod(optarg, NULL);
        else if (option == 'r')
            options.ring_records = (unsigned)strtoul(optarg, NULL, 10);
        else
            return 2;
    }
    if (!(seconds > 0 && seconds <= 3600))
        errx(2, "--seconds: a number above 0, of 3600 at most, was expected");
    int cpus[PRODUCERS_MAX];
    unsigned cpu_count = cpus_allowed(cpus, PRODUCERS_MAX);
    struct result results[2];
    size_t count = 0;
    if (cpu_count > 1)
        results[count++] = scenario_run("a CPU left for the collector", 1, cpus, seconds, &options);
    else
        fputs("one CPU only: the scenario in which the collector has its own is left out\n",
              stderr);
    results[count++] = scenario_run("a producer on every CPU", cpu_count, cpus, seconds, &options);
    (json ? print_json : print_table)(results, count, options.ring_records);
    return 0;
}
