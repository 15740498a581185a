/* SPDX-License-Identifier: MIT */
/* Groups of kernels that share a switch, among them the paper's own (ADLER, figure 3). */
#include "model/fit/groups.h"
#include "../check.h"

static const char *const a_b[] = {"a", "b"};
static const char *const b_a[] = {"b", "a"};
static struct spex_models models;
static struct spex_groups groups;

static int begin(void **state) {
    (void)state;
    models = (struct spex_models){.count = 0};
    return 0;
}

static int end(void **state) {
    (void)state;
    spex_models_free(&models);
    spex_groups_free(&groups);
    return 0;
}

/* Of 1 to 100 of both; `first` and `second` are what the time has of them. */
static struct spex_kernel_model *kernel(const char *path, enum spex_model_class class,
                                        const char *const *names, double first, double second) {
    struct spex_kernel_model *made;
    assert_int_equal(spex_models_add(&models, path, names, 2, &made), 0);
    made->model.class = class;
    made->least_seconds = 1e-6;
    for (size_t p = 0; p < 2; p++) {
        made->low[p] = 1;
        made->high[p] = 100;
        double coefficient = p == 0 ? first : second;
        if (coefficient > 0) {
            struct spex_model_term *term = &made->model.terms[made->model.term_count++];
            term->coefficient = coefficient;
            term->factors[p].twelfths = class == SPEX_MODEL_POLYNOMIAL ? 24 : 12;
        }
    }
    return made;
}

static size_t group_of(const char *path) {
    const struct spex_kernel_model *found = spex_models_find(&models, path);
    assert_non_null(found);
    return groups.of[found - models.items];
}

TEST_WITH(the_papers_example, begin, end) {
    kernel("main", SPEX_MODEL_POLYNOMIAL, a_b, 1, 1);
    kernel("main/f1", SPEX_MODEL_POLYNOMIAL, a_b, 1, 1);
    kernel("main/f1/f4", SPEX_MODEL_LINEAR, a_b, 1e-6, 0);
    kernel("main/f1/f5", SPEX_MODEL_POLYNOMIAL, a_b, 0, 1e-6);
    kernel("main/f1/lp1", SPEX_MODEL_LINEAR, a_b, 1e-6, 2e-8);
    kernel("main/lp2", SPEX_MODEL_LINEAR, a_b, 1, 0);
    kernel("main/lp2/f6", SPEX_MODEL_UNKNOWN, a_b, 0, 0);
    kernel("main/lp3", SPEX_MODEL_POLYNOMIAL, a_b, 1e-6, 0);
    assert_int_equal(spex_groups_make(&groups, &models, 0), 0);
    assert_int_equal(groups.count, 4);
    assert_int_equal(group_of("main/f1/f4"), group_of("main/f1/lp1"));
    assert_int_not_equal(group_of("main/f1/f4"), group_of("main/f1/f5"));
    assert_int_not_equal(group_of("main/lp2/f6"), group_of("main/lp3"));
    assert_true(group_of("main") == SPEX_GROUP_NONE && group_of("main/f1") == SPEX_GROUP_NONE &&
                group_of("main/lp2") == SPEX_GROUP_NONE);
}

/* However different the times are: the switch sets the frequency of each by its own model. */
TEST_WITH(one_class_of_the_same_parameters_shares, begin, end) {
    kernel("main", SPEX_MODEL_LINEAR, a_b, 1, 0);
    kernel("main/one", SPEX_MODEL_LINEAR, a_b, 1e-9, 0);
    kernel("main/three", SPEX_MODEL_LINEAR, b_a, 1e-6, 0);
    kernel("main/two", SPEX_MODEL_LINEAR, b_a, 0, 1e-3);
    kernel("other/four", SPEX_MODEL_LINEAR, a_b, 1e-9, 0);
    assert_int_equal(spex_groups_make(&groups, &models, 0), 0);
    assert_int_equal(groups.count, 3);
    assert_int_equal(group_of("main/one"), group_of("main/two"));
    assert_int_not_equal(group_of("main/one"), group_of("main/three"));
    assert_int_not_equal(group_of("main/one"), group_of("other/four"));
}

