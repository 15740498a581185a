/* SPDX-License-Identifier: MIT */
/* What trials and their loads used, and their notes, for the reports. Usage that is not known is
 * null. */
#include "explore/report/report_usage.h"

/* null when it is not known. */
static json_t *usage_json(const struct spex_usage *usage) {
    if (!usage->known)
        return json_null();
    json_t *object = json_pack("{s:f, s:f}", "user_seconds", usage->user_seconds, "system_seconds",
                               usage->system_seconds);
    for (unsigned c = 0; c < SPEX_USAGE_COUNTS; c++)
        json_object_set_new(object, spex_usage_names[c],
                            spex_usage_count_known(usage, c)
                                ? json_integer((json_int_t)usage->counts[c])
                                : json_null());
    return object;
}

/* A load that ran beside the program. */
static json_t *load_json(const struct spex_trial_load *load) {
    return json_pack("{s:s, s:I, s:o}", "stressor", load->stressor, "workers",
                     (json_int_t)load->workers, "usage", usage_json(&load->usage));
}

json_t *spex_report_usage(json_t *object, const struct spex_trial *trial) {
    json_t *loads = json_array();
    for (size_t l = 0; l < trial->load_count; l++)
        json_array_append_new(loads, load_json(&trial->loads[l]));
    json_object_set_new(object, "usage", usage_json(&trial->usage));
    json_object_set_new(object, "load", loads);
    json_object_set_new(object, "note", trial->note ? json_string(trial->note) : json_null());
    return object;
}

/* One line, since the notes of many trials are usually the same. */
void spex_report_notes(const struct spex_trials *trials, FILE *out) {
    const char *first = NULL;
    size_t count = 0;
    for (size_t t = 0; t < trials->count; t++) {
        const char *note = trials->items[t].note;
        count += note != NULL;
        first = first ? first : note;
    }
    if (count)
        fprintf(out, "notes      of %zu trials, the first: %s\n", count, first);
}
