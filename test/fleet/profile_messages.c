/* SPDX-License-Identifier: MIT */
/* Messages of profiles: how probes are divided among them, what is in each, and which heads and
 * clocks are refused. */
#include "../check.h"

#include <errno.h>

#include "fleet/lead/profile_message.h"
#include "observe/profile_reader.h"
#include "ring/probe_type.h"
#include "text/printable.h"

enum { ROWS = 60, MESSAGES = 40 };

static struct spex_profile_type types[] = {{.probe_type = SPEX_LAT, .used = 1, .empty = 3},
                                           {.probe_type = SPEX_CNT, .used = 0},
                                           {.probe_type = SPEX_SNAPSHOT, .used = 1, .empty = 4}};
static struct spex_profile_row rows[ROWS];
static struct spex_values small, large;
static struct spex_profile profile;

static struct {
    char *data;
    size_t size;
} messages[MESSAGES];
static size_t message_count;
static int send_error;

static int keep(void *user, const char *data, size_t size) {
    assert_ptr_equal(user, &profile);
    if (send_error)
        return send_error;
    assert_in_range(message_count, 0, MESSAGES - 1);
    messages[message_count].data = malloc(size);
    memcpy(messages[message_count].data, data, size);
    messages[message_count++].size = size;
    return 0;
}

static unsigned only_every = 1;

static bool is_wanted(void *user, const struct spex_profile_probe *probe) {
    assert_ptr_equal(user, &profile);
    return probe->probe_id % only_every == 0;
}

static struct spex_fleet_profile_writer writer;

static int begin(void **state) {
    (void)state;
    spex_values_clear(&small);
    spex_values_clear(&large);
    for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b++)
        large.histogram.weights[b] = 1;
    for (unsigned r = 0; r < SPEX_VARIANCE_ROWS; r++)
        large.spread.rows[r][0] = 1;
    large.histogram.total = SPEX_HISTOGRAM_BUCKETS;
    large.weight = SPEX_HISTOGRAM_BUCKETS;
    large.min = 0;
    large.max = 1e18;
    small.histogram.weights[5] = small.histogram.total = 2;
    small.weight = 2;
    small.min = small.max = 5;
    for (unsigned r = 0; r < ROWS; r++)
        rows[r] = (struct spex_profile_row){.probe = {.probe_type = SPEX_LAT,
                                                      .probe_id = (uint16_t)(r + 1),
                                                      .series = 1,
                                                      .records = r},
                                            .values = {&small}};
    profile = (struct spex_profile){.process = {.ticks_per_second = 1e9, .process_id = 7},
                                    .types = types,
                                    .type_count = COUNT_OF(types),
                                    .rows = rows,
                                    .row_count = ROWS};
    writer = (struct spex_fleet_profile_writer){
        .by = {.agent = 11, .process = 22, .loaded_ns = 33, .boot = "boot"},
        .wanted = is_wanted,
        .send = keep,
        .user = &profile};
    only_every = 1;
    send_error = 0;
    return 0;
}

static int end(void **state) {
    (void)state;
    while (message_count > 0)
        free(messages[--message_count].data);
    return 0;
}

static int read_it(const char *data, size_t size, struct spex_fleet_reports_by *by,
                   struct spex_profile *read, char text[256]) {
    struct spex_error error = {""};
    int err = spex_fleet_profile_read(data, size, by, read, &error);
    snprintf(text, 256, "%s", error.text);
    assert_int_equal(err != 0, *text != '\0');
    return err;
}

static void expect_told_by(const struct spex_fleet_reports_by *by,
                           const struct spex_fleet_reports_by *expected) {
    assert_int_equal(by->agent, expected->agent);
    assert_int_equal(by->process, expected->process);
    assert_int_equal(by->loaded_ns, expected->loaded_ns);
    assert_memory_equal(by->boot, expected->boot, sizeof(by->boot));
    assert_int_equal(by->gone, expected->gone);
}

