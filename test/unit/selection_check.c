/* SPDX-License-Identifier: MIT */
/* What is said of items that match no probe: which, and what there is, in a line of any length. The
 * sites are an array, registered as a library's constructor does it. */
#include <spex/record.h>

#include "site/registry.h"
#include "site/selection_check.h"
#include "text/printable.h"

#include "../check.h"

enum { MANY = 100 };

static const char file[] = "module.c\0"; /* no arguments */
static const struct spex_probe_name names[] = {{.probe_id = 1, .name = "query"},
                                               {.probe_id = 2, .name = "a\033[31m"}};

static struct spex_site site_at(const struct spex_site *place, uint16_t id, uint8_t type) {
    return (struct spex_site){
        .subsample = 1,
        .line = 1,
        .probe_id = id,
        .type_number = (uint8_t)SPEX_TYPE_NUMBER_(type),
        .file_offset = (int64_t)((intptr_t)file - (intptr_t)&place->file_offset),
    };
}

static void enter(struct spex_site *sites, unsigned count) {
    spex_module_register(sites, sites + count, names, names + COUNT_OF(names));
}

static int unmatched(const char *probes, char *text, size_t size) {
    struct spex_selection selection;
    struct spex_error error;
    assert_int_equal(spex_selection_parse(probes, &selection, &error), 0);
    int count = spex_selection_unmatched(&selection, text, size);
    spex_selection_free(&selection);
    return count;
}

static void expect(const char *probes, int count, const char *expected) {
    char text[SPEX_SELECTION_CHECK_BYTES] = "?";
    assert_int_equal(unmatched(probes, text, sizeof(text)), count);
    assert_string_equal(text, expected);
}

TEST(without_a_probe_there_is_none) {
    expect("*", 1, "no probe matches \"*\" (yet); there are: none");
    expect("off", 0, "");
}

TEST(items_are_told_with_what_there_is) {
    static struct spex_site sites[6];
    static const char there_are[] =
        " (yet); there are: a?[31m:cnt, query:cnt, query:lat, 7:lat, 10:cnt";
    char expected[SPEX_SELECTION_CHECK_BYTES];
    sites[0] = site_at(&sites[0], 10, SPEX_CNT);
    sites[1] = site_at(&sites[1], 7, SPEX_LAT);
    sites[2] = site_at(&sites[2], 1, SPEX_LAT);
    sites[3] = site_at(&sites[3], 1, SPEX_CNT);
    sites[4] = site_at(&sites[4], 1, SPEX_LAT); /* at another place */
    sites[5] = site_at(&sites[5], 2, SPEX_CNT);
    enter(sites, COUNT_OF(sites));
    expect("query", 0, "");
    expect("*@off,7,file=module.c", 0, "");
    snprintf(expected, sizeof(expected), "no probe matches \"qurey\"%s", there_are);
    expect("qurey", 1, expected);
    expect("query,qurey", 1, expected);
    expect("+qurey,*:cnt", 1, expected);
    snprintf(expected, sizeof(expected), "no probe matches \"7:cnt@off\", \"file=x.c\"%s",
             there_are);
    expect("*,7:cnt@off,query, file=x.c ", 2, expected);
    snprintf(expected, sizeof(expected), "no probe matches \"?[2J\"%s", there_are);
    expect("\033[2J", 1, expected);
    spex_module_unregister(sites);
    expect("query", 1, "no probe matches \"query\" (yet); there are: none");
}

