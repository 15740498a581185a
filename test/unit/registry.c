/* SPDX-License-Identifier: MIT */
/* The registry of sites when libraries come and go, again and again, and when they bring more than
 * it can manage. The libraries are arrays of sites, registered as a library's constructors do it.
 * The last test leaves no room for others. */
#define _GNU_SOURCE
#include <errno.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "collect/metrics.h"
#include "serve/own_profile.h"
#include "site/probe_identity.h"
#include "site/probe_state.h"
#include "site/provider.h"
#include "site/registry.h"
#include "site/registry_state.h"
#include "site/selection_check.h"
#include "site/site_text.h"

#include "../check.h"
#include "../status.h"
#include "messages.h"

enum { FIRST_ID = 100, LIVES = 10000, TOO_MANY_VALUES = SPEX_MAX_FIELDS + 1 };

static const char file[] = "module.c\0"; /* no arguments */
static const struct spex_probe_name names[] = {{.probe_id = FIRST_ID, .name = "module.first"}};

static struct spex_site site_at(const struct spex_site *place, unsigned line) {
    return (struct spex_site){
        .subsample = 1,
        .line = line,
        .probe_id = (uint16_t)(FIRST_ID + line),
        .type_number = SPEX_TYPE_NUMBER_(SPEX_SNAPSHOT),
        .file_offset = (int64_t)((intptr_t)file - (intptr_t)&place->file_offset),
    };
}

static void module_make(struct spex_site *sites, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        sites[i] = site_at(&sites[i], i);
}

static void enter(struct spex_site *sites, unsigned count) {
    spex_module_register(sites, sites + count, names, names + COUNT_OF(names));
}

static int start(void **state) {
    const struct spex_options options = {
        .size = sizeof(options), .probes = "*@3", .out = "/dev/null", .no_calibration = true};
    (void)state;
    messages_begin(); /* no probe matches yet */
    int err = spex_start(&options);
    messages_end();
    return err;
}

static int stop(void **state) {
    (void)state;
    return spex_stop();
}

static void set(const char *probes, int on) {
    messages_begin(); /* no probe matches */
    int got = spex_set(probes);
    messages_end();
    assert_int_equal(got, on);
}

/* The linker's: where the memory begins that takes no room in the file. */
extern const char __bss_start[];

TEST(the_registry_takes_no_room_in_the_file) {
    assert_true((uintptr_t)&spex_registry >= (uintptr_t)__bss_start);
}

/* Whoever looks at the probes that are selected is told when to look again. */
TEST(others_may_be_selected) {
    struct spex_site sites[4];
    uint32_t before = spex_sites_selections();
    struct spex_selection selection;
    struct spex_error error;
    module_make(sites, 4);
    enter(sites, 4);
    assert_int_not_equal(spex_sites_selections(), before);
    before = spex_sites_selections();
    spex_probe_throttle(sites[0].index, 7);
    assert_int_equal(spex_sites_selections(), before);
    assert_int_equal(spex_selection_parse("*@3", &selection, &error), 0);
    assert_true(spex_sites_select(selection) > 0);
    assert_int_not_equal(spex_sites_selections(), before);
    /* A library that comes and goes is no reason to look at all probes each time. */
    before = spex_sites_selections();
    spex_module_unregister(sites);
    module_make(sites, 4);
    enter(sites, 4);
    assert_int_equal(spex_sites_selections(), before);
    spex_module_unregister(sites);
}

static void expect_period(uint32_t first, uint32_t selected, uint32_t period) {
    const struct spex_probe_state probe = spex_probe_state(first, 0);
    assert_int_equal(probe.selected, selected);
    assert_int_equal(probe.sampling.period, period);
}

/* A budget would not hold where a library is loaded for less than the time between two decisions.
 * */
TEST(a_library_loaded_again_has_the_period_of_the_controller) {
    struct spex_site sites[1];
    module_make(sites, 1);
    enter(sites, 1);
    uint32_t first = sites[0].index;
    spex_probe_throttle(first, 7);
    for (uint32_t period = 7; period < 10; period++) {
        expect_period(first, 3, period);
        spex_module_unregister(sites);
        expect_period(first, 3, 0);
        spex_probe_throttle(first, period + 1);
        module_make(sites, 1);
        enter(sites, 1);
    }
    /* Also when it was switched off in between. */
    spex_module_unregister(sites);
    set("off", 0);
    expect_period(first, 0, 0);
    set("*@3", 0);
    module_make(sites, 1);
    enter(sites, 1);
    expect_period(first, 3, 10);
    set("off", 0);
    spex_probe_throttle(first, SPEX_SITE_HELD);
    set("*@3", 0);
    expect_period(first, 3, 0);
    set("off", 0);
    spex_probe_throttle(first, 0);
    set("*@3", 1);
    expect_period(first, 3, 3);
    spex_module_unregister(sites);
}

