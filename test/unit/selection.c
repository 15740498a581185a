/* SPDX-License-Identifier: MIT */
/* The syntax of SPEX_PROBES: what matches what, and what is said about everything that is no
 * selection. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <spex/record.h>
#include <spex/site.h>

#include "../check.h"
#include "selection.h"

enum { SC = 1000 }; /* the developer's own period in these tests */

static uint32_t control(const char *text, uint16_t id, const char *name, uint32_t type) {
    struct spex_selection selection;
    char why[256] = "";
    int err = spex_selection_parse(text, &selection, why, sizeof(why));
    if (err)
        fail_msg("\"%s\": %d %s", text, err, why);
    uint32_t result = spex_selection_control(&selection, id, name, type, SC);
    spex_selection_free(&selection);
    return result;
}

static void names_globs_and_ids(void **state) {
    (void)state;
    assert_int_equal(control("query", 7, "query", SPEX_LAT), SC);
    assert_int_equal(control("query", 7, "query2", SPEX_LAT), 0);
    assert_int_equal(control("query", 7, "Query", SPEX_LAT), 0);
    assert_int_equal(control("query", 7, NULL, SPEX_LAT), 0);
    assert_int_equal(control("query*", 7, "query2", SPEX_LAT), SC);
    assert_int_equal(control("q?ery", 7, "query", SPEX_LAT), SC);
    assert_int_equal(control("[a-q]uery", 7, "query", SPEX_LAT), SC);
    assert_int_equal(control("[!q]uery", 7, "query", SPEX_LAT), 0);
    assert_int_equal(control("*", 7, "a.b/c", SPEX_LAT), SC);
    assert_int_equal(control("*", 7, NULL, SPEX_LAT), SC);
    assert_int_equal(control("?*", 7, NULL, SPEX_LAT), 0);
    assert_int_equal(control("7", 7, NULL, SPEX_LAT), SC);
    assert_int_equal(control("7", 7, "query", SPEX_LAT), SC);
    assert_int_equal(control("7", 70, "query", SPEX_LAT), 0);
    assert_int_equal(control("7", 9, "7", SPEX_LAT), SC);
    assert_int_equal(control("65535", 65535, NULL, SPEX_LAT), SC);
    assert_int_equal(control("65536", 0, NULL, SPEX_LAT), 0);
    assert_int_equal(control("0", 0, NULL, SPEX_LAT), SC);
    assert_int_equal(control("", 7, "query", SPEX_LAT), 0);
}

static void types(void **state) {
    static const struct {
        const char *text;
        uint32_t mask;
    } cases[] = {
        {"*", (1u << SPEX_PROBE_TYPES) - 1},
        {"*:cnt", SPEX_CNT},
        {"*:lat", SPEX_LAT},
        {"*:tpt", SPEX_TPT},
        {"*:snapshot", SPEX_SNAPSHOT},
        {"*:llc", SPEX_LLC},
        {"*:flt", SPEX_FLT},
        {"*:ctxsw", SPEX_CTXSW},
        {"*:perfcntr", SPEX_PERFCNTR},
        {"*:cnt,*:tpt", SPEX_CNT | SPEX_TPT},
    };
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        for (uint32_t type = 1; type < 1u << SPEX_PROBE_TYPES; type <<= 1)
            assert_int_equal(control(cases[c].text, 1, "x", type), cases[c].mask & type ? SC : 0);
}

static void periods(void **state) {
    (void)state;
    assert_int_equal(control("*@1", 7, "query", SPEX_LAT), 1);
    assert_int_equal(control("*@100", 7, "query", SPEX_LAT), 100);
    assert_int_equal(control("*@0100", 7, "query", SPEX_LAT), 100);
    assert_int_equal(control("*@16777215", 7, "query", SPEX_LAT), SPEX_CONTROL_PERIOD_MAX);
    assert_int_equal(control("7:lat@12", 7, "query", SPEX_LAT), 12);
    assert_int_equal(control("7:lat@12", 7, "query", SPEX_CNT), 0);
}

