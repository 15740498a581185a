/* SPDX-License-Identifier: MIT */
/* The text of a selection: how items are added, which limits it has, and what is said of text that
 * is no selection. */
#include <errno.h>

#include <spex/record.h>

#include "../check.h"
#include "selections.h"
#include "site/selection.h"

TEST(blanks_around_items_are_ignored) {
    assert_int_equal(control("  query ,\tother@5\n", 7, "query", SPEX_LAT), SC);
    assert_int_equal(control("  query ,\tother@5\n", 8, "other", SPEX_LAT), 5);
    assert_int_equal(control(" + query", 7, "query", SPEX_LAT), SC);
    assert_int_equal(control("my query", 7, "my query", SPEX_LAT), SC);
    EXPECT_AFTER("a,b", " \ta , b ");
    EXPECT_AFTER("off", "  ");
}

TEST(items_are_added_behind) {
    EXPECT_AFTER("a,b", "a", "+b");
    EXPECT_AFTER("b", "a", "b");
    EXPECT_AFTER("off", "a", "off");
    EXPECT_AFTER("off", "a", "");
    EXPECT_AFTER("a", "+a");
    EXPECT_AFTER("a,b@off", "a,b", "+b@off");
    EXPECT_AFTER("b,a@5", "a,b", "+a@5");
    EXPECT_AFTER("a,b,a:lat@5", "a,b", "+a:lat@5");
    EXPECT_AFTER("a,file=a", "a", "+file=a");
    EXPECT_AFTER("b,*:lat,a,c", "a,b", "+:lat,a,c");
    EXPECT_AFTER("b,a@2", "a@1,b,a@2");
    EXPECT_AFTER("b@3,*@off", "*@5,b@3", "+*@off");
}

TEST(switching_for_ever_does_not_grow_the_list) {
    struct spex_selection present = parsed("*,other:lat@7");
    for (int i = 0; i < 5000; i++) {
        struct spex_selection change = parsed(i % 2 ? "+query" : "+query@off");
        assert_int_equal(spex_selection_change(&present, &change), 0);
        assert_int_equal(present.count, 3);
    }
    spex_selection_free(&present);
}

/* `first` to `first` + `count` - 1, as ids. */
static void write_ids(char *text, size_t size, unsigned first, unsigned count) {
    size_t length = 0;
    for (unsigned i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%u", i ? "," : "", first + i);
}

TEST(there_is_an_end_of_items) {
    char text[8192], before[8192], after[8192];
    struct spex_error error;
    struct spex_selection present, change;
    write_ids(text, sizeof(text), 0, SPEX_SELECTION_ITEMS_MAX + 1);
    assert_int_equal(spex_selection_parse(text, &present, &error), -E2BIG);
    assert_string_equal(error.text, "1024 items at most were expected");
    assert_int_equal(present.count, 0);
    write_ids(text, sizeof(text), 0, SPEX_SELECTION_ITEMS_MAX);
    present = parsed(text);
    spex_selection_text(&present, before, sizeof(before));
    assert_string_equal(before, text);

    /* Unless it takes the place of another one, also not of the first. */
    strcat(text, ",7@3");
    assert_int_equal(spex_selection_parse(text, &change, &error), 0);
    assert_int_equal(change.count, SPEX_SELECTION_ITEMS_MAX);
    spex_selection_free(&change);

    change = parsed("+5,new");
    assert_int_equal(spex_selection_change(&present, &change), -E2BIG);
    assert_null(change.items);
    spex_selection_text(&present, after, sizeof(after));
    assert_string_equal(after, before);

    change = parsed("+5@off");
    assert_int_equal(spex_selection_change(&present, &change), 0);
    assert_int_equal(present.count, SPEX_SELECTION_ITEMS_MAX);
    spex_selection_free(&present);
}

TEST(there_is_an_end_of_bytes) {
    static char text[SPEX_SELECTION_BYTES_MAX + 2], written[SPEX_SELECTION_BYTES_MAX + 2];
    struct spex_error error;
    struct spex_selection present, change;
    memset(text, 'x', sizeof(text) - 1);
    assert_int_equal(spex_selection_parse(text, &present, &error), -E2BIG);
    assert_string_equal(error.text, "65536 bytes at most were expected");
    assert_int_equal(present.count, 0);
    text[SPEX_SELECTION_BYTES_MAX] = '\0';
    present = parsed(text);
    assert_int_equal(spex_selection_text(&present, written, SPEX_SELECTION_BYTES_MAX + 1), 0);
    assert_string_equal(written, text);
    assert_int_equal(spex_selection_text(&present, written, SPEX_SELECTION_BYTES_MAX), -E2BIG);
    assert_string_equal(written, "");
    change = parsed("+y");
    assert_int_equal(spex_selection_change(&present, &change), -E2BIG);
    assert_int_equal(present.count, 1);
    spex_selection_free(&present);
}

/* As ":lat" is written as "*:lat". */
TEST(what_is_written_may_be_too_long) {
    static char text[SPEX_SELECTION_BYTES_MAX + 1];
    struct spex_error error;
    struct spex_selection selection;
    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, ":lat,", strlen(":lat,"));
    assert_int_equal(spex_selection_parse(text, &selection, &error), -E2BIG);
    assert_string_equal(error.text, "65536 bytes at most were expected");
    assert_int_equal(selection.count, 0);
    text[SPEX_SELECTION_BYTES_MAX - 1] = '\0';
    assert_int_equal(spex_selection_parse(text, &selection, &error), 0);
    assert_int_equal(selection.count, 2);
    spex_selection_free(&selection);
}

