/* SPDX-License-Identifier: MIT */
/* `spex train`: runs a program as often as a plan says, or follows a running one, and writes
 * the models of its kernels. */
#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "explore/train.h"
#include "model/fit/training.h"
#include "profile/columns.h"
#include "rate/budget.h"
#include "text/printable.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/duration.h"
#include "tools/common/functions_argument.h"
#include "tools/common/models_file.h"
#include "tools/common/options.h"
#include "tools/common/process_argument.h"
#include "tools/common/stop_signals.h"
#include "tools/functions/function_watch.h"
#include "tools/models/next_run.h"
#include "tools/models/train_functions.h"
#include "tools/models/train_json.h"
#include "tools/models/train_running.h"

static const char train_usage[] =
    "usage: spex train MODELS [--runs PLAN.xml] [--probes SELECTION]\n"
    "                  [--functions GLOBS] [--least SECONDS] [--next RANGES] [--json]\n"
    "                  -- PROGRAM [ARGUMENT…]\n"
    "       spex train MODELS --pid PID [--for TIME] [--probes SELECTION]\n"
    "                  [--least SECONDS] [--next RANGES] [--json]\n"
    "       spex train MODELS --pid PID -e FUNCTIONS [-b PERCENT] [--for TIME]\n"
    "                  [--least SECONDS] [--next RANGES] [--json]\n"
    "       spex train MODELS -e FUNCTIONS [-b PERCENT] [--least SECONDS]\n"
    "                  -- PROGRAM [ARGUMENT…]\n"
    "\n"
    "Runs PROGRAM to its end with its kernels on, fits a model of the time to each of\n"
    "them in each of its calling contexts, and writes all of them to the file MODELS.\n"
    "\n"
    "  --runs PLAN.xml     run it once for each configuration of this space, as often\n"
    "                      as its trials_per_config says; {NAME} in an argument is\n"
    "                      the value of that parameter. Kernels without parameters\n"
    "                      have those of the space that are numbers. Without it,\n"
    "                      PROGRAM runs once.\n"
    "  --probes SELECTION  the kernels to train; all of them (\"*:kernel\") otherwise\n"
    "  --functions GLOBS   makes kernels of these functions, in a program that was\n"
    "                      compiled with -finstrument-functions\n"
    "  --least SECONDS     leaves out kernels that take less on average, such as 1e-6\n"
    "\n"
    "  --next RANGES       \"n=1..65536,m=1..16\": the last line says with which\n"
    "                      parameters, within these ranges, a next run would teach\n"
    "                      most; within what was trained otherwise\n"
    "  --json              prints the models, the account and the next run as JSON\n"
    "\n"
    "  --pid PID           train from what the running program PID does, until it\n"
    "                      ends, for SECONDS, or until Ctrl-C; MODELS is written\n"
    "                      every minute and at the end\n"
    "  --for TIME          with --pid: for how long\n"
    "\n"
    "  -e FUNCTIONS        trains functions of a program that was built without spex,\n"
    "                      once, with their arguments by place, such as\n"
    "                      'func:crc32_z(_,_,len)'; see spex attach --help\n"
    "  -b, --budget PERCENT  with -e: how much of the program's CPU time it may take;\n"
    "                        2% when absent\n"
    "\n"
    "Without -e, PROGRAM must have been built with spex, and have kernels (spex\n"
    "probes PROGRAM).\n";

static const struct spex_syntax train_syntax = {
    "train", train_usage, "one file for the models was expected", 1, 1, SPEX_OPTIONS_PROGRAM};

struct request {
    const char *models;
    double least_seconds;
    struct spex_train_options options;
    /* The last progress, for the account. Its text is valid during the call only. */
    struct spex_train_progress last;
    /* The running program to follow; 0: the program is to be run. */
    pid_t process;
    /* For how long it is followed; 0: no limit. */
    double seconds;
    /* NULL: ranges are those of the training. */
    const char *next;
    struct spex_value_ranges ranges;
    bool json;
    /* NULL: its kernels. */
    const char *functions;
    double budget;
    /* A selection that was said. */
    const char *kernels;
};

