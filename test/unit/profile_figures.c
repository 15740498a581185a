/* SPDX-License-Identifier: MIT */
/* The figures of rows that chance makes: each one is calculated a second time here, from its
 * definition, of times with and without probes within, and of other values. */
#include "profile/figures.h"

#include <math.h>

#include "../check.h"
#include "base/random.h"
#include "base/student.h"
#include "profile/confidence.h"

enum { ROWS = 2000, BOUNDS = 4 };

static struct spex_random random_state;
static struct spex_values values, losses;
static struct spex_profile_type types[2];
static struct spex_profile_row row;
static struct spex_profile profile = {
    .types = types, .type_count = 2, .rows = &row, .row_count = 1};

/* Points that tell what probes within executions take. */
enum { NESTED_MOST = 12 };
static double times[NESTED_MOST], nested[NESTED_MOST];

/* Between `low` and `high`. */
static double between(double low, double high) {
    return low + (high - low) * (double)(spex_random_next(&random_state) >> 11) /
                     (double)(UINT64_C(1) << 53);
}

static unsigned below(unsigned count) {
    return (unsigned)(spex_random_next(&random_state) >> 32) % count;
}

static void expect_near(double found, double expected) {
    bool infinite = isinf(found) && isinf(expected) && found * expected > 0;
    if (!(fabs(found - expected) <= 1e-8 * fmax(fabs(expected), 1)) && !infinite &&
        !(isnan(found) && isnan(expected)))
        fail_msg("%.12g instead of %.12g", found, expected);
}

/* `spread`: of 10 or so powers of two. */
static void make_values(unsigned records, unsigned weight, double spread) {
    double sum = 0, squares = 0;
    spex_values_clear(&values);
    for (unsigned r = 0; r < records; r++) {
        uint64_t value = (uint64_t)exp(between(4, 4 + spread));
        spex_histogram_add(&values.histogram, value, weight);
        sum += (double)value;
        squares += (double)value * (double)value;
        values.min = value < values.min ? value : values.min;
        values.max = value > values.max ? value : values.max;
    }
    values.weight = (double)records * weight;
    values.mean = records ? sum / records : 0;
    values.squares = records ? weight * (squares - sum * sum / records) : 0;
}

static void make_nested(unsigned count, double slope) {
    row.probe.nested = (struct spex_line_sums){.count = 0};
    double most = between(0, 1) < 0.2 ? 0 : 40;
    for (unsigned n = 0; n < count; n++) {
        times[n] = between(50, 2000);
        nested[n] = fmax(most * between(-1, 1) + slope * times[n], 0);
        spex_line_add(&row.probe.nested, times[n], nested[n]);
    }
}

static void make_row(void) {
    static const uint32_t kinds[] = {SPEX_LAT, SPEX_TPT, SPEX_SPAN, SPEX_SNAPSHOT};
    unsigned records = below(5) ? below(400) : below(5), weight = below(2) ? 1 : 10;
    uint32_t type = kinds[below(COUNT_OF(kinds))];
    make_values(records, weight, between(0.2, 6));
    row.values[0] = &values;
    row.probe = (struct spex_profile_probe){.probe_type = type,
                                            .series = 1,
                                            .count = (double)records * weight * between(1, 1.05),
                                            .records = records,
                                            .weight = (double)records * weight,
                                            .weight_squares = (double)records * weight * weight,
                                            .uncounted = below(3) ? 0 : between(0, 50),
                                            .count_variance = below(3) ? 0 : between(0, 400)};
    if (below(8) == 0)
        row.probe.count = 0;
    make_nested(below(NESTED_MOST + 1), between(-0.1, 1.4));
    types[0] = (struct spex_profile_type){.probe_type = SPEX_CNT, .measured = 1, .empty = 7};
    types[1] = (struct spex_profile_type){.probe_type = type,
                                          .measured = below(4) > 0,
                                          .empty = between(0, 90),
                                          .empty_error = between(0, 20)};
    profile.process.threads = below(4);
    profile.process.seconds = between(0, 1);
    profile.process.ticks_per_second = 1e5;
}

/* What probes within take by the line of least squares, which is no steeper than 1. */
struct within {
    bool known;
    double slope, at_zero, deviation;
};

