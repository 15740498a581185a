/* SPDX-License-Identifier: MIT */
/* `spex fleet`: policies of fleets, checked and tried out in virtual time; and the master. */
#include "tools/fleet/fleet.h"

#include <stdio.h>
#include <string.h>

#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/options.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"check", spex_fleet_check},   {"history", spex_fleet_history},   {"master", spex_fleet_master},
    {"models", spex_fleet_models}, {"simulate", spex_fleet_simulate}, {"status", spex_fleet_status},
    {"why", spex_fleet_why}};

int spex_command_fleet(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0) {
        fputs(spex_fleet_usage, stdout);
        return spex_help_written();
    }
    if (strcmp(what, SPEX_OPTIONS_COMPLETE) == 0) {
        for (size_t c = 0; c < sizeof(commands) / sizeof(*commands); c++)
            puts(commands[c].name);
        puts("-h\n--help");
        return spex_help_written();
    }
    for (size_t c = 0; c < sizeof(commands) / sizeof(*commands); c++)
        if (strcmp(what, commands[c].name) == 0)
            return commands[c].run(argc - 1, argv + 1);
    fputs(spex_fleet_usage, stderr);
    return spex_complain(SPEX_EXIT_USAGE,
                         "fleet: check, history, master, models, simulate, status or why was "
                         "expected, not \"%s\"",
                         what);
}