TEST(a_library_loaded_again_has_its_former_indices) {
    struct spex_site lives[2][4];
    module_make(lives[0], 4);
    enter(lives[0], 4);
    struct spex_status first = status_now();
    assert_int_equal(first.sites_on, 4);
    for (unsigned life = 1; life < LIVES; life++) {
        struct spex_site *before = lives[(life - 1) % 2], *now = lives[life % 2];
        spex_module_unregister(before);
        module_make(now, 4);
        enter(now, 4);
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(before[i].control, 0);
            assert_int_equal(now[i].index, before[i].index);
            assert_ptr_equal(spex_site_info(now[i].index)->site, &now[i]);
        }
    }
    assert_int_equal(status_now().sites, first.sites);
    assert_int_equal(status_now().sites_on, 4);
    assert_int_equal(status_now().sites_refused, 0);
    spex_module_unregister(lives[(LIVES - 1) % 2]);
    assert_int_equal(status_now().sites_on, 0);
}

/* Two of the same, as the compiler makes them of a probe in an inlined function. */
TEST(two_libraries_at_a_time_have_different_indices) {
    struct spex_site first[4], second[4];
    module_make(first, 4);
    module_make(second, 4);
    enter(first, 4);
    enter(second, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_not_equal(first[i].index, second[i].index);
    assert_int_equal(status_now().sites_on, 8);
    spex_module_unregister(first);
    assert_int_equal(status_now().sites_on, 4);
    spex_module_unregister(second);
    assert_int_equal(status_now().sites_on, 0);
}

TEST(an_index_is_not_used_for_something_else) {
    struct spex_site before[1], now[1];
    module_make(before, 1);
    enter(before, 1);
    for (unsigned difference = 0; difference < 6; difference++) {
        spex_module_unregister(before);
        module_make(now, 1);
        const char *text = difference == 0 ? "other.c\0" : file;
        now->file_offset = (intptr_t)text - (intptr_t)&now->file_offset;
        now->line += difference == 1;
        now->probe_id = (uint16_t)(now->probe_id + 1000 * (difference == 2));
        now->type_number = difference == 3 ? SPEX_TYPE_NUMBER_(SPEX_LAT) : now->type_number;
        now->detail = difference == 4;
        now->subsample += difference == 5;
        enter(now, 1);
        assert_int_not_equal(now->index, before->index);
        spex_module_unregister(now);
        enter(before, 1);
    }
    spex_module_unregister(before);
    spex_module_register(before, before + 1, NULL, NULL);
    assert_null(spex_site_info(before->index)->name);
    spex_module_unregister(before);
}

/* What lies behind a module's names is another's. */
TEST(names_end_where_the_module_says) {
    static const struct spex_probe_name more[] = {
        {FIRST_ID, "module.first"}, {FIRST_ID + 1, "beyond"}, {0, SPEX_PROVIDER_MARK "beyond"}};
    struct spex_site sites[2];
    for (unsigned count = 0; count <= COUNT_OF(more); count++) {
        module_make(sites, 2);
        sites[0].line += 10 * count; /* sites that have not been there */
        sites[1].line += 10 * count;
        spex_module_register(sites, sites + 2, more, more + count);
        const struct spex_site_info *first = spex_site_info(sites[0].index),
                                    *second = spex_site_info(sites[1].index);
        if (count > 0)
            assert_string_equal(first->name, "module.first");
        else
            assert_null(first->name);
        if (count > 1)
            assert_string_equal(second->name, "beyond");
        else
            assert_null(second->name);
        assert_string_equal(first->provider, count > 2 ? "beyond" : "unit-registry");
        spex_module_unregister(sites);
    }
}

/* Each of a library's translation units registers all of its sites. */
TEST(a_site_with_too_many_values_stays_off_alone) {
    struct spex_site sites[3];
    for (unsigned bad = 0; bad < 3; bad++) {
        struct spex_status before = status_now();
        module_make(sites, 3);
        sites[bad].detail = TOO_MANY_VALUES;
        sites[(bad + 1) % 3].detail = SPEX_MAX_FIELDS;
        messages_begin();
        enter(sites, 3);
        enter(sites, 3);
        char expected[200];
        snprintf(expected, sizeof(expected),
                 "spex: probe %u stays off: it has %d values, and this library was built for %d\n",
                 FIRST_ID + bad, TOO_MANY_VALUES, SPEX_MAX_FIELDS);
        assert_string_equal(messages_end(), expected);
        assert_int_equal(status_now().sites_on, 2);
        assert_int_equal(status_now().sites_refused, before.sites_refused + 1);
        assert_int_equal(sites[bad].control, 0);
        spex_module_unregister(sites);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(sites[i].control, 0);
        /* The memory of an unloaded library is not touched. */
        memset(sites, 0xee, sizeof(sites));
        messages_begin(); /* no probe matches */
        int on = spex_set("*@2") + spex_set("*@3");
        messages_end();
        assert_int_equal(on, 0);
        assert_int_equal(sites[2].control, 0xeeeeeeee);
    }
}

/* What is said of a selection's items that have no room; "": nothing. */
static void expect_refused(const char *probes, const char *expected) {
    char text[SPEX_SELECTION_CHECK_BYTES] = "", unmatched[SPEX_SELECTION_CHECK_BYTES];
    struct spex_selection selection;
    struct spex_error error;
    assert_int_equal(spex_selection_parse(probes, &selection, &error), 0);
    assert_int_equal(spex_selection_refused(&selection, text, sizeof(text)) > 0, *expected != 0);
    assert_string_equal(text, expected);
    if (*expected)
        assert_int_equal(spex_selection_unmatched(&selection, unmatched, sizeof(unmatched)), 0);
    spex_selection_free(&selection);
}

/* Enters a module with sites of the probe `id`, from this line on; one has too many values. */
static void enter_bad(struct spex_site *sites, uint16_t id, unsigned line, unsigned count,
                      unsigned bad) {
    module_make(sites, count);
    for (unsigned i = 0; i < count; i++) {
        sites[i].line += line;
        sites[i].probe_id = id;
    }
    if (bad < count)
        sites[bad].detail = TOO_MANY_VALUES;
    messages_begin();
    enter(sites, count);
    messages_end();
}

/* As its figures tell. */
static bool knows_of_refused(const struct spex_site *site) {
    struct spex_profile_row row;
    spex_metrics_lock();
    spex_profile_probe_now(spex_site_info(site->index)->probe, &row);
    spex_metrics_unlock();
    return row.probe.refused;
}

/* The probe's other sites count, and not this one: in whatever order they come. */
TEST(a_probe_knows_of_its_site_that_was_refused) {
    enum { NONE = 2 };
    struct spex_site sites[2], alone[1];
    char expected[100];
    snprintf(expected, sizeof(expected), "900 stays off: no more than %d values can be recorded",
             SPEX_MAX_FIELDS);
    enter_bad(alone, 900, 900, 1, 0);
    expect_refused("900", expected);
    enter_bad(sites, 900, 910, 1, NONE);
    assert_true(knows_of_refused(&sites[0]));
    expect_refused("900", "");
    spex_module_unregister(sites);
    spex_module_unregister(alone);
    expect_refused("900", "");

    enter_bad(sites, 901, 920, 1, NONE);
    assert_false(knows_of_refused(&sites[0]));
    enter_bad(alone, 901, 930, 1, 0);
    assert_true(knows_of_refused(&sites[0]));
    spex_module_unregister(alone);
    assert_true(knows_of_refused(&sites[0]));
    spex_module_unregister(sites);

    for (unsigned bad = 0; bad < 2; bad++) {
        enter_bad(sites, (uint16_t)(902 + bad), 940, 2, bad);
        assert_true(knows_of_refused(&sites[1 - bad]));
        spex_module_unregister(sites);
    }
}

/* Of lines of this kind there are so many: the number of refused sites doubles from one to the
 * next. */
static unsigned lines_of_refused(const char *text, unsigned refused) {
    unsigned lines = 0, told, before = 0;
    int length;
    for (; sscanf(text, "spex: %u probe sites stay off: %*[^\n]%n", &told, &length) == 1; lines++) {
        assert_true(told >= 2 * before && told <= refused);
        before = told;
        text += length + (text[length] == '\n');
    }
    assert_string_equal(text, "");
    assert_true(2 * before > refused);
    return lines;
}

/* Enters a region, whose source is at `line`, and a probe within. */
static void enter_region(struct spex_site sites[2], uint32_t line) {
    module_make(sites, 2);
    sites[0] = (struct spex_site){.subsample = 1, .line = line, .region = 77};
    sites[0].file_offset = (intptr_t)file - (intptr_t)&sites[0].file_offset;
    sites[1].line = 99;
    sites[1].probe_id = 50000;
    sites[1].region = 77;
    enter(sites, 2);
}

/* Of the probe whose first site this is, up to now. */
static struct spex_probe_state state_of(const struct spex_site *site) {
    return spex_probe_state(spex_site_info(site->index)->probe, UINT64_MAX / 2);
}

static struct spex_probe_state state_at(const struct spex_site *site, uint64_t until) {
    return spex_probe_state(spex_site_info(site->index)->probe, until);
}

/* Two sites of one probe, that are on one after the other, and for a time both. */
TEST(a_probe_is_on_while_one_of_its_sites_is) {
    static const char files[2][8] = {"one.c", "two.c"};
    struct spex_site sites[2];
    set("off", 0);
    for (unsigned i = 0; i < 2; i++) {
        sites[i] = site_at(&sites[i], 200);
        sites[i].file_offset = (intptr_t)files[i] - (intptr_t)&sites[i].file_offset;
    }
    enter(sites, 2);
    spex_sites_time_begin();
    assert_false(state_of(&sites[0]).used);
    assert_int_equal(state_of(&sites[0]).on_ticks, 0);
    assert_int_equal(spex_site_info(sites[1].index)->probe, sites[0].index);

    uint64_t before = spex_ticks();
    set("file=one.c@7", 1);
    uint64_t begin = spex_ticks();
    set("+file=two.c@5", 2);
    assert_int_equal(state_of(&sites[0]).sampling.period, 5);
    set("+file=one.c@off", 1);
    assert_true(spex_site_used(sites[0].index));
    assert_int_equal(state_of(&sites[0]).sites_on, 1);
    uint64_t end = spex_ticks();
    assert_true(state_at(&sites[0], end).on_ticks <= end - before);
    assert_true(state_at(&sites[0], end).on_ticks >= end - begin);
    assert_int_equal(state_at(&sites[0], before).on_ticks, 0);
    set("off", 0);
    uint64_t after = spex_ticks();
    struct spex_probe_state now = state_of(&sites[0]);
    assert_true(now.on_ticks >= end - begin);
    assert_true(now.on_ticks <= after - before);
    assert_true(now.used);
    assert_int_equal(now.sampling.period, 0);
    assert_int_equal(now.sampling_last.period, 5);
    spex_module_unregister(sites);
    assert_int_equal(state_of(&sites[0]).on_ticks, now.on_ticks);
    assert_int_equal(state_of(&sites[0]).sites, 0);
    spex_sites_time_begin();
    assert_false(state_of(&sites[0]).used);
    set("*@3", 0);
}

/* Enters two sites with the same id and types LAT and CNT, as a module of this provider. */
static void enter_provided(struct spex_site sites[2], const char *provider) {
    struct spex_probe_name declared[] = {{.probe_id = 0}, {.probe_id = 0, .name = "/ignored"}};
    snprintf(declared[0].name, sizeof(declared[0].name), SPEX_PROVIDER_MARK "%s", provider);
    for (unsigned i = 0; i < 2; i++) {
        sites[i] = site_at(&sites[i], 300);
        sites[i].type_number = SPEX_TYPE_NUMBER_(i ? SPEX_CNT : SPEX_LAT);
    }
    spex_module_register(sites, sites + 2, declared, declared + COUNT_OF(declared));
}

TEST(providers_have_ids_of_their_own) {
    enum { PROVIDERS = 4, ID = FIRST_ID + 300 };
    static const char *const providers[PROVIDERS] = {"liba", "libb", "libc", "liba"};
    struct spex_site sites[PROVIDERS][2], last[2];
    const struct spex_site_info *info[PROVIDERS];
    for (unsigned p = 0; p < PROVIDERS; p++) {
        enter_provided(sites[p], providers[p]);
        info[p] = spex_site_info(sites[p][0].index);
        assert_string_equal(info[p]->provider, providers[p]);
        assert_int_equal(info[p]->id, ID);
        /* Both types have the number, which the site knows, too. */
        assert_int_equal(spex_site_info(sites[p][1].index)->probe_id, info[p]->probe_id);
        assert_int_equal(sites[p][0].probe_id, info[p]->probe_id);
    }
    assert_int_equal(info[0]->probe_id, ID);
    for (unsigned p = 1; p < PROVIDERS - 1; p++)
        for (unsigned q = 0; q < p; q++)
            assert_int_not_equal(info[p]->probe_id, info[q]->probe_id);
    /* The fourth module has further sites of the first one's probes. */
    assert_int_equal(info[3]->probe_id, ID);
    assert_int_equal(info[3]->probe, sites[0][0].index);
    set("off", 0);
    set("libb/400", 2);
    set("lib[ac]/*:lat", 3);
    set("400:cnt", 4);
    for (unsigned p = 0; p < PROVIDERS; p++)
        spex_module_unregister(sites[p]);
    assert_int_equal(sites[1][0].probe_id, ID);
    /* Loaded again, a provider has its former numbers. */
    enter_provided(last, "libb");
    assert_ptr_equal(spex_site_info(last[0].index), info[1]);
    spex_module_unregister(last);
    set("*@3", 0);
}

/* Enters a site with this name in the place of an id. */
static const struct spex_site_info *enter_named(struct spex_site *site, const char *literal,
                                                const char *provider, uint32_t type) {
    static char texts[8][32];
    static unsigned used;
    struct spex_probe_name declared[] = {
        {.probe_id = 0}, {.probe_id = 31, .name = "thirty-one"}, {.probe_id = 32, .name = "q"}};
    char *text = texts[used++];
    snprintf(declared[0].name, sizeof(declared[0].name), SPEX_PROVIDER_MARK "%s", provider);
    int length = snprintf(text, sizeof(texts[0]), "file.c%c%c", 0, 0);
    snprintf(text + length, sizeof(texts[0]) - (size_t)length, "%s", literal);
    *site = (struct spex_site){.subsample = 1, .line = used};
    site->type_number = (uint8_t)(SPEX_TYPE_NUMBER_(type) | SPEX_SITE_NAMED);
    site->file_offset = (intptr_t)text - (intptr_t)&site->file_offset;
    spex_module_register(site, site + 1, declared, declared + COUNT_OF(declared));
    return spex_site_info(site->index);
}

TEST(names_stand_in_the_place_of_ids) {
    struct spex_site sites[8];
    const struct spex_site_info *parse = enter_named(&sites[0], "\"parse\"", "liba", SPEX_LAT);
    const struct spex_site_info *again = enter_named(&sites[1], "\"par\" \"se\"", "liba", SPEX_LAT);
    const struct spex_site_info *count = enter_named(&sites[2], "\"parse\"", "liba", SPEX_CNT);
    const struct spex_site_info *other = enter_named(&sites[3], "\"other\"", "liba", SPEX_LAT);
    const struct spex_site_info *theirs = enter_named(&sites[4], "\"parse\"", "libb", SPEX_LAT);
    const struct spex_site_info *known = enter_named(&sites[5], "\"thirty-one\"", "liba", SPEX_LAT);
    const struct spex_site_info *brief = enter_named(&sites[6], "\"q\"", "liba", SPEX_LAT);
    const struct spex_site_info *word = enter_named(&sites[7], "parse, 10", "liba", SPEX_LAT);
    assert_int_equal(brief->id, 32);
    assert_string_equal(parse->name, "parse");
    assert_string_equal(again->name, "parse");
    assert_int_equal(parse->id, -1);
    assert_int_equal(again->probe, sites[0].index);
    assert_int_equal(word->probe, sites[0].index);
    assert_int_equal(count->probe_id, parse->probe_id);
    assert_int_not_equal(count->probe, parse->probe);
    assert_int_not_equal(other->probe_id, parse->probe_id);
    assert_int_not_equal(theirs->probe_id, parse->probe_id);
    assert_int_equal(known->id, 31);
    set("off", 0);
    set("parse", 5);
    set("liba/parse", 4);
    set("65535,0", 0);
    set("31", 1);
    for (size_t s = 0; s < COUNT_OF(sites); s++)
        spex_module_unregister(&sites[s]);
    set("*@3", 0);
}

TEST(names_are_read_from_the_source) {
    static const char *const cases[][2] = {{"\"a\"", "a"},
                                           {"\"\"", ""},
                                           {"\"a b\" \"c\"", "a bc"},
                                           {"\"\\\"\\\\\"", "\"\\"},
                                           {"\"0123456789\"", "0123456"},
                                           {"\"a", "a"},
                                           {"\"\\", "\\"},
                                           {"parse", "parse"},
                                           {"parse, 10", "parse"},
                                           {"parse , sizeof(\"a\")", "parse"},
                                           {"u8\"a, b\"", "a, b"},
                                           {"longer_than_it", "longer_"},
                                           {", 1", ""},
                                           {"", ""}};
    char name[8];
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        spex_name_of_literal(cases[c][0], name, sizeof(name));
        assert_string_equal(name, cases[c][1]);
    }
}

