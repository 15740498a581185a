/* SPDX-License-Identifier: MIT */
/* A policy that tries each configuration of one parameter twice and writes down what it is told,
 * line by line into the file "heard". */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <spex/policy.h>

struct listener {
    const struct spex_space *space;
    uint64_t planned, records;
    FILE *heard;
};

static size_t listener_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct listener);
}

static int listener_init(void *state, const struct spex_space *space) {
    struct listener *self = state;
    self->space = space;
    self->heard = fopen("heard", "ae");
    return self->heard ? 0 : -EIO;
}

static int listener_next(void *state, struct spex_plan *plan) {
    struct listener *self = state;
    size_t count = self->space->parameters[0].count;
    if (self->planned == 2 * count)
        return 0;
    plan->levels[0] = self->planned++ % count;
    return 1;
}

static uint64_t listener_runs(const void *state) {
    return 2 * ((const struct listener *)state)->space->parameters[0].count;
}

static void listener_process_records(void *state, const struct spex_record *records, size_t count) {
    (void)records;
    ((struct listener *)state)->records += count;
}

/* The levels, whether it succeeded, value and error, records used, lost and seen, seconds. */
static void listener_run_finished(void *state, const struct spex_result *result) {
    struct listener *self = state;
    fprintf(self->heard, "%zu %d %.17g %.17g %" PRIu64 " %" PRIu64 " %" PRIu64 " %.17g\n",
            result->levels[0], result->ok, result->measured ? result->measured->value : -1,
            result->measured ? result->measured->error : -1, result->records_used,
            result->records_lost, self->records, result->seconds);
    self->records = 0;
}

static void listener_fini(void *state) {
    struct listener *self = state;
    fputs("end\n", self->heard);
    fclose(self->heard);
}

SPEX_POLICY_OBJECT = {
    SPEX_POLICY_NAMED("listener", "writes down what it is told"),
    .state_size = listener_state_size,
    .init = listener_init,
    .next = listener_next,
    .runs = listener_runs,
    .process_records = listener_process_records,
    .run_finished = listener_run_finished,
    .fini = listener_fini,
};
