/* SPDX-License-Identifier: MIT */
/* `spex fleet`: policies of fleets, checked and tried out in virtual time. */
#include "tools/fleet/fleet.h"

#include <stdio.h>
#include <string.h>

#include "tools/common/command.h"
#include "tools/common/complain.h"

int spex_command_fleet(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0) {
        fputs(spex_fleet_usage, stdout);
        return spex_help_written();
    }
    if (strcmp(what, "check") == 0)
        return spex_fleet_check(argc - 1, argv + 1);
    if (strcmp(what, "simulate") == 0)
        return spex_fleet_simulate(argc - 1, argv + 1);
    fputs(spex_fleet_usage, stderr);
    return spex_complain(SPEX_EXIT_USAGE, "fleet: check or simulate was expected, not \"%s\"",
                         what);
}
