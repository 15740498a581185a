/* SPDX-License-Identifier: MIT */
/* `spex stats`: the table of `spex run` from a trace, or two parts of traces side by side. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/table.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/profile_json.h"
#include "tools/common/progress.h"
#include "tools/common/trace_part.h"
#include "tools/record/comparison.h"
#include "trace/read/part.h"

static const char stats_usage[] =
    "usage: spex stats TRACE [--from TIME] [--to TIME] [-e PROBES] [--json]\n"
    "                  [--verbose]\n"
    "       spex stats TRACE --against FROM..TO [--from TIME] [--to TIME] [-e PROBES]\n"
    "                  [--json]\n"
    "       spex stats TRACE TRACE2 [--from TIME] [--to TIME] [-e PROBES] [--json]\n"
    "\n"
    "Prints the table that `spex run` prints, of a trace of `spex record` or of a\n"
    "part of it. Or compares the part with another part of the trace, or with another\n"
    "trace.\n"
    "\n"
    "  --from TIME         the part of the trace: seconds from its beginning, or\n"
    "  --to TIME           2026-11-23T07:39:30 or 07:39:30.5Z\n"
    "  --against FROM..TO  the part to compare with; each may be absent\n"
    "  -e PROBES           which probes: man spex_probes\n"
    "  --json              one JSON object\n"
    "  --verbose           all notes below the table\n";

static const struct spex_syntax stats_syntax = {
    "stats", stats_usage, "one or two traces were expected", 1, 2, SPEX_OPTIONS_ANYWHERE};

struct request {
    char *const *traces;
    int count;
    const char *from, *to, *against, *probes;
    bool json, verbose;
};

/* Between two looks at the progress. */
enum { EVENTS_AT_ONCE = 1 << 14 };

static int stats_parse(int argc, char **argv, struct request *request) {
    const struct spex_option known[] = {
        {"from", .text = &request->from},
        {"to", .text = &request->to},
        {"against", .text = &request->against},
        {.letter = 'e', .text = &request->probes},
        {"json", .flag = &request->json},
        {"verbose", .flag = &request->verbose},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&stats_syntax, known, argc, argv, &operands);
    request->traces = operands.list;
    request->count = operands.count;
    if (status == SPEX_EXIT_OK && request->against && request->count == 2)
        return spex_complain(SPEX_EXIT_USAGE, "stats: --against is for one trace");
    return status;
}

static int out_of_memory(void) {
    return spex_complain(SPEX_EXIT_FAILED, "out of memory");
}

/* The part is also given records before and behind it, which tell how executions at its ends are
 * divided. */
static int take(struct spex_stats_side *side, const struct spex_recording_event *event) {
    int err = spex_part_add(side->part, event);
    uint64_t ticks = event->record.timestamp;
    bool within = ticks >= side->from && ticks < side->to;
    return err || !side->slices || !within ? err : spex_slices_add(side->slices, event);
}

/* Gives the records to those who take them. An exit status. */
static int records_take(struct spex_recording *trace, struct spex_stats_side *side) {
    struct spex_recording_event event;
    uint64_t from, to;
    struct spex_progress_bar bar;
    struct spex_error error = {"out of memory"};
    int got = 1, err = 0;
    spex_progress_bar_init(&bar, stderr);
    spex_part_limits(side->part, &from, &to);
    spex_recording_limit(trace, from, to);
    while (got == 1 && !err) {
        for (unsigned e = 0; got == 1 && !err && e < EVENTS_AT_ONCE; e++) {
            got = spex_recording_next(trace, &event, &error);
            if (got == 1)
                err = take(side, &event);
        }
        spex_progress_bar_part(&bar, trace->bytes_given, trace->bytes);
    }
    spex_progress_bar_end(&bar);
    if (!err && got == 0)
        err = spex_part_finish(side->part);
    return err || got < 0 ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text) : SPEX_EXIT_OK;
}