/* Of a kernel's arguments behind its name, and of a snapshot's. */
TEST(arguments_are_told_apart) {
    static const struct {
        const char *all, *first, *rest;
    } cases[] = {
        {"1, n, m", "1", "n, m"},
        {"1", "1", ""},
        {"", "", ""},
        {"\"a, b\", length", "\"a, b\"", "length"},
        {"\"a\\\", b\", x", "\"a\\\", b\"", "x"},
        {"f(a, b), c", "f(a, b)", "c"},
        {"a[i, j], {1, 2}, c", "a[i, j]", "{1, 2}, c"},
        {"',', c", "','", "c"},
        {"f(\")\", 1), c", "f(\")\", 1)", "c"},
        {"f(a, b", "f(a, b", ""},
        {"a), b", "a), b", ""},
        {"\"a, b", "\"a, b", ""},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        assert_int_equal(spex_argument_length(cases[c].all), strlen(cases[c].first));
        assert_string_equal(spex_parameters_of(cases[c].all), cases[c].rest);
    }
}

TEST(a_provider_is_named_by_its_file) {
    static const char *const cases[][2] = {
        {"/usr/lib/libz.so.1.2.13", "libz"},
        {"libz.so", "libz"},
        {"./app", "app"},
        {"/opt/my.socket", "my.socket"},
        {"x.so.old/app-1.2", "app-1.2"},
        {"/tmp/app (deleted)", "app"},
        {".so", ".so"},
    };
    char name[SPEX_NAME_BYTES];
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        spex_provider_of_path(cases[c][0], name);
        assert_string_equal(name, cases[c][1]);
    }
    char path[PATH_MAX];
    spex_object_path(cases, path);
    spex_provider_of_path(path, name);
    assert_string_equal(name, program_invocation_short_name);
}

