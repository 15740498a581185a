/* SPDX-License-Identifier: MIT */
#include "fleet/lead/reported_row.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/student.h"
#include "observe/profile_sum.h"

static void scale_probe(struct spex_profile_probe *probe, double factor) {
    probe->nested.x *= factor;
    probe->nested.y *= factor;
    probe->nested.xx *= factor * factor;
    probe->nested.xy *= factor * factor;
    probe->nested.yy *= factor * factor;
    probe->slowest.ticks = (uint64_t)fmin((double)probe->slowest.ticks * factor, 0x1p63);
}

/* The time in which the executions are counted, as in spex_profile_rate. */
static struct spex_reported_between between_of(const struct spex_profile_probe *probe) {
    double held = probe->held_count > 0 ? probe->held_seconds : 0;
    double e = spex_profile_executions(probe), s = spex_profile_counted_seconds(probe) + held;
    return s > 0 ? (struct spex_reported_between){1, e, s, e * e, e * s, s * s}
                 : (struct spex_reported_between){0};
}

int spex_reported_row_of(struct spex_reported_row *reported, size_t number,
                         const struct spex_profile_row *row, double factor) {
    bool failed = false;
    *reported = (struct spex_reported_row){.number = number, .instances = 1, .probe = row->probe};
    if (!spex_probe_type_ticks(row->probe.probe_type))
        factor = 1;
    if (factor != 1)
        scale_probe(&reported->probe, factor);
    reported->between = between_of(&reported->probe);
    for (unsigned s = 0; s < row->probe.series; s++) {
        reported->values[s] = spex_sparse_values_of(row->values[s], factor);
        if (row->losses[s])
            reported->losses[s] = spex_sparse_values_of(row->losses[s], factor);
        failed |= !reported->values[s] || (row->losses[s] && !reported->losses[s]);
    }
    if (failed)
        spex_reported_row_free(reported);
    return failed ? -ENOMEM : 0;
}

void spex_reported_row_free(struct spex_reported_row *reported) {
    for (unsigned s = 0; s < SPEX_MAX_FIELDS; s++) {
        free(reported->values[s]);
        free(reported->losses[s]);
        reported->values[s] = reported->losses[s] = NULL;
    }
}

size_t spex_reported_row_bytes(const struct spex_reported_row *reported) {
    size_t bytes = sizeof(*reported);
    for (unsigned s = 0; s < SPEX_MAX_FIELDS; s++)
        bytes += spex_sparse_values_bytes(reported->values[s]) +
                 spex_sparse_values_bytes(reported->losses[s]);
    return bytes;
}

/* NULL: no memory. */
static struct spex_values *values_at(const struct spex_values **place) {
    if (!*place) {
        struct spex_values *made = malloc(sizeof(*made));
        if (made)
            spex_values_clear(made);
        *place = made;
    }
    return (struct spex_values *)(uintptr_t)*place;
}

/* The spread of losses is that of all values: of one that has none, of its values. Before the
 * values are added. */
static int losses_add(struct spex_profile_row *sum, const struct spex_reported_row *more,
                      unsigned s) {
    bool had = sum->losses[s] != NULL;
    if (!had && !more->losses[s])
        return 0;
    struct spex_values *losses = values_at(&sum->losses[s]);
    if (!losses)
        return -ENOMEM;
    if (!had && sum->values[s])
        losses->spread = sum->values[s]->spread;
    if (more->losses[s])
        spex_sparse_values_add(losses, more->losses[s]);
    else
        spex_sparse_values_add_spread(&losses->spread, more->values[s]);
    return 0;
}

