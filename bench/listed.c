/* SPDX-License-Identifier: MIT */
/* An exploration policy that runs the trials of a list in its order, for explored.py. The file
 * whose path is in BENCH_LIST has a line for each trial, with the level of every parameter,
 * from 0. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <spex/policy.h>

struct listed {
    const struct spex_space *space;
    FILE *list;
};

static size_t listed_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct listed);
}

static int listed_init(void *state, const struct spex_space *space) {
    const char *path = getenv("BENCH_LIST");
    struct listed *self = state;
    *self = (struct listed){.space = space, .list = path ? fopen(path, "re") : NULL};
    return self->list ? 0 : path ? -errno : -EINVAL;
}

/* Reads the levels of one line. False when there are too few. */
static bool read_levels(const struct spex_space *space, char *line, size_t *levels) {
    for (size_t p = 0; p < space->parameter_count; p++) {
        char *end;
        levels[p] = strtoul(line, &end, 10);
        if (end == line)
            return false;
        line = end;
    }
    return true;
}

static int listed_next(void *state, struct spex_plan *plan) {
    struct listed *self = state;
    char line[1024];
    if (!fgets(line, sizeof(line), self->list))
        return ferror(self->list) ? -EIO : 0;
    return read_levels(self->space, line, plan->levels) ? 1 : -EINVAL;
}

static void listed_fini(void *state) {
    fclose(((struct listed *)state)->list);
}

SPEX_POLICY_OBJECT = {
    SPEX_POLICY_NAMED("listed", "what a list says"),
    .state_size = listed_state_size,
    .init = listed_init,
    .fini = listed_fini,
    .next = listed_next,
};
