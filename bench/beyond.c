/* SPDX-License-Identifier: MIT */
/* How well models predict times beyond the sizes that were measured: of kernels whose growth is
 * known, and which run here.
 *
 *     beyond [--json] [--table | --from TABLE]
 *
 * Each kernel runs with sizes that double. Models of five sizes predict the time of twice and four
 * times the largest: how often the interval holds the median of what is measured there, how wide it
 * is, and how often the model's leading exponent and class are those of the kernel. --table prints
 * the measurements instead, --from takes them from such a table (test/model/kernels.csv is one). */
#define _GNU_SOURCE
#include <err.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "beyond_kernels.h"
#include "measured.h"

/* A time is the least of so many executions, or of fewer that take ENOUGH_SECONDS together: so
 * other programs of a busy machine disturb less. */
enum { EXECUTIONS = 4 };
#define ENOUGH_SECONDS 8e-3

static uint64_t random_state = 88172645463325252u;
/* Results go here, so that no compiler leaves the work out. */
static volatile uint64_t results;

uint32_t beyond_random(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 32);
}

void beyond_prepare(struct beyond_work *work) {
    for (size_t i = 0; i < work->size; i++)
        work->arrays[0][i] = beyond_random();
}

/* CPU time, which does not pass while other programs have the CPU. */
static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double time_execution(const struct beyond_kernel *kernel, struct beyond_work *work) {
    work->object = NULL;
    (kernel->prepare ? kernel->prepare : beyond_prepare)(work);
    double begin = seconds_now();
    results += kernel->run(work);
    double taken = seconds_now() - begin;
    if (kernel->release)
        kernel->release(work);
    return taken;
}

static double time_least(const struct beyond_kernel *kernel, struct beyond_work *work) {
    double least = INFINITY, all = 0;
    for (int e = 0; e < EXECUTIONS && all < ENOUGH_SECONDS; e++) {
        double taken = time_execution(kernel, work);
        all += taken;
        least = fmin(least, taken);
    }
    return least;
}

/* All sizes in turn, so that what disturbs for a while disturbs all of them. */
static struct measured_kernel measure(const struct beyond_kernel *kernel,
                                      struct beyond_work *work) {
    struct measured_kernel measured = {.growth = {(int8_t)kernel->twelfths, (uint8_t)kernel->log},
                                       .sizes = kernel->doublings + 1};
    snprintf(measured.name, sizeof(measured.name), "%s", kernel->name);
    for (size_t t = 0; t < MEASURED_TIMES; t++)
        for (size_t s = 0; s < measured.sizes; s++) {
            work->size = kernel->least << s;
            measured.size[s] = (double)work->size;
            measured.times[s][t] = time_least(kernel, work);
        }
    return measured;
}

static size_t measure_all(struct measured_account *account, bool table) {
    const struct beyond_kernel *const all[] = {beyond_on_arrays, beyond_on_graphs,
                                               beyond_in_libraries};
    struct beyond_work work = {.size = 0};
    size_t kernels = 0;
    for (size_t a = 0; a < BEYOND_ARRAYS; a++)
        if (!(work.arrays[a] = calloc(BEYOND_WORDS, sizeof(uint32_t))))
            errx(1, "out of memory");
    for (size_t of = 0; of < sizeof(all) / sizeof(all[0]); of++)
        for (const struct beyond_kernel *kernel = all[of]; kernel->name; kernel++, kernels++) {
            struct measured_kernel measured = measure(kernel, &work);
            measured_count(account, &measured);
            if (table)
                measured_write(stdout, &measured);
        }
    for (size_t a = 0; a < BEYOND_ARRAYS; a++)
        free(work.arrays[a]);
    return kernels;
}

static size_t read_all(struct measured_account *account, const char *path) {
    struct measured_kernel measured;
    char next[256] = "";
    size_t kernels = 0;
    FILE *in = fopen(path, "r");
    if (!in)
        err(1, "%s", path);
    for (; measured_read(in, &measured, next); kernels++)
        measured_count(account, &measured);
    fclose(in);
    return kernels;
}

static void print_beyond(struct measured_account *account, size_t beyond, bool json) {
    const struct measured_predictions *predictions = &account->beyond[beyond];
    double cases = (double)account->cases, held = (double)predictions->held / cases,
           half = measured_median_half(account, beyond), score = predictions->score / cases;
    if (json)
        printf(",\n  \"at_%dx\": {\"held\": %.3f, \"median_half_width\": %.3f, "
               "\"interval_score\": %.3f}",
               2 << beyond, held, half, score);
    else
        printf("at %d times the range: %.1f %% hold, half-width %.1f %% (median), interval score "
               "%.2f\n",
               2 << beyond, 100 * held, 100 * half, score);
}

static void print_all(struct measured_account *account, size_t kernels, bool json) {
    double lead = (double)account->lead / (double)account->cases,
           class = (double)account->class_right / (double)account->cases;
    printf(json ? "{\n  \"bench\": \"beyond\",\n  \"kernels\": %zu,\n  \"cases\": %zu,\n  "
                  "\"lead\": %.3f,\n  \"class\": %.3f"
                : "%zu kernels, %zu cases\nleading exponent right: %.3f, class right: %.3f\n",
           kernels, account->cases, lead, class);
    for (size_t beyond = 0; beyond < 2; beyond++)
        print_beyond(account, beyond, json);
    if (json)
        puts("\n}");
}

int main(int argc, char **argv) {
    static const struct option known[] = {{"json", no_argument, NULL, 'j'},
                                          {"table", no_argument, NULL, 't'},
                                          {"from", required_argument, NULL, 'f'},
                                          {NULL, 0, NULL, 0}};
    static struct measured_account account;
    bool json = false, table = false;
    const char *from = NULL;
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == '?')
            return 2;
        json |= option == 'j';
        table |= option == 't';
        from = option == 'f' ? optarg : from;
    }
    size_t kernels = from ? read_all(&account, from) : measure_all(&account, table);
    if (account.cases == 0)
        errx(1, "no cases");
    if (!table)
        print_all(&account, kernels, json);
    return 0;
}