int spex_reported_row_add(struct spex_profile_row *sum, const struct spex_reported_row *more) {
    bool first = !sum->probe.probe_type;
    if (first)
        sum->probe = (struct spex_profile_probe){.probe_type = more->probe.probe_type,
                                                 .probe_id = more->probe.probe_id,
                                                 .declared = more->probe.declared};
    if (first) {
        memcpy(sum->probe.name, more->probe.name, sizeof(sum->probe.name));
        memcpy(sum->probe.provider, more->probe.provider, sizeof(sum->probe.provider));
        memcpy(sum->probe.why, more->probe.why, sizeof(sum->probe.why));
    }
    spex_profile_probe_add(&sum->probe, &more->probe);
    for (unsigned s = 0; s < more->probe.series; s++) {
        struct spex_values *values = losses_add(sum, more, s) ? NULL : values_at(&sum->values[s]);
        if (!values)
            return -ENOMEM;
        spex_sparse_values_add(values, more->values[s]);
        if (s >= sum->probe.series)
            sum->probe.series = (uint16_t)(s + 1);
    }
    return 0;
}

void spex_reported_between_add(struct spex_reported_between *sum,
                               const struct spex_reported_between *more) {
    sum->count += more->count;
    sum->e += more->e;
    sum->s += more->s;
    sum->ee += more->ee;
    sum->es += more->es;
    sum->ss += more->ss;
}

/* A ratio of two sums over units that are instances (Cochran, Sampling Techniques, 3rd ed.,
 * 6.4). */
bool spex_reported_rate(const struct spex_reported_between *between, double *low, double *high) {
    double n = between->count, rate = between->e / between->s;
    if (n < 2)
        return false;
    double squares = between->ee - 2 * rate * between->es + rate * rate * between->ss;
    double error = sqrt(fmax(squares, 0) * n / (n - 1)) / between->s;
    double margin = spex_student_95(n - 1) * error;
    *low = fmax(rate - margin, 0);
    *high = rate + margin;
    return true;
}

static struct spex_reported_type *type_in(struct spex_reported_types *types, uint32_t probe_type,
                                          uint32_t pcid) {
    for (size_t t = 0; t < types->count; t++)
        if (types->items[t].probe_type == probe_type && types->items[t].pcid == pcid)
            return &types->items[t];
    if (types->count == SPEX_REPORTED_TYPES)
        return NULL;
    struct spex_reported_type *type = &types->items[types->count++];
    *type = (struct spex_reported_type){.probe_type = probe_type, .pcid = pcid};
    return type;
}

void spex_reported_types_of(struct spex_reported_types *reported,
                            const struct spex_profile *profile, double factor) {
    reported->count = 0;
    for (size_t t = 0; t < profile->type_count; t++) {
        const struct spex_profile_type *from = &profile->types[t];
        double by = spex_probe_type_ticks(from->probe_type) ? factor : 1;
        double empty = from->empty * by, error = from->empty_error * by;
        struct spex_reported_type *type =
            from->measured ? type_in(reported, from->probe_type, from->pcid) : NULL;
        if (type && type->count <= 0) {
            type->count = 1;
            type->empty = empty;
            type->squares = empty * empty;
            type->errors = error * error;
        }
    }
}

void spex_reported_types_add(struct spex_reported_types *sum,
                             const struct spex_reported_types *more) {
    for (size_t m = 0; m < more->count; m++) {
        const struct spex_reported_type *from = &more->items[m];
        struct spex_reported_type *type = type_in(sum, from->probe_type, from->pcid);
        if (!type)
            continue;
        type->count += from->count;
        type->empty += from->empty;
        type->squares += from->squares;
        type->errors += from->errors;
    }
}

int spex_reported_types_profile(const struct spex_reported_types *reported,
                                struct spex_profile *profile) {
    profile->types = calloc(reported->count + 1, sizeof(*profile->types));
    if (!profile->types)
        return -ENOMEM;
    for (size_t t = 0; t < reported->count; t++) {
        const struct spex_reported_type *from = &reported->items[t];
        double mean = from->empty / from->count;
        double differ = fmax(from->squares / from->count - mean * mean, 0);
        profile->types[profile->type_count++] =
            (struct spex_profile_type){.probe_type = from->probe_type,
                                       .pcid = from->pcid,
                                       .used = 1,
                                       .measured = 1,
                                       .empty = mean,
                                       .empty_error = sqrt(from->errors / from->count + differ)};
    }
    return 0;
}