/* All messages have the head, the process and the types that are used; together they have the rows
 * from `expected`, once each. */
static void expect_rows(const unsigned *expected, size_t count) {
    size_t at = 0;
    for (size_t m = 0; m < message_count; m++) {
        struct spex_fleet_reports_by by;
        struct spex_profile read;
        char text[256];
        assert_in_range(messages[m].size, 1, SPEX_FLEET_PROFILE_BYTES);
        if (read_it(messages[m].data, messages[m].size, &by, &read, text) != 0)
            fail_msg("%s", text);
        expect_told_by(&by, &writer.by);
        assert_int_equal(read.process.process_id, 7);
        assert_int_equal(read.type_count, 2);
        assert_true(read.types[0].empty == 3 && read.types[1].empty == 4);
        assert_true(read.row_count > 0);
        for (size_t r = 0; r < read.row_count; r++, at++) {
            const struct spex_profile_row *row = &read.rows[r];
            assert_in_range(at, 0, count - 1);
            const struct spex_profile_row *from = &rows[expected[at]];
            assert_int_equal(row->probe.probe_id, from->probe.probe_id);
            assert_int_equal(row->probe.series, from->probe.series);
            for (unsigned s = 0; s < row->probe.series; s++) {
                assert_memory_equal(&row->values[s]->histogram, &from->values[s]->histogram,
                                    sizeof(small.histogram));
                assert_int_equal(row->losses[s] != NULL, from->losses[s] != NULL);
            }
        }
        spex_profile_free(&read);
    }
    assert_int_equal(at, count);
}

static void write_all(void) {
    assert_int_equal(spex_fleet_profile_write(&writer, &profile), 0);
}

static const unsigned *all_rows(void) {
    static unsigned all[ROWS];
    for (unsigned r = 0; r < ROWS; r++)
        all[r] = r;
    return all;
}

TEST_WITH(few_probes_are_one_message, begin, end) {
    static const unsigned thirds[] = {2, 5, 8, 11};
    write_all();
    assert_int_equal(message_count, 1);
    expect_rows(all_rows(), ROWS);
    end(NULL);
    only_every = 3;
    profile.row_count = 12;
    write_all();
    expect_rows(thirds, COUNT_OF(thirds));
    end(NULL);
    only_every = 1000; /* none is wanted, and none is sent */
    write_all();
    assert_int_equal(message_count, 0);
    send_error = -EPIPE;
    only_every = 1;
    assert_int_equal(spex_fleet_profile_write(&writer, &profile), -EPIPE);
}

/* Another is begun behind 128 KiB, so that no message is larger than that and one probe. */
TEST_WITH(many_probes_are_several_messages, begin, end) {
    for (unsigned r = 0; r < ROWS; r += 2)
        rows[r].values[0] = &large;
    for (unsigned r = 0; r < ROWS; r += 5)
        rows[r].losses[0] = &large;
    write_all();
    assert_in_range(message_count, 10, MESSAGES);
    expect_rows(all_rows(), ROWS);
    for (size_t m = 0; m + 1 < message_count; m++)
        assert_in_range(messages[m].size, SPEX_FLEET_PROFILE_PART,
                        SPEX_FLEET_PROFILE_PART + 200000);
    assert_int_equal(writer.left_out, 0);
}

/* Five values in each bucket there is, and as many losses, fit behind others; six do not fit, and
 * are left out with nothing of what stands around them. */
TEST_WITH(the_largest_probes, begin, end) {
    static const unsigned without[] = {0, 1, 3, 4};
    profile.row_count = 5;
    rows[1].values[0] = &large;
    rows[2].probe.series = 5;
    for (unsigned s = 0; s < 6; s++)
        rows[2].values[s] = rows[2].losses[s] = &large;
    write_all();
    assert_int_equal(writer.left_out, 0);
    assert_int_equal(message_count, 2);
    expect_rows(all_rows(), 5);
    end(NULL);
    rows[2].probe.series = 6;
    for (int n = 0; n < 2; n++) {
        write_all();
        assert_int_equal(writer.left_out, 1);
        assert_int_equal(message_count, 1);
        expect_rows(without, COUNT_OF(without));
        end(NULL);
        rows[1].values[0] = &small;
    }
}

