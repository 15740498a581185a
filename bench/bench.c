/* SPDX-License-Identifier: MIT */
/* Medians with intervals, and the options that benches share. */
#define _GNU_SOURCE
#include "bench.h"

#include <err.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int order_ascending(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* The ranks n/2 ± 0.98 √n hold the median with 95 % confidence (normal approximation of the
 * binomial distribution with p = 1/2). */
struct bench_result bench_median(double *values, size_t count) {
    qsort(values, count, sizeof(*values), order_ascending);
    double half = 0.98 * sqrt((double)count);
    double low = floor((double)(count - 1) / 2 - half);
    double high = ceil((double)(count - 1) / 2 + half);
    return (struct bench_result){
        .median = (values[(count - 1) / 2] + values[count / 2]) / 2,
        .low = values[low > 0 ? (size_t)low : 0],
        .high = values[high < (double)(count - 1) ? (size_t)high : count - 1],
    };
}

bool bench_read(FILE *file, double *numbers, size_t count) {
    char line[256];
    size_t found = 0;
    while (found < count && fgets(line, sizeof(line), file)) {
        char *at = line, *end;
        for (double number; found < count && (number = strtod(at, &end), end != at); at = end)
            numbers[found++] = number;
    }
    return found == count;
}

void bench_options(int argc, char **argv, size_t least, size_t most, size_t *rounds, bool *json) {
    static const struct option known[] = {{"json", no_argument, NULL, 'j'},
                                          {"rounds", required_argument, NULL, 'r'},
                                          {NULL, 0, NULL, 0}};
    *json = false;
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'j')
            *json = true;
        else if (option == 'r')
            *rounds = strtoul(optarg, NULL, 10);
        else
            exit(2);
    }
    if (*rounds < least || *rounds > most)
        errx(2, "--rounds: a number of %zu to %zu was expected", least, most);
}
