/* SPDX-License-Identifier: MIT */
/* A profile that is too large, or empty, is no reason to run out of memory, or worse. */
#include <stdlib.h>
#include <string.h>

#include <spex/record.h>

#include "../check.h"
#include "profile_reader.h"

enum { ROWS = 10000, VALUES_MAX = 8192 };

static int take(struct spex_profile_reader *reader, uint16_t kind, const void *entries,
                size_t bytes, uint32_t count) {
    static char frame[SPEX_CONTROL_FRAME_BYTES];
    char why[128];
    struct spex_control_frame head = {
        .magic = SPEX_CONTROL_MAGIC,
        .version = SPEX_CONTROL_VERSION,
        .kind = kind,
        .number = 5,
        .entry_bytes = kind == SPEX_CONTROL_DONE ? 1 : (uint32_t)bytes,
        .count = count,
    };
    memcpy(frame, &head, sizeof(head));
    if (bytes)
        memcpy(frame + sizeof(head), entries, bytes);
    return spex_profile_reader_take(reader, frame, sizeof(head) + bytes, why, sizeof(why));
}

static void begin(struct spex_profile_reader *reader) {
    static const struct spex_profile_process process;
    static const struct spex_profile_type type;
    assert_int_equal(take(reader, SPEX_CONTROL_PROCESS, &process, sizeof(process), 1), 0);
    assert_int_equal(take(reader, SPEX_CONTROL_TYPES, &type, sizeof(type), 1), 0);
}

static void a_profile_without_probes(void **state) {
    struct spex_profile_reader reader = {.status = 0};
    (void)state;
    begin(&reader);
    assert_int_equal(take(&reader, SPEX_CONTROL_DONE, NULL, 0, 0), 1);
    assert_true(reader.complete);
    assert_int_equal(reader.number, 5);
    assert_int_equal(reader.profile.row_count, 0);
    spex_profile_reader_free(&reader);
}

static size_t rows_with_values(const struct spex_profile *profile) {
    size_t rows = 0;
    for (size_t r = 0; r < profile->row_count; r++)
        rows += profile->rows[r].probe.series > 0;
    return rows;
}

/* Each time anew. */
static void values_beyond_the_limit_are_left_out(void **state) {
    struct spex_profile_reader reader = {.status = 0};
    struct spex_profile_probe probe = {.probe_type = SPEX_LAT};
    const struct spex_control_values values = {.weight = 1};
    (void)state;
    for (int time = 0; time < 2; time++) {
        begin(&reader);
        for (unsigned row = 0; row < ROWS; row++) {
            probe.probe_id = (uint16_t)row;
            assert_int_equal(take(&reader, SPEX_CONTROL_PROBE, &probe, sizeof(probe), 1), 0);
            assert_int_equal(take(&reader, SPEX_CONTROL_VALUES, &values, sizeof(values), 0), 0);
        }
        assert_int_equal(take(&reader, SPEX_CONTROL_DONE, NULL, 0, 0), 1);
        assert_int_equal(reader.profile.row_count, ROWS);
        assert_int_equal(rows_with_values(&reader.profile), VALUES_MAX);
    }
    spex_profile_reader_free(&reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_without_probes),
        cmocka_unit_test(values_beyond_the_limit_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
