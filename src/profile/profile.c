/* SPDX-License-Identifier: MIT */
/* Costs of a profile: counts times what a record and an execution without one were measured to
 * cost, in ticks, by type. */
#include "profile/profile.h"

#include <string.h>

#include "text/quantity.h"

const struct spex_profile_type *spex_profile_type_of(const struct spex_profile *profile,
                                                     uint32_t probe_type) {
    for (size_t t = 0; t < profile->type_count; t++)
        if (profile->types[t].probe_type == probe_type)
            return &profile->types[t];
    return NULL;
}

int spex_profile_row_order(const void *a, const void *b) {
    const struct spex_profile_probe *one = &((const struct spex_profile_row *)a)->probe;
    const struct spex_profile_probe *other = &((const struct spex_profile_row *)b)->probe;
    if (one->probe_id != other->probe_id)
        return one->probe_id < other->probe_id ? -1 : 1;
    return (one->probe_type > other->probe_type) - (one->probe_type < other->probe_type);
}

const struct spex_profile_row *spex_profile_row_of(const struct spex_profile *profile,
                                                   uint16_t probe_id, uint32_t probe_type) {
    size_t low = 0, high = profile->row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct spex_profile_probe *probe = &profile->rows[middle].probe;
        if (probe->probe_id == probe_id && probe->probe_type == probe_type)
            return &profile->rows[middle];
        if (probe->probe_id < probe_id ||
            (probe->probe_id == probe_id && probe->probe_type < probe_type))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool spex_profile_rows_mixed(const struct spex_profile *profile) {
    for (size_t r = 1; r < profile->row_count; r++)
        if (strcmp(profile->rows[r].probe.provider, profile->rows[0].probe.provider) != 0)
            return true;
    return false;
}

bool spex_profile_sites_mixed(const struct spex_profile *profile) {
    for (size_t s = 1; s < profile->site_count; s++)
        if (strcmp(profile->sites[s].provider, profile->sites[0].provider) != 0)
            return true;
    return false;
}

/* Whether the costs of the probe's type were measured, and can be expressed in seconds. */
static bool cost_known(const struct spex_profile *profile, const struct spex_profile_probe *probe) {
    const struct spex_profile_type *type = spex_profile_type_of(profile, probe->probe_type);
    return type && type->measured && profile->process.ticks_per_second > 0;
}

bool spex_profile_costs_known(const struct spex_profile *profile) {
    for (size_t r = 0; r < profile->row_count; r++) {
        const struct spex_profile_probe *probe = &profile->rows[r].probe;
        if (probe->records && !cost_known(profile, probe))
            return false;
    }
    return true;
}

/* Returns the ticks of a record of the probe, which are more where chance chooses the records. */
static double record_ticks(const struct spex_profile_type *type,
                           const struct spex_profile_probe *probe) {
    bool drawn = probe->kind == SPEX_SAMPLING_GEOMETRIC || probe->kind == SPEX_SAMPLING_BURSTY;
    return drawn && type->drawn > type->record ? type->drawn : type->record;
}

static double factor_of(const struct spex_profile_probe *probe) {
    return probe->cost_factor > 0 ? (double)probe->cost_factor : 1;
}

double spex_profile_halving(const struct spex_profile *profile,
                            const struct spex_profile_probe *probe) {
    const struct spex_profile_type *type = spex_profile_type_of(profile, probe->probe_type);
    double records = (double)probe->records, missing = probe->count - records - probe->lost;
    if (!cost_known(profile, probe) || profile->process.program_seconds <= 0 || missing <= 0)
        return 0;
    double ticks = fmax(record_ticks(type, probe) - type->skip, 0) * factor_of(probe);
    return fmin(3 * records, missing) * ticks / profile->process.ticks_per_second /
           profile->process.program_seconds;
}

/* Lost records have cost as much as others. The rest of the executions was counted without a
 * record. What experiments have found holds for the time before, too. */
double spex_profile_row_cost(const struct spex_profile *profile,
                             const struct spex_profile_probe *probe) {
    const struct spex_profile_type *type = spex_profile_type_of(profile, probe->probe_type);
    if (!cost_known(profile, probe))
        return 0;
    double records = (double)probe->records + probe->lost;
    double skipped = probe->count > records ? probe->count - records : 0;
    return (skipped * type->skip + records * record_ticks(type, probe)) * factor_of(probe) /
           profile->process.ticks_per_second;
}

/* Calibration measures executions that do nothing else; some take less in a program. */
double spex_profile_cost(const struct spex_profile *profile) {
    double sum = 0, most = profile->process.program_seconds;
    for (size_t r = 0; r < profile->row_count; r++)
        sum += spex_profile_row_cost(profile, &profile->rows[r].probe);
    return most > 0 && sum > most ? most : sum;
}

const char *spex_profile_cost_bound(const struct spex_profile *profile) {
    double most = profile->process.program_seconds;
    if (most > 0 && spex_profile_cost(profile) >= most)
        return "at most ";
    return spex_profile_costs_known(profile) ? "" : "at least ";
}

size_t spex_profile_measured(const struct spex_profile *profile) {
    size_t measured = 0;
    for (size_t r = 0; r < profile->row_count; r++)
        measured += profile->rows[r].probe.cost_factor > 0;
    return measured;
}

const char *spex_profile_lease_text(const struct spex_profile_process *process, char *text,
                                    size_t size) {
    double first = process->lease_first_seconds, last = process->lease_seconds, same = last / 50;
    return last - first > same ? spex_range_text(first, last, "s", text, size)
                               : spex_quantity_text(last, same, "s", text, size);
}
