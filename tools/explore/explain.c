/* SPDX-License-Identifier: MIT */
/* `spex explain`: reads the command line, and calls spex_explain. */
#include <stdio.h>

#include <spex/explore.h>

#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/options.h"

static const char explain_usage[] =
    "usage: spex explain FILE.db A B [--all] [--json]\n"
    "\n"
    "Two configurations side by side, in all that their trials recorded: what changed\n"
    "with the setting. What changed most, and surely, comes first.\n"
    "\n"
    "  A, B    best, worst, #17 for the configuration of trial 17, or as many of its\n"
    "          values as make it the only one that was run: threads=4,cache=16\n"
    "  --all   also what has not changed, as far as the trials can tell\n"
    "  --json  as one JSON object, with everything\n";

static const struct spex_syntax explain_syntax = {
    "explain", explain_usage,        "a store and two configurations were expected", 3,
    3,         SPEX_OPTIONS_ANYWHERE};

/* Exactly one of `text` and `json` is set: the stream that spex_explain writes to. */
int spex_command_explain(int argc, char **argv) {
    bool json = false;
    struct spex_explain_options options = {.size = sizeof(options)};
    const struct spex_option known[] = {
        {"all", .flag = &options.all}, {"json", .flag = &json}, {.name = NULL}};
    struct spex_operands operands;
    char why[512];
    int status = spex_options_take(&explain_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    *(json ? &options.json : &options.text) = stdout;
    options.store = operands.list[0];
    options.a = operands.list[1];
    options.b = operands.list[2];
    if (spex_explain(&options, why, sizeof(why)) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "%s", why);
    return SPEX_EXIT_OK;
}
