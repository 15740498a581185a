/* SPDX-License-Identifier: MIT */
/* The trace of a program that is looked at by breakpoints of the kernel. Its records have nanoseconds of CLOCK_MONOTONIC,
 * which become ticks, as those of all traces of this machine are. */
#include "tools/record/record_functions.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <spex/ticks.h>

#include "base/clock.h"
#include "observe/written_frames.h"
#include "tools/common/complain.h"
#include "tools/common/stop_signals.h"
#include "tools/functions/function_run.h"

/* How often the journal gets a profile, as that of programs with spex does. */
#define PROFILE_SECONDS 1.0

/* A thread may be interrupted for so long between its time and its record; what comes later is written as late. */
#define SETTLED_SECONDS 0.01

/* Both clocks at one moment. */
struct moment {
    uint64_t ticks, ns;
};

struct writer {
    struct spex_recording *recording;
    struct spex_function_watch watch;
    struct spex_trace *trace;
    struct moment begin, now;
    double ticks_per_ns;
    struct spex_written_frames frames;
    /* By the number of the function, and whether it is of arguments: the trace knows the site. */
    bool known[SPEX_FUNCTIONS_MAX][2];
    double next_profile;
};

static struct moment moment_now(void) {
    uint64_t before = spex_ticks(), ns = spex_clock_ns(CLOCK_MONOTONIC);
    return (struct moment){.ticks = before + (spex_ticks() - before) / 2, .ns = ns};
}

/* The clocks are compared each pass, from the begin on: their ratio is known the better the longer that was ago. */
static void clocks_compare(struct writer *writer) {
    writer->now = moment_now();
    if (writer->now.ns > writer->begin.ns)
        writer->ticks_per_ns = (double)(writer->now.ticks - writer->begin.ticks) /
                               (double)(writer->now.ns - writer->begin.ns);
}

static uint64_t ticks_of(const struct writer *writer, uint64_t ns) {
    double since = (double)(int64_t)(ns - writer->now.ns) * writer->ticks_per_ns;
    return writer->now.ticks + (uint64_t)(int64_t)since;
}

/* Tells the trace of a function before its first record. */
static void site_tell(struct writer *writer, const struct spex_record *record) {
    const struct spex_process_function *function =
        &spex_attachment_functions(writer->watch.attachment)->items[record->probe_id];
    bool told = record->probe_type == SPEX_SNAPSHOT,
         *known = &writer->known[record->probe_id][told];
    struct spex_stream_site site = {.index = 2u * record->probe_id + told,
                                    .subsample = 1,
                                    .probe_id = record->probe_id,
                                    .probe_type = (uint16_t)record->probe_type,
                                    .declared = SPEX_STREAM_NO_ID,
                                    .values = record->field_count,
                                    .kinds = record->kinds};
    if (*known)
        return;
    *known = true;
    snprintf(site.name, sizeof(site.name), "%s", function->name);
    snprintf(site.provider, sizeof(site.provider), "%s", function->object);
    if (told)
        spex_process_function_parameters(function, site.parameters, sizeof(site.parameters));
    spex_trace_sites(writer->trace, &site, 1);
}

static void take_record(void *user, const struct spex_record *record) {
    struct writer *writer = user;
    struct spex_record one = *record;
    site_tell(writer, record);
    one.timestamp = ticks_of(writer, record->timestamp);
    if (record->probe_type == SPEX_LAT)
        one.fields[0] = (uint64_t)llround((double)record->fields[0] * writer->ticks_per_ns);
    spex_trace_records(writer->trace, &one, 1);
}

/* Gives the trace the profile, in its ticks. */
static void profile_write(struct writer *writer, struct spex_profile *profile) {
    double ticks = writer->ticks_per_ns * 1e9 / profile->process.ticks_per_second;
    profile->process.made_ticks = writer->now.ticks;
    profile->process.ticks_per_second *= ticks;
    for (size_t t = 0; t < profile->type_count; t++) {
        profile->types[t].skip *= ticks;
        profile->types[t].record *= ticks;
    }
    spex_trace_lost(writer->trace, spex_attachment_lost(writer->watch.attachment));
    if (spex_written_frames_of(&writer->frames, profile) == 0)
        spex_trace_profile(writer->trace, writer->frames.data, writer->frames.bytes);
}

