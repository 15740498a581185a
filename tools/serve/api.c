/* SPDX-License-Identifier: MIT */
/* The JSON of probes is that of `spex probes --json`, and that of figures what `spex run --json`
 * has. */
#include "tools/serve/api.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "observe/profile_sum.h"
#include "profile/figures.h"
#include "ring/probe_type.h"
#include "tools/common/profile_json.h"
#include "tools/list/live_list.h"
#include "tools/serve/events.h"

static double overhead_of(const struct spex_sums *sums) {
    double overhead = 0;
    for (size_t p = 0; p < sums->count; p++)
        overhead += sums->probes[p].counts[SPEX_SUMS_OVERHEAD];
    return overhead;
}

static json_t *process_json(const struct spex_program_process *process) {
    const struct spex_sums *sums = &process->sums;
    return json_pack("{s:I, s:b, s:f, s:f, s:I, s:I, s:f, s:f, s:f}", "pid",
                     (json_int_t)process->caller.process, "answers", !process->silent, "seconds",
                     process->seconds, "cpu_seconds", sums->totals[SPEX_SUMS_CPU], "sites",
                     (json_int_t)sums->sites, "sites_on", (json_int_t)sums->sites_on, "budget",
                     sums->budget, "overhead_seconds", overhead_of(sums), "report_seconds",
                     spex_programs_report_seconds(process));
}

static json_t *program_json(const struct spex_programs *programs,
                            const struct spex_program *program) {
    json_t *processes = json_array();
    int err = !processes;
    for (size_t p = 0; !err && p < programs->process_count; p++)
        if (programs->processes[p]->program == program)
            err = json_array_append_new(processes, process_json(programs->processes[p]));
    return spex_json_unless(err,
                            json_pack("{s:s, s:o}", "name", program->name, "processes", processes));
}

json_t *spex_api_programs_json(struct spex_server *server) {
    const struct spex_programs *programs = &server->programs;
    json_t *list = json_array();
    int err = !list;
    for (size_t p = 0; !err && p < programs->program_count; p++)
        err = json_array_append_new(list, program_json(programs, programs->programs[p]));
    return spex_json_unless(
        err, json_pack("{s:o, s:b, s:b, s:o, s:I, s:I, s:I}", "programs", list, "follows",
                       programs->wanted != NULL, "can_change", server->guard.token != NULL, "shown",
                       spex_shown_json(&server->shown), "processes_left_out",
                       (json_int_t)programs->processes_left_out, "programs_left_out",
                       (json_int_t)spex_programs_left_out(programs), "reports_refused",
                       (json_int_t)programs->refused));
}

/* Times of an interval: ten buckets for each power of ten, of which those are told that are not
 * empty, and those between them. */
enum { BUCKETS_PER_DECADE = 10, BUCKET_BOUNDS = 10 * BUCKETS_PER_DECADE + 1 };

#define FIRST_BOUND 1e-8

static void bounds_make(double *bounds, double ticks_per_second) {
    for (size_t b = 0; b < BUCKET_BOUNDS; b++)
        bounds[b] = FIRST_BOUND * pow(10, (double)b / BUCKETS_PER_DECADE) * ticks_per_second;
}

/* NULL also where no time is known. */
static json_t *histogram_json(const struct spex_profile *profile,
                              const struct spex_profile_row *row, const double *bounds) {
    double counts[BUCKET_BOUNDS + 1];
    size_t first = 0, end = BUCKET_BOUNDS + 1;
    if (!spex_probe_type_ticks(row->probe.probe_type) || !row->probe.series ||
        profile->process.ticks_per_second <= 0)
        return NULL;
    spex_figures_divide(profile, row, 0, bounds, BUCKET_BOUNDS, counts);
    while (first < end && counts[first] <= 0)
        first++;
    while (end > first && counts[end - 1] <= 0)
        end--;
    json_t *list = json_array();
    int err = !list;
    for (size_t b = first; !err && b < end; b++)
        err = json_array_append_new(list, json_real(counts[b]));
    return spex_json_unless(err,
                            json_pack("{s:I, s:o}", "first", (json_int_t)first, "counts", list));
}

/* Probes and sites of a process that are told. JSON of all that a program may have, or say that it
 * has, would hold up other clients for seconds. */
enum { TOLD_MAX = 4096 };

/* The beginning of a profile, which owns nothing. */
static struct spex_profile part_told(const struct spex_profile *profile) {
    struct spex_profile part = *profile;
    part.row_count = part.row_count < TOLD_MAX ? part.row_count : TOLD_MAX;
    part.site_count = part.site_count < TOLD_MAX ? part.site_count : TOLD_MAX;
    return part;
}

/* Adds to probes with leases, of a report with the same rows, how long the last of them lasts. */
static int add_leases(json_t *probes, const struct spex_profile *latest) {
    int err = 0;
    for (size_t s = 0; !err && s < latest->site_count; s++) {
        const struct spex_profile_site *site = &latest->sites[s];
        const struct spex_profile_row *row =
            site->lease_ms ? spex_profile_row_of(latest, site->probe_id, site->probe_type) : NULL;
        json_t *probe = row ? json_array_get(probes, (size_t)(row - latest->rows)) : NULL;
        if (!probe)
            continue;
        double known = json_real_value(json_object_get(probe, "lease_seconds"));
        err = json_object_set_new(probe, "lease_seconds",
                                  json_real(fmax(known, site->lease_ms / 1e3)));
    }
    return err;
}