TEST_WITH(who_is_gone_says_so_alone, begin, end) {
    struct spex_fleet_reports_by by;
    struct spex_profile read;
    char text[256];
    writer.by.gone = true;
    assert_int_equal(spex_fleet_profile_write(&writer, NULL), 0);
    assert_int_equal(message_count, 1);
    assert_int_equal(read_it(messages[0].data, messages[0].size, &by, &read, text), 0);
    expect_told_by(&by, &writer.by);
    assert_true(!read.rows && !read.types && read.row_count == 0);
    /* Nobody else may send a head alone. */
    messages[0].data[6] = 0;
    assert_int_equal(read_it(messages[0].data, messages[0].size, &by, &read, text), -EINVAL);
    assert_string_equal(text, "one whole profile was expected");
}

/* What the message becomes with some bytes of its head changed. */
static void expect_head(size_t at, const void *bytes, size_t count, const char *reason) {
    struct spex_fleet_reports_by by;
    struct spex_profile read;
    char text[256], *copy = malloc(messages[0].size);
    memcpy(copy, messages[0].data, messages[0].size);
    memcpy(copy + at, bytes, count);
    assert_int_equal(read_it(copy, messages[0].size, &by, &read, text), *reason ? -EINVAL : 0);
    assert_string_equal(text, reason);
    spex_profile_free(&read);
    free(copy);
}

TEST_WITH(heads_are_checked, begin, end) {
    static const char version[] = "a profile of version 1 was expected",
                      process[] = "the number of a process and a boot were expected";
    static const int32_t processes[] = {1, INT32_MAX, 0, -1};
    static const uint16_t other = 2;
    profile.row_count = 1;
    write_all();
    expect_head(0, "SXPF", 4, "");
    for (size_t byte = 0; byte < 4; byte++)
        expect_head(byte, "?", 1, version);
    expect_head(4, &other, sizeof(other), version);
    for (size_t p = 0; p < COUNT_OF(processes); p++)
        expect_head(12, &processes[p], sizeof(*processes), p < 2 ? "" : process);
    expect_head(24, "\033", 1, process);
    expect_head(24, "", 1, "");
}

TEST_WITH(clocks_have_bounds, begin, end) {
    static const struct {
        double rate;
        bool taken;
    } clocks[] = {{0, true},   {999.999, false}, {1000, true},
                  {1e9, true}, {1e12, true},     {1.0000001e12, false}};
    profile.row_count = 1;
    for (size_t c = 0; c < COUNT_OF(clocks); c++) {
        profile.process.ticks_per_second = clocks[c].rate;
        write_all();
        expect_head(0, "SXPF", 4,
                    clocks[c].taken ? "" : "a clock of 1000 to 1e+12 ticks a second was expected");
        end(NULL);
    }
}

TEST_WITH(sizes_have_bounds, begin, end) {
    struct spex_fleet_reports_by by;
    struct spex_profile read;
    char text[256], *long_one = calloc(1, SPEX_FLEET_PROFILE_BYTES + 1);
    profile.row_count = 1;
    write_all();
    memcpy(long_one, messages[0].data, messages[0].size);
    for (size_t more = 0; more <= 1; more++) {
        size_t size = SPEX_FLEET_PROFILE_BYTES + more;
        assert_int_equal(read_it(long_one, size, &by, &read, text), -EINVAL);
        assert_int_equal(strncmp(text, "a profile of ", 13) == 0, more);
    }
    /* Nothing may stand behind its end. */
    assert_int_equal(read_it(long_one, messages[0].size + 1, &by, &read, text), -EINVAL);
    assert_string_equal(text, "one whole profile was expected");
    free(long_one);
}