static void check_provider(const char *path, const char *declared, const char *provider) {
    struct spex_module_origin origin = {.declared = declared};
    snprintf(origin.path, sizeof(origin.path), "%s", path);
    assert_string_equal(spex_provider_keep(&origin), provider);
}

/* Nobody said that the probes of two files belong together because the files have one name. */
TEST(files_of_one_name_are_different_providers) {
    const char *last = "123456789012345678901234567890123456789012345678901234567890.so";
    char path[PATH_MAX];
    check_provider("/a/plug.so", NULL, "plug");
    check_provider("/b/plug.so", NULL, "plug.2");
    check_provider("/c/plug.so.1", NULL, "plug.3");
    /* Loaded again. */
    check_provider("/b/plug.so", NULL, "plug.2");
    check_provider("/a/plug.so", NULL, "plug");
    /* A declaration says that they do. */
    check_provider("", "shared", "shared");
    check_provider("", "shared", "shared");
    check_provider("/a/shared.so", NULL, "shared");
    check_provider("", "plug", "plug");
    snprintf(path, sizeof(path), "/a/%s", last);
    check_provider(path, NULL, "123456789012345678901234567890123456789012345678901234567890");
    path[1] = 'b';
    check_provider(path, NULL, "12345678901234567890123456789012345678901234567890.2");
}

