/* SPDX-License-Identifier: MIT */
#include "tools/run/run_functions.h"

#include <stdio.h>
#include <string.h>

#include "tools/common/complain.h"
#include "tools/functions/function_report.h"
#include "tools/functions/function_run.h"

static int watch_all(struct spex_function_watch *watch, struct spex_function_run *program,
                     const struct spex_run_functions *run, struct spex_output_file *output) {
    while (spex_function_watch_goes_on(watch))
        ;
    int status = spex_function_run_wait(program);
    int reported = spex_function_report(watch, output, run->json, run->verbose);
    return status ? status : reported;
}

int spex_run_functions(struct spex_run_functions *run) {
    struct spex_function_watch_request request = {.command = "run",
                                                  .functions = run->functions,
                                                  .budget = run->budget > 0 ? run->budget
                                                                            : SPEX_FUNCTIONS_BUDGET,
                                                  .seconds = SPEX_FUNCTIONS_SECONDS};
    struct spex_function_run program;
    struct spex_function_watch watch;
    struct spex_output_file output;
    int err = spex_output_file_open(&output, run->out, SPEX_OUTPUT_DOCUMENT, stderr);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "run: cannot open %s: %s", run->out, strerror(-err));
    int status = spex_function_run_start(&program, run->argv, &request);
    if (status)
        return status;
    status = spex_function_watch_open(&watch, &request);
    if (status) {
        spex_function_run_give_up(&program);
    } else {
        status = watch_all(&watch, &program, run, &output);
        run->by_signal = program.program.by_signal;
    }
    spex_function_watch_close(&watch);
    return status;
}
