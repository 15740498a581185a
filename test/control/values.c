/* SPDX-License-Identifier: MIT */
/* Figures that are reckoned from profiles: differences, quantiles, how far they may lie from the
 * truth; and the columns in which they stand. All random numbers are the same in every run. */
#include "../check.h"

#include <math.h>

#include "observe/profile_reader.h"
#include "profile/columns.h"
#include "profile/confidence.h"
#include "stats/tracer.h"

enum { PROBE = 5 };

static double uniform(uint64_t *random) {
    return ((double)(random_next(random) >> 11) + 0.5) / 9007199254740992.0;
}

/* Of any size, from all powers of two alike. */
static uint64_t any_value(uint64_t *random) {
    uint64_t bits = random_below(random, 60);
    return random_next(random) >> (63 - bits);
}

static struct spex_record record_of(uint64_t value, uint32_t weight) {
    return (struct spex_record){.timestamp = 1,
                                .probe_type = SPEX_LAT,
                                .probe_id = PROBE,
                                .weight = weight,
                                .field_count = 1,
                                .fields = {value}};
}

static void add(struct spex_tracer *tracer, const struct spex_record *record) {
    assert_int_equal(spex_tracer_add(tracer, record, 1), 0);
}

static bool close_to(double a, double b, double scale) {
    return fabs(a - b) <= 1e-9 * (fabs(scale) + 1);
}

static bool within_a_bucket(uint64_t a, uint64_t b) {
    return fabs((double)a - (double)b) <= (double)(a > b ? a : b) / 64 + 1;
}

static void check_difference(const struct spex_values *difference, const struct spex_values *truth,
                             const struct spex_values *all) {
    /* Rounding is of the size of what was subtracted from. */
    double scale = all->squares + all->mean * all->mean * all->weight;
    assert_true(close_to(difference->weight, truth->weight, truth->weight));
    assert_true(close_to(difference->mean * difference->weight, truth->mean * truth->weight,
                         all->mean * all->weight));
    assert_true(close_to(difference->squares, truth->squares, scale));
    assert_memory_equal(&difference->histogram, &truth->histogram, sizeof(truth->histogram));
    assert_true(within_a_bucket(difference->min, truth->min));
    assert_true(within_a_bucket(difference->max, truth->max));
}

/* What comes of subtracting is what comes of the later records alone. */
TEST(a_difference_is_what_happened_between) {
    uint64_t random = 7;
    for (int round = 0; round < 300; round++) {
        struct spex_tracer *all, *before, *after;
        assert_true(spex_tracer_create(&all) == 0 && spex_tracer_create(&before) == 0 &&
                    spex_tracer_create(&after) == 0);
        unsigned early = 1 + (unsigned)random_below(&random, 200);
        unsigned late = 1 + (unsigned)random_below(&random, 200);
        for (unsigned r = 0; r < early + late; r++) {
            struct spex_record record =
                record_of(any_value(&random), 1 + (uint32_t)random_below(&random, 1000));
            add(all, &record);
            add(r < early ? before : after, &record);
        }
        struct spex_values *difference = malloc(sizeof(*difference));
        assert_non_null(difference);
        *difference = *spex_tracer_values(all, 0, 0);
        spex_values_subtract(difference, spex_tracer_values(before, 0, 0));
        check_difference(difference, spex_tracer_values(after, 0, 0),
                         spex_tracer_values(all, 0, 0));
        free(difference);
        spex_tracer_destroy(all);
        spex_tracer_destroy(before);
        spex_tracer_destroy(after);
    }
}

TEST(nothing_between_leaves_nothing) {
    struct spex_tracer *tracer;
    struct spex_values none, *same = malloc(sizeof(*same));
    struct spex_record record = record_of(100, 3);
    assert_int_equal(spex_tracer_create(&tracer), 0);
    add(tracer, &record);
    *same = *spex_tracer_values(tracer, 0, 0);
    spex_values_clear(&none);
    spex_values_subtract(same, &none);
    assert_memory_equal(same, spex_tracer_values(tracer, 0, 0), sizeof(*same));
    spex_values_subtract(same, spex_tracer_values(tracer, 0, 0));
    assert_true(same->weight == 0 && same->histogram.total == 0);
    assert_true(spex_values_deviation(same) == 0);
    free(same);
    spex_tracer_destroy(tracer);
}

