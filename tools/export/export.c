/* SPDX-License-Identifier: MIT */
/* `spex export`: writes a trace in a format of another tool. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text/quantity.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/options.h"
#include "tools/common/output_file.h"
#include "tools/common/progress.h"
#include "tools/common/stop_signals.h"
#include "tools/common/trace_part.h"
#include "tools/common/verdict.h"
#include "tools/export/exporter.h"

static const char export_usage[] =
    "usage: spex export TRACE --format FORMAT [-o FILE] [--from TIME] [--to TIME]\n"
    "                   [-e PROBES] [--by time|executions] [--before TRACE|FROM..TO]\n"
    "\n"
    "Writes a trace of `spex record`, of one process or of several in a folder, in\n"
    "the format of another tool.\n"
    "\n"
    "  --format FORMAT  perfetto    for ui.perfetto.dev: slices on threads' tracks,\n"
    "                               counters\n"
    "                   chrome      the same as JSON, for chrome://tracing and\n"
    "                               Perfetto\n"
    "                   pprof       kernels' call paths by time and executions, for\n"
    "                               go tool pprof\n"
    "                   folded      the same as lines, for tools that draw flame\n"
    "                               graphs\n"
    "                   flamegraph  the same as a picture (SVG) for browsers\n"
    "                   csv         a line for each record\n"
    "                   sqlite      a database, to be asked in SQL\n"
    "  -o FILE          where it goes; standard output when absent or -\n"
    "  --from TIME      the part of the trace: seconds from its beginning, or a time:\n"
    "  --to TIME        2026-11-23T07:39:30 or 07:39:30.5Z\n"
    "  -e PROBES        which probes: man spex_probes\n"
    "  --by WHAT        of folded and flamegraph: time, which is the default, or\n"
    "                   executions\n"
    "  --before WHAT    of flamegraph: colours what takes longer or less than in this\n"
    "                   other trace, or than in this part of the same one: FROM..TO\n";

static const struct spex_syntax export_syntax = {
    "export", export_usage, "one trace was expected", 1, 1, SPEX_OPTIONS_ANYWHERE};

#define EXPORTER(name, ending) &spex_export_##name,
static const struct spex_exporter *const exporters[] = {SPEX_EXPORT_FORMATS(EXPORTER)};

enum { EXPORTERS = sizeof(exporters) / sizeof(exporters[0]) };

/* Between two looks at the progress and at signals. */
enum { EVENTS_AT_ONCE = 1 << 14 };

struct request {
    const char *trace;
    const struct spex_exporter *exporter;
    const char *format, *out, *from, *to, *probes, *by, *before;
    /* Records that were exported. */
    uint64_t records;
    /* Readable after a signal that ends the command. */
    int signals;
};

