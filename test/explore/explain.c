/* SPDX-License-Identifier: MIT */
/* Two configurations of three are compared in quantities whose changes are known. */
#include <math.h>

#include "../check.h"
#include "explore/findings/explain.h"
#include "explore/report/change_text.h"

enum { GROUPS = 3, A = 2, B = 0 };

#define SAMPLE(n, average, sum)                                                                    \
    { .trials = (n), .mean = (average), .squares = (sum) }

static struct spex_sample
    little[GROUPS] = {SAMPLE(4, 101, 12), SAMPLE(4, 100, 12), SAMPLE(4, 100, 12)},
    great[GROUPS] = {SAMPLE(4, 400, 12), SAMPLE(4, 100, 12), SAMPLE(4, 100, 12)},
    half[GROUPS] = {SAMPLE(4, 50, 12), SAMPLE(0, 0, 0), SAMPLE(4, 100, 12)},
    hardly[GROUPS] = {SAMPLE(4, 99.99, 0), SAMPLE(4, 99.99, 0), SAMPLE(4, 100, 0)},
    same[GROUPS] = {SAMPLE(1, 50, 0), SAMPLE(1, 50, 0), SAMPLE(1, 50, 0)},
    once[GROUPS] = {SAMPLE(1, 50, 0), SAMPLE(1, 50, 0), SAMPLE(1, 60, 0)},
    only_a[GROUPS] = {SAMPLE(0, 0, 0), SAMPLE(4, 100, 12), SAMPLE(4, 100, 12)},
    only_b[GROUPS] = {SAMPLE(4, 100, 12), SAMPLE(4, 100, 12), SAMPLE(0, 0, 0)};

TEST(changes_come_in_the_order_of_their_size) {
    static const char *const expected[] = {"great",  "half",       "once", "hardly",
                                           "little", "little too", "same"};
    static char names[][12] = {"little too", "only a", "half",   "once", "great",
                               "only b",     "little", "hardly", "same"};
    static char units[][2] = {"s", "B"};
    struct spex_quantity items[] = {
        {names[0], units[0], little}, {names[1], units[0], only_a}, {names[2], units[0], half},
        {names[3], units[0], once},   {names[4], units[1], great},  {names[5], units[0], only_b},
        {names[6], units[0], little}, {names[7], units[0], hardly}, {names[8], units[0], same},
    };
    const struct spex_quantities quantities = {items, COUNT_OF(items)};
    const struct spex_study study = {.summary.count = GROUPS};
    struct spex_explanation explanation = {.study = &study, .a = A, .b = B};
    assert_int_equal(spex_explanation_find(&explanation, &quantities), 0);
    assert_int_equal(explanation.count, COUNT_OF(expected));
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_string_equal(explanation.items[i].name, expected[i]);
    assert_int_equal(explanation.significant, 2);
    assert_int_equal(explanation.unknown, 1);
    assert_string_equal(explanation.items[0].unit, "B");
    assert_true(explanation.items[0].a.mean == 100 && explanation.items[0].b.mean == 400);
    assert_true(explanation.items[0].change.ratio);
    assert_in_range(explanation.items[0].change.value * 1000, 3999, 4001);
    free(explanation.items);
}

/* An interval that has no width says that nothing varies, and not two times the same number. */
TEST(what_never_varies_has_no_interval) {
    char text[96];
    struct spex_change change = spex_change_by(2, 0, 3, 0, 4);
    spex_change_text(&change, "", text, sizeof(text));
    assert_string_equal(text, "x 1.5 (the same each time)");
    change = spex_change_by(0, 0, 7, 0, 4);
    spex_change_text(&change, "B", text, sizeof(text));
    assert_string_equal(text, "+7 B (the same each time)");
    change = spex_change_by(2, 0.1, 3, 0, 4);
    spex_change_text(&change, "", text, sizeof(text));
    assert_non_null(strstr(text, " to "));
    change = spex_change_by(2, NAN, 3, NAN, 4);
    spex_change_text(&change, "", text, sizeof(text));
    assert_string_equal(text, "x 1.5");
}