TEST(a_text_that_does_not_fit_is_not_written) {
    struct spex_selection selection = parsed("query:lat@5,b");
    char text[32];
    for (size_t size = 0; size < sizeof(text); size++) {
        memset(text, 'z', sizeof(text));
        int err = spex_selection_text(&selection, text, size);
        assert_int_equal(err, size > strlen("query:lat@5,b") ? 0 : -E2BIG);
        if (size)
            assert_string_equal(text, err ? "" : "query:lat@5,b");
        assert_int_equal(text[size], 'z');
    }
    spex_selection_free(&selection);
}

TEST(malformed_text_is_explained) {
    static const char what[] = "before \"@\" a probe's name or id, file=PATH or :TYPE was expected";
    static const char path[] = "after \"file=\" the path of a source file was expected";
    static const char plus[] = "\"+\" was expected once, in front of all items";
    static const char off[] = "no other items were expected beside \"off\"; \"*@off\" is one";
    static const char type[] = "after \":\" a probe type was expected: cnt, lat, "
                               "tpt, llc, flt, ctxsw, perfcntr, snapshot, kernel or span";
    static const char period[] = "after \"@\" a period of 1 to 16777214, \"~\" and a period, "
                                 "PERIODxBURST, \"poll\" or \"off\" was expected";
    static const char mean[] = "after \"@~\" a mean period of 1 to 1048576 was expected";
    static const char burst[] = "after \"@\" PERIODxBURST was expected, a burst of at least 2, "
                                "together at most 8388608";
    static const struct {
        const char *text, *item, *expected;
    } cases[] = {
        {"@5", "@5", what},
        {"@off", "@off", what},
        {"a, @5 ,b", "@5", what},
        {"file=", "file=", path},
        {"file=:lat", "file=:lat", path},
        {"++a", "+a", plus},
        {"+a,+b", "+b", plus},
        {"a,+b", "+b", plus},
        {"+off", "off", off},
        {"off,a", "off", off},
        {"a, off", "off", off},
        {"off,off", "off", off},
        {"a:", "a:", type},
        {"a:latency", "a:latency", type},
        {"a:la", "a:la", type},
        {"a:LAT", "a:LAT", type},
        {"a: lat", "a: lat", type},
        {"a:lat:cnt", "a:lat:cnt", type},
        {"a:@5", "a:@5", type},
        {"b,a:x@5,c", "a:x@5", type},
        {":late", ":late", type},
        {":", ":", type},
        {"\033[31mx\n:y", "?[31mx?:y", type},
        {"a@", "a@", period},
        {"a@OFF", "a@OFF", period},
        {"a@off5", "a@off5", period},
        {"a@0", "a@0", period},
        {"a@-1", "a@-1", period},
        {"a@+1", "a@+1", period},
        {"a@ 1", "a@ 1", period},
        {"a@1x", "a@1x", burst},
        {"a@x", "a@x", burst},
        {"a@x5", "a@x5", burst},
        {"a@10x1", "a@10x1", burst},
        {"a@0x4", "a@0x4", burst},
        {"a@10x4x4", "a@10x4x4", burst},
        {"a@~10x4", "a@~10x4", burst},
        {"a@4194305x2", "a@4194305x2", burst},
        {"a@10x~4", "a@10x~4", burst},
        {"a@~", "a@~", mean},
        {"a@~0", "a@~0", mean},
        {"a@~1048577", "a@~1048577", mean},
        {"a@~off", "a@~off", mean},
        {"a@~~5", "a@~~5", mean},
        {"a@1.5", "a@1.5", period},
        {"a@1@2", "a@1@2", period},
        {"a@5:lat", "a@5:lat", period},
        {"a@268435456", "a@268435456", period},
        {"a@4294967297", "a@4294967297", period},
        {"a@9999999999", "a@9999999999", period},
        {"a@18446744073709551617", "a@18446744073709551617", period},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_selection selection;
        struct spex_error error;
        char expected[256];
        int err = spex_selection_parse(cases[c].text, &selection, &error);
        snprintf(expected, sizeof(expected), "\"%s\": %s", cases[c].item, cases[c].expected);
        if (err != -EINVAL || strcmp(error.text, expected) != 0)
            fail_msg("\"%s\": %d, %s", cases[c].text, err, error.text);
        assert_int_equal(selection.count, 0);
        assert_null(selection.items);
    }
}

