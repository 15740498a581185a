/* SPDX-License-Identifier: MIT */
/* Sums of profiles: those of all records put together. */
#include "observe/profile_sum.h"

#include <math.h>

#include "../check.h"
#include "../values_take.h"
#include "observe/profile_reader.h"
#include "profile/figures.h"

enum { PROCESSES = 5, RECORDS = 20000 };

/* The profile of a process with a LAT probe of that number. */
static struct spex_profile profile_of(struct spex_profile_row *row, struct spex_values *values,
                                      struct spex_profile_site *site, uint16_t number) {
    static struct spex_profile_type type = {.probe_type = SPEX_LAT, .used = 1, .measured = 1};
    *row = (struct spex_profile_row){.probe = {.probe_type = SPEX_LAT,
                                               .probe_id = number,
                                               .declared = SPEX_PROFILE_NO_ID,
                                               .name = "query",
                                               .series = 1,
                                               .sites = 1,
                                               .sites_on = 1,
                                               .period = 2,
                                               .period_last = 2,
                                               .kind = SPEX_SAMPLING_GEOMETRIC,
                                               .on_seconds = 10,
                                               .records = (uint64_t)values->histogram.total / 2,
                                               .count = values->weight,
                                               .weight = values->weight},
                                     .values = {values}};
    *site = (struct spex_profile_site){.probe_type = SPEX_LAT,
                                       .probe_id = number,
                                       .declared = SPEX_PROFILE_NO_ID,
                                       .loaded = 1,
                                       .name = "query"};
    return (struct spex_profile){.process = {.process_id = number,
                                             .threads = 1,
                                             .seconds = 10,
                                             .ticks_per_second = 1e9,
                                             .produced = 7,
                                             .sites = 1,
                                             .sites_on = 1},
                                 .types = &type,
                                 .type_count = 1,
                                 .sites = site,
                                 .site_count = 1,
                                 .rows = row,
                                 .row_count = 1};
}

static uint64_t draw(uint64_t *random) {
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return 1000 + (*random >> 33) % 100000 * ((*random >> 60) + 1);
}

static struct spex_values parts[PROCESSES], whole;

/* Records of all processes, and the same put together. Each process has its values' own range. */
static void make_parts(void) {
    uint64_t random = 1;
    spex_values_clear(&whole);
    for (unsigned p = 0; p < PROCESSES; p++) {
        spex_values_clear(&parts[p]);
        for (unsigned r = 0; r < RECORDS / (p + 1); r++) {
            uint64_t value = draw(&random) * (p + 1);
            values_take(&parts[p], value, 2);
            values_take(&whole, value, 2);
        }
    }
}

static void close_to(double value, double expected, double part) {
    if (!(fabs(value - expected) <= part * fabs(expected)))
        fail_msg("%.17g instead of %.17g", value, expected);
}

TEST(quantiles_are_those_of_all_records) {
    struct spex_profile sum = {0};
    make_parts();
    for (unsigned p = 0; p < PROCESSES; p++) {
        struct spex_profile_row row;
        struct spex_profile_site site;
        struct spex_profile more = profile_of(&row, &parts[p], &site, (uint16_t)(p % 2 ? 1 : 40));
        assert_int_equal(spex_profile_add(&sum, &more), 0);
    }
    assert_int_equal(sum.row_count, 1);
    assert_int_equal(sum.type_count, 1);
    assert_int_equal(sum.site_count, PROCESSES);
    for (size_t s = 0; s < sum.site_count; s++)
        assert_int_equal(sum.sites[s].probe_id, sum.rows[0].probe.probe_id);
    const struct spex_values *values = sum.rows[0].values[0];
    assert_memory_equal(&values->histogram, &whole.histogram, sizeof(whole.histogram));
    assert_int_equal(values->min, whole.min);
    assert_int_equal(values->max, whole.max);
    for (double q = 0.001; q < 1; q += 0.001)
        assert_true(spex_values_quantile(values, q) == spex_values_quantile(&whole, q));
    close_to(values->mean, whole.mean, 1e-12);
    close_to(values->squares, whole.squares, 1e-9);
    close_to(values->weight, whole.weight, 0);
    struct spex_variance_sums a = spex_variance_sums(&values->spread);
    struct spex_variance_sums b = spex_variance_sums(&whole.spread);
    close_to(a.weights, b.weights, 1e-12);
    close_to(a.weights_all, b.weights_all, 1e-12);
    /* About the mean, which does not depend on the origin: f (D - m W)². */
    double am = values->mean - values->spread.origin, bm = whole.mean - whole.spread.origin;
    close_to(a.distances - 2 * am * a.products + am * am * a.weights,
             b.distances - 2 * bm * b.products + bm * bm * b.weights, 1e-9);
    assert_int_equal(sum.process.produced, 7 * PROCESSES);
    assert_int_equal(sum.rows[0].probe.sites_on, PROCESSES);
    spex_profile_free(&sum);
}