/* Enters a site of an id, as a module of the provider "twice" that gives it these names. */
static void enter_twice_named(struct spex_site *site, const char *first, const char *second) {
    struct spex_probe_name entries[] = {
        {.probe_id = 0, .name = SPEX_PROVIDER_MARK "twice"}, {.probe_id = 0}, {.probe_id = 0}};
    *site = site_at(site, 500);
    entries[1].probe_id = entries[2].probe_id = site->probe_id;
    snprintf(entries[1].name, SPEX_NAME_BYTES, "%s", first);
    snprintf(entries[2].name, SPEX_NAME_BYTES, "%s", second);
    spex_module_register(site, site + 1, entries, entries + COUNT_OF(entries));
}

TEST(two_names_of_an_id_are_told_once_probes_are_on) {
    static const char told[] =
        "probe twice/600 has two names, \"send\" and \"parse\": it is called "
        "\"send\"; others have two names, too\n";
    struct spex_site sites[3];
    set("off", 0);
    messages_begin();
    enter_twice_named(&sites[0], "send", "send");
    enter_twice_named(&sites[1], "send", "parse");
    /* The names of two modules. */
    enter_twice_named(&sites[2], "parse", "parse");
    assert_string_equal(messages_end(), "");
    messages_begin();
    assert_int_equal(spex_set("twice/600"), 3);
    assert_non_null(strstr(messages_end(), told));
    messages_begin();
    assert_int_equal(spex_set("twice/600"), 3);
    assert_string_equal(messages_end(), "");
    for (unsigned i = 0; i < 3; i++)
        spex_module_unregister(&sites[i]);
    /* In a library that comes later. */
    messages_begin();
    enter_twice_named(&sites[0], "get", "put");
    assert_non_null(strstr(messages_end(), "\"get\" and \"put\": it is called \"get\""));
    spex_module_unregister(&sites[0]);
    set("*@3", 0);
}