/* Options that do not go together, and the selection. An exit status. */
static int request_check(struct request *request) {
    bool has_program = *request->options.argv;
    if (request->functions && request->options.plan)
        return spex_complain(SPEX_EXIT_USAGE, "train: -e and --runs do not go together");
    if (request->functions && request->kernels)
        return spex_complain(SPEX_EXIT_USAGE, "train: -e and --probes do not go together");
    if (request->budget > 0 && !request->functions)
        return spex_complain(SPEX_EXIT_USAGE, "train: -b goes with -e");
    if (request->process && (has_program || request->options.plan))
        return spex_complain(SPEX_EXIT_USAGE,
                             "train: either --pid or a program to be run was expected, not both");
    if (!request->process && request->seconds > 0)
        return spex_complain(SPEX_EXIT_USAGE, "train: --for goes with --pid");
    if (!request->process && !has_program)
        return spex_complain(SPEX_EXIT_USAGE, "train: \"-- PROGRAM\" was expected");
    int status = request->functions
                     ? SPEX_EXIT_OK
                     : spex_probes_argument("train", "--probes", request->options.probes);
    return status || !request->next
               ? status
               : spex_value_ranges_read(&request->ranges, "train", "--next", request->next);
}

/* An exit status. */
static int train_parse(int argc, char **argv, struct request *request) {
    const struct spex_option known[] = {
        {"runs", .text = &request->options.plan},
        {"probes", .text = &request->kernels},
        {.letter = 'e', .text = &request->functions},
        {"budget", 'b', .number = &request->budget, .read = spex_budget_parse,
         .error = SPEX_BUDGET_EXPECTED},
        {"functions", .check = spex_functions_argument},
        {"least", .number = &request->least_seconds, .range = {0, DBL_MAX},
         .error = "seconds were expected, such as 1e-6"},
        {"pid", .process = &request->process},
        {"for", .number = &request->seconds, .read = spex_duration_read,
         .error = SPEX_DURATION_EXPECTED},
        {"next", .text = &request->next},
        {"json", .flag = &request->json},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&train_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    request->models = operands.list[0];
    request->options.argv = operands.program;
    if (request->kernels)
        request->options.probes = request->kernels;
    return request_check(request);
}

/* Keeps the progress, and prints each failure. The reason of a failure comes from the program,
 * and may have any bytes. */
static void take_progress(void *user, const struct spex_train_progress *progress) {
    struct request *request = user;
    char text[1024];
    request->last = *progress;
    if (!progress->failure)
        return;
    snprintf(text, sizeof(text), "%s", progress->failure);
    spex_make_printable(text);
    fprintf(stderr, "spex: run %llu of %llu failed: %s\n", (unsigned long long)progress->done,
            (unsigned long long)progress->runs, text);
}

/* A table of the kernels with their models. */
static void print_models(const struct spex_models *models) {
    static const char *const headings[] = {"kernel", "executions", "class", "adjusted R²",
                                           "time in seconds"};
    struct spex_columns columns;
    char text[1024];
    spex_columns_init(&columns, headings, 5, 1u << 0 | 1u << 2 | 1u << 4);
    for (size_t k = 0; k < models->count; k++) {
        const struct spex_kernel_model *kernel = &models->items[k];
        const char *const *names = (const char *const *)kernel->names;
        spex_columns_add(&columns, "%s", kernel->path);
        spex_columns_add(&columns, "%.0f", kernel->executions);
        spex_columns_add(&columns, "%s", spex_model_class_name(kernel->model.class));
        spex_columns_add(&columns, "%.4f", kernel->model.adjusted_r2);
        spex_model_shown(&kernel->model, names, text, sizeof(text));
        spex_columns_add(&columns, "%s", text);
    }
    columns.folded = true;
    spex_columns_print_within(&columns, stdout, &(struct spex_columns_room){.texts = 1});
    size_t alone = spex_models_without_class(models);
    if (alone)
        fprintf(
            stderr,
            "spex: the time of %zu of %zu kernels does not follow from their parameters (class "
            "unknown): others may tell it; as it is, spex watch judges single executions of these "
            "by what is usual\n",
            alone, models->count);
}

/* Names in --next that no kernel has are of no use. */
static void tell_names(const struct request *request, const struct spex_models *models) {
    for (size_t r = 0; r < request->ranges.count; r++) {
        bool found = false;
        for (size_t k = 0; k < models->count; k++)
            for (size_t p = 0; p < models->items[k].model.parameter_count; p++)
                found |= strcmp(models->items[k].names[p], request->ranges.items[r].name) == 0;
        if (!found)
            fprintf(stderr, "spex: --next: no kernel has a parameter \"%s\"\n",
                    request->ranges.items[r].name);
    }
}

/* An exit status. */
static int print_result(const struct request *request, const struct spex_models *models) {
    struct spex_next_run next = spex_next_run(models, &request->ranges);
    int status = SPEX_EXIT_OK;
    if (request->json) {
        status = spex_train_print_json(models, &request->last, &next);
    } else {
        print_models(models);
        spex_next_run_print(&next);
    }
    tell_names(request, models);
    int err = status ? 0 : spex_written(stdout);
    return err ? spex_complain(SPEX_EXIT_FAILED, "the models cannot be printed: %s", strerror(-err))
               : status;
}

/* Records that are left out have a time that is not that of the kernel alone. */
static void print_account(const struct spex_train_progress *last) {
    fprintf(stderr, "spex: %llu run%s, %llu failed; %llu records of kernels, %llu lost\n",
            (unsigned long long)last->done, last->done == 1 ? "" : "s",
            (unsigned long long)last->failed, (unsigned long long)last->records,
            (unsigned long long)last->lost);
    if (last->left_out)
        fprintf(stderr,
                "spex: %llu records left out: their time holds what was prepared meanwhile, or "
                "there was no room for their context\n",
                (unsigned long long)last->left_out);
}

/* Fits and writes the models after the runs. Nothing is written when no run succeeded or no
 * kernel has a record. An exit status. */
static int models_write(const struct request *request, const struct spex_training *training) {
    const struct spex_train_progress *last = &request->last;
    struct spex_models models;
    if (last->failed == last->done)
        return spex_complain(SPEX_EXIT_FAILED, "no run has come to a good end; nothing is written");
    if (last->records == 0)
        return spex_complain(SPEX_EXIT_FAILED,
                             "no kernel has made a record; spex probes lists what the program has");
    size_t left_out;
    int err = spex_training_fit(training, request->least_seconds, &models, &left_out);
    int status =
        err ? spex_complain(SPEX_EXIT_FAILED, "the models cannot be fitted: %s", strerror(-err))
            : spex_models_file_write(request->models, &models);
    if (!status) {
        status = print_result(request, &models);
        print_account(last);
        spex_train_tell_left_out(left_out, request->least_seconds);
    }
    spex_models_free(&models);
    return status;
}

/* Trains from a program that runs already. An exit status. */
static int train_running(const struct request *request, struct spex_training *training) {
    const struct spex_train_running running = {
        .process = request->process,
        .probes = request->functions ? request->functions : request->options.probes,
        .models = request->models,
        .least_seconds = request->least_seconds,
        .seconds = request->seconds,
        .stop_fd = request->options.stop_fd,
    };
    struct spex_models models = {.count = 0};
    double budget = request->budget > 0 ? request->budget : SPEX_FUNCTIONS_BUDGET;
    int status = request->functions
                     ? spex_train_functions(&running, budget,
                                            request->process ? NULL : request->options.argv,
                                            training, &models)
                     : spex_train_running(&running, training, &models);
    if (status == SPEX_EXIT_OK)
        status = print_result(request, &models);
    spex_models_free(&models);
    return status;
}

/* An exit status. */
static int train_runs(struct request *request, struct spex_training *training) {
    struct spex_error error = {""};
    int err = spex_train(&request->options, training, &error);
    if (err == -EINTR)
        return spex_complain(SPEX_EXIT_INTERRUPTED, "interrupted; nothing is written");
    return err ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text)
               : models_write(request, training);
}

/* The training always has the same seed, so that the same records give the same models. */
int spex_command_train(int argc, char **argv) {
    struct request request = {
        .options = {.probes = "*:kernel", .progress = take_progress, .user = &request}};
    struct spex_training *training = NULL;
    int status = train_parse(argc, argv, &request);
    request.options.stop_fd = status ? -1 : spex_stop_signals_open();
    if (!status && request.options.stop_fd < 0)
        status = spex_complain(SPEX_EXIT_FAILED, "cannot wait for signals: %s", strerror(errno));
    if (!status && spex_training_create(&training, 1) != 0)
        status = spex_complain(SPEX_EXIT_FAILED, "out of memory");
    if (!status)
        status = request.process || request.functions ? train_running(&request, training)
                                                      : train_runs(&request, training);
    spex_training_destroy(training);
    if (request.options.stop_fd >= 0)
        close(request.options.stop_fd);
    spex_value_ranges_free(&request.ranges);
    return status;
}
