/* SPDX-License-Identifier: MIT */
/* `spex sample`: has a program sample its kernels by models, receives the samples as a stream,
 * and prints for each kernel how many there were and should have been. A program that is
 * started gets the models by its environment; a running one by a request, and is attached to. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/sampling_plan.h"
#include "observe/control_client.h"
#include "observe/launch.h"
#include "observe/passed_signals.h"
#include "rate/budget.h"
#include "text/variables.h"
#include "tools/attach/attach.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/duration.h"
#include "tools/common/functions_argument.h"
#include "tools/common/models_file.h"
#include "tools/common/options.h"
#include "tools/common/output_file.h"
#include "tools/common/process_argument.h"
#include "tools/common/stop_signals.h"
#include "tools/models/sample_output.h"
#include "tools/models/sample_program.h"

static const char sample_usage[] =
    "usage: spex sample MODELS [-n SAMPLES] [-b PERCENT] [--functions GLOBS] [-o OUT]\n"
    "                   [--json] -- PROGRAM [ARGUMENT…]\n"
    "       spex sample MODELS --pid PID [--for TIME] [-n SAMPLES] [-b PERCENT]\n"
    "                   [-o OUT] [--json]\n"
    "\n"
    "Runs PROGRAM, or follows the running program PID, and samples each kernel that\n"
    "MODELS, a file that spex train has written, knows. The predicted time of an\n"
    "execution sets how often: each execution has the same number of samples, however\n"
    "long it is. A kernel that is too short for that has as many within each\n"
    "execution of the kernel around it.\n"
    "\n"
    "  -n SAMPLES           samples, 0.01 to 1000000; the default is 10\n"
    "  -b, --budget PERCENT how much of the program's CPU time that may take; there\n"
    "                       are fewer samples then. The default is the program's own\n"
    "                       budget, if it has one\n"
    "  --functions GLOBS    makes kernels of these functions, in a program that was\n"
    "                       compiled with -finstrument-functions\n"
    "  --pid PID            follow PID until it ends, for SECONDS, or until Ctrl-C\n"
    "  --for TIME           with --pid: for how long\n"
    "  -o OUT               where the table goes: a file, or - for standard output;\n"
    "                       standard error when absent, or, with --pid, standard\n"
    "                       output\n"
    "  --json               JSON instead of a table\n";

static const struct spex_syntax sample_syntax = {
    "sample", sample_usage, "one file of models was expected", 1, 1, SPEX_OPTIONS_PROGRAM};

struct request {
    const char *models_path;
    /* NULL: none given; as a share of the time. */
    const char *budget;
    double share;
    /* Path, "-" or NULL; the file that it names. */
    const char *out;
    struct spex_output_file to;
    /* NULL: none given. */
    const char *functions;
    double samples;
    /* 0: no limit. */
    double seconds;
    /* 0: the program is to be run. */
    pid_t process;
    bool json;
    char *const *argv;
    struct spex_models models;
};

/* Options that do not go together. An exit status. */
static int request_check(const struct request *request) {
    if (request->process && *request->argv)
        return spex_complain(SPEX_EXIT_USAGE,
                             "sample: either --pid or a program to be run was expected, not both");
    if (request->process && request->functions)
        return spex_complain(SPEX_EXIT_USAGE,
                             "sample: --functions goes with a program to be run: in one that runs, "
                             "they are kernels already, or cannot become such");
    if (!request->process && request->seconds > 0)
        return spex_complain(SPEX_EXIT_USAGE, "sample: --for goes with --pid");
    if (!request->process && !*request->argv)
        return spex_complain(SPEX_EXIT_USAGE, "sample: \"-- PROGRAM\" was expected");
    return SPEX_EXIT_OK;
}

/* An exit status. */
static int sample_parse(int argc, char **argv, struct request *request) {
    const struct spex_option known[] = {
        {.letter = 'n',
         .number = &request->samples,
         .read = spex_samples_parse,
         .error = "a number of " SPEX_SAMPLES_RANGE " was expected"},
        {"budget", 'b', .text = &request->budget, .number = &request->share,
         .read = spex_budget_parse, .error = SPEX_BUDGET_EXPECTED},
        {"functions", .text = &request->functions, .check = spex_functions_argument},
        {"pid", .process = &request->process},
        {"for", .number = &request->seconds, .read = spex_duration_read,
         .error = SPEX_DURATION_EXPECTED},
        {.letter = 'o', .text = &request->out},
        {"json", .flag = &request->json},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&sample_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    request->models_path = operands.list[0];
    request->argv = operands.program;
    return request_check(request);
}

/* Opens the output first, so that a bad path is reported before the program starts. An exit
 * status. */
static int request_open_output(struct request *request) {
    int err = spex_output_file_open(&request->to, request->out, SPEX_OUTPUT_DOCUMENT,
                                    request->process ? stdout : stderr);
    return err ? spex_complain(SPEX_EXIT_FAILED, "sample: cannot open %s: %s", request->out,
                               strerror(-err))
               : SPEX_EXIT_OK;
}

/* Closes the output. A result without kernels is printed, and is a failure. */
static int print_account(struct request *request, struct spex_sampled *sampled, double seconds,
                         uint64_t lost) {
    struct spex_sampled_kernel *kernels;
    struct spex_sample_account account = {
        .samples = request->samples, .seconds = seconds, .lost = lost};
    int err = spex_sampled_account(sampled, seconds, &kernels, &account.count);
    account.kernels = kernels;
    FILE *file = request->to.file;
    if (!err && request->json)
        err = spex_sample_print_json(&account, file);
    else if (!err)
        spex_sample_print(&account, file);
    if (!err)
        err = spex_output_file_close(&request->to);
    free(kernels);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "sample: cannot write to %s: %s", request->to.name,
                             strerror(-err));
    if (account.count == 0)
        return spex_complain(SPEX_EXIT_FAILED,
                             "no kernel has made a record; spex probes lists what the program has");
    return SPEX_EXIT_OK;
}

