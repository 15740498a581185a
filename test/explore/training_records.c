/* SPDX-License-Identifier: MIT */
/* Which records of a run a training takes: those of kernels that have ended, whose time and context
 * can be used. What cannot be used is counted, and what is no kernel's is nothing. */
#define _GNU_SOURCE
#include "explore/training_kernels.h"
#include "receiver_stream.h"

enum { WORK = 7, OTHER = 8, HZ = 1000 };

static const struct {
    uint32_t type, weight;
    uint16_t probe;
    uint64_t context;
    uint8_t fields, marks;
    uint64_t used, left_out;
} cases[] = {
    {SPEX_KERNEL, 1, WORK, 2, 2, 0, 1, 0},
    {SPEX_KERNEL, 3, OTHER, 5, 2, SPEX_MARK_BURST, 1, 0},
    {SPEX_KERNEL, 0, WORK, 2, 2, 0, 0, 0},
    {SPEX_KERNEL, 0, WORK, 3, 2, 0, 0, 0},
    {SPEX_KERNEL, 1, WORK, 2, 2, SPEX_MARK_OPENING, 0, 1},
    {SPEX_KERNEL, 1, WORK, 3, 2, 0, 0, 1},
    {SPEX_KERNEL, 1, WORK, 5, 2, 0, 0, 1},
    {SPEX_KERNEL, 1, WORK, 2, 1, 0, 0, 1},
    {SPEX_LAT, 1, WORK, 2, 2, 0, 0, 0},
    {SPEX_CNT, 5, WORK, 9, 2, 0, 0, 0},
};

static void begin_program(struct stream *stream) {
    static const struct spex_stream_context contexts[] = {
        {.number = 2, .parent = 1, .kernel = WORK}, {.number = 5, .parent = 2, .kernel = OTHER}};
    const struct spex_stream_site sites[] = {
        {.index = 1, .probe_id = WORK, .probe_type = SPEX_KERNEL, .name = "work"},
        {.index = 2, .probe_id = OTHER, .probe_type = SPEX_KERNEL, .name = "other"}};
    open_stream(stream);
    send_kind(stream, SPEX_STREAM_HELLO);
    send_frame(stream, header(SPEX_STREAM_SITES, 2), sites, sizeof(sites));
    send_frame(stream, header(SPEX_STREAM_CONTEXTS, 2), contexts, sizeof(contexts));
    take(stream);
}

static struct spex_record record_of(size_t c) {
    return (struct spex_record){.probe_type = cases[c].type,
                                .weight = cases[c].weight,
                                .probe_id = cases[c].probe,
                                .field_count = cases[c].fields,
                                .marks = cases[c].marks,
                                .fields = {500, cases[c].context}};
}

/* One by one, and all of them at once. */
TEST(what_can_be_used_is_taken) {
    const struct spex_run_parameters run = {{"n"}, {4}, 1};
    struct spex_record all[COUNT_OF(cases)];
    uint64_t used, left_out, all_used = 0, all_left_out = 0;
    struct spex_training *training;
    struct spex_error error = {""};
    struct stream stream;
    begin_program(&stream);
    assert_int_equal(spex_training_create(&training, 1), 0);
    struct spex_training_kernels *kernels =
        spex_training_kernels_new(training, stream.receiver, &run, HZ);
    assert_non_null(kernels);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        used = left_out = 0;
        all[c] = record_of(c);
        assert_int_equal(spex_training_kernels_take(kernels, &all[c], 1, &used, &left_out, &error),
                         0);
        if (used != cases[c].used || left_out != cases[c].left_out)
            fail_msg("record %zu: %d used, %d left out", c, (int)used, (int)left_out);
        all_used += used;
        all_left_out += left_out;
    }
    used = left_out = 10;
    assert_int_equal(
        spex_training_kernels_take(kernels, all, COUNT_OF(all), &used, &left_out, &error), 0);
    assert_int_equal(used, 10 + all_used);
    assert_int_equal(left_out, 10 + all_left_out);
    spex_training_kernels_free(kernels);
    spex_training_destroy(training);
    close_stream(&stream);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
