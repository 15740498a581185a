/* SPDX-License-Identifier: MIT */
/* What items of a selection match, and how they sample. */
#include <spex/record.h>
#include <spex/site.h>

#include "../check.h"
#include "selections.h"
#include "site/selection.h"

TEST(names_globs_and_ids) {
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

TEST(types) {
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
        {"*:kernel", SPEX_KERNEL},
        {"*:span", SPEX_SPAN},
        {"*:cnt,*:tpt", SPEX_CNT | SPEX_TPT},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        for (uint32_t type = 1; type < 1u << SPEX_PROBE_TYPES; type <<= 1)
            assert_int_equal(control(cases[c].text, 1, "x", type), cases[c].mask & type ? SC : 0);
}

/* The sampling that a selection gives probe 7, "query", of provider libdb. */
static uint32_t provided(const char *text) {
    struct spex_selection selection = parsed(text);
    const struct spex_selection_probe probe = {
        .provider = "libdb", .name = "query", .type = SPEX_LAT, .subsample = SC, .id = 7};
    uint32_t period = spex_selection_sampling(&selection, &probe).period;
    spex_selection_free(&selection);
    return period;
}

TEST(providers) {
    static const char *const on[] = {"libdb/query", "libdb/7",     "libdb/*", "lib*/q*", "*/7",
                                     "*/*:lat",     "libdb/7:lat", "query",   "7",       "*"};
    static const char *const off[] = {"libd/query", "libdb/8",  "libdb/7:cnt",    "query/libdb",
                                      "db/*",       "libdbx/*", "libdb/query@off"};
    for (size_t c = 0; c < COUNT_OF(on); c++)
        assert_int_equal(provided(on[c]), SC);
    for (size_t c = 0; c < COUNT_OF(off); c++)
        assert_int_equal(provided(off[c]), 0);
    assert_int_equal(control("libdb/*", 7, "query", SPEX_LAT), 0);
    assert_int_equal(control("a/b", 7, "a/b", SPEX_LAT), SC);
}

TEST(periods) {
    assert_int_equal(control("*@1", 7, "query", SPEX_LAT), 1);
    assert_int_equal(control("*@100", 7, "query", SPEX_LAT), 100);
    assert_int_equal(control("*@0100", 7, "query", SPEX_LAT), 100);
    assert_int_equal(control("*@16777214", 7, "query", SPEX_LAT), SPEX_CONTROL_PERIOD_MAX);
    assert_int_equal(control("7:lat@12", 7, "query", SPEX_LAT), 12);
    assert_int_equal(control("7:lat@12", 7, "query", SPEX_CNT), 0);
}

static struct spex_sampling sampling(const char *text, uint32_t type) {
    struct spex_selection selection = parsed(text);
    const struct spex_selection_probe probe = {
        .name = "query", .type = type, .subsample = SC, .id = 7};
    struct spex_sampling found = spex_selection_sampling(&selection, &probe);
    spex_selection_free(&selection);
    return found;
}

TEST(kinds_of_sampling) {
    static const struct {
        const char *text;
        struct spex_sampling sampling;
    } cases[] = {
        {"*", {SC, 0, SPEX_SAMPLING_PERIODIC}},
        {"*@5", {5, 0, SPEX_SAMPLING_PERIODIC}},
        {"*@~5", {5, 0, SPEX_SAMPLING_GEOMETRIC}},
        {"*@~1048576", {1048576, 0, SPEX_SAMPLING_GEOMETRIC}},
        {"*@100x64", {100, 64, SPEX_SAMPLING_BURSTY}},
        {"*@1x2", {1, 2, SPEX_SAMPLING_BURSTY}},
        {"*@131072x64", {131072, 64, SPEX_SAMPLING_BURSTY}},
        {"*@~5,*@off", {0, 0, SPEX_SAMPLING_PERIODIC}},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_sampling found = sampling(cases[c].text, SPEX_LAT);
        assert_true(spex_sampling_same(&found, &cases[c].sampling));
    }
}

TEST(polling) {
    assert_int_equal(sampling("*@poll", SPEX_LAT).kind, SPEX_SAMPLING_POLLING);
    assert_int_equal(sampling("*@poll", SPEX_CNT).kind, SPEX_SAMPLING_POLLING);
    assert_true(sampling("*@poll", SPEX_LAT).period > 0);
    assert_int_equal(sampling("*@poll", SPEX_SNAPSHOT).period, 0);
    assert_int_equal(sampling("*@poll,:snapshot", SPEX_SNAPSHOT).period, SC);
    assert_int_equal(sampling("*@poll,query@5", SPEX_LAT).period, 5);
    assert_int_equal(sampling("*@poll,query@5", SPEX_LAT).kind, SPEX_SAMPLING_PERIODIC);
    EXPECT_AFTER("query@poll,7:lat@poll", "query@poll", "+7:lat@poll");
}

TEST(the_last_match_decides) {
    assert_int_equal(control("*@5,query@7", 7, "query", SPEX_LAT), 7);
    assert_int_equal(control("query@7,*@5", 7, "query", SPEX_LAT), 5);
    assert_int_equal(control("*@5,query@7", 8, "other", SPEX_LAT), 5);
    assert_int_equal(control("*@5,query:cnt@7", 7, "query", SPEX_LAT), 5);
    assert_int_equal(control("*@5,query", 7, "query", SPEX_LAT), SC);
    assert_int_equal(control("7@2,7@3,7@4", 7, NULL, SPEX_LAT), 4);
}

TEST(off_switches_off) {
    assert_int_equal(control("off", 7, "query", SPEX_LAT), 0);
    assert_int_equal(control("off", 7, "off", SPEX_LAT), 0);
    assert_int_equal(control(" \toff\n", 7, "off", SPEX_LAT), 0);
    assert_int_equal(control("*,query@off", 7, "query", SPEX_LAT), 0);
    assert_int_equal(control("*,query@off", 8, "other", SPEX_LAT), SC);
    assert_int_equal(control("query@off,*", 7, "query", SPEX_LAT), SC);
    assert_int_equal(control("*@off", 7, "query", SPEX_LAT), 0);
    assert_int_equal(control("*,:lat@off", 7, "query", SPEX_LAT), 0);
    assert_int_equal(control("*,:lat@off", 7, "query", SPEX_CNT), SC);
    assert_int_equal(control("off@5", 7, "off", SPEX_CNT), 5);
    assert_int_equal(control("[o]ff", 7, "off", SPEX_CNT), SC);
}

TEST(a_type_alone_is_of_all_probes) {
    assert_int_equal(control(":lat", 7, "query", SPEX_LAT), SC);
    assert_int_equal(control(":lat@5", 7, NULL, SPEX_LAT), 5);
    assert_int_equal(control(":lat", 7, "query", SPEX_CNT), 0);
}

TEST(files) {
    assert_int_equal(control_in("file=net.c", "net.c", 7, "query", SPEX_LAT), SC);
    assert_int_equal(control_in("file=net.c", "src/net.c", 7, "query", SPEX_LAT), SC);
    assert_int_equal(control_in("file=net.c", "../a/src/net.c", 7, NULL, SPEX_LAT), SC);
    assert_int_equal(control_in("file=src/net.c", "/a/src/net.c", 7, NULL, SPEX_LAT), SC);
    assert_int_equal(control_in("file=/a/src/net.c", "/a/src/net.c", 7, NULL, SPEX_LAT), SC);
    assert_int_equal(control_in("file=src/*", "/a/src/io/net.c", 7, NULL, SPEX_LAT), SC);
    assert_int_equal(control_in("file=*.c", "/a/src/net.c", 7, NULL, SPEX_LAT), SC);
    assert_int_equal(control_in("file=net.c", "src/inet.c", 7, NULL, SPEX_LAT), 0);
    assert_int_equal(control_in("file=src", "src/net.c", 7, NULL, SPEX_LAT), 0);
    assert_int_equal(control_in("file=net.c", "src/net.cc", 7, "net.c", SPEX_LAT), 0);
    assert_int_equal(control_in("file=*", NULL, 7, "query", SPEX_LAT), 0);
    assert_int_equal(control_in("file=net.c:lat@5", "net.c", 7, NULL, SPEX_LAT), 5);
    assert_int_equal(control_in("file=net.c:lat@5", "net.c", 7, NULL, SPEX_CNT), 0);
    assert_int_equal(control_in("*,file=net.c@off", "net.c", 7, NULL, SPEX_CNT), 0);
    assert_int_equal(control_in("7", "7", 8, "8", SPEX_CNT), 0);
}

TEST(whether_anything_may_go_on) {
    static const struct {
        const char *text;
        bool any;
    } cases[] = {{"", false},       {"off", false},    {"*@off", false},
                 {"+a@off", false}, {"*@off,a", true}, {"a@5", true}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_selection selection = parsed(cases[c].text);
        assert_int_equal(spex_selection_any_on(&selection), cases[c].any);
        spex_selection_free(&selection);
    }
}