TEST(empty_items_are_told_by_number) {
    static const struct {
        const char *text;
        unsigned number;
    } cases[] = {{",", 1},  {"a,", 2}, {",a", 1},  {"a,,b", 2}, {"a, ,b", 2},
                 {",,", 1}, {"+", 1},  {" + ", 1}, {"+,a", 1},  {"+a,b,", 3}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_selection selection;
        struct spex_error error;
        char expected[256];
        assert_int_equal(spex_selection_parse(cases[c].text, &selection, &error), -EINVAL);
        snprintf(expected, sizeof(expected),
                 "item %u is empty: a probe's name or id, file=PATH or :TYPE was expected",
                 cases[c].number);
        assert_string_equal(error.text, expected);
        assert_int_equal(selection.count, 0);
    }
}

/* The reason is cut where the space for it ends. */
TEST(a_long_item_does_not_overflow_the_reason) {
    struct spex_selection selection;
    struct {
        struct spex_error error;
        char behind;
    } room;
    char text[5000];
    memset(text, 'x', sizeof(text));
    strcpy(text + sizeof(text) - 6, "@none");
    room.behind = 'z';
    assert_int_equal(spex_selection_parse(text, &selection, &room.error), -EINVAL);
    assert_int_equal(room.behind, 'z');
    assert_int_equal(strlen(room.error.text), sizeof(room.error.text) - 1);
}

static void expect_same(const struct spex_selection *a, const struct spex_selection *b) {
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->relative, b->relative);
    for (size_t i = 0; i < a->count; i++) {
        assert_string_equal(a->items[i].what, b->items[i].what);
        assert_int_equal(a->items[i].file, b->items[i].file);
        assert_int_equal(a->items[i].types, b->items[i].types);
        assert_int_equal(a->items[i].sampling.period, b->items[i].sampling.period);
    }
}

/* Whatever the text, parsing ends in -EINVAL with a reason, or in a selection that is the same when
 * it has been written and parsed. */