static void the_last_match_decides(void **state) {
    (void)state;
    assert_int_equal(control("*@5,query@7", 7, "query", SPEX_LAT), 7);
    assert_int_equal(control("query@7,*@5", 7, "query", SPEX_LAT), 5);
    assert_int_equal(control("*@5,query@7", 8, "other", SPEX_LAT), 5);
    assert_int_equal(control("*@5,query:cnt@7", 7, "query", SPEX_LAT), 5);
    assert_int_equal(control("*@5,query", 7, "query", SPEX_LAT), SC);
    assert_int_equal(control("7@2,7@3,7@4", 7, NULL, SPEX_LAT), 4);
}

static void malformed_text_is_explained(void **state) {
    static const char first[] = "a probe's name or id was expected first";
    static const char type[] = "after \":\" a probe type was expected: cnt, lat, "
                               "tpt, llc, flt, ctxsw, perfcntr or snapshot";
    static const char period[] = "after \"@\" a period of 1 to 16777215 was expected";
    static const struct {
        const char *text, *item, *expected;
    } cases[] = {
        {",", "", first},
        {"a,", "", first},
        {",a", "", first},
        {"a,,b", "", first},
        {":lat", ":lat", first},
        {"@5", "@5", first},
        {":lat@5", ":lat@5", first},
        {"a:", "a:", type},
        {"a:latency", "a:latency", type},
        {"a:la", "a:la", type},
        {"a:LAT", "a:LAT", type},
        {"a: lat", "a: lat", type},
        {"a:lat:cnt", "a:lat:cnt", type},
        {"a:@5", "a:@5", type},
        {"b,a:x@5,c", "a:x@5", type},
        {"a@", "a@", period},
        {"a@0", "a@0", period},
        {"a@-1", "a@-1", period},
        {"a@+1", "a@+1", period},
        {"a@ 1", "a@ 1", period},
        {"a@1x", "a@1x", period},
        {"a@1.5", "a@1.5", period},
        {"a@1@2", "a@1@2", period},
        {"a@5:lat", "a@5:lat", period},
        {"a@268435456", "a@268435456", period},
        {"a@4294967297", "a@4294967297", period},
        {"a@9999999999", "a@9999999999", period},
        {"a@18446744073709551617", "a@18446744073709551617", period},
    };
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_selection selection;
        char why[256] = "", expected[256];
        int err = spex_selection_parse(cases[c].text, &selection, why, sizeof(why));
        snprintf(expected, sizeof(expected), "\"%s\": %s", cases[c].item, cases[c].expected);
        if (err != -EINVAL || strcmp(why, expected) != 0)
            fail_msg("\"%s\": %d, %s", cases[c].text, err, why);
        assert_int_equal(selection.count, 0);
        assert_null(selection.items);
    }
}

/* The reason is cut where the caller's space ends. */
static void a_long_item_does_not_overflow_the_reason(void **state) {
    struct spex_selection selection;
    char text[5000], why[32];
    (void)state;
    memset(text, 'x', sizeof(text));
    strcpy(text + sizeof(text) - 6, "@none");
    why[sizeof(why) - 1] = 'z';
    assert_int_equal(spex_selection_parse(text, &selection, why, sizeof(why) - 1), -EINVAL);
    assert_int_equal(why[sizeof(why) - 1], 'z');
    assert_int_equal(strlen(why), sizeof(why) - 2);
}

/* Whatever the text, parsing ends in 0 or in -EINVAL with a reason. */
static void any_text_is_taken_or_explained(void **state) {
    static const char letters[] = "a7*:@,lat[0]";
    uint64_t seed = 1;
    unsigned taken = 0, refused = 0;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[16] = "", why[256] = "";
        struct spex_selection selection;
        for (uint64_t i = 0, length = random_below(&seed, sizeof(text)); i < length; i++)
            text[i] = letters[random_below(&seed, sizeof(letters) - 1)];
        int err = spex_selection_parse(text, &selection, why, sizeof(why));
        assert_true(err == 0 || err == -EINVAL);
        assert_int_equal(err != 0, strstr(why, "was expected") != NULL);
        *(err ? &refused : &taken) += 1;
        spex_selection_control(&selection, 7, "a7", SPEX_LAT, SC);
        spex_selection_free(&selection);
    }
    assert_true(taken > 1000 && refused > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_globs_and_ids),
        cmocka_unit_test(types),
        cmocka_unit_test(periods),
        cmocka_unit_test(the_last_match_decides),
        cmocka_unit_test(malformed_text_is_explained),
        cmocka_unit_test(a_long_item_does_not_overflow_the_reason),
        cmocka_unit_test(any_text_is_taken_or_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
