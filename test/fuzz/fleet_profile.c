/* SPDX-License-Identifier: MIT */
/* Any bytes as messages with profiles: refused with one line, or taken, and what the fleet has
 * measured together can be reckoned. Messages are packets, of which the sums are taken together. */
#include <errno.h>
#include <math.h>

#include "fleet/lead/fleet_sums.h"
#include "fuzz.h"
#include "observe/profile_reader.h"
#include "packets.h"
#include "profile/figures.h"
#include "text/printable.h"

static void check_row(const struct spex_fleet_sum *sum) {
    const struct spex_profile_row *row = &sum->profile.rows[0];
    double low = 0, high = 0;
    FUZZ_CHECK(spex_is_printable(row->probe.name) && spex_is_printable(row->probe.provider));
    if (spex_reported_rate(&sum->between, &low, &high))
        FUZZ_CHECK(!isnan(low) && !isnan(high));
    for (unsigned s = 0; s < row->probe.series; s++) {
        struct spex_figures figures;
        spex_figures_of(&sum->profile, row, s, &figures);
        FUZZ_CHECK(!isnan(figures.mean) && !isnan(figures.mean_margin) && figures.empty >= 0);
        for (unsigned q = 0; q < SPEX_FIGURES_QUANTILES; q++)
            FUZZ_CHECK(figures.quantiles[q].value >= 0);
    }
}

static void check_sums(const struct spex_fleet_sums *sums) {
    struct spex_fleet_sum sum;
    for (size_t p = 0; p < sums->probe_count; p++) {
        FUZZ_CHECK(spex_fleet_sums_of(sums, p, NULL, &sum) == 0);
        if (sum.instances)
            check_row(&sum);
        spex_profile_free(&sum.profile);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct spex_fleet_sums sums;
    const uint8_t *packet;
    size_t length;
    spex_fleet_sums_init(&sums);
    for (double now = 0; packet_next(&data, &size, &packet, &length); now++) {
        struct spex_fleet_reports_by by;
        struct spex_profile profile;
        struct spex_error error = {""};
        int err = spex_fleet_profile_read((const char *)packet, length, &by, &profile, &error);
        FUZZ_CHECK(err == 0 || err == -EINVAL);
        FUZZ_CHECK((err < 0) == (*error.text != '\0') && spex_is_printable(error.text));
        if (!err)
            FUZZ_CHECK(spex_fleet_sums_take(&sums, "h", &by, &profile, now) >= 0);
        spex_profile_free(&profile);
    }
    check_sums(&sums);
    FUZZ_CHECK(spex_fleet_sums_age(&sums, 1e9) == 0 && sums.count == 0);
    check_sums(&sums);
    spex_fleet_sums_free(&sums);
    FUZZ_CHECK(sums.bytes == 0);
    return 0;
}

/* A message that is to be a packet of the seed. */
struct seed {
    uint8_t *data;
    size_t size;
};

static int take(void *user, const char *data, size_t size) {
    struct seed *seed = user;
    seed->size = packet_put(seed->data, seed->size, data, size, NULL, 0);
    return 0;
}

static bool all(void *user, const struct spex_profile_probe *probe) {
    (void)user, (void)probe;
    return true;
}

static void write_seed(struct seed *seed, unsigned number) {
    static struct spex_values values;
    struct spex_profile_type type = {
        .probe_type = SPEX_LAT, .used = 1, .measured = 1, .empty = 20, .empty_error = 2};
    struct spex_profile_row row = {.probe = {.probe_type = SPEX_LAT,
                                             .probe_id = 7,
                                             .series = 1,
                                             .period = 4,
                                             .on_seconds = 3,
                                             .count = 300,
                                             .weight = 240,
                                             .weight_squares = 960,
                                             .records = 60,
                                             .name = "query"},
                                   .values = {&values}};
    struct spex_profile profile = {.process = {.ticks_per_second = number % 2 ? 1e9 : 3e9,
                                               .seconds = 10 + number,
                                               .began_ns = number / 3,
                                               .threads = 2},
                                   .types = &type,
                                   .type_count = 1,
                                   .rows = &row,
                                   .row_count = 1};
    struct spex_fleet_profile_writer writer = {
        .by = {.agent = 5, .process = 1 + (int32_t)number % 2, .loaded_ns = 9, .boot = "b"},
        .wanted = all,
        .send = take,
        .user = seed};
    spex_values_clear(&values);
    for (unsigned r = 0; r < 60; r++) {
        spex_histogram_add(&values.histogram, 1000 + 17 * r, 4);
        spex_variance_single(&values.spread, 1000 + 17 * r, 4, 1);
    }
    values.weight = 240;
    values.mean = 1500;
    values.min = 1000;
    values.max = 2003;
    row.losses[0] = number % 4 == 3 ? &values : NULL;
    FUZZ_CHECK(spex_fleet_profile_write(&writer, &profile) == 0);
    writer.by.gone = true;
    if (number % 5 == 4)
        FUZZ_CHECK(spex_fleet_profile_write(&writer, NULL) == 0);
}

/* Up to three messages, of one instance or two. */
size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    struct seed seed = {data, 0};
    if (number > 8 || room < 65536)
        return 0;
    for (unsigned m = 0; m < 3; m++)
        write_seed(&seed, number + m * (number % 3));
    return seed.size;
}

const char *const fuzz_words[] = {"SXPF", "SXPC", "\x10", "\x11",  "\x13", "\x14",
                                  "\x15", "\x16", "\xff", "query", NULL};
