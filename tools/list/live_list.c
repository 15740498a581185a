/* SPDX-License-Identifier: MIT */
/* Prints the sites of a running program. Sites of the same place, such as copies of an inlined
 * function, share a line when they also have the same period. The figures of a line are those
 * of its probe, which may have other lines. */
#include "tools/list/live_list.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/terminal.h"
#include "profile/columns.h"
#include "profile/confidence.h"
#include "ring/probe_type.h"
#include "text/quantity.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/common/profile_json.h"
#include "tools/list/probe_list.h"

/* Sites that share a line of the list, such as the copies of an inlined function. */
struct entry {
    const struct spex_profile_site *site;
    /* The figures of the probe; NULL: it was never on. */
    const struct spex_profile_row *row;
    const struct spex_profile_type *type;
    /* How many sites there are, and how many of them are on. */
    uint32_t copies;
    uint32_t on;
};

/* Sites with the same state at the same place become neighbours. */
static int order_by_place(const void *a, const void *b) {
    const struct spex_profile_site *one = ((const struct entry *)a)->site;
    const struct spex_profile_site *other = ((const struct entry *)b)->site;
    int order = strcmp(one->provider, other->provider);
    if (!order)
        order = strcmp(one->name, other->name);
    if (!order)
        order = one->probe_id - other->probe_id;
    if (!order)
        order = one->probe_type - other->probe_type;
    if (!order)
        order = strcmp(one->file, other->file);
    if (!order)
        order = (one->line > other->line) - (one->line < other->line);
    return order ? order : (one->period > other->period) - (one->period < other->period);
}

/* The detail is the counter of a PERFCNTR, or a number of values: sites that differ in it do
 * different work. */
static bool entry_is_same(const struct entry *one, const struct entry *other) {
    return order_by_place(one, other) == 0 && one->site->detail == other->site->detail;
}

/* The costs of a PERFCNTR depend on its counter. */
static const struct spex_profile_type *site_type(const struct spex_profile *profile,
                                                 const struct spex_profile_site *site) {
    for (size_t t = 0; t < profile->type_count; t++)
        if (profile->types[t].probe_type == site->probe_type &&
            (site->probe_type != SPEX_PERFCNTR || profile->types[t].pcid == site->detail))
            return &profile->types[t];
    return NULL;
}

/* Makes an entry for each place with sites that are loaded, sorted by place. Free it; NULL: out
 * of memory. */
static struct entry *make_entries(const struct spex_profile *profile, size_t *count) {
    struct entry *entries = calloc(profile->site_count + 1, sizeof(*entries));
    size_t all = 0;
    *count = 0;
    for (size_t s = 0; entries && s < profile->site_count; s++) {
        const struct spex_profile_site *site = &profile->sites[s];
        if (site->loaded)
            entries[all++] = (struct entry){
                .site = site,
                .row = spex_profile_row_of(profile, site->probe_id, site->probe_type),
                .type = site_type(profile, site),
                .copies = 1,
                .on = site->period != 0};
    }
    if (entries)
        qsort(entries, all, sizeof(*entries), order_by_place);
    for (size_t e = 0; e < all; e++) {
        if (*count && entry_is_same(&entries[*count - 1], &entries[e])) {
            entries[*count - 1].copies++;
            entries[*count - 1].on += entries[e].on;
        } else {
            entries[(*count)++] = entries[e];
        }
    }
    return entries;
}

/* Executions a second while the probe was on, at least. */
static double entry_rate(const struct entry *entry) {
    const struct spex_profile_row *row = entry->row;
    return row ? spex_rate_told(&row->probe) : 0;
}

static bool entry_has_bound(const struct entry *entry) {
    return entry->row && spex_rate_is_bound(&entry->row->probe);
}

/* Whether the rate is known: it is not in the first milliseconds, nor for a probe that was only
 * polled. */
static bool entry_has_rate(const struct entry *entry) {
    const struct spex_profile_row *row = entry->row;
    return row && (spex_profile_counted_seconds(&row->probe) > 0 || !row->probe.activity.looks);
}

/* The cost of a record in seconds; 0: unknown. */
static double entry_cost(const struct spex_profile *profile, const struct entry *entry) {
    double rate = profile->process.ticks_per_second;
    return entry->type && entry->type->measured && rate > 0 ? entry->type->record / rate : 0;
}