/* Writes the object and checks that all is written. */
static int json_write(json_t *json) {
    if (spex_json_print(json, stdout) != 0)
        return out_of_memory();
    int err = spex_written(stdout);
    return err ? spex_complain(SPEX_EXIT_FAILED, "standard output: %s", strerror(-err))
               : SPEX_EXIT_OK;
}

static void end_print(const struct spex_recording *trace,
                      const struct spex_recording_process *process) {
    const char *why;
    const struct spex_recording_mark *ended = spex_journal_ended(&process->journal, &why);
    if (ended)
        printf("recording ended after %.3f s: %s; later executions have no record\n",
               (double)spex_recording_ns(trace, ended->ticks) / 1e9, why);
    else if (!process->journal.finished)
        puts("recording has no end: " SPEX_TRACE_UNFINISHED "; later executions are in no figure");
}

static void tables_print(const struct spex_recording *trace, const struct spex_part *part,
                         bool verbose) {
    for (size_t p = 0; p < trace->process_count; p++) {
        const struct spex_profile *profile = spex_part_profile(part, p);
        if (p)
            putchar('\n');
        if (trace->process_count > 1)
            printf("process %u (%s):\n", trace->processes[p].process_id,
                   trace->processes[p].program);
        if (profile->row_count)
            spex_table_print(stdout, profile, spex_table_look(stdout, verbose));
        else
            puts("no probe was on");
        end_print(trace, &trace->processes[p]);
    }
}

/* Null where the recording has gone on to the end of the process. */
static json_t *ended_json(const struct spex_recording *trace,
                          const struct spex_recording_process *process) {
    const char *why;
    const struct spex_recording_mark *mark = spex_journal_ended(&process->journal, &why);
    if (mark)
        return json_pack("{s:f, s:o}", "seconds",
                         (double)spex_recording_ns(trace, mark->ticks) / 1e9, "why",
                         spex_text_json(why));
    return process->journal.finished
               ? json_null()
               : json_pack("{s:n, s:s}", "seconds", "why", SPEX_TRACE_UNFINISHED);
}

static json_t *process_json(const struct spex_recording *trace,
                            const struct spex_recording_process *process,
                            const struct spex_profile *profile) {
    json_t *ended = ended_json(trace, process);
    json_t *json = json_pack("{s:I, s:o, s:o}", "pid", (json_int_t)process->process_id, "command",
                             spex_text_json(process->program), "ended", ended);
    json_t *figures = spex_profile_json(profile);
    int err = !json || !figures || json_object_update(json, figures) != 0;
    json_decref(figures);
    return spex_json_unless(err != 0, json);
}

static json_t *tables_json(const struct spex_recording *trace, const struct spex_part *part,
                           uint64_t from, uint64_t to) {
    json_t *processes = json_array();
    int err = !processes;
    for (size_t p = 0; p < trace->process_count; p++)
        err |= json_array_append_new(
            processes, process_json(trace, &trace->processes[p], spex_part_profile(part, p)));
    json_t *json =
        json_pack("{s:f, s:f, s:o}", "from", (double)spex_recording_ns(trace, from) / 1e9, "to",
                  (double)spex_recording_ns(trace, to) / 1e9, "processes", processes);
    return spex_json_unless(err != 0, json);
}

/* A comparison is of the time from which all records are there: rates, means and medians are then
 * of the same time. An exit status. */
static int side_narrow(struct spex_stats_side *side) {
    const struct spex_recording *trace = side->trace;
    if (side->from >= trace->removed_until)
        return SPEX_EXIT_OK;
    if (side->to <= trace->removed_until)
        return spex_complain(SPEX_EXIT_FAILED, "stats: that part has no records to compare");
    spex_complain(0, "stats: that part is compared from then on");
    side->from = trace->removed_until;
    return SPEX_EXIT_OK;
}

