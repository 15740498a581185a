/* SPDX-License-Identifier: MIT */
/* Prints the figures of the connections. A process may have several: it may exec another
 * program, or lose its connection and connect again. Each connection has a state; a connection
 * that is SILENT is not shown. */
#define _GNU_SOURCE
#include "tools/run/run_output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "observe/profile_sum.h"
#include "profile/table.h"
#include "text/hexadecimal.h"
#include "text/quantity.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/common/profile_json.h"

/* The state of a connection at the time of the output. */
enum state {
    /* It has stopped spex, and its figures are complete. */
    STOPPED,
    /* Without stopping spex it has ended, executed another program, or closed the connection. */
    ENDED,
    REPLACED,
    CLOSED,
    /* It has sent something that is not a report. */
    BROKEN,
    RUNNING,
    /* It has sent nothing, or another entry has the same process. It is not shown. */
    SILENT
};

static const char *const state_names[] = {"stopped", "ended",   "replaced", "closed",
                                          "broken",  "running", "silent"};

/* Standard error by default, so that a table does not mix with the program's output. */
int spex_run_output_open(struct spex_run_output *output, const char *path) {
    output->error = 0;
    int err = spex_output_file_open(
        &output->to, path, output->intervals ? SPEX_OUTPUT_LINES : SPEX_OUTPUT_DOCUMENT, stderr);
    output->file = output->to.file;
    return err;
}

/* Keeps the first error, for spex_run_output_close. */
static void output_flush(struct spex_run_output *output) {
    int err = spex_written(output->file);
    if (!output->error)
        output->error = err;
}

int spex_run_output_close(struct spex_run_output *output) {
    int err = spex_output_file_close(&output->to);
    if (!output->error)
        output->error = err;
    return output->error;
}

/* Owns `json`; NULL means that memory was short. */
static void output_write_json(struct spex_run_output *output, json_t *json) {
    size_t flags = output->intervals ? JSON_COMPACT : JSON_INDENT(2);
    if (json) {
        /* The stream keeps an error. */
        json_dumpf(json, output->file, flags | JSON_REAL_PRECISION(SPEX_PLAIN_DIGITS));
        fputc('\n', output->file);
    } else if (!output->error) {
        output->error = -ENOMEM;
    }
    json_decref(json);
    output_flush(output);
}

static bool same_process(const struct spex_caller *one, const struct spex_caller *other) {
    return one->process == other->process;
}

/* A later connection of the same process, made when all before had ended; NULL when there is
 * none. */
static const struct spex_caller *later_connection(const struct spex_listener *listener, size_t c) {
    for (size_t later = c + 1; later < listener->count; later++)
        if (same_process(listener->callers[later], listener->callers[c]) &&
            !listener->callers[later]->beside)
            return listener->callers[later];
    return NULL;
}

/* Whether the process has several connections at once, as it has several copies of spex. */
static bool has_copies(const struct spex_listener *listener, const struct spex_caller *caller) {
    for (size_t c = 0; c < listener->count; c++)
        if (listener->callers[c]->beside && same_process(listener->callers[c], caller))
            return true;
    return false;
}

/* The order of the conditions matters: a process that has stopped spex has reported everything,
 * whatever has become of it since. A process that connected again is shown by its later connection.
 * One that says nothing may be of another copy of spex in a process that has ended before it was
 * accepted. */
static enum state connection_state(const struct spex_listener *listener, size_t c) {
    struct spex_caller *caller = listener->callers[c];
    const struct spex_caller *later = later_connection(listener, c);
    bool runs = spex_caller_runs(caller);
    if (caller->reader.final)
        return STOPPED;
    if (later && spex_caller_same(caller, later))
        return SILENT;
    if (caller->error.text[0])
        return BROKEN;
    if (spex_caller_silent(caller) && runs && caller->socket < 0)
        return SILENT;
    if (caller->socket >= 0 && runs)
        return RUNNING;
    if (later && !spex_caller_silent(later))
        return REPLACED;
    return runs ? CLOSED : ENDED;
}