/* What was executed before a moment has been taken, but for what comes late. */
static void pass(struct writer *writer) {
    struct spex_profile profile;
    uint64_t settled = (uint64_t)(SETTLED_SECONDS * 1e9);
    double seconds = (double)(writer->now.ns - writer->begin.ns) / 1e9;
    spex_trace_pass(writer->trace, ticks_of(writer, writer->now.ns - settled));
    clocks_compare(writer);
    if (seconds < writer->next_profile)
        return;
    writer->next_profile = seconds + PROFILE_SECONDS;
    spex_attachment_profile(writer->watch.attachment, &profile);
    profile_write(writer, &profile);
}

/* An exit status. */
static int finish(struct writer *writer) {
    struct spex_recording *recording = writer->recording;
    struct spex_profile profile;
    clocks_compare(writer);
    spex_attachment_end(writer->watch.attachment, &profile);
    spex_function_watch_tell(&writer->watch);
    profile_write(writer, &profile);
    spex_trace_end(writer->trace);
    recording->totals = spex_trace_totals(writer->trace);
    recording->traces = 1;
    recording->err = spex_trace_error(writer->trace);
    return recording->err
               ? spex_complain(SPEX_EXIT_FAILED,
                               "recording has ended, and the program goes on: %s: %s",
                               spex_trace_directory(writer->trace), strerror(-recording->err))
               : SPEX_EXIT_OK;
}

static int trace_open(struct writer *writer, const struct spex_function_watch_request *request) {
    const struct spex_trace_options options = {.directory = writer->recording->directory,
                                               .program = writer->watch.program.command,
                                               .process_id = (int)request->process,
                                               .whole = true,
                                               .limits = writer->recording->limits,
                                               .disk = &writer->recording->disk};
    struct spex_error error;
    int err = spex_trace_open(&options, &writer->trace, &error);
    return err ? spex_complain(SPEX_EXIT_FAILED, "record: %s", error.text) : SPEX_EXIT_OK;
}

/* An exit status. */
static int record_until_end(struct writer *writer) {
    while (!spex_trace_error(writer->trace) && spex_function_watch_goes_on(&writer->watch))
        pass(writer);
    return finish(writer);
}

static int record_watched(struct writer *writer,
                          const struct spex_function_watch_request *request) {
    clocks_compare(writer);
    int status = trace_open(writer, request);
    return status ? status : record_until_end(writer);
}

static int record_program(struct spex_record_functions *record, struct writer *writer,
                          struct spex_function_watch_request *request) {
    struct spex_function_run program;
    int status = spex_function_run_start(&program, record->argv, request);
    if (status)
        return status;
    status = spex_function_watch_open(&writer->watch, request);
    if (status) {
        spex_function_run_give_up(&program);
        return status;
    }
    status = record_watched(writer, request);
    int ended = spex_function_run_wait(&program);
    record->by_signal = program.program.by_signal;
    return ended ? ended : status;
}

static int record_process(struct writer *writer, struct spex_function_watch_request *request) {
    request->stop_fd = spex_stop_signals_open();
    if (request->stop_fd < 0)
        return spex_complain(SPEX_EXIT_FAILED, "record: cannot wait for signals: %s",
                             strerror(errno));
    int status = spex_function_watch_open(&writer->watch, request);
    status = status ? status : record_watched(writer, request);
    close(request->stop_fd);
    return status;
}

int spex_record_functions(struct spex_record_functions *record) {
    struct writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    *writer = (struct writer){.recording = record->recording,
                              .watch = {.program = {.pidfd = -1, .memory = -1}},
                              .begin = moment_now()};
    struct spex_function_watch_request request = {
        .command = "record",
        .process = record->process,
        .functions = record->functions,
        .budget = record->budget > 0 ? record->budget : SPEX_FUNCTIONS_BUDGET,
        .seconds = SPEX_FUNCTIONS_SECONDS,
        .record = take_record,
        .user = writer};
    spex_trace_clock_begin();
    int status = record->process ? record_process(writer, &request)
                                 : record_program(record, writer, &request);
    spex_function_watch_close(&writer->watch);
    spex_trace_free(writer->trace);
    free(writer->frames.data);
    free(writer);
    return status;
}