/* Of two classes: where the times are within 5 % of each other all along. */
TEST_WITH(trends_that_part_are_parted, begin, end) {
    kernel("a", SPEX_MODEL_LINEAR, a_b, 1e-6, 0);
    kernel("b", SPEX_MODEL_LINEAR, a_b, 1e-6, 4e-8);
    kernel("c", SPEX_MODEL_LINEAR, a_b, 1e-6, 2e-7)->model.class = SPEX_MODEL_POLYNOMIAL;
    struct spex_kernel_model *longer = kernel("d", SPEX_MODEL_LINEAR, a_b, 1e-6, 4e-8);
    longer->model.class = SPEX_MODEL_POLYNOMIAL;
    longer->high[1] = 1000; /* so that nobody knows whether it goes on alike */
    kernel("e", SPEX_MODEL_UNKNOWN, a_b, 0, 0);
    kernel("f", SPEX_MODEL_UNKNOWN, a_b, 0, 0)->least_seconds = 1.03e-6;
    kernel("g", SPEX_MODEL_UNKNOWN, a_b, 0, 0)->least_seconds = 2e-6;
    kernel("h", SPEX_MODEL_UNKNOWN, a_b, 0, 0)->least_seconds = 0;
    kernel("i", SPEX_MODEL_UNKNOWN, a_b, 0, 0)->least_seconds = 0;
    assert_int_equal(spex_groups_make(&groups, &models, 0), 0);
    assert_int_equal(group_of("a"), group_of("b"));
    assert_int_not_equal(group_of("a"), group_of("c"));
    assert_int_not_equal(group_of("a"), group_of("d"));
    assert_int_equal(group_of("e"), group_of("f"));
    assert_int_not_equal(group_of("e"), group_of("g"));
    assert_int_equal(group_of("h"), group_of("i"));
}

/* '-' and ' ' stand before '/': what a path begins with need not be next to it. */
TEST_WITH(names_may_begin_alike, begin, end) {
    kernel("sort", SPEX_MODEL_LINEAR, a_b, 1, 0);
    kernel("sort by name", SPEX_MODEL_LINEAR, a_b, 1, 0);
    kernel("sort-all", SPEX_MODEL_LINEAR, a_b, 1, 0);
    kernel("sort/compare", SPEX_MODEL_LINEAR, a_b, 1, 0);
    kernel("sort/off/deep", SPEX_MODEL_LINEAR, a_b, 1, 0);
    kernel("sorting", SPEX_MODEL_LINEAR, a_b, 1, 0);
    assert_int_equal(spex_groups_make(&groups, &models, 0), 0);
    assert_true(group_of("sort") == SPEX_GROUP_NONE);
    assert_int_equal(group_of("sort by name"), group_of("sorting"));
    assert_int_equal(group_of("sort-all"), group_of("sorting"));
    assert_int_equal(spex_models_parent(&models, 0), models.count);
    assert_int_equal(spex_models_parent(&models, 1), models.count);
    assert_int_equal(spex_models_parent(&models, 3), 0);
    assert_int_equal(spex_models_parent(&models, 4), 0);
    assert_string_equal(spex_kernel_name(&models.items[4]), "deep");
    assert_string_equal(spex_kernel_name(&models.items[1]), "sort by name");
}

/* Its own leaves are too short for the looks that they would need: then it is a leaf itself. */
TEST_WITH(what_is_short_goes_by_what_is_around_it, begin, end) {
    kernel("main", SPEX_MODEL_LINEAR, a_b, 1e-3, 0);
    kernel("main/long", SPEX_MODEL_LINEAR, a_b, 1e-4, 0);
    kernel("main/long/short", SPEX_MODEL_LINEAR, a_b, 9.5e-6, 0);
    kernel("main/never", SPEX_MODEL_UNKNOWN, a_b, 0, 0);
    kernel("main/sometimes", SPEX_MODEL_POLYNOMIAL, a_b, 9.5e-8, 0);
    assert_int_equal(spex_groups_make(&groups, &models, 1e-3), 0);
    assert_int_equal(groups.count, 1);
    assert_true(group_of("main/long") == 0 && group_of("main/sometimes") == SPEX_GROUP_NONE);
    spex_groups_free(&groups);
    assert_int_equal(spex_groups_make(&groups, &models, 9e-4), 0);
    assert_int_equal(groups.count, 2);
    assert_true(group_of("main/long") == SPEX_GROUP_NONE &&
                group_of("main/long/short") != group_of("main/sometimes") &&
                group_of("main/never") == SPEX_GROUP_NONE);
}
