/* SPDX-License-Identifier: MIT */
/* The figures of a fit beside its form, against their definitions. */
#include <math.h>

#include "../check.h"
#include "model/fit/fit.h"

static struct spex_model model_of(size_t count, const double *n, const double *times) {
    const struct spex_measurements measured = {1, count, n, times, NULL};
    struct spex_fit fit;
    assert_int_equal(spex_fit(&measured, &fit), 0);
    return fit.model;
}

/* Of the variance, what the model leaves, with as many degrees of freedom as are left. */
static double adjusted_r2(const struct spex_model *model, size_t count, const double *n,
                          const double *times) {
    double mean = 0, all = 0, left = 0;
    for (size_t i = 0; i < count; i++)
        mean += times[i] / (double)count;
    for (size_t i = 0; i < count; i++) {
        all += pow(times[i] - mean, 2);
        left += pow(times[i] - spex_model_value(model, &n[i]), 2);
    }
    double freedom = (double)count - 1 - (double)model->term_count;
    return 1 - left / freedom / (all / ((double)count - 1));
}

static void the_adjusted_r2(void **state) {
    static const double n[] = {1, 2, 3, 4, 5, 6, 7, 8},
                        times[] = {3.1, 4.7, 7.2, 8.8, 11.1, 12.7, 15.2, 16.9};
    (void)state;
    for (size_t count = 3; count <= COUNT_OF(n); count++) {
        struct spex_model model = model_of(count, n, times);
        assert_true(model.term_count > 0);
        assert_true(fabs(model.adjusted_r2 - adjusted_r2(&model, count, n, times)) < 1e-9);
    }
}

/* There is nothing that the model could leave. */
static void of_times_that_do_not_vary(void **state) {
    static const double n[] = {1, 2, 3, 4, 5, 6}, times[] = {7, 7, 7, 7, 7, 7};
    (void)state;
    struct spex_model model = model_of(COUNT_OF(n), n, times);
    assert_true(model.adjusted_r2 == 1);
    assert_int_equal(model.class, SPEX_MODEL_CONSTANT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_adjusted_r2),
        cmocka_unit_test(of_times_that_do_not_vary),
    };
    return cmocka_run_group_tests_name("figures", tests, NULL, NULL);
}
