/* SPDX-License-Identifier: MIT */
/* `spex dump`: has a program ask its flight recorder for a dump. */
#include "observe/control_client.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/options.h"
#include "tools/common/process_argument.h"

static const char dump_usage[] =
    "usage: spex dump PID [WHY]\n"
    "\n"
    "Asks the flight recorder of process PID (man spex-record) to write the last\n"
    "seconds to disk. WHY, a text, goes into the trace as a mark. A recording that is\n"
    "no flight recorder only gets the mark.\n";

static const struct spex_syntax dump_syntax = {
    "dump", dump_usage, "the number of a process was expected", 1, 2, SPEX_OPTIONS_ANYWHERE};

int spex_command_dump(int argc, char **argv) {
    const struct spex_option known[] = {{.name = NULL}};
    struct spex_operands operands;
    struct spex_error error = {""};
    pid_t process;
    int status = spex_options_take(&dump_syntax, known, argc, argv, &operands);
    status = status ? status : spex_process_argument("dump", operands.list[0], &process);
    if (status)
        return status;
    const char *why = operands.count > 1 ? operands.list[1] : "spex dump";
    if (spex_client_ask_dump(process, why, &error))
        return spex_complain(SPEX_EXIT_FAILED, "%s", error.text);
    return SPEX_EXIT_OK;
}