/* "off", "on", "polled", or "1 in N" for a probe that is sampled. */
static void entry_add_state(struct spex_columns *columns, const struct entry *entry) {
    struct spex_sampling sampling = spex_profile_sampling(entry->site);
    char text[SPEX_SAMPLING_TEXT];
    spex_sampling_text(&sampling, text, sizeof(text));
    if (entry->site->period == 0)
        spex_columns_add(columns, "off");
    else if (entry->site->kind == SPEX_SAMPLING_POLLING)
        spex_columns_add(columns, "polled");
    else if (strcmp(text, "1") == 0)
        spex_columns_add(columns, "on");
    else
        spex_columns_add(columns, "1 in %s", text);
}

/* Adds the cells rate, cost of a record, and lost records. "~": the losses of a ring are shared
 * among its probes in proportion to their records. */
static void entry_add_figures(struct spex_columns *columns, const struct spex_profile *profile,
                              const struct entry *entry) {
    char text[32];
    double cost = entry_cost(profile, entry);
    if (entry_has_rate(entry) && !entry_has_bound(entry) && !spex_rate_known(&entry->row->probe) &&
        spex_profile_counted_seconds(&entry->row->probe) > 0)
        spex_columns_add(columns, "?");
    else if (entry_has_rate(entry))
        spex_columns_add(columns, "%s%s", entry_has_bound(entry) ? "≥" : "",
                         spex_quantity_text(entry_rate(entry), NAN, "", text, sizeof(text)));
    else
        spex_columns_add(columns, "-");
    spex_columns_add(columns, "%s", cost > 0 ? spex_duration_text(cost, text, sizeof(text)) : "-");
    if (entry->row)
        spex_columns_add(columns, "%s%.0f",
                         entry->row->probe.lost > 0 && entry->row->probe.lost_shared ? "~" : "",
                         entry->row->probe.lost);
    else
        spex_columns_add(columns, "-");
}

/* Adds why the probe has its period, and until when it is leased. */
static void entry_add_why(struct spex_columns *columns, const struct entry *entry) {
    const char *why = entry->row ? entry->row->probe.why : "";
    double seconds = entry->site->lease_ms / 1e3;
    char left[32], lease[64] = "";
    if (seconds > 0)
        snprintf(lease, sizeof(lease), "%sleased for %s", *why ? "; " : "",
                 spex_quantity_text(seconds, seconds / 50, "s", left, sizeof(left)));
    spex_columns_add(columns, "%s%s", why, lease);
}

/* Prints what the program says of each type, such as the event that a counter counts. */
static void print_texts(const struct spex_profile *profile, bool all, FILE *out) {
    for (size_t t = 0; t < profile->type_count; t++) {
        char text[sizeof(profile->types[t].text) + 32];
        snprintf(text, sizeof(text), "%s: %s\n", spex_probe_type_name(profile->types[t].probe_type),
                 profile->types[t].text);
        if (profile->types[t].text[0])
            spex_print_wrapped(out, text,
                               all ? INT_MAX : spex_terminal_width(out, spex_text_width()));
    }
}

/* Functions have no line. */
static void site_add_place(struct spex_columns *columns, const struct spex_profile_site *site) {
    if (site->line)
        spex_columns_add(columns, "%s:%u", site->file, site->line);
    else
        spex_columns_add(columns, "%s", site->file);
}

/* Whether the list has probes of several providers. */
static bool entries_mixed(const struct entry *entries, size_t count) {
    /* They are sorted by provider. */
    return count && strcmp(entries[0].site->provider, entries[count - 1].site->provider) != 0;
}

/* The mask has the columns of text, which are aligned to the left. */
int spex_live_list_print(const struct spex_profile *profile, bool all, FILE *out) {
    static const char *const headings[] = {"probe", "id",         "type",     "sc",
                                           "state", "per second", "a record", "lost",
                                           "where", "copies",     "why"};
    static const uint8_t order[] = {3, 9, 1, 6, 8, 2, 7, 10};
    const struct spex_columns_room room = {
        .all = all, .texts = 0x105, .order = order, .count = sizeof(order)};
    struct spex_columns columns;
    size_t count;
    struct entry *entries = make_entries(profile, &count);
    if (!entries)
        return -ENOMEM;
    bool mixed = entries_mixed(entries, count);
    spex_columns_init(&columns, headings, sizeof(headings) / sizeof(headings[0]), 0x705);
    for (size_t e = 0; e < count; e++) {
        const struct spex_profile_site *site = entries[e].site;
        int32_t id = spex_profile_id(site->probe_id, site->declared);
        spex_probe_list_add_name(&columns, mixed ? site->provider : NULL, site->name, id);
        spex_probe_list_add_id(&columns, id);
        spex_probe_list_add_type(&columns, site->probe_type, site->detail,
                                 site->parameters[0] ? site->parameters : NULL);
        spex_probe_list_add_sc(&columns, site->probe_type, site->detail, site->subsample);
        entry_add_state(&columns, &entries[e]);
        entry_add_figures(&columns, profile, &entries[e]);
        site_add_place(&columns, site);
        spex_probe_list_add_copies(&columns, entries[e].copies);
        entry_add_why(&columns, &entries[e]);
    }
    int err = columns.error;
    columns.folded = true;
    spex_columns_print_within(&columns, out, &room);
    print_texts(profile, all, out);
    free(entries);
    return err ? err : spex_written(out);
}

