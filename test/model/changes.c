/* SPDX-License-Identifier: MIT */
/* Changes of behaviour: that none is found where there is none, how often one is that is there, and
 * whether its interval and the predictions on both sides hold. */
#include <math.h>

#include "../check.h"
#include "base/random.h"
#include "model/fit/fit.h"

enum { ROWS = 3000, SETS = 60 };

static struct spex_random random_state;
static double parameters[2 * ROWS], times[ROWS];

static double even(void) {
    return (double)(spex_random_next(&random_state) >> 11) / (double)(UINT64_C(1) << 53);
}

static double normal(void) {
    return sqrt(-2 * log(1 - even())) * cos(2 * M_PI * even());
}

/* Sizes from one on, each so many times the one before; `own`: by what each size deviates from the
 * law, whatever is repeated there. */
static const struct design {
    size_t sizes, repeats;
    double ratio, noise, own;
} designs[] = {
    {10, 5, 2, 0.03, 0.02},  {12, 5, 2, 0.03, 0},     {20, 1, 1.5, 0.03, 0},
    {16, 1, 2, 0.002, 0},    {24, 5, 1.3, 0.1, 0.03}, {9, 10, 2, 0.02, 0.05},
    {150, 1, 1.05, 0.05, 0}, {40, 2, 1.2, 0.2, 0.1},
};

/* `change` is where the law changes, if it does. */
typedef double law(double n, double change);

/* Measures a law at the sizes from `first` on. Returns the number of rows. */
static size_t measure(const struct design *design, law *of, double first, double change) {
    size_t rows = 0;
    for (size_t s = 0; s < design->sizes; s++) {
        double n = first * pow(design->ratio, (double)s), own = 1 + design->own * normal();
        for (size_t r = 0; r < design->repeats; r++, rows++) {
            parameters[rows] = floor(n);
            times[rows] =
                1e-7 * of(floor(n), change) * own * fmax(1 + design->noise * normal(), 0.1);
        }
    }
    return rows;
}

static struct spex_fit fit_of(size_t width, size_t rows) {
    struct spex_fit fit;
    assert_int_equal(
        spex_fit(&(struct spex_measurements){width, rows, parameters, times, NULL}, &fit), 0);
    return fit;
}

static double line(double n, double change) {
    (void)change;
    return 3 + n;
}
static double n_log_n(double n, double change) {
    (void)change;
    return n * log2(n);
}
static double constant(double n, double change) {
    (void)n;
    (void)change;
    return 5;
}
static double square_and_line(double n, double change) {
    (void)change;
    return n * n + 40 * n;
}
static double divided(double n, double change) {
    (void)change;
    return 5 + 1e5 / n;
}
/* The dictionary has none of these. */
static double other_power(double n, double change) {
    (void)change;
    return 50 + pow(n, 1.37);
}
static double below_one(double n, double change) {
    (void)change;
    return pow(n, 0.9);
}
static double above_one(double n, double change) {
    (void)change;
    return 20 + pow(n, 1.1);
}
static double three_terms(double n, double change) {
    (void)change;
    return n + 300 * sqrt(n) + 30 * log2(n);
}

/* Each law without a change, in each design. */
TEST(none_is_found_where_none_is) {
    static law *const laws[] = {line,        n_log_n,   constant,  square_and_line, divided,
                                other_power, below_one, above_one, three_terms};
    size_t found = 0, all = 0;
    spex_random_seed(&random_state, 1, 1);
    for (size_t d = 0; d < COUNT_OF(designs); d++)
        for (size_t l = 0; l < COUNT_OF(laws); l++)
            for (size_t set = 0; set < SETS; set++, all++) {
                size_t rows = measure(&designs[d], laws[l], 32 * floor(1 + 10 * even()), 0);
                found += fit_of(1, rows).model.change_count > 0;
            }
    /* Of a share of so many the chance of none is 5 %. */
    print_message("%zu sets without a change: found in %zu; of none, at most %.2f %%\n", all, found,
                  100 * (1 - pow(0.05, 1 / (double)all)));
    assert_int_equal(found, 0);
}

