/* SPDX-License-Identifier: MIT */
/* `spex watch`: judges the executions of a running program's kernels, or functions, by their models,
 * and reports anomalies. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rate/budget.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/duration.h"
#include "tools/common/models_file.h"
#include "tools/common/options.h"
#include "tools/common/process_argument.h"
#include "tools/common/stop_signals.h"
#include "tools/models/watcher.h"

static const char watch_usage[] =
    "usage: spex watch MODELS --pid PID [--alarms RATE] [--probes SELECTION]\n"
    "                  [--for TIME] [--dump] [-o FILE] [--json]\n"
    "       spex watch MODELS --pid PID -e FUNCTIONS [-b PERCENT] [--alarms RATE]\n"
    "                  [--for TIME] [-o FILE] [--json]\n"
    "\n"
    "Switches on the kernels of the running program PID that MODELS, a file that spex\n"
    "train has written, knows; reports executions that take longer than usual for\n"
    "their kernel, and why, as far as the system tells; and restores the selection at\n"
    "the end.\n"
    "\n"
    "  --pid PID           the program\n"
    "  --model MODELS      the models, where PID stands in their place: spex watch\n"
    "                      PID --model MODELS\n"
    "  --alarms RATE       false alarms an execution, 1e-9 to 0.01; the default is\n"
    "                      1e-5\n"
    "  --probes SELECTION  the kernels to watch, instead of those that MODELS knows\n"
    "  -e FUNCTIONS        functions of a program that was built without spex, with\n"
    "                      their arguments, as spex train had them:\n"
    "                      'func:crc32_z(_,_,len)'; see spex attach --help\n"
    "  -b, --budget PERCENT  with -e: how much of the program's CPU time it may take;\n"
    "                      2% when absent\n"
    "  --for TIME          ends after so long; with the program or by Ctrl-C\n"
    "                      otherwise\n"
    "  --dump              has the program's flight recorder (man spex-record) write\n"
    "                      what came before each anomaly, when it begins\n"
    "  -o FILE             writes there instead of to standard output\n"
    "  --json              one JSON object a line\n"
    "\n"
    "Exit status: 0 when there was no anomaly, 3 when there was one.\n";

static const struct spex_syntax watch_syntax = {
    "watch", watch_usage, "one file of models was expected", 1, 1, SPEX_OPTIONS_ANYWHERE};

/* An exit status. */
static int watch_parse(int argc, char **argv, struct spex_watcher *watch) {
    const struct spex_option known[] = {
        {"pid", .process = &watch->process},
        {"model", .text = &watch->models_path},
        {"alarms", .number = &watch->alarms, .range = {1e-9, 0.01},
         .error = "1e-9 to 0.01 was expected"},
        {"probes", .text = &watch->probes, .check = spex_probes_argument},
        {.letter = 'e', .text = &watch->functions},
        {"budget", 'b', .number = &watch->budget, .read = spex_budget_parse,
         .error = SPEX_BUDGET_EXPECTED},
        {"for", .number = &watch->seconds, .read = spex_duration_read,
         .error = SPEX_DURATION_EXPECTED},
        {"dump", .flag = &watch->dump},
        {.letter = 'o', .text = &watch->out},
        {"json", .flag = &watch->output.json},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&watch_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    if (!watch->models_path == !watch->process)
        return spex_complain(SPEX_EXIT_USAGE, "watch: MODELS --pid PID was expected");
    if (watch->functions && (watch->probes || watch->dump))
        return spex_complain(SPEX_EXIT_USAGE, "watch: -e and %s do not go together",
                             watch->probes ? "--probes" : "--dump");
    if (watch->budget > 0 && !watch->functions)
        return spex_complain(SPEX_EXIT_USAGE, "watch: -b goes with -e");
    if (watch->models_path)
        return spex_process_argument("watch", operands.list[0], &watch->process);
    watch->models_path = operands.list[0];
    return SPEX_EXIT_OK;
}

/* An exit status. */
static int watch_open_output(struct spex_watcher *watch) {
    int err = spex_output_file_open(&watch->to, watch->out, SPEX_OUTPUT_LINES, stdout);
    watch->output.file = watch->to.file;
    return err ? spex_complain(SPEX_EXIT_FAILED, "%s: %s", watch->out, strerror(-err))
               : SPEX_EXIT_OK;
}

/* Closes the output at the end, which may find that its end could not be written. An exit
 * status. */
static int watch_run(struct spex_watcher *watch) {
    watch->stop_fd = spex_stop_signals_open();
    if (watch->stop_fd < 0)
        return spex_complain(SPEX_EXIT_FAILED, "cannot wait for signals: %s", strerror(errno));
    int status = spex_models_file_read(watch->models_path, &watch->models);
    size_t alone = spex_models_without_class(&watch->models);
    if (!status && alone)
        fprintf(stderr,
                "spex: the time of %zu of %zu kernels does not follow from parameters (class "
                "unknown): single executions of these are judged, by what is usual for them\n",
                alone, watch->models.count);
    if (!status)
        status = watch_open_output(watch);
    if (!status)
        status = watch->functions ? spex_watch_functions(watch) : spex_watch_kernels(watch);
    int err = watch->out && watch->to.file ? spex_output_file_close(&watch->to) : 0;
    if (err && status != SPEX_EXIT_FAILED)
        status = spex_complain(SPEX_EXIT_FAILED, "%s: %s", watch->out, strerror(-err));
    spex_models_free(&watch->models);
    close(watch->stop_fd);
    return status;
}

/* struct spex_watcher is allocated because it is large. The output has characters that are not ASCII. */
int spex_command_watch(int argc, char **argv) {
    struct spex_watcher *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    watch->alarms = 1e-5;
    setlocale(LC_CTYPE, "");
    int status = watch_parse(argc, argv, watch);
    if (status == SPEX_EXIT_OK)
        status = watch_run(watch);
    free(watch);
    return status;
}