/* null for a number that is not known: 0 would be a figure. */
static json_t *number_or_null(bool known, double number) {
    return known ? json_real(number) : json_null();
}

/* Keys that only some types have are added at the end. */
static json_t *entry_json(const struct spex_profile *profile, const struct entry *entry) {
    const struct spex_profile_site *site = entry->site;
    const struct spex_profile_row *row = entry->row;
    double cost = entry_cost(profile, entry);
    double margin = row ? spex_count_margin(&row->probe) : 0;
    json_t *json = json_pack(
        "{s:o, s:s?, s:s?, s:s, s:s, s:I, s:I, s:I, s:b, s:I, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o}",
        "id", spex_id_json(spex_profile_id(site->probe_id, site->declared)), "name",
        site->name[0] ? site->name : NULL, "provider", site->provider[0] ? site->provider : NULL,
        "type", spex_probe_type_name(site->probe_type), "file", site->file, "line",
        (json_int_t)site->line, "sc", (json_int_t)site->subsample, "copies",
        (json_int_t)entry->copies, "on", site->period != 0, "period", (json_int_t)site->period,
        "sampling", site->period ? spex_sampling_kind_name(site->kind) : NULL, "rate",
        number_or_null(row && (spex_rate_known(&row->probe) || entry_has_bound(entry)),
                       entry_rate(entry)),
        "count", number_or_null(row != NULL, row ? spex_count_told(&row->probe) : 0),
        "count_margin", number_or_null(row && margin >= 0 && isfinite(margin), margin), "counted",
        number_or_null(row != NULL, row ? row->probe.count : 0), "record_cost_ns",
        number_or_null(cost > 0, cost * 1e9), "lost",
        number_or_null(row != NULL, row ? row->probe.lost : 0), "event",
        entry->type && entry->type->text[0] ? json_string(entry->type->text) : json_null());
    json_object_set_new(json, "count_at_least",
                        json_boolean(row && !spex_count_known(&row->probe)));
    json_object_set_new(json, "rate_at_least", json_boolean(entry_has_bound(entry)));
    if (site->kind == SPEX_SAMPLING_POLLING && site->period)
        json_object_set_new(json, "probed", json_true());
    if (row && row->probe.why[0])
        json_object_set_new(json, "why", json_string(row->probe.why));
    if (site->lease_ms)
        json_object_set_new(json, "lease_seconds", json_real(site->lease_ms / 1e3));
    if (site->probe_type == SPEX_PERFCNTR)
        json_object_set_new(json, "counter", json_integer(site->detail));
    if (site->probe_type == SPEX_SNAPSHOT)
        json_object_set_new(json, "values", json_integer(site->detail));
    if (site->probe_type == SPEX_KERNEL)
        json_object_set_new(json, "parameters", json_string(site->parameters));
    if (site->probe_type == SPEX_SPAN)
        json_object_set_new(json, "end", json_boolean(site->detail == SPEX_SPAN_ENDS));
    return json;
}

/* Rates and costs that are unknown are null. */
json_t *spex_live_list_json(const struct spex_profile *profile) {
    size_t count;
    const struct spex_profile_process *process = &profile->process;
    struct entry *entries = make_entries(profile, &count);
    json_t *sites = json_array();
    int err = entries && sites ? 0 : -ENOMEM;
    for (size_t e = 0; !err && e < count; e++)
        err = json_array_append_new(sites, entry_json(profile, &entries[e])) ? -ENOMEM : 0;
    free(entries);
    json_t *json = json_pack(
        "{s:s, s:i, s:s, s:f, s:{s:I, s:I, s:I}, s:o}", "program", process->command, "pid",
        (int)process->process_id, "selection", process->selection, "seconds", process->seconds,
        "records", "produced", (json_int_t)process->produced, "consumed",
        (json_int_t)process->consumed, "lost", (json_int_t)process->lost, "sites", sites);
    spex_lease_json(json, process);
    return spex_json_unless(err, json);
}

int spex_live_list_print_json(const struct spex_profile *profile, FILE *out) {
    int err = spex_json_print(spex_live_list_json(profile), out);
    return err ? err : spex_written(out);
}