static int export_parse(int argc, char **argv, struct request *request) {
    const struct spex_option known[] = {
        {"format", .text = &request->format},      {.letter = 'o', .text = &request->out},
        {"from", .text = &request->from},          {"to", .text = &request->to},
        {.letter = 'e', .text = &request->probes}, {"by", .text = &request->by},
        {"before", .text = &request->before},      {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&export_syntax, known, argc, argv, &operands);
    if (status == SPEX_EXIT_OK)
        request->trace = operands.list[0];
    return status;
}

/* "perfetto, chrome or csv" */
static const char *formats_text(char *text, size_t size) {
    size_t used = 0;
    for (size_t e = 0; e < EXPORTERS; e++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 e == 0               ? ""
                                 : e + 1 == EXPORTERS ? " or "
                                                      : ", ",
                                 exporters[e]->name);
    return text;
}

/* Checks what the options say together. An exit status. */
static int request_check(struct request *request) {
    char formats[128];
    for (size_t e = 0; request->format && e < EXPORTERS; e++)
        if (strcmp(exporters[e]->name, request->format) == 0)
            request->exporter = exporters[e];
    if (!request->exporter)
        return spex_complain(SPEX_EXIT_USAGE, "export: --format: %s was expected%s%s%s",
                             formats_text(formats, sizeof(formats)),
                             request->format ? ", not \"" : "",
                             request->format ? request->format : "", request->format ? "\"" : "");
    if (request->exporter->lacks)
        return spex_complain(SPEX_EXIT_FAILED,
                             "export: --format %s: this spex was built without %s", request->format,
                             request->exporter->lacks);
    bool stream = !request->out || strcmp(request->out, "-") == 0;
    if (request->by && (!request->exporter->weighs || (strcmp(request->by, "time") != 0 &&
                                                       strcmp(request->by, "executions") != 0)))
        return spex_complain(
            SPEX_EXIT_USAGE,
            "export: --by: time or executions was expected, with --format folded or flamegraph");
    if (request->before && !request->exporter->before)
        return spex_complain(SPEX_EXIT_USAGE, "export: --before is for --format flamegraph");
    if (stream && request->exporter->needs_path)
        return spex_complain(SPEX_EXIT_USAGE, "export: -o: a file was expected for the database");
    if (stream && request->exporter->binary && isatty(STDOUT_FILENO) == 1)
        return spex_complain(SPEX_EXIT_USAGE,
                             "export: -o: a file was expected: %s is not for a terminal",
                             request->format);
    return SPEX_EXIT_OK;
}

/* The number of a signal that has come and ends the command; 0: none. */
static int stopped_by(int signals) {
    struct signalfd_siginfo info;
    return signals >= 0 && read(signals, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo
                                                                              : 0;
}

/* What an exporter does with a record. */
typedef int take_event(void *state, const struct spex_recording_event *event,
                       struct spex_error *error);

/* Gives all records of a trace to the exporter. The number of a signal that has ended it; 0 or a
 * negative errno value. After an error of the stream, which its end tells, 0. */
static int events_give(struct request *request, const struct spex_export *export,
                       struct spex_recording *trace, take_event *take, void *state,
                       struct spex_error *error) {
    struct spex_recording_event event;
    struct spex_progress_bar bar;
    int got = 1, err = 0, stopped = 0;
    spex_progress_bar_init(&bar, stderr);
    while (got == 1 && !err && !stopped && !(export->out && ferror(export->out))) {
        for (unsigned e = 0; got == 1 && !err && e < EVENTS_AT_ONCE; e++) {
            got = spex_recording_next(trace, &event, error);
            if (got == 1)
                err = take(state, &event, error);
            request->records += got == 1 && take == request->exporter->event;
        }
        stopped = stopped_by(request->signals);
        spex_progress_bar_part(&bar, trace->bytes_given, trace->bytes);
    }
    spex_progress_bar_end(&bar);
    return err ? err : got < 0 ? got : stopped;
}

/* Writes the export. What was exported before an error or a signal is completed. */
static int export_write(struct request *request, const struct spex_export *export,
                        struct spex_recording *trace, struct spex_recording *before) {
    struct spex_error error = {""}, end_error = {""};
    void *state = NULL;
    int err = request->exporter->begin(export, &state, &error);
    if (!err && before) {
        err = events_give(request, export, before, request->exporter->before, state, &error);
        if (err > 0)
            err = spex_fail(&error, -EINTR, "interrupted; nothing is written");
    }
    if (!err)
        err = events_give(request, export, trace, request->exporter->event, state, &error);
    int end = err < 0 ? 0 : request->exporter->end(state, &end_error);
    request->exporter->free(state);
    if (err < 0 || end < 0)
        return spex_complain(SPEX_EXIT_FAILED, "%s", err < 0 ? error.text : end_error.text);
    if (err > 0)
        return spex_complain(128 + err, "interrupted: what was exported before is complete");
    return SPEX_EXIT_OK;
}

/* Opens the stream of a format that writes one, and closes it behind the export. */
static int export_to(struct request *request, struct spex_export *export,
                     struct spex_recording *trace, struct spex_recording *before) {
    struct spex_output_file output = {0};
    if (request->exporter->needs_path) {
        export->path = request->out;
        return export_write(request, export, trace, before);
    }
    int err = spex_output_file_open(
        &output, request->out,
        request->exporter->document ? SPEX_OUTPUT_DOCUMENT : SPEX_OUTPUT_LINES, stdout);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "%s: %s", request->out, strerror(-err));
    export->out = output.file;
    int status = export_write(request, export, trace, before);
    if (status == SPEX_EXIT_FAILED)
        output.path = NULL;
    err = spex_output_file_close(&output);
    return err ? spex_complain(SPEX_EXIT_FAILED, "%s: %s", output.name, strerror(-err)) : status;
}

/* How the file of a format is looked at; %s is its path. */
static const struct {
    const struct spex_exporter *exporter;
    const char *look;
} looks[] = {
    {&spex_export_perfetto, "open %s in https://ui.perfetto.dev"},
    {&spex_export_chrome, "open %s in https://ui.perfetto.dev or chrome://tracing"},
    {&spex_export_pprof, "go tool pprof -http=: %s"},
    {&spex_export_folded, "flamegraph.pl %s, or open it in https://speedscope.app"},
    {&spex_export_csv, NULL},
    {&spex_export_sqlite, "sqlite3 %s"},
};

/* NULL: there is nothing to say. */
static const char *look_text(const struct request *request, char *text, size_t size) {
    const char *look = NULL;
    for (size_t l = 0; l < sizeof(looks) / sizeof(looks[0]); l++)
        if (looks[l].exporter == request->exporter)
            look = looks[l].look;
    if (!look)
        return NULL;
    size_t before = strcspn(look, "%");
    snprintf(text, size, "%.*s%s%s", (int)before, look, request->out, look + before + 2);
    return text;
}

/* Nothing where standard output has the export, and nothing to scripts, whom it has never told
 * anything. */
static void tell_verdict(const struct request *request, size_t problems) {
    struct stat about;
    char bytes[48] = "", size[64] = "", unread[96] = "", result[PATH_MAX + 256],
         next[PATH_MAX + 128];
    if (!request->out || strcmp(request->out, "-") == 0 || isatty(STDERR_FILENO) != 1)
        return;
    if (stat(request->out, &about) == 0 && S_ISREG(about.st_mode))
        snprintf(size, sizeof(size), ", %s",
                 spex_quantity_text((double)about.st_size, NAN, "B", bytes, sizeof(bytes)));
    if (problems)
        snprintf(unread, sizeof(unread), "; %zu part%s of the trace could not be read", problems,
                 problems == 1 ? "" : "s");
    snprintf(result, sizeof(result), "%llu records%s in %s%s", (unsigned long long)request->records,
             size, request->out, unread);
    spex_verdict(result, look_text(request, next, sizeof(next)));
}

/* Limits a trace to a part, whose length is in *seconds. An exit status. */
static int part_limit(struct spex_recording *trace, const char *from, const char *to,
                      uint64_t *begin, uint64_t *end, double *seconds) {
    int status = spex_trace_part_limits("export", trace, from, to, begin, end);
    if (status != SPEX_EXIT_OK)
        return status;
    spex_recording_limit(trace, *begin, *end);
    *seconds = (double)spex_recording_duration_ns(trace, *end - *begin) / 1e9;
    return SPEX_EXIT_OK;
}

/* Exports the trace, in comparison with `before`, which may be NULL. */
static int export_part(struct request *request, struct spex_export export,
                       struct spex_recording *trace, struct spex_recording *before) {
    struct spex_labels labels = {0}, before_labels = {0};
    int status =
        part_limit(trace, request->from, request->to, &export.from, &export.to, &export.seconds);
    if (status != SPEX_EXIT_OK)
        return status;
    export.labels = &labels;
    export.before = before;
    export.before_labels = &before_labels;
    if (spex_labels_make(&labels, trace) == 0 &&
        (!before || spex_labels_make(&before_labels, before) == 0))
        status = export_to(request, &export, trace, before);
    else
        status = spex_complain(SPEX_EXIT_FAILED, "out of memory");
    spex_labels_free(&labels);
    if (before_labels.trace)
        spex_labels_free(&before_labels);
    return status;
}

/* Opens what the trace is compared with: another one, or a part of the same one. */
static int before_open(struct request *request, struct spex_export *export,
                       struct spex_recording **before) {
    const char *from = NULL, *to = NULL;
    uint64_t begin, end;
    char *text = strdup(request->before);
    if (!text)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    bool part = access(text, F_OK) != 0 && spex_trace_part_split(text, &from, &to);
    int status = spex_trace_part_open("export", part ? request->trace : request->before,
                                      request->probes, before);
    if (status != SPEX_EXIT_OK)
        *before = NULL;
    else
        status = part_limit(*before, from, to, &begin, &end, &export->before_seconds);
    free(text);
    return status;
}

static int export_trace(struct request *request, struct spex_recording *trace) {
    struct spex_export export = {
        .trace = trace, .by_executions = request->by && strcmp(request->by, "executions") == 0};
    struct spex_recording *before = NULL;
    int status = request->before ? before_open(request, &export, &before) : SPEX_EXIT_OK;
    if (status == SPEX_EXIT_OK)
        status = export_part(request, export, trace, before);
    int problems = before ? spex_trace_part_problems(before) : SPEX_EXIT_OK;
    if (before) {
        spex_trace_part_ends(before);
        spex_recording_close(before);
    }
    spex_trace_part_ends(trace);
    if (spex_trace_part_problems(trace) != SPEX_EXIT_OK)
        problems = SPEX_EXIT_FAILED;
    if (status == SPEX_EXIT_OK)
        tell_verdict(request, trace->problems.count);
    return status == SPEX_EXIT_OK ? problems : status;
}

int spex_command_export(int argc, char **argv) {
    struct request request = {0};
    struct spex_recording *trace;
    int status = export_parse(argc, argv, &request);
    if (status == SPEX_EXIT_OK)
        status = request_check(&request);
    if (status == SPEX_EXIT_OK)
        status = spex_trace_part_open("export", request.trace, request.probes, &trace);
    if (status != SPEX_EXIT_OK)
        return status;
    /* Before there is a file that a signal would leave incomplete. */
    request.signals = spex_stop_signals_open();
    status = export_trace(&request, trace);
    if (request.signals >= 0)
        close(request.signals);
    spex_recording_close(trace);
    return status;
}