static double steeper(double n, double change) {
    return n < change ? n : 3 * n - 2 * change;
}
static double little_steeper(double n, double change) {
    return n < change ? n : 2 * n - change;
}
static double other_algorithm(double n, double change) {
    return n < change ? n * n / change : n * log2(n) / log2(change);
}
static double jump(double n, double change) {
    return n < change ? n : 1.5 * n;
}
static double higher_power(double n, double change) {
    return n < change ? n : change * pow(n / change, 1.5);
}
static double late(double n, double change) {
    return 5 * fmax(n / change, 1);
}
static double valley(double n, double change) {
    return n < change ? 100 * change / n : 100 * n / change;
}

struct account {
    size_t found, interval, within, predictions, beyond, fits;
};

/* The law is changed in the middle of the sizes, so that there are enough on both sides. */
static void count_set(const struct design *design, law *of, struct account *account) {
    double first = 32 * floor(1 + 10 * even()),
           last = first * pow(design->ratio, (double)design->sizes - 1),
           change = first * pow(last / first, 0.4 + 0.2 * even());
    struct spex_fit fit = fit_of(1, measure(design, of, first, change));
    const struct spex_model_change *at = &fit.model.changes[0];
    account->fits++;
    account->found += fit.model.change_count > 0;
    account->interval += fit.model.change_count && at->low <= change && change <= at->high;
    for (size_t s = 0; fit.model.change_count && s < design->sizes; s++) {
        double n = first * pow(design->ratio, (double)s);
        struct spex_prediction made = spex_fit_predict(&fit, &n);
        double time =
            1e-7 * of(n, change) * (1 + design->own * normal()) * (1 + design->noise * normal());
        account->predictions++;
        account->within += made.low <= time && time <= made.high;
    }
    double twice = 2 * last, truth = 1e-7 * of(twice, change);
    struct spex_prediction made = spex_fit_predict(&fit, &twice);
    account->beyond += made.low <= truth && truth <= made.high;
}

TEST(what_is_there_is_found) {
    static const struct {
        const char *name;
        law *of;
    } laws[] = {{"steeper", steeper},
                {"little steeper", little_steeper},
                {"other algorithm", other_algorithm},
                {"jump", jump},
                {"higher power", higher_power},
                {"late", late},
                {"valley", valley}};
    struct account all = {0};
    spex_random_seed(&random_state, 2, 1);
    for (size_t l = 0; l < COUNT_OF(laws); l++) {
        struct account account = {0};
        for (size_t d = 1; d < 4; d++)
            for (size_t set = 0; set < SETS; set++)
                count_set(&designs[d], laws[l].of, &account);
        print_message("%s: found %zu of %zu, its interval holds %zu times\n", laws[l].name,
                      account.found, account.fits, account.interval);
        assert_true((double)account.found >= 0.9 * (double)account.fits);
        assert_true((double)account.interval >= 0.9 * (double)account.found);
        all.within += account.within;
        all.predictions += account.predictions;
        all.beyond += account.beyond;
        all.fits += account.fits;
    }
    double within = (double)all.within / (double)all.predictions,
           beyond = (double)all.beyond / (double)all.fits;
    print_message("predictions hold in %.1f %%, at twice the range in %.1f %%\n", 100 * within,
                  100 * beyond);
    assert_true(within > 0.92 && within < 0.985);
    assert_true(beyond > 0.95);
}

static double two_caches(double n, double change) {
    return n < change ? n : n < 32 * change ? 2 * n : 5 * n;
}

