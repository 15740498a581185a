/* SPDX-License-Identifier: MIT */
/* Any frames as a program's answers: refused with one line, or a profile comes out that all that is
 * reckoned from profiles can be reckoned from. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "fuzz.h"
#include "observe/profile_reader.h"
#include "observe/profile_sum.h"
#include "packets.h"
#include "profile/confidence.h"
#include "profile/figures.h"
#include "text/printable.h"

static void check_text(const char *text, size_t size) {
    size_t length = strnlen(text, size);
    FUZZ_CHECK(length < size);
    for (size_t i = 0; i < length; i++)
        FUZZ_CHECK((unsigned char)text[i] >= ' ' && text[i] != 0x7f);
}

static void check_values(const struct spex_profile_probe *probe, const struct spex_values *values) {
    double low, high, last = 0;
    uint64_t total = 0;
    for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b++)
        total += values->histogram.weights[b];
    FUZZ_CHECK(total == values->histogram.total);
    FUZZ_CHECK(!isnan(spex_values_deviation(values)) && !isnan(spex_mean_margin(probe, values)));
    for (int q = 0; q <= 100; q += 25) {
        double value = spex_values_quantile(values, q / 100.0);
        FUZZ_CHECK(!isnan(value) && value >= 0);
        FUZZ_CHECK(q == 0 || value >= last || values->min > values->max);
        last = value;
    }
    if (spex_quantile_bounds(probe, values, 0.5, &low, &high))
        FUZZ_CHECK(low <= high || values->min > values->max);
}

static void check_figures(const struct spex_profile *profile, const struct spex_profile_row *row,
                          unsigned series) {
    struct spex_figures figures;
    check_values(&row->probe, row->values[series]);
    spex_figures_of(profile, row, series, &figures);
    FUZZ_CHECK(!isnan(figures.mean) && !isnan(figures.mean_margin));
    FUZZ_CHECK(!isnan(figures.total_margin) && figures.empty >= 0);
}

static void check_profile(const struct spex_profile *profile) {
    check_text(profile->process.command, sizeof(profile->process.command));
    check_text(profile->process.selection, sizeof(profile->process.selection));
    for (size_t t = 0; t < profile->type_count; t++)
        check_text(profile->types[t].text, sizeof(profile->types[t].text));
    for (size_t s = 0; s < profile->site_count; s++) {
        check_text(profile->sites[s].name, sizeof(profile->sites[s].name));
        check_text(profile->sites[s].file, sizeof(profile->sites[s].file));
    }
    for (size_t r = 0; r < profile->row_count; r++) {
        const struct spex_profile_row *row = &profile->rows[r];
        check_text(row->probe.name, sizeof(row->probe.name));
        FUZZ_CHECK(row->probe.series <= SPEX_MAX_FIELDS);
        FUZZ_CHECK(r == 0 || row->probe.probe_id >= profile->rows[r - 1].probe.probe_id);
        FUZZ_CHECK(!isnan(spex_profile_row_cost(profile, &row->probe)) &&
                   !isnan(row->probe.count_variance));
        FUZZ_CHECK(!isnan(spex_occupancy_share_margin(&row->probe.activity)) &&
                   !isnan(spex_occupancy_threads_margin(&row->probe.activity)));
        FUZZ_CHECK(spex_occupancy_share(&row->probe.activity) <= 1);
        for (unsigned s = 0; s < row->probe.series; s++)
            check_figures(profile, row, s);
    }
}

/* From one profile to another, neither of which need be later, or of the same program. */
static void check_since(const struct spex_profile *now, const struct spex_profile *before) {
    struct spex_profile difference;
    FUZZ_CHECK(spex_profile_since(now, before, &difference) == 0);
    FUZZ_CHECK(difference.row_count == now->row_count);
    for (size_t r = 0; r < difference.row_count; r++)
        for (unsigned s = 0; s < difference.rows[r].probe.series; s++)
            FUZZ_CHECK(!isnan(spex_values_deviation(difference.rows[r].values[s])));
    spex_profile_free(&difference);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct spex_profile_reader reader = {0};
    struct spex_profile first = {0};
    const uint8_t *packet;
    size_t length;
    int err = 0;
    while (err >= 0 && packet_next(&data, &size, &packet, &length)) {
        struct spex_error error = {""};
        err = spex_profile_reader_take(&reader, (const char *)packet, length, &error);
        FUZZ_CHECK(err == 0 || err == 1 || err == -EPROTO || err == -EPROTONOSUPPORT);
        FUZZ_CHECK((err < 0) == (*error.text != '\0') && !strchr(error.text, '\n'));
        if (err != 1)
            continue;
        check_text(reader.text, sizeof(reader.text));
        check_profile(&reader.profile);
        check_since(&reader.profile, &first);
        if (!first.types) {
            first = reader.profile;
            reader.profile = (struct spex_profile){0};
        }
    }
    spex_profile_free(&first);
    spex_profile_reader_free(&reader);
    return 0;
}

