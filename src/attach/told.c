/* SPDX-License-Identifier: MIT */
/* What an attachment has found, as the profile of a process with a probe for each function. */
#include "attach/attached.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* A tick is a nanosecond. */
#define TICKS 1e9

/* Estimates of what was executed while the function was off. */
static void fill_held(const struct spex_attached_function *one, struct spex_profile_probe *probe) {
    probe->held_seconds = one->held_seconds;
    if (one->held_seconds <= 0)
        return;
    struct spex_speedup speedup = spex_attached_speedup(one);
    const struct spex_speedup none = {1, 1, 1};
    struct spex_held_executions held = spex_slices_estimate(&one->slices, &one->sum, &none);
    double margin = held.margin + held.count * fmax(speedup.most - 1, 1 - speedup.least);
    if (held.margin >= 0 && margin <= held.count) {
        probe->held_count = held.count;
        probe->uncounted = margin;
        return;
    }
    /* The program does no less than it does while hits slow it down. */
    struct spex_held_executions slowed =
        spex_slices_estimate(&one->slowed, &one->slowed_sum, &none);
    probe->held_count = slowed.margin >= 0 ? fmax(slowed.count - slowed.margin, 0) : 0;
    /* An execution takes a nanosecond at least. */
    probe->uncounted = 1e9 * fmax(one->sum.held, one->held_seconds);
}

static void fill_values(struct spex_attachment *attachment, size_t f,
                        struct spex_profile_row *row) {
    struct spex_metrics metrics = {0};
    size_t at = spex_tracer_find(attachment->tracer, (uint16_t)f, row->probe.probe_type);
    if (at >= spex_tracer_probes(attachment->tracer))
        return;
    spex_tracer_metrics(attachment->tracer, at, &metrics);
    row->probe.series = (uint16_t)metrics.series;
    row->probe.records = metrics.records;
    row->probe.weight = metrics.weight;
    row->probe.weight_squares = metrics.weight_squares;
    for (unsigned s = 0; s < metrics.series; s++)
        row->values[s] = spex_tracer_values(attachment->tracer, at, s);
}

static uint32_t type_of(const struct spex_attachment *attachment, size_t f) {
    if (spex_attached_is_timed(&attachment->of[f]))
        return SPEX_LAT;
    return attachment->functions.items[f].arguments.count ? SPEX_SNAPSHOT : SPEX_CNT;
}

static void fill_row(struct spex_attachment *attachment, size_t f, uint32_t type,
                     struct spex_profile_row *row) {
    const struct spex_process_function *function = &attachment->functions.items[f];
    const struct spex_attached_function *one = &attachment->of[f];
    *row = (struct spex_profile_row){.probe = {.probe_type = type,
                                               .probe_id = (uint16_t)f,
                                               .declared = SPEX_PROFILE_NO_ID,
                                               .sites = one->sites,
                                               .sites_on = one->on ? one->sites : 0,
                                               .period = one->on,
                                               .period_last = 1,
                                               .on_seconds = one->on_seconds,
                                               .count = one->sum.count,
                                               .lost = (double)one->lost}};
    snprintf(row->probe.name, sizeof(row->probe.name), "%s", function->name);
    snprintf(row->probe.provider, sizeof(row->probe.provider), "%s", function->object);
    fill_held(one, &row->probe);
    fill_values(attachment, f, row);
}

/* A site of each row: what is on of it, and the names of its arguments. */
static void fill_site(const struct spex_attachment *attachment, size_t f,
                      const struct spex_profile_probe *probe, struct spex_profile_site *site) {
    *site = (struct spex_profile_site){.subsample = 1,
                                       .period = attachment->of[f].on,
                                       .probe_id = (uint16_t)f,
                                       .probe_type = (uint16_t)probe->probe_type,
                                       .loaded = 1,
                                       .declared = SPEX_PROFILE_NO_ID};
    memcpy(site->name, probe->name, sizeof(site->name));
    memcpy(site->provider, probe->provider, sizeof(site->provider));
    if (probe->probe_type == SPEX_SNAPSHOT)
        spex_process_function_parameters(&attachment->functions.items[f], site->parameters,
                                         sizeof(site->parameters));
}