/* The slowest execution of the last 10 to 20 s, corrected as other times are; null: there is none. */
static json_t *slowest_json(const struct spex_profile *profile,
                            const struct spex_profile_row *row) {
    const struct spex_profile_slowest *slowest = &row->probe.slowest;
    double ticks = spex_figures_corrected(profile, &row->probe, (double)slowest->ticks);
    double seconds = ticks / profile->process.ticks_per_second;
    if (!spex_probe_type_ticks(row->probe.probe_type) || !(seconds > 0) || !isfinite(seconds))
        return json_null();
    return json_pack("{s:f, s:I, s:I, s:I}", "seconds", seconds, "end_ns",
                     (json_int_t)slowest->realtime_ns, "thread", (json_int_t)slowest->thread_id,
                     "cpu", (json_int_t)slowest->cpu_id);
}

/* Adds to each probe of an interval what is of that time alone, and how it is now. */
static int add_present(json_t *figures, const struct spex_profile *profile) {
    json_t *probes = json_object_get(figures, "probes");
    double bounds[BUCKET_BOUNDS];
    int err = !probes;
    bounds_make(bounds, profile->process.ticks_per_second);
    for (size_t r = 0; !err && r < profile->row_count; r++) {
        const struct spex_profile_row *row = &profile->rows[r];
        json_t *histogram = histogram_json(profile, row, bounds);
        json_t *more =
            json_pack("{s:I, s:s, s:f, s:o, s:o}", "sites_on", (json_int_t)row->probe.sites_on,
                      "why", row->probe.why, "overhead_seconds",
                      spex_profile_row_cost(profile, &row->probe), "histogram",
                      histogram ? histogram : json_null(), "slowest", slowest_json(profile, row));
        err = !more || json_object_update(json_array_get(probes, r), more);
        json_decref(more);
    }
    return err;
}

/* When a report was made, in seconds since 1970, by the program's clock; of one that does not collect,
 * or whose clock differs from the one here, as in another time namespace, now. */
static double time_of(const struct spex_profile_process *process) {
    const double limit = 60, now = (double)spex_clock_ns(CLOCK_REALTIME) / 1e9;
    double age = ((double)spex_clock_ns(CLOCK_MONOTONIC_RAW) - (double)process->began_ns) / 1e9 -
                 process->seconds;
    return process->began_ns && fabs(age) < limit ? now - age : now;
}

/* Figures with what tells whose they are. */
static json_t *figures_json(const struct spex_program_process *process,
                            const struct spex_profile *figures) {
    const struct spex_profile_process *now = &process->latest.process;
    const size_t rows = process->latest.row_count, sites = process->latest.site_count;
    json_t *json = json_pack(
        "{s:s, s:I, s:I, s:s, s:f, s:f, s:f, s:I, s:I, s:o}", "program", now->command, "pid",
        (json_int_t)process->caller.process, "time", (json_int_t)llround(1e3 * time_of(now)),
        "selection", now->selection, "budget", now->budget, "budget_seconds",
        figures->process.budget_seconds, "budget_spent", figures->process.budget_spent,
        "probes_left_out", (json_int_t)(rows > TOLD_MAX ? rows - TOLD_MAX : 0), "sites_left_out",
        (json_int_t)(sites > TOLD_MAX ? sites - TOLD_MAX : 0), "figures",
        spex_profile_json(figures));
    spex_lease_json(json, now);
    return json;
}

json_t *spex_api_interval_json(const struct spex_program_process *process) {
    struct spex_profile difference, none = {.types = NULL};
    const struct spex_profile *before = &process->before;
    if (!process->latest.types || !before->types || process->told)
        return NULL;
    if (process->latest.process.seconds < before->process.seconds)
        before = &none;
    const struct spex_profile latest = part_told(&process->latest);
    if (spex_profile_since(&latest, before, &difference) != 0)
        return NULL;
    json_t *json = figures_json(process, &difference), *told = json_object_get(json, "figures");
    int err = !json || add_present(told, &difference) ||
              add_leases(json_object_get(told, "probes"), &process->latest);
    spex_profile_free(&difference);
    return spex_json_unless(err, json);
}

enum MHD_Result spex_api_programs(struct spex_request *request) {
    return spex_http_json(request, MHD_HTTP_OK, spex_api_programs_json(request->server));
}

/* While the request waits for the round, the report is kept for it. */
enum MHD_Result spex_api_probes(struct spex_request *request) {
    pid_t pid = spex_http_process(request->connection);
    if (pid <= 0)
        return spex_http_refuse(request, MHD_HTTP_BAD_REQUEST, "?process=PID was expected");
    const struct spex_program_process *process =
        spex_programs_find(&request->server->programs, pid);
    if (!process)
        return spex_http_refuse(request, MHD_HTTP_NOT_FOUND, "that process is not followed");
    if (!process->latest.types)
        return spex_http_refuse(request, MHD_HTTP_GATEWAY_TIMEOUT, "the process does not answer");
    const struct spex_profile latest = part_told(&process->latest);
    json_t *json = figures_json(process, &latest);
    json_t *sites = spex_live_list_json(&latest);
    int err = !json || !sites || json_object_set_new(json, "sites", sites);
    return spex_http_json(request, MHD_HTTP_OK, spex_json_unless(err, json));
}
