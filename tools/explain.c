/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>

#include <spex/explore.h>

#include "command.h"

static const char usage[] =
    "usage: spex explain FILE.db A B [--all] [--json]\n"
    "\n"
    "Two configurations side by side, in all that their trials recorded: what changed with the\n"
    "setting. What changed most, and surely, comes first.\n"
    "\n"
    "  A, B    best, worst, #17 for the configuration of trial 17, or as many of its values as\n"
    "          make it the only one that was run: threads=4,cache=16\n"
    "  --all   also what has not changed, as far as the trials can tell\n"
    "  --json  as one JSON object, with everything\n";

int spex_command_explain(int argc, char **argv) {
    static const struct option known[] = {{"all", no_argument, NULL, 'a'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct spex_explain_options options = {.size = sizeof(options), .text = stdout};
    char why[512];
    for (int option; (option = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
        switch (option) {
        case 'a':
            options.all = true;
            break;
        case 'j':
            options.text = NULL;
            options.json = stdout;
            break;
        case 'h':
            fputs(usage, stdout);
            return SPEX_EXIT_OK;
        default:
            fputs(usage, stderr);
            return SPEX_EXIT_USAGE;
        }
    }
    if (argc - optind != 3) {
        fputs(usage, stderr);
        return spex_complain(SPEX_EXIT_USAGE,
                             "explain: a store and two configurations were expected");
    }
    options.store = argv[optind];
    options.a = argv[optind + 1];
    options.b = argv[optind + 2];
    if (spex_explain(&options, why, sizeof(why)) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "%s", why);
    return SPEX_EXIT_OK;
}