/* Whether each kernel in the path can be selected by its name: a selection gives a meaning to
 * other characters. */
static bool path_is_plain(const char *path) {
    return strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_/") ==
           strlen(path);
}

/* Whether the selection has this kernel already: kernels are in the paths of several models. */
static bool selection_has(const char *selection, const char *name, size_t length) {
    for (const char *at = selection; *at; at++) {
        if (strncmp(at, name, length) == 0 && at[length] == ':')
            return true;
        at = strchr(at, ',');
        if (!at)
            break;
    }
    return false;
}

/* A selection of the kernels that the models know, or of all kernels where some names cannot be
 * selected or they are too many. Free it; NULL: out of memory. */
static char *models_selection(const struct spex_models *models) {
    enum { ITEMS_MAX = 500 };
    char *text = NULL;
    size_t size, items = 0;
    bool plain = true;
    FILE *out = open_memstream(&text, &size);
    for (size_t m = 0; out && m < models->count && plain; m++) {
        plain = path_is_plain(models->items[m].path);
        for (const char *name = models->items[m].path, *end; plain && *name; name = end + !!*end) {
            end = name + strcspn(name, "/");
            fflush(out);
            if (selection_has(text, name, (size_t)(end - name)))
                continue;
            fprintf(out, "%s%.*s:kernel@poll", items++ ? "," : "", (int)(end - name), name);
        }
    }
    if (!out || fclose(out) != 0) {
        free(text);
        return NULL;
    }
    if (plain && items > 0 && items <= ITEMS_MAX)
        return text;
    free(text);
    return strdup("*:kernel@poll");
}

/* Takes records that have arrived. `all`: no more will come, so that records whose order is not
 * final are taken as well. 0; 1 when there may be more; or a negative errno value with the
 * reason. */
static int take_records(struct spex_receiver *receiver, struct spex_sampled *sampled, bool all,
                        struct spex_error *error) {
    int more = spex_receiver_take(receiver, error);
    if (more < 0)
        return more;
    size_t count;
    const struct spex_record *records = spex_receiver_records(receiver, all && more == 0, &count);
    if (spex_sampled_take(sampled, records, count))
        return spex_fail(error, -ENOMEM, "out of memory");
    return more;
}

/* Takes all of them. 0, or a negative errno value with the reason. */
static int drain_records(struct spex_receiver *receiver, struct spex_sampled *sampled, bool all,
                         struct spex_error *error) {
    int more = 1;
    while (more > 0)
        more = take_records(receiver, sampled, all, error);
    return more;
}

/* Samples a program from its start to its end. The exit status is that of the program if it has
 * failed. */
static int sample_started(struct request *request, struct spex_sample_program *run,
                          const char *selection, const char *models) {
    char samples[32];
    snprintf(samples, sizeof(samples), "%.6f", request->samples);
    const struct spex_launch_variable variables[] = {
        {spex_variable_name(SPEX_VARIABLE_PROBES), selection},
        {spex_variable_name(SPEX_VARIABLE_MODELS), models},
        {spex_variable_name(SPEX_VARIABLE_SAMPLES), samples},
        {request->budget ? spex_variable_name(SPEX_VARIABLE_BUDGET) : NULL, request->budget},
        {NULL, NULL}};
    struct spex_instant begin = spex_instant_now();
    struct spex_sampled *sampled = NULL;
    struct spex_error error = {""};
    int status = spex_sample_program_start(run, request->argv, variables);
    if (status)
        return status;
    int err = spex_sampled_create(&sampled, &request->models, spex_receiver_kernels(run->receiver),
                                  request->samples, spex_tick_rate_since(begin));
    /* Waits for the program's end also after an error. */
    for (bool ended = false; !ended;) {
        ended = spex_sample_program_wait(run, !err);
        err = err ? err : drain_records(run->receiver, sampled, ended, &error);
    }
    double seconds = (double)(spex_instant_now().monotonic_ns - begin.monotonic_ns) / 1e9;
    if (err)
        status = spex_complain(SPEX_EXIT_FAILED, "sample: %s",
                               error.text[0] ? error.text : strerror(-err));
    else if (!spex_receiver_connected(run->receiver))
        status = spex_complain(SPEX_EXIT_FAILED,
                               "sample: %s did not connect: no spex_start with the SPEX_OUT given",
                               request->argv[0]);
    else
        status = print_account(request, sampled, seconds, spex_receiver_lost(run->receiver));
    spex_sampled_destroy(sampled);
    return run->program.status ? run->program.status : status;
}

