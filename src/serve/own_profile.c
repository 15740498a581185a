/* SPDX-License-Identifier: MIT */
/* Fills in the profile of this process: from the registry of sites, the rings, the metrics and the
 * controller. Called by the control thread for each frame of an answer, and by the thread that
 * stops spex for the table. Figures of one part are consistent under the metrics' lock; two parts
 * may be from different moments. Texts are cut to the profile's fields, which have the same size on
 * the wire. */
#define _GNU_SOURCE
#include "serve/own_profile.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <spex/record.h>
#include <spex/spex.h>
#include <spex/ticks.h>

#include "base/clock.h"
#include "base/memory/memory.h"
#include "collect/metrics.h"
#include "probe/threads.h"
#include "rate/controller.h"
#include "rate/occupancy_sampler.h"
#include "ring/probe_type.h"
#include "ring/rings.h"
#include "site/cost.h"
#include "site/probe_state.h"
#include "site/registry.h"
#include "text/at_start.h"
#include "text/printable.h"

/* Whether the byte continues a UTF-8 character. */
static bool is_continued(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Copies a text and cuts it, if it is too long, between UTF-8 characters. */
static void copy_text(char *to, size_t size, const char *from) {
    size_t length = from ? strlen(from) : 0;
    if (length >= size)
        for (length = size - 1; length > 0 && is_continued(from[length]);)
            length--;
    if (length)
        memcpy(to, from, length);
    to[length] = '\0';
}

/* When the library was loaded, CLOCK_MONOTONIC in ns. */
static uint64_t loaded_ns SPEX_AT_START;

/* The program's name. Programs that set their title overwrite what program_invocation_short_name
 * points to. */
static char command[SPEX_PROFILE_NAME_BYTES] SPEX_AT_START;

__attribute__((constructor(SPEX_CONSTRUCTOR_FIRST))) static void note_load(void) {
    copy_text(command, sizeof(command), program_invocation_short_name);
    spex_make_printable(command);
    loaded_ns = spex_clock_ns(CLOCK_MONOTONIC);
}

const char *spex_profile_own_name(void) {
    return command;
}

uint64_t spex_profile_loaded_ns(void) {
    return loaded_ns;
}

/* Copies a path; of a long one the end, which says more than the beginning. */
static void copy_path(char *to, size_t size, const char *from) {
    size_t length = strlen(from);
    if (length >= size)
        for (from += length - (size - 1); is_continued(*from);)
            from++;
    copy_text(to, size, from);
}

/* `elsewhere`: probes are on and there are no metrics, so that the records go to another
 * process. */
void spex_profile_process_now(struct spex_profile_process *process) {
    /* Before the rings are mapped their way of committing and their CPUs are not set. */
    bool rings = spex_rings_count() != 0;
    *process = (struct spex_profile_process){
        .process_id = (uint32_t)getpid(),
        .commit = rings ? spex_rings.commit : 0,
        .ring_cpus = rings ? spex_rings.cpus : 0,
        .threads = spex_threads_used(),
        .ring_bytes = spex_rings_bytes(),
        .sites = spex_sites_of_probes(),
        .sites_loaded = spex_sites_of_probes_loaded(),
        .sites_on = spex_sites_on(),
        .sites_refused = spex_sites_refused(),
        .loaded_ns = loaded_ns,
        .made_ticks = spex_ticks(),
    };
    copy_text(process->command, sizeof(process->command), command);
    if (spex_sites_selection(process->selection, sizeof(process->selection)) != 0)
        copy_text(process->selection, sizeof(process->selection), SPEX_PROFILE_LONG_SELECTION);
    process->lease_seconds =
        (double)spex_sites_leased(process->leased, sizeof(process->leased)) / 1e9;
    if (process->lease_seconds > 0)
        process->lease_first_seconds = (double)spex_leases_due_ns() / 1e9;
    if (process->lease_seconds > 0 && !process->leased[0])
        copy_text(process->leased, sizeof(process->leased), SPEX_PROFILE_LONG_SELECTION);
    spex_metrics_lock();
    spex_metrics_process(process);
    struct spex_controller_totals budget = spex_controller_totals();
    process->budget = budget.share;
    process->budget_seconds = budget.seconds;
    process->budget_spent = budget.spent;
    copy_text(process->rate_policy, sizeof(process->rate_policy), budget.policy);
    spex_make_printable(process->rate_policy);
    process->elsewhere = process->sites_on && !spex_metrics_there();
    spex_metrics_unlock();
}

/* Returns whether there are sites of this type and counter. Sets *used to whether one of them is or
 * was on. */
static bool type_there(uint32_t type, unsigned pcid, bool *used) {
    bool there = false;
    *used = false;
    for (uint32_t i = 0; i < spex_sites_count() && !*used; i++) {
        const struct spex_site_info *info = spex_site_info(i);
        if (info->probe_type == type && (type != SPEX_PERFCNTR || info->detail == pcid)) {
            there = true;
            *used = spex_site_used(i);
        }
    }
    return there;
}

/* Costs are there once the type has been calibrated. The text tells what a counter counts; types
 * whose value is a time need none. */
void spex_profile_type_now(unsigned n, struct spex_profile_type *type) {
    struct spex_cost cost;
    *type = (struct spex_profile_type){
        .probe_type = n < SPEX_PROBE_TYPES ? spex_probe_type_of_ring(n) : SPEX_PERFCNTR,
        .pcid = n < SPEX_PROBE_TYPES ? 0 : n - (SPEX_PROBE_TYPES - 1),
    };
    bool used, there = type_there(type->probe_type, type->pcid, &used);
    type->used = used;
    if (spex_cost_get(type->probe_type, &cost) == 0) {
        type->measured = 1;
        type->test = cost.test;
        type->skip = cost.skip;
        type->record = cost.record;
        type->drawn = spex_cost_drawn(type->probe_type);
        type->polled = spex_cost_polled();
        struct spex_empty_span empty = spex_cost_empty(type->probe_type);
        type->empty = empty.ticks;
        type->empty_error = empty.error;
    }
    if (there && type->probe_type >= SPEX_LLC && !spex_probe_type_ticks(type->probe_type))
        spex_describe(type->probe_type, type->pcid, type->text, sizeof(type->text));
    spex_metrics_lock();
    spex_metrics_type(type);
    spex_metrics_unlock();
}

static uint32_t declared_id(const struct spex_site_info *info) {
    return info->id < 0 ? SPEX_PROFILE_NO_ID : (uint32_t)info->id + 1;
}

/* Of long texts the beginning is kept, of a long path its end. */
void spex_profile_site_now(uint32_t index, struct spex_profile_site *site) {
    const struct spex_site_info *info = spex_site_info(index);
    bool loaded;
    struct spex_sampling sampling = spex_site_sampling(index, &loaded);
    *site = (struct spex_profile_site){
        .index = index,
        .line = info->line,
        .subsample = info->subsample,
        .period = sampling.period,
        .kind = sampling.kind,
        .burst = sampling.burst,
        .probe_id = info->probe_id,
        .probe_type = info->probe_type,
        .detail = info->detail,
        .kinds = info->kinds,
        .loaded = loaded,
        .lease_ms = (uint32_t)((spex_site_leased_ns(index) + 999999) / 1000000),
    };
    site->declared = declared_id(info);
    copy_text(site->name, sizeof(site->name), info->name);
    copy_text(site->provider, sizeof(site->provider), info->provider);
    copy_path(site->file, sizeof(site->file), info->file);
    copy_text(site->parameters, sizeof(site->parameters), info->parameters);
}

/* Returns whether another probe of the same type is or was on. All its records may have been lost,
 * so that losses of the type's ring cannot be told to be this probe's. */
static bool others_used(uint32_t index) {
    const struct spex_site_info *probe = spex_site_info(index);
    for (uint32_t i = 0; i < spex_sites_count(); i++) {
        const struct spex_site_info *info = spex_site_info(i);
        if (info->probe_type == probe->probe_type && info->probe != probe->probe &&
            spex_site_used(i))
            return true;
    }
    return false;
}

/* Without its probe a program may run faster than it did while the probe was on, and the probe is
 * held off when it executes often: so many times as often as counted. */
#define UNCOUNTED_FACTOR 3

/* The most executions while the budget held the probe off or polled it: its clocks tell how long,
 * and the frequencies before, or while it was on, how many. */
static double uncounted_most(const struct spex_profile_probe *probe, double frequency,
                             bool by_hand) {
    double seconds = probe->held_seconds + (by_hand ? 0 : probe->polled_seconds);
    return UNCOUNTED_FACTOR * seconds * fmax(frequency, spex_profile_rate(probe));
}

/* Fills in the executions while the budget held the probe off: by its slices, or else none, which
 * may be far too few. Where the margin is larger than the count, slices tell what it is at least. */
static void held_now(uint32_t index, struct spex_profile_probe *probe,
                     const struct spex_probe_state *state) {
    const struct spex_slices_time passed = {(double)state->on_ticks, (double)state->held_ticks};
    struct spex_held_executions held = spex_controller_held(index, probe->count, &passed);
    if (held.margin < 0)
        return;
    bool bound = held.margin > probe->count + held.count;
    probe->held_count = bound ? held.least : held.count;
    probe->uncounted = held.count + held.margin - probe->held_count;
}

/* `index` is the first site of the probe; the figures are of all its sites. Times are 0 while the
 * length of a tick is not known, which takes a few milliseconds. */
void spex_profile_probe_now(uint32_t index, struct spex_profile_row *row) {
    const struct spex_site_info *info = spex_site_info(index);
    struct spex_probe_state state = spex_probe_state(index, spex_metrics_until());
    double rate = spex_metrics_there() ? spex_metrics_tick_rate() : 0;
    *row = (struct spex_profile_row){.probe = {.probe_type = info->probe_type,
                                               .probe_id = info->probe_id,
                                               .sites = state.sites,
                                               .sites_on = state.sites_on,
                                               .refused = state.refused,
                                               .period = state.sampling.period,
                                               .period_last = state.sampling_last.period,
                                               .kind = state.sampling_last.kind,
                                               .burst = state.sampling_last.burst}};
    if (rate > 0) {
        row->probe.on_seconds = (double)state.on_ticks / rate;
        row->probe.polled_seconds = (double)state.polled_ticks / rate;
        row->probe.held_seconds = (double)state.held_ticks / rate;
    }
    row->probe.activity = spex_occupancy_sampler_occupancy(index);
    row->probe.declared = declared_id(info);
    copy_text(row->probe.name, sizeof(row->probe.name), info->name);
    copy_text(row->probe.provider, sizeof(row->probe.provider), info->provider);
    spex_metrics_probe(index, row);
    struct spex_controller_view view = spex_controller_look(index);
    copy_text(row->probe.why, sizeof(row->probe.why), state.selected ? view.why : NULL);
    row->probe.cost_factor = (float)view.factor;
    row->probe.uncounted = uncounted_most(&row->probe, view.frequency_held, state.by_hand);
    if (row->probe.held_seconds > 0 && (state.by_hand || row->probe.polled_seconds <= 0))
        held_now(index, &row->probe, &state);
    if (row->probe.lost > 0 && !row->probe.lost_shared && !spex_profile_in_full(&row->probe))
        row->probe.lost_shared = others_used(index);
}

static size_t probes_count(void) {
    size_t count = 0;
    for (uint32_t i = spex_profile_next_probe(0); i < spex_sites_count();
         i = spex_profile_next_probe(i + 1))
        count++;
    return count;
}

static bool names_values(uint32_t index) {
    const struct spex_site_info *info = spex_site_info(index);
    return info->probe_type == SPEX_SNAPSHOT && info->parameters;
}

/* The places of snapshots, which name values. Without memory for them values have numbers. */
static void sites_now(struct spex_profile *profile) {
    size_t count = 0;
    for (uint32_t i = 0; i < spex_sites_count(); i++)
        count += names_values(i);
    profile->sites = count ? spex_calloc(count, sizeof(*profile->sites)) : NULL;
    for (uint32_t i = 0; i < spex_sites_count() && profile->sites; i++)
        if (names_values(i))
            spex_profile_site_now(i, &profile->sites[profile->site_count++]);
}

/* The count of probes cannot grow between counting and filling in: sites are off by now. */
int spex_profile_now(struct spex_profile *profile) {
    *profile = (struct spex_profile){.type_count = SPEX_PROFILE_TYPES};
    profile->types = spex_calloc(SPEX_PROFILE_TYPES, sizeof(*profile->types));
    profile->rows = spex_calloc(probes_count() + 1, sizeof(*profile->rows));
    if (!profile->types || !profile->rows) {
        spex_profile_now_free(profile);
        return -ENOMEM;
    }
    spex_profile_process_now(&profile->process);
    for (unsigned n = 0; n < SPEX_PROFILE_TYPES; n++)
        spex_profile_type_now(n, &profile->types[n]);
    spex_metrics_lock();
    spex_metrics_spans();
    for (uint32_t i = spex_profile_next_probe(0); i < spex_sites_count();
         i = spex_profile_next_probe(i + 1))
        spex_profile_probe_now(i, &profile->rows[profile->row_count++]);
    spex_metrics_unlock();
    spex_sort(profile->rows, profile->row_count, sizeof(*profile->rows), spex_profile_row_order);
    sites_now(profile);
    return 0;
}

void spex_profile_now_free(struct spex_profile *profile) {
    spex_free(profile->types);
    spex_free(profile->sites);
    spex_free(profile->rows);
    *profile = (struct spex_profile){0};
}