/* Its row; and a second one, if it has both times and arguments. Returns how many. */
static size_t fill_rows(struct spex_attachment *attachment, size_t f,
                        struct spex_profile_row *rows) {
    uint32_t type = type_of(attachment, f);
    fill_row(attachment, f, type, rows);
    if (type != SPEX_LAT || !attachment->functions.items[f].arguments.count)
        return 1;
    fill_row(attachment, f, SPEX_SNAPSHOT, rows + 1);
    return 2;
}

/* Costs are by function, those of a type the mean of its executions. */
static void fill_type(struct spex_attachment *attachment, unsigned place, uint32_t type) {
    double executions = 0, spent = 0;
    for (size_t f = 0; f < attachment->count; f++) {
        const struct spex_attached_function *one = &attachment->of[f];
        double count = one->sites ? (double)spex_attached_executions(attachment, one) : 0;
        if (type == type_of(attachment, f)) {
            executions += count;
            spent += count * one->cost[SPEX_COST_LIKELY];
        }
    }
    double ticks = executions > 0 ? spent / executions * TICKS : 0;
    attachment->types[place] = (struct spex_profile_type){.probe_type = type,
                                                          .used = executions > 0,
                                                          .measured = executions > 0,
                                                          .skip = ticks,
                                                          .record = ticks};
}

static void fill_process(struct spex_attachment *attachment, struct spex_profile_process *process) {
    struct spex_attached_time now = spex_attached_time(attachment);
    double spent = spex_attached_spent(attachment, SPEX_COST_LIKELY);
    double program = now.cpu - attachment->begin.cpu;
    *process = (struct spex_profile_process){.process_id = (uint32_t)attachment->program->process,
                                             .ticks_per_second = TICKS,
                                             .seconds = now.wall - attachment->begin.wall,
                                             .program_seconds = program,
                                             .collector_seconds = spex_attached_own(attachment),
                                             .produced = attachment->produced + attachment->lost,
                                             .consumed = attachment->produced,
                                             .lost = attachment->lost};
    snprintf(process->command, sizeof(process->command), "%s", attachment->program->command);
    if (attachment->options.budget >= 1)
        return;
    process->budget = attachment->options.budget;
    process->budget_seconds = fmax(program - spent, 0);
    process->budget_spent = spex_attached_spent_all(attachment);
}

/* Accounts for the time until now. What is on stays so, until all is closed or, where it goes on, as it was. */
static void account(struct spex_attachment *attachment, size_t f, bool goes_on) {
    struct spex_attached_function *one = &attachment->of[f];
    if (!one->sites)
        return;
    uint64_t count = spex_attached_executions(attachment, one);
    struct spex_attached_time now = spex_attached_time(attachment);
    uint64_t over_ns = one->over_ns;
    bool on = one->on;
    if (on)
        spex_attached_note_off(attachment, f, &now, count, -1);
    else if (one->on_seconds > 0)
        spex_attached_note_held(one, &now);
    if (goes_on) {
        one->on = on;
        one->over_ns = over_ns;
    }
}

