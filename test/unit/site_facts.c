/* SPDX-License-Identifier: MIT */
/* What is known of sites besides the registry: the names of providers and probes as people see and
 * select them, the table of costs, and the rates by which gaps are drawn. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <math.h>

#include <spex/record.h>

#include "../check.h"
#include "site/cost.h"
#include "site/provider.h"
#include "site/sampling_rate.h"

TEST(providers_of_paths) {
    static const struct {
        const char *path, *name;
    } cases[] = {
        {"/usr/lib/libz.so.1.2.13", "libz"},
        {"libz.so", "libz"},
        {"/bin/program", "program"},
        {"program", "program"},
        {"/bin/program (deleted)", "program"},
        {"/lib/libz.so.1 (deleted)", "libz"},
        {" (deleted)", " (deleted)"},
        {"x (deleted)", "x"},
        {"/a/b.sources", "b.sources"},
        {"/a/b.sources.so.1", "b.sources"},
        {"/a/.so", ".so"},
        {"/a.so/b", "b"},
        {"a.b.so.c.so", "a.b"},
    };
    char name[SPEX_NAME_BYTES], longer[2 * SPEX_NAME_BYTES];
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        spex_provider_of_path(cases[c].path, name);
        assert_string_equal(name, cases[c].name);
    }
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    spex_provider_of_path(longer, name);
    assert_int_equal(strlen(name), SPEX_NAME_BYTES - 1);
}

TEST(objects_of_addresses) {
    static const int mine;
    char path[PATH_MAX], libc[PATH_MAX], name[SPEX_NAME_BYTES];
    spex_object_path(&mine, path);
    spex_provider_of_path(path, name);
    assert_string_equal(name, "unit-site_facts");
    assert_true(spex_is_of_program(&mine));
    assert_false(spex_is_of_program(NULL));
    /* Of no object: the program. */
    spex_object_path(NULL, libc);
    assert_string_equal(libc, path);
    spex_object_path(stdout, libc);
    spex_provider_of_path(libc, name);
    assert_string_equal(name, spex_is_of_program(stdout) ? "unit-site_facts" : "libc");
}

TEST(probes_are_called_and_selected) {
    static const struct {
        const char *provider, *name;
        int32_t id;
        const char *called, *selector;
    } cases[] = {
        {NULL, NULL, 7, "7", "7"},
        {"", "", 7, "7", "7"},
        {"lib", NULL, 65535, "lib/65535", "lib/65535"},
        {"lib", "query", 7, "lib/query", "lib/7"},
        {"lib", "query", -1, "lib/query", "lib/query"},
        {NULL, "a,b:c@d*e[f\\g h+i", -1, "a,b:c@d*e[f\\g h+i", "a?b?c?d?e?f?g?h?i"},
        {"l*b", "x", 0, "l*b/x", "l?b/0"},
    };
    char text[64];
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        assert_ptr_equal(
            spex_probe_called(cases[c].provider, cases[c].name, cases[c].id, text, sizeof(text)),
            text);
        assert_string_equal(text, cases[c].called);
        assert_ptr_equal(
            spex_probe_selector(cases[c].provider, cases[c].name, cases[c].id, text, sizeof(text)),
            text);
        assert_string_equal(text, cases[c].selector);
    }
    spex_probe_called("library", "query", 7, text, 10);
    assert_string_equal(text, "library/q");
}