static struct within within_of(void) {
    double n = row.probe.nested.count, x = 0, y = 0, xx = 0, xy = 0, squares = 0;
    for (unsigned p = 0; p < n; p++) {
        x += times[p] / n;
        y += nested[p] / n;
    }
    for (unsigned p = 0; p < n; p++) {
        xx += (times[p] - x) * (times[p] - x);
        xy += (times[p] - x) * (nested[p] - y);
    }
    struct within within = {.known = n >= 4 && y > 0};
    within.slope = xx > 0 ? fmin(xy / xx, 1) : 0;
    within.at_zero = y - within.slope * x;
    for (unsigned p = 0; p < n; p++)
        squares += pow(nested[p] - within.at_zero - within.slope * times[p], 2);
    within.deviation = sqrt(squares / (n - 2));
    return within;
}

static double take(const struct within *within, double time) {
    double taken = within->at_zero + within->slope * time;
    return taken < 0 ? 0 : taken > time ? time : taken;
}

static double positive(double x) {
    return x > 0 ? x : 0;
}

static struct spex_quantile quantile_of(double q) {
    double value = spex_values_quantile(&values, q);
    struct spex_quantile quantile = {value, value, value, false};
    quantile.told = spex_quantile_bounds(&row.probe, &values, q, &quantile.low, &quantile.high);
    return quantile;
}

static struct spex_figures plain_figures(void) {
    static const double quantiles[] = {0.5, 0.9, 0.99, 0.999};
    struct spex_figures figures = {.any = values.weight > 0,
                                   .sampled = spex_sampled(&row.probe),
                                   .mean = values.mean,
                                   .mean_margin = spex_mean_margin(&row.probe, &values),
                                   .min = (double)values.min,
                                   .max = (double)values.max,
                                   .total = NAN,
                                   .total_margin = -1};
    for (unsigned q = 0; q < COUNT_OF(quantiles); q++)
        figures.quantiles[q] = quantile_of(quantiles[q]);
    return figures;
}

static void take_off_within(struct spex_figures *figures) {
    struct within within = within_of();
    if (!within.known)
        return;
    double scatter = 1.959964 * within.deviation, of_mean = take(&within, figures->mean);
    figures->nested = of_mean;
    figures->nested_margin = sqrt(pow(scatter, 2) / row.probe.nested.count + of_mean * of_mean);
    figures->mean -= of_mean;
    if (figures->mean_margin >= 0)
        figures->mean_margin = hypot(figures->mean_margin, figures->nested_margin);
    figures->min -= take(&within, figures->min);
    figures->max -= take(&within, figures->max);
    for (unsigned q = 0; q < SPEX_FIGURES_QUANTILES; q++) {
        struct spex_quantile *quantile = &figures->quantiles[q];
        double low = take(&within, quantile->low), high = take(&within, quantile->high);
        quantile->value -= take(&within, quantile->value);
        quantile->low = positive(quantile->low - low - hypot(scatter, low));
        if (hypot(scatter, high) < high)
            quantile->high += hypot(scatter, high) - high;
    }
}

static void take_off_empty(struct spex_figures *figures) {
    double empty = types[1].empty, error = types[1].empty_error;
    double records = row.probe.records > 1 ? (double)row.probe.records : 1;
    figures->empty = empty;
    figures->mean = positive(figures->mean - empty);
    if (figures->mean_margin >= 0)
        figures->mean_margin = hypot(figures->mean_margin, error + error / sqrt(records));
    figures->min = positive(figures->min - empty);
    figures->max = positive(figures->max - empty);
    for (unsigned q = 0; q < SPEX_FIGURES_QUANTILES; q++) {
        struct spex_quantile *quantile = &figures->quantiles[q];
        quantile->value = positive(quantile->value - empty);
        quantile->low = positive(quantile->low - empty - 2 * error);
        quantile->high = positive(quantile->high - empty + 2 * error);
    }
}

/* No multiple of a count that is a lower bound. */
static void add_total(struct spex_figures *figures) {
    double executions = row.probe.count > 0 ? row.probe.count : values.weight;
    double count_margin = row.probe.uncounted + 1.959964 * sqrt(row.probe.count_variance);
    if (count_margin > row.probe.count + row.probe.held_count)
        return;
    figures->total = figures->mean * executions;
    figures->total_margin =
        sqrt(pow(figures->mean_margin * executions, 2) + pow(figures->mean * count_margin, 2));
}

static bool has_ticks(void) {
    return row.probe.probe_type != SPEX_SNAPSHOT;
}

static struct spex_figures expected_figures(void) {
    struct spex_figures figures = plain_figures();
    bool told = figures.mean_margin >= 0 && figures.mean_margin <= figures.mean;
    if (has_ticks() && types[1].measured && figures.any) {
        take_off_within(&figures);
        take_off_empty(&figures);
    }
    if (told)
        add_total(&figures);
    double ticks = profile.process.seconds * 1e5;
    double most = profile.process.threads * (ticks + (figures.max > ticks ? figures.max : 0));
    if (has_ticks() && row.probe.probe_type != SPEX_SPAN && most > 0 && figures.total > most)
        figures.total = most;
    return figures;
}

