/* SPDX-License-Identifier: MIT */
#include "measured.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

/* Of a 95 % interval: what a miss costs for each unit of its distance. */
#define MISS_PRICE 40.0

static bool row_parse(const char *row, struct measured_kernel *kernel) {
    unsigned twelfths, log;
    char name[sizeof(kernel->name)];
    double size, t[MEASURED_TIMES];
    if (sscanf(row, "%31[^,],%u,%u,%lf,%lf,%lf,%lf,%lf,%lf", name, &twelfths, &log, &size, &t[0],
               &t[1], &t[2], &t[3], &t[4]) != 4 + MEASURED_TIMES)
        errx(1, "a measured row is wrong: %s", row);
    if (kernel->sizes == MEASURED_SIZES_MAX ||
        (kernel->sizes > 0 && strcmp(kernel->name, name) != 0))
        return false;
    strcpy(kernel->name, name);
    kernel->growth = (struct spex_exponents){(int8_t)twelfths, (uint8_t)log};
    kernel->size[kernel->sizes] = size;
    memcpy(kernel->times[kernel->sizes++], t, sizeof(t));
    return true;
}

bool measured_read(FILE *in, struct measured_kernel *kernel, char next[256]) {
    kernel->sizes = 0;
    if (*next)
        row_parse(next, kernel);
    while (fgets(next, 256, in))
        if (!row_parse(next, kernel))
            return true;
    *next = '\0';
    return kernel->sizes > 0;
}

void measured_write(FILE *out, const struct measured_kernel *kernel) {
    for (size_t s = 0; s < kernel->sizes; s++) {
        fprintf(out, "%s,%u,%u,%.0f", kernel->name, kernel->growth.twelfths, kernel->growth.log,
                kernel->size[s]);
        for (size_t t = 0; t < MEASURED_TIMES; t++)
            fprintf(out, ",%.4g", kernel->times[s][t]);
        fputc('\n', out);
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_time(const struct measured_kernel *kernel, size_t size) {
    double times[MEASURED_TIMES];
    memcpy(times, kernel->times[size], sizeof(times));
    qsort(times, MEASURED_TIMES, sizeof(*times), by_value);
    return times[MEASURED_TIMES / 2];
}

static void count_prediction(struct measured_predictions *predictions, size_t number,
                             const struct spex_prediction *predicted, double truth) {
    double low = predicted->low / truth, high = predicted->high / truth;
    predictions->held += low <= 1 && 1 <= high;
    predictions->halves[number] = (high - low) / 2;
    predictions->score += high - low + MISS_PRICE * fmax(fmax(low - 1, 1 - high), 0);
}

static enum spex_model_class class_of(struct spex_exponents growth) {
    if (growth.twelfths == 0)
        return SPEX_MODEL_LOGARITHMIC;
    return growth.twelfths == 12 && growth.log == 0 ? SPEX_MODEL_LINEAR : SPEX_MODEL_POLYNOMIAL;
}

static void count_case(struct measured_account *account, const struct measured_kernel *kernel,
                       size_t from) {
    double sizes[MEASURED_TRAINED * MEASURED_TIMES], times[MEASURED_TRAINED * MEASURED_TIMES];
    size_t rows = 0, above = from + MEASURED_TRAINED;
    for (size_t s = from; s < above; s++)
        for (size_t t = 0; t < MEASURED_TIMES; t++) {
            sizes[rows] = kernel->size[s];
            times[rows++] = kernel->times[s][t];
        }
    struct spex_fit fit;
    if (spex_fit(&(struct spex_measurements){1, rows, sizes, times, NULL}, &fit) ||
        account->cases == MEASURED_CASES_MAX)
        errx(1, "%s: no fit", kernel->name);
    struct model_case known = {.parameter_count = 1,
                               .truth = {.parameter_count = 1,
                                         .term_count = 1,
                                         .terms = {{.coefficient = 1, .factors = {kernel->growth}}},
                                         .class = class_of(kernel->growth)},
                               .linear_too =
                                   kernel->growth.twelfths == 12 && kernel->growth.log == 1,
                               .most = {kernel->size[above - 1]}};
    struct model_verdict verdict = model_verdict_of(&known, &fit);
    account->lead += verdict.lead;
    account->class_right += verdict.class_right;
    for (size_t beyond = 0; beyond < 2; beyond++) {
        struct spex_prediction predicted = spex_fit_predict(&fit, &kernel->size[above + beyond]);
        count_prediction(&account->beyond[beyond], account->cases, &predicted,
                         median_time(kernel, above + beyond));
    }
    account->cases++;
}

void measured_count(struct measured_account *account, const struct measured_kernel *kernel) {
    for (size_t from = 0; from + MEASURED_TRAINED + 2 <= kernel->sizes; from++)
        count_case(account, kernel, from);
}

double measured_median_half(struct measured_account *account, size_t beyond) {
    double *halves = account->beyond[beyond].halves;
    qsort(halves, account->cases, sizeof(*halves), by_value);
    return account->cases ? halves[account->cases / 2] : 0;
}
