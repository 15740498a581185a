/* SPDX-License-Identifier: MIT */
/* `spex attach`: counts and times functions of a running program that needs nothing of spex. Breakpoints
 * of the kernel do it, which end with this process, however it ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/table.h"
#include "rate/budget.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/duration.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/output_file.h"
#include "tools/common/process_argument.h"
#include "tools/common/profile_json.h"
#include "tools/common/stop_signals.h"
#include "tools/functions/function_report.h"

static const char attach_usage[] =
    "usage: spex attach PID|NAME -e FUNCTIONS [--for TIME] [-b PERCENT] [-o OUT]\n"
    "                   [--json] [--verbose]\n"
    "\n"
    "Counts and times functions of a running program that was built without spex,\n"
    "counts its USDT probes, and prints a table in the end. Nothing is put into the\n"
    "program, unless :slots or :patch is asked for: the kernel has breakpoints there,\n"
    "until this command ends. Needs root, or the capabilities BPF, PERFMON and\n"
    "SYS_PTRACE.\n"
    "\n"
    "  -e FUNCTIONS          which ones, separated by commas:\n"
    "                          func:NAME            in the program or any library\n"
    "                          func:OBJECT:NAME     in this one, such as libc.so.6\n"
    "                          func:OBJECT+0xADDRESS  by an address, as nm and\n"
    "                                                 objdump print it\n"
    "                          func:NAME(_,_,n)     with integer arguments as values,\n"
    "                                               by place; n:i32 or n:u32: of 32\n"
    "                                               bits\n"
    "                          usdt:PROVIDER:NAME   a USDT probe, at all its sites\n"
    "                        NAME, PROVIDER and OBJECT may have * ? and […]. Behind a\n"
    "                        function :cnt, executions, as without, :lat, times, too;\n"
    "                        for some nanoseconds each (x86-64) :slots, calls through\n"
    "                        slots of other objects, or :patch, executions by a jump\n"
    "                        at its beginning\n"
    "  --for TIME            for so long, such as 60s; until Ctrl-C, or the program\n"
    "                        ends, when absent\n"
    "  -b, --budget PERCENT  how much of the program's CPU time it may take; 2% when\n"
    "                        absent. What does not fit is on in slices of the time.\n"
    "                        100%: all is on all the time\n"
    "  -o OUT                where the table goes: a file, or - for standard output,\n"
    "                        as when absent\n"
    "  --json                JSON instead of the table\n"
    "  --verbose             more notes below the table\n"
    "\n"
    "  spex attach redis-server -e 'func:malloc,func:*Command:lat' --for 10s\n"
    "\n"
    "`spex probes` can list the functions of a process, with what a hit of each\n"
    "costs.\n";

static const struct spex_syntax attach_syntax = {
    "attach", attach_usage, "a process was expected", 1, 1, SPEX_OPTIONS_ANYWHERE};

struct request {
    const char *out;
    bool json, verbose;
    struct spex_function_watch_request watch;
};

static int attach_parse(int argc, char **argv, struct request *request) {
    const struct spex_option known[] = {
        {.letter = 'e', .text = &request->watch.functions},
        {"for", .number = &request->watch.seconds, .read = spex_duration_read,
         .error = SPEX_DURATION_EXPECTED},
        {"budget", 'b', .number = &request->watch.budget, .read = spex_budget_parse,
         .error = SPEX_BUDGET_EXPECTED},
        {.letter = 'o', .text = &request->out},
        {"json", .flag = &request->json},
        {"verbose", .flag = &request->verbose},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&attach_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    if (!request->watch.functions)
        return spex_complain(SPEX_EXIT_USAGE, "attach: functions were expected, such as -e "
                                              "func:malloc; see spex attach --help");
    return spex_called_process("attach", operands.list[0], &request->watch.process);
}

int spex_command_attach(int argc, char **argv) {
    struct request request = {.watch = {.command = "attach",
                                        .seconds = SPEX_FUNCTIONS_SECONDS,
                                        .budget = SPEX_FUNCTIONS_BUDGET}};
    struct spex_function_watch watch;
    struct spex_output_file output;
    int status = attach_parse(argc, argv, &request);
    if (status)
        return status;
    int err = spex_output_file_open(&output, request.out, SPEX_OUTPUT_DOCUMENT, stdout);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "attach: cannot open %s: %s", request.out,
                             strerror(-err));
    request.watch.stop_fd = spex_stop_signals_open();
    status = spex_function_watch_open(&watch, &request.watch);
    if (!status) {
        while (spex_function_watch_goes_on(&watch))
            ;
        status = spex_function_report(&watch, &output, request.json, request.verbose);
    }
    spex_function_watch_close(&watch);
    return status;
}