static void expect_figures(const struct spex_figures *found, const struct spex_figures *expected) {
    assert_int_equal(found->any, expected->any);
    assert_int_equal(found->sampled, expected->sampled);
    expect_near(found->empty, expected->empty);
    expect_near(found->nested, expected->nested);
    expect_near(found->nested_margin, expected->nested_margin);
    expect_near(found->mean, expected->mean);
    expect_near(found->mean_margin, expected->mean_margin);
    expect_near(found->min, expected->min);
    expect_near(found->max, expected->max);
    expect_near(found->total, expected->total);
    expect_near(found->total_margin, expected->total_margin);
    for (unsigned q = 0; q < SPEX_FIGURES_QUANTILES; q++) {
        assert_int_equal(found->quantiles[q].told, expected->quantiles[q].told);
        expect_near(found->quantiles[q].value, expected->quantiles[q].value);
        expect_near(found->quantiles[q].low, expected->quantiles[q].low);
        expect_near(found->quantiles[q].high, expected->quantiles[q].high);
    }
}

TEST(figures_are_what_their_definitions_say) {
    unsigned limited = 0, with_nested = 0, told = 0;
    spex_random_seed(&random_state, 1, 1);
    for (unsigned r = 0; r < ROWS; r++) {
        struct spex_figures found;
        make_row();
        struct spex_figures expected = expected_figures();
        spex_figures_of(&profile, &row, 0, &found);
        expect_figures(&found, &expected);
        with_nested += found.nested > 0;
        told += found.total >= 0;
        limited += found.total > 0 && found.total < 0.99 * found.mean * values.weight;
    }
    assert_true(limited > 50 && with_nested > 200 && told > 500 && told < ROWS - 200);
}

static double corrected(double time) {
    struct within within = within_of();
    if (!has_ticks() || !types[1].measured)
        return time;
    return positive(time - (within.known ? take(&within, time) : 0) - types[1].empty);
}

static void expect_divided(const double *bounds, size_t count) {
    double found[BOUNDS + 1], expected[BOUNDS + 1] = {0};
    double sum = spex_figures_divide(&profile, &row, 0, bounds, count, found);
    expect_near(sum, values.weight * corrected(values.mean));
    for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b++) {
        size_t range = 0;
        double value = spex_figures_corrected(&profile, &row.probe, spex_histogram_value(b));
        for (size_t bound = 0; bound < count; bound++)
            range += value > bounds[bound];
        expected[range] += (double)values.histogram.weights[b];
    }
    for (size_t range = 0; range <= count; range++)
        expect_near(found[range], expected[range]);
}

TEST(values_are_divided_as_they_are_told) {
    spex_random_seed(&random_state, 2, 1);
    for (unsigned r = 0; r < 200; r++) {
        double bounds[BOUNDS] = {between(0, 60), between(60, 200), between(200, 1000), 1000};
        make_row();
        expect_divided(bounds, below(BOUNDS + 1));
        for (double ticks = 0; ticks < 3000; ticks += 100)
            expect_near(spex_figures_corrected(&profile, &row.probe, ticks), corrected(ticks));
        /* A row without values has no least one. */
        uint64_t least = isfinite(values.min) ? (uint64_t)values.min : UINT64_MAX;
        bounds[0] = spex_figures_corrected(&profile, &row.probe,
                                           spex_histogram_value(spex_histogram_bucket(least)));
        if (within_of().slope < 0.99) /* else rounding decides */
            expect_divided(bounds, bounds[0] < bounds[1] ? 2 : 1);
    }
}

/* What was lost counts in both, by the part that the probe has lost. */
TEST(losses_are_weighed_in_both) {
    double weights[2];
    spex_random_seed(&random_state, 3, 1);
    make_row();
    spex_values_clear(&values);
    spex_values_clear(&losses);
    for (int i = 0; i < 10; i++)
        spex_histogram_add(&values.histogram, 10, 1);
    values.weight = values.mean = 10;
    spex_histogram_add(&losses.histogram, 30, 4);
    losses.weight = 4;
    losses.mean = 30;
    row.losses[0] = &losses;
    row.probe = (struct spex_profile_probe){.probe_type = SPEX_SNAPSHOT,
                                            .series = 1,
                                            .count = 12,
                                            .weight = 10,
                                            .records = 10,
                                            .lost = 2,
                                            .period_last = 1};
    expect_near(spex_figures_divide(&profile, &row, 0, &(double){20}, 1, weights), 160);
    expect_near(weights[0], 10);
    expect_near(weights[1], 2);
    row.losses[0] = NULL;
}

