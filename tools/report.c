/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>

#include <spex/explore.h>

#include "command.h"

static const char usage[] =
    "usage: spex report FILE.db [--json] [--heatmap FILE.svg]\n"
    "\n"
    "Best and worst configuration with their spread, and the best by thread count.\n"
    "\n"
    "  --json              the same as one JSON object, with every trial\n"
    "  --heatmap FILE.svg  draws the objective over the space's two axes (needs gnuplot)\n";

int spex_command_report(int argc, char **argv) {
    static const struct option known[] = {{"json", no_argument, NULL, 'j'},
                                          {"heatmap", required_argument, NULL, 'm'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct spex_report_options options = {.size = sizeof(options), .text = stdout};
    char why[512];
    for (int option; (option = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
        switch (option) {
        case 'j':
            options.text = NULL;
            options.json = stdout;
            break;
        case 'm':
            options.heatmap = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            return SPEX_EXIT_OK;
        default:
            fputs(usage, stderr);
            return SPEX_EXIT_USAGE;
        }
    }
    if (argc - optind != 1) {
        fputs(usage, stderr);
        return spex_complain(SPEX_EXIT_USAGE, "report: one store was expected, not %d",
                             argc - optind);
    }
    options.store = argv[optind];
    if (spex_report(&options, why, sizeof(why)) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "%s", why);
    return SPEX_EXIT_OK;
}
