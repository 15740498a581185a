/* SPDX-License-Identifier: MIT */
/* A program that computes in phases, until its standard input ends: nine tenths of its CPU time
 * within a long probe, one tenth without; in both a short probe, so often that recording it all
 * would take 1.4 times the share of the CPU time that the first argument says in percent. Then it
 * says which share of the time was within the long one. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <spex/probe.h>
#include <spex/spex.h>

enum { LONG = 1, SHORT, STATE };

SPEX_PROBE_NAME(1, "long");
SPEX_PROBE_NAME(2, "short");
SPEX_PROBE_NAME(3, "state");

/* What recording it all would cost, over the budget: more than that, while polling it fits, which
 * costs up to half as much as recording. */
#define RECORDED 1.4

static double rate; /* of the short one, per second of CPU time */
static double executed;

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void execute(double count) {
    for (; executed < count; executed++) {
        LAT_PROBE_BEGIN(SHORT, 1);
        LAT_PROBE_END(SHORT);
    }
}

/* Times are CPU times. */
static void pass(double begin, double until) {
    double now;
    while ((now = seconds(CLOCK_PROCESS_CPUTIME_ID)) < until)
        execute((now - begin) * rate);
}

/* As costs were measured, when the first probe was switched on; 20 ns where they were not. */
static double rate_for(double share) {
    struct spex_cost cost;
    double ticks = (double)spex_ticks(), begin = seconds(CLOCK_MONOTONIC);
    while (seconds(CLOCK_MONOTONIC) < begin + 0.05)
        continue;
    double ticks_per_second = ((double)spex_ticks() - ticks) / (seconds(CLOCK_MONOTONIC) - begin);
    if (spex_cost_get(SPEX_LAT, &cost) != 0 || cost.record <= 0)
        return RECORDED * share / 20e-9;
    return RECORDED * share * ticks_per_second / cost.record;
}

int main(int argc, char **argv) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    double within = 0;
    if (argc != 2 || spex_start(NULL) != 0)
        return 1;
    rate = rate_for(atof(argv[1]) / 100);
    double begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (unsigned long n = 0; poll(&input, 1, 0) == 0; n++) {
        double from = seconds(CLOCK_PROCESS_CPUTIME_ID);
        LAT_PROBE_BEGIN(LONG, 1);
        pass(begin, from + 0.045);
        LAT_PROBE_END(LONG);
        double until = seconds(CLOCK_PROCESS_CPUTIME_ID);
        within += until - from;
        SNAPSHOT_PROBE(STATE, 1, n);
        pass(begin, until + 0.005);
    }
    double all = seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
    spex_stop();
    printf("%.4f\n", within / all);
    return 0;
}