/* Owns nothing. NULL when memory is short. What is unknown is null. */
static json_t *caller_json(const struct spex_caller *caller, const struct spex_profile *profile,
                           enum state state) {
    bool whole = state == STOPPED || state == RUNNING || caller->whole;
    bool seconds = state != BROKEN && caller->reader.complete;
    json_int_t records = whole ? 0 : (json_int_t)caller->unseen_records;
    json_t *json =
        json_pack("{s:I, s:o, s:s, s:o, s:o}", "pid", (json_int_t)caller->process, "command",
                  spex_text_json(caller->command), "state", state_names[state], "unseen_seconds",
                  whole     ? json_real(0)
                  : seconds ? json_real(spex_caller_unseen_seconds(caller))
                            : json_null(),
                  "unseen_records", records >= 0 ? json_integer(records) : json_null());
    json_t *figures = spex_profile_json(profile);
    int err = !json || !figures || json_object_update(json, figures) != 0;
    static const char *const unknown_of_whole[] = {"program_seconds", "collector_seconds",
                                                   "overhead_seconds"};
    for (int u = 0; !err && caller->whole && u < 3; u++)
        err = json_object_set_new(json, unknown_of_whole[u], json_null());
    json_decref(figures);
    return spex_json_unless(err, json);
}

/* An array of one element, which it owns; NULL when memory is short. */
static json_t *json_array_of(json_t *element) {
    json_t *array = json_array();
    if (json_array_append_new(array, element) == 0)
        return array;
    json_decref(array);
    return NULL;
}

/* The line of one process for one interval. The final output has all processes. */
static void interval_print_json(struct spex_run_output *output, const struct spex_caller *caller,
                                const struct spex_profile *since, double seconds) {
    output_write_json(output, json_pack("{s:f, s:b, s:o}", "time", seconds, "final", 0, "processes",
                                        json_array_of(caller_json(caller, since, RUNNING))));
}

/* Prints the figures of one process for one interval, headed by the time since the program
 * started. */
static void interval_print_text(struct spex_run_output *output, const struct spex_caller *caller,
                                const struct spex_profile *since, double seconds) {
    fprintf(output->file, "%.3f s: process %d (%s)\n", seconds, (int)caller->process,
            caller->command);
    if (since->row_count)
        spex_table_print(output->file, since, spex_table_look(output->file, output->verbose));
    else
        fputs("no probe is on\n", output->file);
    fputc('\n', output->file);
    output_flush(output);
}

/* Keeps a copy of the profile: the next interval is what has happened since. The copy is the
 * difference to an empty profile. */
void spex_run_output_interval(struct spex_run_output *output, struct spex_caller *caller,
                              double seconds) {
    static const struct spex_profile nothing;
    struct spex_profile since, copy;
    int err = spex_profile_since(&caller->reader.profile, &caller->shown, &since);
    if (!err)
        (output->json ? interval_print_json : interval_print_text)(output, caller, &since, seconds);
    if (!err)
        spex_profile_free(&since);
    err = err ? err : spex_profile_since(&caller->reader.profile, &nothing, &copy);
    if (!err) {
        spex_profile_free(&caller->shown);
        caller->shown = copy;
    } else if (!output->error) {
        output->error = err;
    }
}

/* Says which part of a process that did not stop spex is in the figures. */
static void print_unseen(FILE *file, const char *text, const struct spex_caller *caller) {
    fprintf(file, "%s: figures are those up to %.0f ms before its end", text,
            spex_caller_unseen_seconds(caller) * 1e3);
    if (caller->unseen_records > 0)
        fprintf(file, ", without the %" PRId64 " records that it has made since",
                caller->unseen_records);
    fputc('\n', file);
}

/* Says why the figures may be incomplete; nothing for a process that has stopped spex. */
static void print_state(FILE *file, const struct spex_caller *caller, enum state state) {
    static const char *const texts[] = {
        [ENDED] = "ended without stopping spex",
        [REPLACED] = "became another program without stopping spex",
        [CLOSED] = "has closed its connection and goes on",
    };
    if (state == STOPPED)
        return;
    fprintf(file, "process %d (%s) ", (int)caller->process, caller->command);
    if (state == RUNNING)
        fputs("still runs; its probes go off now\n", file);
    else if (state == BROKEN)
        fprintf(file, "was broken off: %s\n", caller->error.text);
    else if (caller->whole)
        fprintf(file, "%s: figures are those of all its records\n", texts[state]);
    else if (!caller->reader.complete)
        fprintf(file, "%s before its first report\n", texts[state]);
    else
        print_unseen(file, texts[state], caller);
}

/* Prints the process, and of several copies of spex in it the provider whose probes this one has,
 * where its table does not say it of each. */