TEST(two_changes) {
    static const struct design design = {30, 3, 1.5, 0.02, 0};
    const char *const names[] = {"n"};
    char text[300];
    spex_random_seed(&random_state, 3, 1);
    size_t rows = measure(&design, two_caches, 100, 1000);
    struct spex_model model = fit_of(1, rows).model;
    assert_int_equal(model.change_count, 2);
    spex_model_text(&model, names, text, sizeof(text));
    for (size_t c = 0; c < 2; c++) {
        double truth = c ? 32000 : 1000;
        if (!(model.changes[c].low <= truth && truth <= model.changes[c].high))
            fail_msg("%s", text);
    }
    assert_int_equal(model.class, SPEX_MODEL_LINEAR);
    const double at[] = {500, 5000, 500000}, slopes[] = {1, 2, 5};
    for (size_t s = 0; s < 3; s++)
        assert_true(fabs(spex_model_value(&model, &at[s]) / (1e-7 * slopes[s] * at[s]) - 1) < 0.03);
}

/* Nine sizes are too few to tell a change from a form that is not known. */
TEST(few_sizes_have_none) {
    static const struct design design = {9, 5, 2, 0.001, 0};
    spex_random_seed(&random_state, 4, 1);
    assert_int_equal(fit_of(1, measure(&design, jump, 100, 1500)).model.change_count, 0);
    static const struct design more = {10, 5, 2, 0.001, 0};
    assert_int_equal(fit_of(1, measure(&more, jump, 100, 1500)).model.change_count, 1);
}

/* Without noise a change between two sizes is where both segments have the same time. */
TEST(where_it_is) {
    static const struct design design = {20, 1, 1.5, 0, 0};
    struct spex_model model = fit_of(1, measure(&design, steeper, 100, 3333)).model;
    assert_int_equal(model.change_count, 1);
    assert_true(fabs(model.changes[0].at / 3333 - 1) < 1e-3);
    /* A jump is in the middle, by ratio. */
    model = fit_of(1, measure(&design, jump, 100, 3333)).model;
    const struct spex_model_change *at = &model.changes[0];
    assert_true(at->low < 3333 && 3333 < at->high);
    assert_true(fabs(at->at / sqrt(at->low * at->high) - 1) < 1e-9);
}

/* Two parameters, of which the first one has a change; in either order. */
TEST(changes_of_one_parameter) {
    spex_random_seed(&random_state, 5, 1);
    for (size_t order = 0; order < 2; order++) {
        size_t rows = 0;
        for (; rows < 60; rows++) {
            double n = ldexp(1000, (int)(rows / 5)), p = ldexp(1, (int)(rows % 5));
            parameters[2 * rows + order] = n;
            parameters[2 * rows + 1 - order] = p;
            times[rows] = (jump(n, 70000) / p + 300 * p) * 1e-8 * (1 + 0.02 * normal());
        }
        struct spex_fit fit = fit_of(2, rows);
        assert_int_equal(fit.model.change_count, 1);
        assert_int_equal(fit.model.change_parameter, order);
        assert_true(fit.model.changes[0].low == 64000 && fit.model.changes[0].high == 128000);
        static const double sizes[] = {8e3, 8e4, 8e5, 8e6, 8e7};
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            double at[2], n = sizes[i];
            at[order] = n;
            at[1 - order] = 8;
            struct spex_prediction made = spex_fit_predict(&fit, at);
            double truth = (jump(n, 70000) / 8 + 2400) * 1e-8;
            assert_true(made.low < truth && truth < made.high);
        }
    }
}

/* Of thousands of sizes some are searched, and the place is told among all. */
TEST(of_many_sizes) {
    spex_random_seed(&random_state, 6, 1);
    for (size_t r = 0; r < 1000; r++) {
        parameters[r] = 1000 + 7 * (double)r;
        times[r] = 1e-7 * jump(parameters[r], 5000) * (1 + 0.03 * normal());
    }
    struct spex_model model = fit_of(1, 1000).model;
    assert_int_equal(model.change_count, 1);
    assert_true(fabs(model.changes[0].at - 5000) < 7);
    assert_true(model.changes[0].low < 5000 && model.changes[0].high > 5000);
    assert_true(model.changes[0].high - model.changes[0].low < 100);
}