/* Reads a part of a trace, with slices where it is to be compared. Close it in any case. */
static int side_open(struct spex_stats_side *side, struct spex_recording *trace, const char *from,
                     const char *to, bool compared) {
    struct spex_error error;
    side->trace = trace;
    int status = spex_trace_part_limits("stats", trace, from, to, &side->from, &side->to);
    if (status == SPEX_EXIT_OK && compared)
        status = side_narrow(side);
    if (status != SPEX_EXIT_OK)
        return status;
    if (compared && !(side->slices = spex_slices_create(trace, side->from, side->to)))
        return out_of_memory();
    if (spex_part_open(&side->part, trace, side->from, side->to, &error) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "%s", error.text);
    return records_take(trace, side);
}

static void side_close(struct spex_stats_side *side) {
    spex_slices_destroy(side->slices);
    if (side->part)
        spex_part_close(side->part);
}

/* The table of one part. */
static int part_show(const struct request *request, struct spex_recording *trace) {
    struct spex_stats_side side = {0};
    int status = side_open(&side, trace, request->from, request->to, false);
    if (status == SPEX_EXIT_OK && request->json)
        status = json_write(tables_json(trace, side.part, side.from, side.to));
    else if (status == SPEX_EXIT_OK)
        tables_print(trace, side.part, request->verbose);
    side_close(&side);
    return status;
}

/* The part of --against, in a copy of its text, which is to be freed. */
static int against_split(const char *text, char **copy, const char **from, const char **to) {
    *copy = strdup(text);
    if (!*copy)
        return out_of_memory();
    return spex_trace_part_split(*copy, from, to)
               ? SPEX_EXIT_OK
               : spex_complain(SPEX_EXIT_USAGE,
                               "stats: --against: FROM..TO was expected, not \"%s\"", text);
}

static int comparison_show(const struct request *request, const struct spex_stats_side *a,
                           const struct spex_stats_side *b) {
    if (request->json)
        return json_write(json_pack("{s:o}", "comparison", spex_stats_comparison_json(a, b)));
    return spex_stats_comparison_print(stdout, a, b) == 0 ? SPEX_EXIT_OK : out_of_memory();
}

/* Two parts of one trace, or of two. */
static int parts_compare(const struct request *request, struct spex_recording *first,
                         struct spex_recording *second) {
    struct spex_stats_side a = {0}, b = {0};
    char *text = NULL;
    const char *from = NULL, *to = NULL;
    int status =
        request->against ? against_split(request->against, &text, &from, &to) : SPEX_EXIT_OK;
    if (status == SPEX_EXIT_OK)
        status = side_open(&a, first, request->from, request->to, true);
    if (status == SPEX_EXIT_OK)
        status = request->against ? side_open(&b, second, from, to, true)
                                  : side_open(&b, second, request->from, request->to, true);
    spex_trace_part_ends(first);
    if (second != first)
        spex_trace_part_ends(second);
    if (status == SPEX_EXIT_OK)
        status = comparison_show(request, &a, &b);
    side_close(&a);
    side_close(&b);
    free(text);
    return status;
}

static int problems_tell(const struct spex_recording *trace, int status) {
    int problems = spex_trace_part_problems(trace);
    return status == SPEX_EXIT_OK ? problems : status;
}

int spex_command_stats(int argc, char **argv) {
    struct request request = {0};
    struct spex_recording *first = NULL, *second = NULL;
    int status = stats_parse(argc, argv, &request);
    if (status == SPEX_EXIT_OK)
        status = spex_trace_part_open("stats", request.traces[0], request.probes, &first);
    if (status != SPEX_EXIT_OK)
        return status;
    if (request.count == 2)
        status = spex_trace_part_open("stats", request.traces[1], request.probes, &second);
    if (status == SPEX_EXIT_OK && !second && !request.against)
        status = part_show(&request, first);
    else if (status == SPEX_EXIT_OK)
        status = parts_compare(&request, first, second ? second : first);
    int err = spex_written(stdout);
    if (err && status == SPEX_EXIT_OK)
        status = spex_complain(SPEX_EXIT_FAILED, "standard output: %s", strerror(-err));
    status = problems_tell(first, status);
    if (second) {
        status = problems_tell(second, status);
        spex_recording_close(second);
    }
    spex_recording_close(first);
    return status;
}