static void print_heading(FILE *file, const struct spex_caller *caller, bool copies) {
    const struct spex_profile *profile = &caller->reader.profile;
    bool one_provider = profile->row_count && !spex_profile_rows_mixed(profile);
    fprintf(file, "process %d (%s)", (int)caller->process, caller->command);
    if (copies && one_provider)
        fprintf(file, ", probes of %s", profile->rows[0].probe.provider);
    fputs(":\n", file);
}

/* `headed`: the output has several processes, so that each has a heading. */
static void print_caller(const struct spex_run_output *output, const struct spex_caller *caller,
                         enum state state, bool headed, bool copies) {
    const struct spex_profile *profile = &caller->reader.profile;
    FILE *file = output->file;
    if (headed)
        print_heading(file, caller, copies);
    print_state(file, caller, state);
    if (profile->row_count)
        spex_table_print(file, profile, spex_table_look(file, output->verbose));
    else if (caller->reader.complete)
        fprintf(file, "no probe was on%s\n",
                state == STOPPED || state == RUNNING ? "" : " by then");
}

/* Sets the state of each connection; returns how many are shown. */
static size_t connection_states(const struct spex_listener *listener, enum state *states) {
    size_t shown = 0;
    for (size_t c = 0; c < listener->count; c++) {
        states[c] = connection_state(listener, c);
        shown += states[c] != SILENT;
    }
    return shown;
}

/* Several processes have a heading each, and a blank line between them. */
static void final_print_text(struct spex_run_output *output, const struct spex_listener *listener) {
    enum state states[SPEX_CALLERS_MAX];
    size_t shown = connection_states(listener, states), headed = shown > 1, printed = 0;
    for (size_t c = 0; c < listener->count; c++) {
        if (states[c] == SILENT)
            continue;
        if (printed++)
            fputc('\n', output->file);
        print_caller(output, listener->callers[c], states[c], headed,
                     has_copies(listener, listener->callers[c]));
    }
    if (listener->refused)
        fprintf(output->file,
                "\n%zu processes more have started spex; their probes were off, and no table has "
                "what they did\n",
                listener->refused);
    output_flush(output);
}

/* "SIGTERM", or "signal 34" for a signal without a name. */
static json_t *signal_json(int number) {
    const char *name = number ? sigabbrev_np(number) : NULL;
    if (name)
        return json_sprintf("SIG%s", name);
    return number ? json_sprintf("signal %d", number) : json_null();
}

/* An argument; {"bytes": "ff2d"} where it is not UTF-8. */
static json_t *argument_json(const char *argument) {
    json_t *json = json_string(argument);
    char *digits = json ? NULL : spex_hexadecimal(argument, strlen(argument));
    if (digits)
        json = json_pack("{s:s}", "bytes", digits);
    free(digits);
    return json;
}

/* The command line, as stores have it. */
static json_t *program_json(char *const *argv) {
    json_t *json = json_array();
    for (; *argv; argv++)
        if (json_array_append_new(json, argument_json(*argv)) < 0)
            return spex_json_unless(true, json);
    return json;
}

/* The status is null after a signal, and the signal is null otherwise. */
static void final_print_json(struct spex_run_output *output, char *const *argv,
                             const struct spex_launched *program,
                             const struct spex_listener *listener, double seconds) {
    enum state states[SPEX_CALLERS_MAX];
    json_t *processes = json_array();
    int err = !processes;
    connection_states(listener, states);
    for (size_t c = 0; c < listener->count; c++) {
        const struct spex_caller *caller = listener->callers[c];
        if (states[c] != SILENT)
            err |= json_array_append_new(processes,
                                         caller_json(caller, &caller->reader.profile, states[c]));
    }
    json_t *json = json_pack("{s:f, s:b, s:o, s:o, s:o, s:o, s:I}", "time", seconds, "final", 1,
                             "program", program_json(argv), "status",
                             program->by_signal ? json_null() : json_integer(program->status),
                             "signal", signal_json(program->by_signal), "processes", processes,
                             "unwatched", (json_int_t)listener->refused);
    if (err) {
        json_decref(json);
        json = NULL;
    }
    output_write_json(output, json);
}

void spex_run_output_final(struct spex_run_output *output, char *const *argv,
                           const struct spex_launched *program, struct spex_listener *listener,
                           double seconds) {
    if (output->json)
        final_print_json(output, argv, program, listener, seconds);
    else
        final_print_text(output, listener);
}