static void fill(struct spex_attachment *attachment, struct spex_profile *profile, bool goes_on) {
    size_t rows = 0, sites = 0;
    spex_attached_ask(attachment, true);
    for (size_t f = 0; f < attachment->count; f++)
        account(attachment, f, goes_on);
    spex_attached_take_records(attachment);
    for (size_t f = 0; f < attachment->count; f++) {
        if (!attachment->of[f].sites || attachment->of[f].on_seconds <= 0)
            continue;
        rows += fill_rows(attachment, f, &attachment->rows[rows]);
        for (; sites < rows; sites++)
            fill_site(attachment, f, &attachment->rows[sites].probe,
                      &attachment->told_sites[sites]);
    }
    fill_type(attachment, 0, SPEX_CNT);
    fill_type(attachment, 1, SPEX_LAT);
    fill_type(attachment, 2, SPEX_SNAPSHOT);
    *profile = (struct spex_profile){.types = attachment->types,
                                     .type_count = 3,
                                     .sites = attachment->told_sites,
                                     .site_count = sites,
                                     .rows = attachment->rows,
                                     .row_count = rows};
    fill_process(attachment, &profile->process);
    for (size_t r = 0; r < rows; r++) {
        profile->process.sites += attachment->rows[r].probe.sites;
        profile->process.sites_on += attachment->rows[r].probe.sites_on;
    }
    profile->process.sites_loaded = profile->process.sites;
}

void spex_attachment_profile(struct spex_attachment *attachment, struct spex_profile *profile) {
    fill(attachment, profile, true);
}

void spex_attachment_end(struct spex_attachment *attachment, struct spex_profile *profile) {
    fill(attachment, profile, false);
    if (attachment->options.kind->end)
        attachment->left = attachment->options.kind->end(attachment->sites);
}

static void tell_unpaired(const struct spex_attachment *attachment, size_t f,
                          void (*say)(const char *line)) {
    const struct spex_unpaired unpaired = spex_pairing_unpaired(attachment->pairing, f);
    const char *name = attachment->functions.items[f].name;
    char line[512];
    uint64_t without = unpaired.open + unpaired.abandoned;
    if (without) {
        snprintf(line, sizeof(line),
                 "%s: %" PRIu64
                 " without a time: they were still executed, or were left by longjmp, "
                 "an exception or the end of their thread",
                 name, without);
        say(line);
    }
    if (unpaired.refused) {
        snprintf(line, sizeof(line), "%s: %" PRIu64 " without a time, for want of room", name,
                 unpaired.refused);
        say(line);
    }
}

/* Notes that it is said of all that have the reason of this one. Returns how many these are. */
static size_t note_said(struct spex_process_functions *functions, const char *reason) {
    size_t count = 0;
    for (size_t f = 0; f < functions->count; f++) {
        struct spex_process_function *function = &functions->items[f];
        if (function->refusal_said || strcmp(function->refused, reason) != 0)
            continue;
        function->refusal_said = true;
        count++;
    }
    return count;
}

void spex_attachment_tell_refused(struct spex_attachment *attachment, bool again,
                                  void (*say)(const char *line)) {
    struct spex_process_functions *functions = &attachment->functions;
    for (size_t f = 0; again && f < functions->count; f++)
        functions->items[f].refusal_said = false;
    for (size_t f = 0; f < functions->count; f++) {
        const struct spex_process_function *function = &functions->items[f];
        char line[512], more[32] = "";
        if (!*function->refused || function->refusal_said)
            continue;
        size_t others = note_said(functions, function->refused) - 1;
        if (others)
            snprintf(more, sizeof(more), ", and %zu more", others);
        snprintf(line, sizeof(line), "%.200s of %.80s%s: %s", function->name, function->object,
                 more, function->refused);
        say(line);
    }
}

void spex_attachment_tell(const struct spex_attachment *attachment, void (*say)(const char *line)) {
    for (size_t f = 0; f < attachment->count; f++) {
        const struct spex_process_function *function = &attachment->functions.items[f];
        char line[512];
        if (*function->rung) {
            snprintf(line, sizeof(line), "%.200s: %s", function->name, function->rung);
            say(line);
        }
        if (spex_attached_is_timed(&attachment->of[f]))
            tell_unpaired(attachment, f, say);
    }
    if (attachment->left) {
        char line[160];
        snprintf(line, sizeof(line),
                 "%zu patch%s, as the threads of the program cannot be stopped; the next command "
                 "that looks at it tries again",
                 attachment->left, attachment->left == 1 ? " stays" : "es stay");
        say(line);
    }
    spex_attached_advise(attachment, say);
}