/* Each type's figures are unknown until its costs are, and then its own. */
TEST(costs_are_those_of_their_type) {
    static const uint32_t known[] = {SPEX_CNT, SPEX_LAT, SPEX_SPAN};
    struct spex_cost cost;
    assert_int_equal(spex_costs_known(), 0);
    spex_cost_polled_set(9);
    spex_cost_call_set(8);
    assert_true(spex_cost_polled() == 0 && spex_cost_call() == 0);
    for (uint32_t n = 0; n < COUNT_OF(known); n++) {
        spex_cost_empty_set(known[n], (struct spex_empty_span){.ticks = 10 + n, .error = 20 + n});
        spex_cost_drawn_set(known[n], 30 + n);
        assert_true(spex_cost_drawn(known[n]) == 0 && spex_cost_empty(known[n]).ticks == 0);
        assert_int_equal(spex_cost_get(known[n], &cost), -ENODATA);
        spex_cost_set(known[n], &(struct spex_cost){.test = n, .skip = 2 + n, .record = 3 + n});
    }
    assert_int_equal(spex_costs_known(), SPEX_CNT | SPEX_LAT | SPEX_SPAN);
    for (uint32_t n = 0; n < COUNT_OF(known); n++) {
        assert_int_equal(spex_cost_get(known[n], &cost), 0);
        assert_true(cost.test == n && cost.skip == 2 + n && cost.record == 3 + n);
        assert_true(spex_cost_drawn(known[n]) == 30 + n);
        assert_true(spex_cost_empty(known[n]).ticks == 10 + n);
        assert_true(spex_cost_empty(known[n]).error == 20 + n);
    }
    assert_true(spex_cost_polled() == 9 && spex_cost_call() == 8);
    static const uint32_t none[] = {0, SPEX_CNT | SPEX_LAT, 1u << SPEX_PROBE_TYPES};
    for (size_t n = 0; n < COUNT_OF(none); n++) {
        assert_int_equal(spex_cost_get(none[n], &cost), -EINVAL);
        assert_true(spex_cost_drawn(none[n]) == 0 && spex_cost_empty(none[n]).ticks == 0);
    }
    assert_int_equal(spex_cost_get(SPEX_TPT, &cost), -ENODATA);
    assert_true(spex_cost_region().pass == 0);
    spex_cost_region_set(&(struct spex_region_cost){.pass = 1, .execution = 2, .call = 3});
    struct spex_region_cost region = spex_cost_region();
    assert_true(region.pass == 1 && region.execution == 2 && region.call == 3);
    for (uint32_t site = 0; site < SPEX_MAX_SITES; site++)
        spex_cost_of_site_set(site, site + 0.5);
    for (uint32_t site = 0; site < SPEX_MAX_SITES; site++)
        assert_true(spex_cost_of_site(site) == site + 0.5);
}

/* An execution in `period` ends a gap: an exponential variable of this scale has the same chance to
 * be above each whole number. */
TEST(gaps_have_the_scale_of_their_period) {
    static const uint32_t periods[] = {2, 3, 10, 1000, 1u << 24};
    for (size_t p = 0; p < COUNT_OF(periods); p++) {
        double scale = spex_sampling_gap_scale(periods[p]), one_more = exp(-1 / scale);
        assert_true(fabs(one_more - (1 - 1.0 / periods[p])) < 1e-12);
    }
}

/* Of the two slots of a site one is set, and the next generation's stays. */
TEST(rates_are_those_of_their_generation) {
    static const struct spex_sampling samplings[] = {
        {.period = 7, .kind = SPEX_SAMPLING_PERIODIC},
        {.period = 1, .kind = SPEX_SAMPLING_GEOMETRIC},
        {.period = 50, .kind = SPEX_SAMPLING_GEOMETRIC},
        {.period = 9, .burst = 30, .kind = SPEX_SAMPLING_BURSTY},
    };
    assert_true(spex_sampling_rates_make(5));
    for (uint32_t n = 0; n < 16; n++) {
        const struct spex_sampling *sampling = &samplings[n % COUNT_OF(samplings)];
        uint32_t generation = 2 + 4 * n, word = generation << SPEX_CONTROL_GENERATION_SHIFT;
        struct spex_sampling_rate *slot = spex_sampling_rate_of(5, word),
                                  *other = spex_sampling_rate_of(
                                      5, (generation + 4) << SPEX_CONTROL_GENERATION_SHIFT);
        assert_ptr_not_equal(slot, other);
        struct spex_sampling_rate before = *other;
        spex_sampling_rate_set(5, generation, sampling);
        assert_int_equal(SPEX_RATE_PERIOD(slot->rate), sampling->period);
        assert_int_equal(SPEX_RATE_KIND(slot->rate), sampling->kind);
        assert_int_equal(SPEX_RATE_BURST(slot->rate), sampling->burst);
        bool drawn = sampling->kind == SPEX_SAMPLING_GEOMETRIC && sampling->period > 1;
        assert_true(slot->scale == (drawn ? spex_sampling_gap_scale(sampling->period) : 1));
        assert_memory_equal(other, &before, sizeof(before));
        if (sampling->kind == SPEX_SAMPLING_BURSTY)
            assert_true(spex_burst_interval > 0);
    }
}
