/* SPDX-License-Identifier: MIT */
/* Which records are judged, and what the detector of anomalies gets of each: kernels are looked up
 * once a context. */
#include "watch/record_judge.h"

#include <errno.h>

#include "../check.h"

enum { CONTEXTS = 5, UNSOUND = 4, NAMELESS = 3 };

static struct spex_anomalies *const anomalies = (struct spex_anomalies *)&(int){1};
static const struct spex_kernels_known known;

static struct {
    unsigned described, found;
    int error;
    /* What was taken last. */
    unsigned taken;
    const struct spex_watched *kernel;
    struct spex_execution execution;
    double parameters[2];
} seen;

static char kernels[CONTEXTS]; /* stand for the detector's */

bool spex_kernel_record_sound(const struct spex_kernels_known *of,
                              const struct spex_record *record) {
    assert_ptr_equal(of, &known);
    return record->fields[1] != UNSOUND;
}

int spex_kernel_describe(const struct spex_kernels_known *of, const struct spex_record *record,
                         struct spex_kernel_described *described, struct spex_error *error) {
    (void)error;
    assert_ptr_equal(of, &known);
    seen.described++;
    snprintf(described->buffer, sizeof(described->buffer), "kernel %d", (int)record->fields[1]);
    described->path = described->buffer;
    described->count = record->field_count - 2u;
    return record->fields[1] == NAMELESS ? -EINVAL : 0;
}

size_t spex_kernel_parameters(const struct spex_record *record, double values[SPEX_MAX_FIELDS]) {
    size_t count = record->field_count - 2u;
    for (size_t v = 0; v < count; v++)
        values[v] = (double)record->fields[2 + v];
    return count;
}

int spex_anomalies_kernel(struct spex_anomalies *to, const char *path, const char *const *names,
                          size_t parameter_count, struct spex_watched **kernel) {
    int number = 0;
    (void)names;
    assert_ptr_equal(to, anomalies);
    seen.found++;
    if (seen.error)
        return seen.error;
    if (*path)
        assert_int_equal(sscanf(path, "kernel %d", &number), 1);
    else
        number = NAMELESS;
    assert_int_equal(parameter_count, number);
    *kernel = (struct spex_watched *)&kernels[number];
    return 0;
}

void spex_anomalies_take(struct spex_anomalies *to, struct spex_watched *kernel,
                         const struct spex_execution *execution) {
    assert_ptr_equal(to, anomalies);
    seen.taken++;
    seen.kernel = kernel;
    seen.execution = *execution;
    memcpy(seen.parameters, execution->parameters, sizeof(seen.parameters));
}

/* A record of the kernel of a context, which has as many parameters. */
static struct spex_record record_of(unsigned context) {
    return (struct spex_record){.timestamp = 5000,
                                .probe_type = SPEX_KERNEL,
                                .weight = 3,
                                .thread_id = 70 + context,
                                .field_count = (uint8_t)(2 + context),
                                .fields = {250, context, 11, 12, 13, 14}};
}

static struct spex_record_judge *judge_make(void) {
    const struct spex_instant begin = {.ticks = 4000};
    struct spex_record_judge *judge;
    memset(&seen, 0, sizeof(seen));
    assert_int_equal(spex_record_judge_create(&judge, anomalies, &known, begin, 500), 0);
    return judge;
}

TEST(executions_are_what_records_tell) {
    struct spex_record_judge *judge = judge_make();
    struct spex_record record = record_of(2);
    assert_int_equal(spex_record_judge_take(judge, &record, 1), 0);
    assert_int_equal(seen.taken, 1);
    assert_ptr_equal(seen.kernel, &kernels[2]);
    assert_true(seen.execution.seconds == 0.5 && seen.execution.end == 2);
    assert_true(seen.execution.weight == 3);
    assert_int_equal(seen.execution.thread, 72);
    assert_true(seen.parameters[0] == 11 && seen.parameters[1] == 12);
    record.timestamp = 3000; /* before the beginning */
    assert_int_equal(spex_record_judge_take(judge, &record, 1), 0);
    assert_true(seen.execution.end == -2);
    spex_record_judge_destroy(judge);
}

TEST(kernels_are_looked_up_once) {
    struct spex_record records[9];
    struct spex_record_judge *judge = judge_make();
    for (unsigned r = 0; r < COUNT_OF(records); r++)
        records[r] = record_of(1 + r % 3);
    assert_int_equal(spex_record_judge_take(judge, records, COUNT_OF(records)), 0);
    assert_true(seen.taken == 9 && seen.described == 3 && seen.found == 3);
    /* One without names is looked up as "", which no model has. */
    assert_ptr_equal(seen.kernel, &kernels[NAMELESS]);
    assert_int_equal(spex_record_judge_take(judge, records, 1), 0);
    assert_ptr_equal(seen.kernel, &kernels[1]);
    assert_true(seen.taken == 10 && seen.described == 3);
    assert_int_equal(spex_record_judge_left_out(judge), 0);
    spex_record_judge_destroy(judge);
}

TEST(others_are_left_out) {
    struct spex_record records[] = {record_of(1), record_of(UNSOUND), record_of(2), record_of(1),
                                    record_of(UNSOUND)};
    struct spex_record_judge *judge = judge_make();
    records[2].probe_type = SPEX_LAT;
    records[3].weight = 0; /* a sample */
    assert_int_equal(spex_record_judge_take(judge, records, COUNT_OF(records)), 0);
    assert_int_equal(seen.taken, 1);
    assert_int_equal(spex_record_judge_left_out(judge), 2);
    assert_int_equal(spex_record_judge_take(judge, records, 0), 0);
    assert_int_equal(spex_record_judge_take(judge, records, COUNT_OF(records)), 0);
    assert_int_equal(seen.taken, 2);
    assert_int_equal(spex_record_judge_left_out(judge), 4);
    spex_record_judge_destroy(judge);
}

/* Without memory nothing more of the batch is judged; the next time it is looked up again. */
TEST(an_error_ends_a_batch) {
    struct spex_record records[] = {record_of(1), record_of(2), record_of(1)};
    struct spex_record_judge *judge = judge_make();
    assert_int_equal(spex_record_judge_take(judge, records, 1), 0);
    seen.error = -ENOMEM;
    assert_int_equal(spex_record_judge_take(judge, records, COUNT_OF(records)), -ENOMEM);
    assert_true(seen.taken == 2 && seen.found == 2);
    seen.error = 0;
    assert_int_equal(spex_record_judge_take(judge, records, COUNT_OF(records)), 0);
    assert_true(seen.taken == 5 && seen.found == 3);
    assert_int_equal(spex_record_judge_left_out(judge), 0);
    spex_record_judge_destroy(judge);
}