TEST(much_is_cut) {
    static struct spex_site sites[MANY];
    char probes[4096] = "1000", text[SPEX_SELECTION_CHECK_BYTES];
    unsigned left;
    for (uint16_t i = 0; i < MANY; i++)
        sites[i] = site_at(&sites[i], (uint16_t)(200 + i), SPEX_SNAPSHOT);
    enter(sites, MANY);
    assert_int_equal(unmatched(probes, text, sizeof(text)), 1);
    const char *more = strstr(text, ", … and ");
    assert_non_null(more);
    assert_int_equal(sscanf(more, ", … and %u more", &left), 1);
    unsigned shown = 0;
    for (const char *at = text; (at = strstr(at, ":snapshot")); at++)
        shown++;
    assert_int_equal(shown + left, MANY);

    for (unsigned i = 1; i < MANY; i++)
        sprintf(probes + strlen(probes), ",%u", 1000 + i);
    assert_int_equal(unmatched(probes, text, sizeof(text)), MANY);
    assert_non_null(strstr(text, "no probe matches \"1000\", \"1001\""));
    const char *rest = strstr(text, " more (yet); there are: 200:snapshot, ");
    assert_non_null(rest);
    /* Items have the first half of the line, but for one of them and the number of the others. */
    assert_in_range(rest - text, sizeof(text) / 2 - 120, sizeof(text) / 2);
    spex_module_unregister(sites);
}

/* The length of the text never matters, nor does an item's. */
TEST(any_room_will_do) {
    char probes[600], text[SPEX_SELECTION_CHECK_BYTES];
    memset(probes, 'x', sizeof(probes));
    probes[sizeof(probes) - 1] = '\0';
    for (size_t size = 0; size < sizeof(text); size++) {
        memset(text, 'z', sizeof(text));
        assert_int_equal(unmatched(probes, text, size), 1);
        assert_int_equal(text[size], 'z');
        if (size) {
            assert_true(strlen(text) < size);
            assert_true(spex_is_printable(text));
        }
    }
}

/* The first three are named, once each, and the others counted. */
TEST(what_cannot_be_polled) {
    static struct spex_site sites[7];
    static const char *const ends[] = {"",
                                       "10",
                                       "10, 20",
                                       "10, 20, query",
                                       "10, 20, query and 1 more",
                                       "10, 20, query and 2 more"};
    static const uint16_t ids[] = {10, 20, 1, 30, 40};
    struct spex_selection selection;
    struct spex_error error;
    char text[SPEX_SELECTION_CHECK_BYTES], expected[SPEX_SELECTION_CHECK_BYTES];
    for (unsigned count = 0; count <= COUNT_OF(ids); count++) {
        sites[0] = site_at(&sites[0], 50, SPEX_LAT); /* which can be polled */
        for (unsigned i = 0; i < count; i++)
            sites[1 + i] = site_at(&sites[1 + i], ids[i], SPEX_SNAPSHOT);
        sites[1 + count] = site_at(&sites[1 + count], 10, SPEX_SNAPSHOT); /* once more */
        enter(sites, 1 + count + (count > 0));
        assert_int_equal(spex_selection_parse("*@poll", &selection, &error), 0);
        strcpy(text, "nothing");
        assert_int_equal(spex_selection_unpolled(&selection, text, sizeof(text)), count);
        snprintf(expected, sizeof(expected), "%s%s",
                 count ? "snapshots and spans cannot be polled, so they stay off: " : "nothing",
                 ends[count]);
        assert_string_equal(text, expected);
        spex_selection_free(&selection);
        spex_module_unregister(sites);
    }
}

/* Where there are several providers, probes are told with theirs. */
TEST(probes_of_several_providers) {
    static struct spex_site sites[2], other;
    static const struct spex_probe_name provider[] = {{0, SPEX_PROVIDER_MARK "another"}};
    sites[0] = site_at(&sites[0], 10, SPEX_CNT);
    sites[1] = site_at(&sites[1], 20, SPEX_CNT);
    enter(sites, 2);
    expect("qurey", 1, "no probe matches \"qurey\" (yet); there are: 10:cnt, 20:cnt");
    other = site_at(&other, 77, SPEX_LAT);
    spex_module_register(&other, &other + 1, provider, provider + 1);
    expect("qurey", 1,
           "no probe matches \"qurey\" (yet); there are: unit-selection_check/10:cnt, "
           "unit-selection_check/20:cnt, another/77:lat");
}