TEST(any_text_is_taken_or_explained) {
    static const char *const pieces[] = {"a", "7", "*",  ":",    "@",   ",",     ":lat",
                                         "0", "[", "]",  "@off", "off", "file=", ":cnt",
                                         " ", "+", "\n", "\xc3", "?",   "@5",    ","};
    uint64_t seed = 1;
    unsigned taken = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        char text[128] = "", written[160];
        struct spex_error error = {""};
        struct spex_selection selection, again;
        for (uint64_t i = 0, count = random_below(&seed, 12); i < count; i++)
            strcat(text, pieces[random_below(&seed, COUNT_OF(pieces))]);
        int err = spex_selection_parse(text, &selection, &error);
        assert_true(err == 0 || err == -EINVAL);
        assert_int_equal(err != 0, strstr(error.text, " expected") != NULL);
        *(err ? &refused : &taken) += 1;
        assert_int_equal(spex_selection_text(&selection, written, sizeof(written)), 0);
        again = parsed(written);
        expect_same(&selection, &again);
        spex_selection_free(&selection);
        spex_selection_free(&again);
    }
    assert_true(taken > 1000 && refused > 1000);
}

/* Items, and which probes of four they match: query:lat, query:cnt, other:lat and unnamed 7:cnt. */
static const struct {
    const char *text;
    bool matches[4];
} model_items[] = {
    {"*", {true, true, true, true}},
    {":lat", {true, false, true, false}},
    {"*:cnt", {false, true, false, true}},
    {"query", {true, true, false, false}},
    {"query:lat", {true, false, false, false}},
    {"q*", {true, true, false, false}},
    {"7", {false, false, false, true}},
    {"7:lat", {false, false, false, false}},
    {"other", {false, false, true, false}},
    {"file=a.c", {true, true, false, false}},
    {"file=b.c", {false, false, true, true}},
    {"file=*:cnt", {false, true, false, true}},
};

static const struct spex_selection_probe model_probes[4] = {
    {.name = "query", .file = "src/a.c", .type = SPEX_LAT, .subsample = SC, .id = 1},
    {.name = "query", .file = "src/a.c", .type = SPEX_CNT, .subsample = SC, .id = 1},
    {.name = "other", .file = "src/b.c", .type = SPEX_LAT, .subsample = SC, .id = 2},
    {.file = "src/b.c", .type = SPEX_CNT, .subsample = SC, .id = 7},
};

/* One more item behind `text`; what it says of the four probes into `periods`. */
static void add_random_item(uint64_t *seed, char *text, size_t size, uint32_t periods[4]) {
    size_t item = random_below(seed, COUNT_OF(model_items)), length = strlen(text);
    uint32_t period = (uint32_t)random_below(seed, 4); /* 0 is off, 1 the developer's own */
    char written[16] = "";
    if (period != 1)
        snprintf(written, sizeof(written), period ? "@%u" : "@off", period);
    snprintf(text + length, size - length, "%s%s%s", length && text[length - 1] != '+' ? "," : "",
             model_items[item].text, written);
    for (size_t p = 0; p < 4; p++)
        if (model_items[item].matches[p])
            periods[p] = period == 1 ? SC : period;
}

/* Selections and additions in any order: the last item that matches decides. */
TEST(additions_do_as_a_list_of_all_items_would) {
    struct spex_selection present = {0};
    uint32_t periods[4] = {0};
    uint64_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        char text[128];
        bool relative = random_below(&seed, 20) > 0;
        if (!relative)
            memset(periods, 0, sizeof(periods));
        strcpy(text, relative ? "+" : "");
        for (uint64_t items = 1 + random_below(&seed, 4); items > 0; items--)
            add_random_item(&seed, text, sizeof(text), periods);
        struct spex_selection change = parsed(text);
        assert_int_equal(spex_selection_change(&present, &change), 0);
        assert_true(present.count <= COUNT_OF(model_items));
        assert_false(present.relative);
        for (size_t p = 0; p < 4; p++)
            if (spex_selection_sampling(&present, &model_probes[p]).period != periods[p])
                fail_msg("round %d, %s: probe %zu", round, text, p);
    }
    spex_selection_free(&present);
}
