/* SPDX-License-Identifier: MIT */
/* A profile that is too large, or empty, is no reason to run out of memory, or worse. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <spex/record.h>

#include "../check.h"
#include "observe/profile_reader.h"

enum { ROWS = 4096, VALUES_MAX = ROWS * SPEX_MAX_FIELDS };

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
    static const struct spex_profile_type type = {.probe_type = SPEX_LAT};
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

static int take_row(struct spex_profile_reader *reader, uint16_t id) {
    const struct spex_profile_probe probe = {.probe_type = SPEX_SNAPSHOT, .probe_id = id};
    int err = take(reader, SPEX_CONTROL_PROBE, &probe, sizeof(probe), 1);
    for (uint32_t series = 0; series < SPEX_MAX_FIELDS && !err; series++) {
        const struct spex_control_values values = {.series = series, .weight = 1};
        err = take(reader, SPEX_CONTROL_VALUES, &values, sizeof(values), 0);
    }
    return err;
}

/* As many as a program can have are taken, each time anew; more are no profile. All of them would
 * be 700 MB. */
static void there_are_no_more_values_than_a_program_can_have(void **state) {
    struct spex_profile_reader reader = {.status = 0};
    (void)state;
    for (int time = 0; time < 2; time++) {
        begin(&reader);
        assert_int_equal(reader.values, 0);
        reader.values = VALUES_MAX - SPEX_MAX_FIELDS;
        assert_int_equal(take_row(&reader, 0), 0);
        assert_int_equal(reader.values, VALUES_MAX);
        assert_int_equal(take(&reader, SPEX_CONTROL_DONE, NULL, 0, 0), 1);
        assert_int_equal(reader.profile.row_count, 1);
    }
    begin(&reader);
    reader.values = VALUES_MAX;
    assert_int_equal(take_row(&reader, 0), -EPROTO);
    spex_profile_reader_free(&reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_without_probes),
        cmocka_unit_test(there_are_no_more_values_than_a_program_can_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