static struct spex_control_frame head_of(uint16_t kind, size_t entry_bytes, uint32_t count) {
    return (struct spex_control_frame){.magic = SPEX_CONTROL_MAGIC,
                                       .version = SPEX_CONTROL_VERSION,
                                       .kind = kind,
                                       .entry_bytes = (uint32_t)entry_bytes,
                                       .count = count};
}

static size_t put_values(uint8_t *data, size_t at, unsigned series, double times) {
    struct {
        struct spex_control_values values;
        struct spex_control_bucket buckets[3];
    } body = {
        {.series = series,
         .weight = 60 * times,
         .mean = 50,
         .squares = 900 * times,
         .min = 7,
         .max = 90,
         .origin = 50,
         .distances = 4e4,
         .weights = 600,
         .weights_all = 900,
         .squared = 90000,
         .local = 3000},
        {{7, (uint64_t)(10 * times)}, {50, (uint64_t)(40 * times)}, {77, (uint64_t)(10 * times)}}};
    struct spex_control_frame head = head_of(SPEX_CONTROL_VALUES, sizeof(body.values), 3);
    return packet_put(data, at, &head, sizeof(head), &body, sizeof(body));
}

/* As the rows may be where weights differ. */
static size_t put_spread(uint8_t *data, size_t at, unsigned series) {
    struct spex_control_spread rows[2] = {{.series = series, .row = 7},
                                          {.series = series, .row = 50}};
    for (unsigned way = 0; way < SPEX_VARIANCE_WAYS; way++) {
        rows[0].ways[way] = way % 2 ? 30 : -30;
        rows[1].ways[way] = way % 3 ? 80 : -80;
    }
    struct spex_control_frame head = head_of(SPEX_CONTROL_SPREAD, sizeof(rows[0]), 2);
    return packet_put(data, at, &head, sizeof(head), rows, sizeof(rows));
}

static size_t put_profile(uint8_t *data, size_t at, double times, unsigned frames) {
    const struct spex_profile_process process = {.process_id = 42,
                                                 .ticks_per_second = 3e9,
                                                 .seconds = times,
                                                 .threads = 3,
                                                 .command = "server"};
    const struct spex_profile_type types[2] = {{.probe_type = SPEX_LAT,
                                                .measured = 1,
                                                .skip = 2,
                                                .record = 60,
                                                .text = "time stamp counter"},
                                               {.probe_type = SPEX_CNT}};
    const struct spex_profile_site site = {
        .probe_id = 7, .probe_type = SPEX_LAT, .line = 12, .name = "query", .file = "server.c"};
    const struct spex_profile_probe probe = {.probe_type = SPEX_LAT,
                                             .probe_id = 7,
                                             .series = 1,
                                             .period = 4,
                                             .count = 300 * times,
                                             .weight = 240 * times,
                                             .weight_squares = 960 * times,
                                             .records = (uint64_t)(60 * times),
                                             .name = "query"};
    const struct {
        uint16_t kind;
        uint32_t count;
        size_t bytes;
        const void *entries;
    } parts[] = {{SPEX_CONTROL_PROCESS, 1, sizeof(process), &process},
                 {SPEX_CONTROL_TYPES, 2, sizeof(types[0]), types},
                 {SPEX_CONTROL_SITES, 1, sizeof(site), &site},
                 {SPEX_CONTROL_PROBE, 1, sizeof(probe), &probe}};
    for (unsigned p = 0; p < 4 && p < frames; p++) {
        struct spex_control_frame head = head_of(parts[p].kind, parts[p].bytes, parts[p].count);
        at = packet_put(data, at, &head, sizeof(head), parts[p].entries,
                        parts[p].bytes * parts[p].count);
    }
    if (frames > 4)
        at = put_spread(data, put_values(data, at, 0, times), 0);
    if (frames > 5)
        at = put_spread(data, put_values(data, at, SPEX_CONTROL_LOSSES, times / 2),
                        SPEX_CONTROL_LOSSES);
    struct spex_control_frame done = head_of(SPEX_CONTROL_DONE, 1, 5);
    return packet_put(data, at, &done, sizeof(done), "hello", 5);
}

/* Two profiles of a program, one after the other, of which the second has fewer and fewer parts;
 * and an answer alone. */
size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    if (number > 7 || room < 65536)
        return 0;
    if (number == 7)
        return put_profile(data, 0, 1, 0);
    return put_profile(data, put_profile(data, 0, 1, 6), 3, 6 - number);
}

const char *const fuzz_words[] = {
    "SPXC",     "\x10",     "\x11", "\x12",    "\x13", "\x14", "\x15", "\xff\xff\xff\xff",
    "\xf0\x7f", "\xf8\xff", "\x16", "\x1b[2J", NULL};