/* A population of executions, of which a random sample is recorded. */
enum { EXECUTIONS = 20000, TRIALS = 2000 };

static uint64_t population[EXECUTIONS];

/* Times as programs have them: most are short, a few long. */
static void populate(uint64_t *random) {
    for (int e = 0; e < EXECUTIONS; e++)
        population[e] = (uint64_t)(10000 - 20000 * log(uniform(random)));
}

static int by_value(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static double true_quantile(double q) {
    uint64_t *sorted = malloc(sizeof(population));
    memcpy(sorted, population, sizeof(population));
    qsort(sorted, EXECUTIONS, sizeof(*sorted), by_value);
    double value = (double)sorted[(size_t)(q * EXECUTIONS)];
    free(sorted);
    return value;
}

static double true_mean(void) {
    double sum = 0;
    for (int e = 0; e < EXECUTIONS; e++)
        sum += (double)population[e];
    return sum / EXECUTIONS;
}

/* Periods of the executions' two halves. */
struct sampling {
    uint32_t first, second;
};

static void sample(struct spex_tracer *tracer, struct sampling sampling, uint64_t *random) {
    for (int e = 0; e < EXECUTIONS; e++) {
        uint32_t period = e < EXECUTIONS / 2 ? sampling.first : sampling.second;
        if (random_below(random, period) == 0) {
            struct spex_record record = record_of(population[e], period);
            add(tracer, &record);
        }
    }
}

static struct spex_profile_probe probe_of(const struct spex_tracer *tracer) {
    struct spex_metrics metrics;
    spex_tracer_metrics(tracer, 0, &metrics);
    return (struct spex_profile_probe){.probe_type = SPEX_LAT,
                                       .probe_id = PROBE,
                                       .count = metrics.count,
                                       .weight = metrics.weight,
                                       .weight_squares = metrics.weight_squares,
                                       .records = metrics.records,
                                       .series = 1};
}

struct coverage {
    int mean, median, late;
};

static bool quantile_covers(const struct spex_profile_probe *probe,
                            const struct spex_values *values, double q, double truth) {
    double low, high;
    return spex_quantile_bounds(probe, values, q, &low, &high) && low <= truth && truth <= high;
}

static struct coverage cover(struct sampling sampling, uint64_t *random) {
    struct coverage found = {0, 0, 0};
    const double mean = true_mean(), median = true_quantile(0.5), late = true_quantile(0.99);
    for (int t = 0; t < TRIALS; t++) {
        struct spex_tracer *tracer;
        assert_int_equal(spex_tracer_create(&tracer), 0);
        sample(tracer, sampling, random);
        struct spex_profile_probe probe = probe_of(tracer);
        const struct spex_values *values = spex_tracer_values(tracer, 0, 0);
        double margin = spex_mean_margin(&probe, values);
        found.mean += margin >= 0 && fabs(values->mean - mean) <= margin;
        found.median += quantile_covers(&probe, values, 0.5, median);
        found.late += quantile_covers(&probe, values, 0.99, late);
        spex_tracer_destroy(tracer);
    }
    print_message("of %d intervals for periods %u and %u: mean %.1f %%, p50 %.1f %%, p99 %.1f %%\n",
                  TRIALS, sampling.first, sampling.second, 100.0 * found.mean / TRIALS,
                  100.0 * found.median / TRIALS, 100.0 * found.late / TRIALS);
    return found;
}

TEST(intervals_hold_the_truth_as_often_as_they_say) {
    static const struct sampling samplings[] = {{20, 20}, {4, 4}};
    uint64_t random = 20;
    populate(&random);
    for (size_t s = 0; s < COUNT_OF(samplings); s++) {
        struct coverage found = cover(samplings[s], &random);
        assert_in_range(found.mean, TRIALS * 93 / 100, TRIALS * 97 / 100);
        assert_in_range(found.median, TRIALS * 93 / 100, TRIALS * 97 / 100);
        assert_in_range(found.late, TRIALS * 93 / 100, TRIALS * 97 / 100);
    }
}

/* Executions with the shorter period are the better known, which the same correction for all of
 * them leaves out. */
TEST(with_two_periods_they_hold_it_nearly_as_often) {
    uint64_t random = 21;
    populate(&random);
    struct coverage found = cover((struct sampling){10, 40}, &random);
    assert_in_range(found.mean, TRIALS * 91 / 100, TRIALS * 98 / 100);
    assert_in_range(found.median, TRIALS * 91 / 100, TRIALS * 98 / 100);
    assert_in_range(found.late, TRIALS * 91 / 100, TRIALS * 98 / 100);
}

/* All of them lie within a bucket or two, whose middles say less than they seem to. */
TEST(narrow_distributions_are_held_as_well) {
    uint64_t random = 22;
    for (int e = 0; e < EXECUTIONS; e++)
        population[e] = 1000 + random_below(&random, 30);
    struct coverage found = cover((struct sampling){20, 20}, &random);
    assert_true(found.median >= TRIALS * 93 / 100 && found.late >= TRIALS * 93 / 100);
    for (int e = 0; e < EXECUTIONS; e++)
        population[e] = 1000 + random_below(&random, 3);
    found = cover((struct sampling){20, 20}, &random);
    assert_true(found.median >= TRIALS * 93 / 100 && found.late >= TRIALS * 93 / 100);
}

TEST(what_is_not_sampled_is_certain) {
    struct spex_tracer *tracer;
    double low, high;
    assert_int_equal(spex_tracer_create(&tracer), 0);
    for (uint64_t v = 1; v <= 50; v++) {
        struct spex_record record = record_of(v, 1);
        add(tracer, &record);
    }
    struct spex_profile_probe probe = probe_of(tracer);
    const struct spex_values *values = spex_tracer_values(tracer, 0, 0);
    assert_false(spex_sampled(&probe));
    assert_true(spex_mean_margin(&probe, values) == 0);
    assert_true(spex_quantile_bounds(&probe, values, 0.5, &low, &high) && low == high && low == 25);
    spex_tracer_destroy(tracer);
}

TEST(of_a_few_samples_nothing_is_said) {
    struct spex_tracer *tracer;
    double low, high;
    assert_int_equal(spex_tracer_create(&tracer), 0);
    for (uint64_t v = 1; v <= 2; v++) {
        struct spex_record record = record_of(v, 10);
        add(tracer, &record);
    }
    struct spex_profile_probe probe = probe_of(tracer);
    const struct spex_values *values = spex_tracer_values(tracer, 0, 0);
    assert_true(spex_sampled(&probe));
    assert_true(spex_mean_margin(&probe, values) < 0);
    assert_false(spex_quantile_bounds(&probe, values, 0.5, &low, &high));
    for (uint64_t v = 3; v <= 40; v++) {
        struct spex_record record = record_of(v, 10);
        add(tracer, &record);
    }
    probe = probe_of(tracer);
    assert_true(spex_mean_margin(&probe, values) > 0);
    assert_true(spex_quantile_bounds(&probe, values, 0.5, &low, &high));
    assert_false(spex_quantile_bounds(&probe, values, 0.99, &low, &high)); /* beyond all of them */
    spex_tracer_destroy(tracer);
}

static const char *printed(struct spex_columns *columns) {
    static char text[1024];
    FILE *file = tmpfile();
    assert_non_null(file);
    spex_columns_print(columns, file);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

TEST(columns_are_as_wide_as_what_they_hold) {
    static const char *const headings[] = {"probe", "count", "mean"};
    struct spex_columns columns;
    spex_columns_init(&columns, headings, 3, 1);
    assert_string_equal(printed(&columns), "probe  count  mean\n");
    spex_columns_init(&columns, headings, 3, 1);
    spex_columns_add(&columns, "%s", "a long name");
    spex_columns_add(&columns, "%d", 5);
    spex_columns_add(&columns, "%s", "1 µs");
    spex_columns_add(&columns, "%s", "b");
    spex_columns_add(&columns, "%s", "");
    spex_columns_add(&columns, "%s", "");
    spex_columns_add(&columns, "%s", "ä");
    spex_columns_add(&columns, "%d", 1234567);
    assert_string_equal(printed(&columns), "probe          count  mean\n"
                                           "a long name        5  1 µs\n"
                                           "b\n"
                                           "ä            1234567\n");
    assert_null(columns.cells);
}