int main(void) {
    return tests_run(start, stop);
}

TEST(what_is_too_much_stays_off_and_is_said) {
    static struct spex_site sites[SPEX_MAX_SITES + 5], more[3];
    struct spex_site region[2];
    enum { LOADS = 50, IDS = 50000 };
    enter_region(region, 1);
    spex_module_unregister(region);
    struct spex_status before = status_now();
    const uint32_t there = spex_sites_count(), refused = there + COUNT_OF(sites) - SPEX_MAX_SITES;
    module_make(sites, COUNT_OF(sites));
    for (unsigned i = 0; i < COUNT_OF(sites); i++) {
        sites[i].line += 1000;
        sites[i].probe_id = (uint16_t)(FIRST_ID + 10 + (i < IDS ? 0 : i - IDS));
    }
    module_make(more, 3);
    for (unsigned i = 0; i < 3; i++) {
        more[i].line += 100000;
        more[i].probe_id = (uint16_t)(60000 + i);
    }
    more[0].probe_id = sites[10].probe_id;
    messages_begin();
    enter(sites, COUNT_OF(sites));
    const char *text = messages_end();
    assert_true(refused > 3);
    uint16_t first = (uint16_t)(sites[COUNT_OF(sites) - refused].probe_id);
    char expected[300];
    snprintf(
        expected, sizeof(expected),
        "spex: %u probe sites stay off: no more than 65535 can be managed; nothing is counted "
        "of unit-registry/%u:snapshot, unit-registry/%u:snapshot, unit-registry/%u:snapshot, …\n",
        refused, first, first + 1, first + 2);
    assert_string_equal(text, expected);
    assert_false(knows_of_refused(&sites[10]));

    /* Again and again, these are told a few times. */
    messages_begin();
    for (unsigned load = 0; load < LOADS; load++) {
        enter(more, 3);
        if (load < LOADS - 1)
            spex_module_unregister(more);
    }
    unsigned all = refused + 3 * LOADS, lines = lines_of_refused(messages_end(), all);
    assert_in_range(lines, 1, 8);
    assert_int_equal(spex_sites_count(), SPEX_MAX_SITES);
    assert_int_equal(status_now().sites_refused, before.sites_refused + all);
    assert_int_equal(sites[COUNT_OF(sites) - 1].control, 0);

    /* Of a probe that has other sites, too, the count is not known. */
    assert_true(knows_of_refused(&sites[10]));
    assert_false(knows_of_refused(&sites[IDS + 1]));
    expect_refused("110,60001:snapshot",
                   "60001:snapshot stays off: no more than 65535 sites can be managed");
    spex_module_unregister(sites);
    spex_module_unregister(more);
    expect_refused("60001", "");
    /* Without its region a probe does not count. */
    enter_region(region, 1);
    assert_false(knows_of_refused(&region[1]));
    spex_module_unregister(region);
    enter_region(region, 2);
    assert_true(knows_of_refused(&region[1]));
    spex_module_unregister(region);
    /* Loaded again, there is as much room as there was. */
    enter(sites, SPEX_MAX_SITES - there);
    assert_int_equal(status_now().sites_on, SPEX_MAX_SITES - there);
    spex_module_unregister(sites);
}