/* Of three rows and sites, any of which may be of another provider. */
TEST(providers_are_mixed_where_one_differs) {
    for (int other = -1; other < 3; other++) {
        struct spex_profile_row rows[3] = {{.values = {NULL}}};
        struct spex_profile_site sites[3] = {{.index = 0}};
        const struct spex_profile of = {
            .rows = rows, .row_count = 3, .sites = sites, .site_count = 3};
        for (int i = 0; i < 3; i++) {
            strcpy(rows[i].probe.provider, i == other ? "other" : "one");
            strcpy(sites[i].provider, i == other ? "other" : "one");
            rows[i].probe.cost_factor = i <= other ? 2.0F : 0;
        }
        assert_int_equal(spex_profile_rows_mixed(&of), other >= 0);
        assert_int_equal(spex_profile_sites_mixed(&of), other >= 0);
        assert_int_equal(spex_profile_measured(&of), other + 1);
    }
}

TEST(rows_are_found_in_their_order) {
    enum { FOUND = 20 };
    static struct spex_profile_row rows[FOUND];
    const struct spex_profile of = {.rows = rows, .row_count = FOUND};
    for (unsigned r = 0; r < FOUND; r++)
        rows[r].probe = (struct spex_profile_probe){.probe_id = (uint16_t)(3 * (r / 2)),
                                                    .probe_type = r % 2 ? SPEX_TPT : SPEX_LAT};
    qsort(rows, FOUND, sizeof(*rows), spex_profile_row_order);
    for (unsigned r = 0; r < FOUND; r++) {
        const struct spex_profile_probe *probe = &rows[r].probe;
        assert_int_equal(probe->probe_id, 3 * (r / 2));
        assert_int_equal(spex_profile_row_order(&rows[r], &rows[r]), 0);
        for (unsigned later = r + 1; later < FOUND; later++) {
            assert_true(spex_profile_row_order(&rows[r], &rows[later]) < 0);
            assert_true(spex_profile_row_order(&rows[later], &rows[r]) > 0);
        }
        assert_ptr_equal(spex_profile_row_of(&of, probe->probe_id, probe->probe_type), &rows[r]);
        assert_null(spex_profile_row_of(&of, (uint16_t)(probe->probe_id + 1), SPEX_LAT));
        assert_null(spex_profile_row_of(&of, probe->probe_id, SPEX_CNT));
        assert_null(spex_profile_row_of(&of, probe->probe_id, SPEX_SPAN));
    }
}

/* Of 1000 executions 100 made a record and 20 records were lost: 880 were skipped. */
TEST(a_row_costs_its_records_and_executions) {
    struct spex_profile_type type = {
        .probe_type = SPEX_LAT, .measured = 1, .skip = 5, .record = 60, .drawn = 90};
    struct spex_profile_row one = {
        .probe = {.probe_type = SPEX_LAT, .count = 1000, .records = 100, .lost = 20}};
    struct spex_profile of = {.types = &type, .type_count = 1, .rows = &one, .row_count = 1};
    assert_true(spex_profile_row_cost(&of, &one.probe) == 0);
    assert_false(spex_profile_costs_known(&of));
    of.process.ticks_per_second = 1e3;
    assert_true(spex_profile_costs_known(&of));
    expect_near(spex_profile_row_cost(&of, &one.probe), 0.88 * 5 + 0.12 * 60);
    one.probe.cost_factor = 0.5F;
    expect_near(spex_profile_cost(&of), 0.44 * 5 + 0.06 * 60);
    of.process.program_seconds = 3;
    expect_near(spex_profile_cost(&of), 3);
    of.process.program_seconds = 30;
    expect_near(spex_profile_cost(&of), 0.44 * 5 + 0.06 * 60);
    one.probe.cost_factor = 0;
    one.probe.kind = SPEX_SAMPLING_GEOMETRIC;
    expect_near(spex_profile_row_cost(&of, &one.probe), 0.88 * 5 + 0.12 * 90);
    one.probe.kind = SPEX_SAMPLING_BURSTY;
    expect_near(spex_profile_row_cost(&of, &one.probe), 0.88 * 5 + 0.12 * 90);
    type.drawn = 50;
    one.probe.count = 100;
    expect_near(spex_profile_row_cost(&of, &one.probe), 0.12 * 60);
    type.measured = 0;
    assert_true(spex_profile_row_cost(&of, &one.probe) == 0);
    assert_false(spex_profile_costs_known(&of));
    one.probe.records = 0;
    assert_true(spex_profile_costs_known(&of));
}