/* The path of the models is made absolute, since the program may change its directory. */
static int sample_program(struct request *request) {
    struct spex_sample_program run;
    char *selection = models_selection(&request->models);
    char *models = realpath(request->models_path, NULL);
    if (!selection || !models) {
        free(selection);
        free(models);
        return spex_complain(SPEX_EXIT_FAILED, "sample: %s", strerror(errno));
    }
    int status = sample_started(request, &run, selection, models);
    spex_sample_program_close(&run);
    free(selection);
    free(models);
    if (run.program.untold)
        spex_complain(0, "sample: the end of the program cannot be told: %s",
                      strerror(-run.program.untold));
    if (run.program.by_signal)
        spex_launched_die_of(run.program.by_signal);
    return run.program.by_signal ? 128 + run.program.by_signal : status;
}

/* Has the program sample by a file of models, or for NULL by those with which it was started.
 * 0, or a negative errno value with the reason. */
static int send_models(const struct request *request, const char *models,
                       struct spex_error *error) {
    struct spex_profile_reader reader = {0};
    char *text = NULL;
    if (models && asprintf(&text, "%.6f %.9f %s", request->samples, request->share, models) < 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err =
        spex_client_ask(request->process, SPEX_CONTROL_MODELS, models ? text : "", &reader, error);
    free(text);
    spex_profile_reader_free(&reader);
    return err;
}

/* Takes records until the program ends, the time is over, or `stop_fd` is readable. 0 or a
 * negative errno value. poll takes milliseconds as an int, which 24 days overflow. */
static int follow_process(const struct request *request, struct spex_attached *attached,
                          struct spex_sampled *sampled, int stop_fd, struct spex_error *error) {
    const double end = request->seconds > 0 ? request->seconds : INFINITY;
    for (bool over = false; !over;) {
        double left = end - spex_attached_seconds(attached);
        over = left <= 0 || spex_attached_over(attached) ||
               spex_attached_wait(attached, stop_fd,
                                  left < INT_MAX / 1000 ? (int)(left * 1000) + 1 : -1);
        int more;
        do
            more = take_records(attached->receiver, sampled, over, error);
        while (more > 0 && over && spex_attached_rest(attached));
        if (more < 0)
            return more;
    }
    return 0;
}

/* Sends the models before kernels are switched on, and restores both at the end, in the
 * opposite order. */
static int sample_attached(struct request *request, const char *models, int stop_fd) {
    struct spex_attached attached = {.process = 0};
    struct spex_sampled *sampled = NULL;
    struct spex_error error = {""};
    int err = send_models(request, models, &error);
    bool models_sent = !err;
    if (!err)
        err = spex_attach(&attached, request->process, NULL, &request->models, "@poll", &error);
    if (!err)
        err = spex_sampled_create(&sampled, &request->models,
                                  spex_receiver_kernels(attached.receiver), request->samples,
                                  attached.ticks_per_second);
    err = err ? err : follow_process(request, &attached, sampled, stop_fd, &error);
    int status = err ? spex_complain(SPEX_EXIT_FAILED, "sample: %s", error.text)
                     : print_account(request, sampled, spex_attached_seconds(&attached),
                                     spex_attached_lost(&attached));
    bool over = attached.process && spex_attached_over(&attached);
    if (attached.process)
        spex_detach(&attached);
    if (models_sent && !over)
        send_models(request, NULL, &error);
    spex_sampled_destroy(sampled);
    return status;
}

/* The path of the models is made absolute for the program, whose directory may be another. An
 * exit status. */
static int sample_process(struct request *request) {
    char *models = realpath(request->models_path, NULL);
    int stop_fd = spex_stop_signals_open();
    if (stop_fd < 0 || !models) {
        free(models);
        return spex_complain(SPEX_EXIT_FAILED, "sample: %s", strerror(errno));
    }
    int status = sample_attached(request, models, stop_fd);
    close(stop_fd);
    free(models);
    return status;
}

/* The table has characters that are not ASCII, whose width depends on the locale. */
int spex_command_sample(int argc, char **argv) {
    struct request request = {.samples = SPEX_SAMPLES_DEFAULT};
    setlocale(LC_CTYPE, "");
    int status = sample_parse(argc, argv, &request);
    if (status == SPEX_EXIT_OK)
        status = spex_models_file_read(request.models_path, &request.models);
    if (status == SPEX_EXIT_OK)
        status = request_open_output(&request);
    if (status == SPEX_EXIT_OK)
        status = request.process ? sample_process(&request) : sample_program(&request);
    spex_models_free(&request.models);
    return status;
}