TEST(rates_are_those_of_all_processes) {
    struct spex_profile sum = {0};
    struct spex_profile_row row;
    struct spex_profile_site site;
    make_parts();
    for (unsigned p = 0; p < 2; p++) {
        struct spex_profile more = profile_of(&row, &parts[0], &site, 1);
        assert_int_equal(spex_profile_add(&sum, &more), 0);
    }
    double one = spex_profile_rate(&row.probe);
    spex_profile_settle(&sum, 10);
    close_to(spex_profile_rate(&sum.rows[0].probe), 2 * one, 1e-12);
    /* Workers that follow each other are as one. */
    spex_profile_free(&sum);
    for (unsigned p = 0; p < 2; p++) {
        struct spex_profile more = profile_of(&row, &parts[0], &site, 1);
        row.probe.on_seconds = 5;
        assert_int_equal(spex_profile_add(&sum, &more), 0);
    }
    spex_profile_settle(&sum, 10);
    close_to(spex_profile_rate(&sum.rows[0].probe), 2 * one, 1e-12);
    spex_profile_free(&sum);
}

/* Two processes have the same number for different probes. */
TEST(probes_are_told_apart_by_what_they_are) {
    struct spex_profile sum = {0};
    struct spex_profile_row row;
    struct spex_profile_site site;
    make_parts();
    struct spex_profile more = profile_of(&row, &parts[0], &site, 7);
    assert_int_equal(spex_profile_add(&sum, &more), 0);
    strcpy(row.probe.name, "other");
    strcpy(site.name, "other");
    assert_int_equal(spex_profile_add(&sum, &more), 0);
    assert_int_equal(spex_profile_add(&sum, &more), 0);
    assert_int_equal(sum.row_count, 2);
    assert_int_not_equal(sum.rows[0].probe.probe_id, sum.rows[1].probe.probe_id);
    assert_int_equal(sum.sites[1].probe_id, sum.sites[2].probe_id);
    assert_int_not_equal(sum.sites[0].probe_id, sum.sites[1].probe_id);
    spex_profile_free(&sum);
}

/* The spread of losses is that of all values. */
TEST(losses_are_beside_all_values) {
    struct spex_profile sum = {0};
    struct spex_profile_row row;
    struct spex_profile_site site;
    make_parts();
    for (unsigned order = 0; order < 2; order++) {
        for (unsigned p = 0; p < 2; p++) {
            struct spex_profile more = profile_of(&row, &parts[p], &site, 7);
            row.losses[0] = p == order ? &parts[p] : NULL;
            assert_int_equal(spex_profile_add(&sum, &more), 0);
        }
        const struct spex_values *losses = sum.rows[0].losses[0];
        assert_int_equal(losses->histogram.total, parts[order].histogram.total);
        struct spex_variance_sums sums = spex_variance_sums(&losses->spread);
        struct spex_variance_sums all = spex_variance_sums(&sum.rows[0].values[0]->spread);
        close_to(sums.weights, all.weights, 1e-9);
        spex_profile_free(&sum);
    }
}
