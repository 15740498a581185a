/* SPDX-License-Identifier: MIT */
/* Values without what is empty of them: the same as before, and on another clock each where it
 * belongs. */
#include "../check.h"
#include "../values_take.h"

#include <math.h>

#include "fleet/lead/sparse_values.h"

enum { VALUES = 2000 };

/* Small values, which have a bucket each, and large ones. */
static void values_make(struct spex_values *values, uint64_t *state) {
    spex_values_clear(values);
    for (unsigned v = 0; v < VALUES; v++) {
        unsigned bits = 1 + (unsigned)random_below(state, 30);
        values_take(values, 1 + random_below(state, UINT64_C(1) << bits), 1 + v % 7);
    }
}

TEST(with_the_same_clock_nothing_changes) {
    static struct spex_values values, sum;
    uint64_t random = 1;
    values_make(&values, &random);
    spex_values_clear(&sum);
    struct spex_sparse_values *sparse = spex_sparse_values_of(&values, 1);
    assert_non_null(sparse);
    spex_sparse_values_add(&sum, sparse);
    assert_true(sum.weight == values.weight && sum.mean == values.mean);
    assert_true(sum.min == values.min && sum.max == values.max);
    assert_memory_equal(&sum.histogram, &values.histogram, sizeof(sum.histogram));
    assert_memory_equal(sum.spread.rows, values.spread.rows, sizeof(sum.spread.rows));
    assert_true(sum.spread.origin == values.spread.origin);
    for (unsigned row = 0; row < SPEX_VARIANCE_ROWS; row += 20)
        assert_true(spex_variance_above(&sum.spread, row, 0.1) ==
                    spex_variance_above(&values.spread, row, 0.1));
    size_t bytes = spex_sparse_values_bytes(sparse);
    assert_true(bytes > sizeof(*sparse) && bytes < sizeof(values));
    assert_int_equal(spex_sparse_values_bytes(NULL), 0);
    free(sparse);
}

/* Each bucket and row once, growing, with all of the weights. */
static void check_parts(const struct spex_sparse_values *sparse, const struct spex_values *values) {
    uint64_t weights = 0;
    for (unsigned b = 0; b < sparse->bucket_count; b++) {
        assert_true(!b || sparse->buckets[b] > sparse->buckets[b - 1]);
        weights += sparse->weights[b];
    }
    assert_int_equal(weights, values->histogram.total);
    for (unsigned r = 1; r < sparse->row_count; r++)
        assert_true(sparse->rows[r] > sparse->rows[r - 1]);
    for (unsigned way = 0; way < SPEX_VARIANCE_WAYS; way++) {
        double was = 0, is = 0;
        for (unsigned row = 0; row < SPEX_VARIANCE_ROWS; row++)
            was += (double)values->spread.rows[row][way];
        for (unsigned r = 0; r < sparse->row_count; r++)
            is += (double)sparse->ways[r][way];
        assert_true(fabs(was - is) <= 1e-3 * (1 + fabs(was)));
    }
}

TEST(on_another_clock_values_go_where_they_belong) {
    static const double factors[] = {0.05, 0.25, 0.4, 0.99, 1.7, 3};
    static struct spex_values values, sum;
    uint64_t random = 2;
    for (size_t f = 0; f < COUNT_OF(factors); f++) {
        double factor = factors[f];
        values_make(&values, &random);
        struct spex_sparse_values *sparse = spex_sparse_values_of(&values, factor);
        assert_non_null(sparse);
        check_parts(sparse, &values);
        spex_values_clear(&sum);
        spex_sparse_values_add(&sum, sparse);
        assert_true(fabs(sum.mean / (values.mean * factor) - 1) < 1e-9);
        assert_true(fabs((double)sum.min - (double)values.min * factor) <= 0.5);
        assert_true(fabs((double)sum.max - (double)values.max * factor) <= 0.5);
        for (double q = 0.1; q < 1; q += 0.2) {
            double truth = spex_values_quantile(&values, q) * factor;
            assert_true(fabs(spex_values_quantile(&sum, q) - truth) <= 1 + truth / 32);
        }
        free(sparse);
    }
}

/* No clock makes a value of none, or one that does not fit. */
TEST(what_there_is_not_stays_so) {
    static struct spex_values values, sum;
    spex_values_clear(&values);
    struct spex_sparse_values *sparse = spex_sparse_values_of(&values, 2);
    assert_non_null(sparse);
    assert_true(sparse->min > sparse->max);
    assert_int_equal(sparse->bucket_count + sparse->row_count, 0);
    free(sparse);
    values_take(&values, UINT64_MAX / 2, 1);
    sparse = spex_sparse_values_of(&values, 4);
    assert_non_null(sparse);
    spex_values_clear(&sum);
    spex_sparse_values_add(&sum, sparse);
    assert_true(sum.min >= 0x1p64 && sum.max >= 0x1p64);
    assert_int_equal(sum.histogram.weights[SPEX_HISTOGRAM_BUCKETS - 1], 1);
    free(sparse);
}
