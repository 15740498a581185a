/* SPDX-License-Identifier: MIT */
/* The `spex` program: calls the command that its first argument names. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <spex/version.h>

#include "observe/launch.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/nearest.h"
#include "tools/common/options.h"
#include "tools/list/complete.h"

/* In alphabetical order, as --help prints them. */
static const struct {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"agent", "switch on what the policy of a fleet wants on this host", spex_command_agent},
    {"attach", "count and time functions of any running program", spex_command_attach},
    {"bench", "run benchmarks, and compare two programs", spex_command_bench},
    {"dump", "write what the flight recorder of a program has", spex_command_dump},
    {"explain", "tell what changes from one configuration to another", spex_command_explain},
    {"explore", "find the best configuration of a program", spex_command_explore},
    {"export", "write a trace in the format of another tool", spex_command_export},
    {"fit", "find how a time depends on parameters", spex_command_fit},
    {"fleet", "lead a fleet; check its policy, and try it out", spex_command_fleet},
    {"list", "list the running programs that can be controlled", spex_command_list},
    {"models", "tell what kinds of kernels a program has", spex_command_models},
    {"plan", "say which events to trace and which to sample", spex_command_plan},
    {"probes", "list the probes of a program or process", spex_command_probes},
    {"record", "keep the records of a program as a trace", spex_command_record},
    {"report", "tell what an exploration has found", spex_command_report},
    {"run", "run a program with probes on", spex_command_run},
    {"sample", "sample kernels as often as their models say", spex_command_sample},
    {"serve", "tell others over HTTP what running programs measure", spex_command_serve},
    {"set", "change which probes of a running program are on", spex_command_set},
    {"stats", "print the table of a trace, or compare two", spex_command_stats},
    {"top", "show the probes of a running program live", spex_command_top},
    {"train", "find models of the time of a program's kernels", spex_command_train},
    {"watch", "tell when kernels of a running program take too long", spex_command_watch},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Lists the commands, each with its summary. */
static void print_help(FILE *out) {
    fputs("usage: spex COMMAND …\n\n", out);
    for (size_t c = 0; c < COMMANDS; c++)
        fprintf(out, "  %-10s %s\n", commands[c].name, commands[c].summary);
    fputs("\n`spex COMMAND --help` tells more; `spex --version` the version.\n", out);
}

/* Puts /dev/null in the place of a closed standard stream, so that no other file gets its number
 * and with it what the command prints. It is opened the wrong way round: reading and writing
 * fail, as they would with a closed stream. Programs that are run do not inherit it. */
static void fill_standard_streams(void) {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0)
            open("/dev/null", (stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

static int print_version(void) {
    puts("spex " SPEX_VERSION);
    return spex_help_written();
}

static int index_of(const char *name) {
    size_t c = 0;
    while (c < COMMANDS && strcmp(name, commands[c].name) != 0)
        c++;
    return c < COMMANDS ? (int)c : -1;
}

static int complain_unknown(const char *name) {
    struct spex_nearest nearest = spex_nearest_to(name);
    for (size_t c = 0; c < COMMANDS; c++)
        spex_nearest_look(&nearest, commands[c].name);
    if (nearest.found)
        return spex_complain(SPEX_EXIT_USAGE, "unknown command \"%s\"; did you mean %s?", name,
                             nearest.found);
    return spex_complain(SPEX_EXIT_USAGE, "unknown command \"%s\"; see spex --help", name);
}

/* `spex complete WORD…`, for the completion of shells: prints what may stand in the place of the last
 * word. Nothing is printed where that is a file, or behind "--", where another program begins. */
static int complete(int count, char **words) {
    const char *typed = count ? words[count - 1] : "";
    for (size_t c = 0; c < COMMANDS && count < 2; c++)
        if (strncmp(commands[c].name, typed, strlen(typed)) == 0)
            puts(commands[c].name);
    int command = count > 1 ? index_of(words[0]) : -1;
    for (int w = 1; w + 1 < count; w++)
        if (strcmp(words[w], "--") == 0)
            command = -1;
    if (command < 0)
        return spex_help_written();
    /* Its first operand is a command of its own. */
    bool fleet = commands[command].run == spex_command_fleet;
    char *options[] = {words[0], (char[]){SPEX_OPTIONS_COMPLETE}, NULL, NULL};
    if (fleet && count > 2) {
        options[2] = options[1];
        options[1] = words[1];
    }
    if (typed[0] == '-' || (fleet && count == 2))
        return commands[command].run(options[2] ? 3 : 2, options);
    spex_complete_operand(words[0], count - 1, words + 1);
    return spex_help_written();
}

/* A command gets its name as argv[0], as getopt_long expects of a program. */
int main(int argc, char **argv) {
    fill_standard_streams();
    spex_launch_take_children();
    if (argc < 2) {
        print_help(stderr);
        return SPEX_EXIT_USAGE;
    }
    bool help = strcmp(argv[1], "help") == 0;
    if (strcmp(argv[1], "--help") == 0 || (help && argc == 2)) {
        print_help(stdout);
        return spex_help_written();
    }
    if (strcmp(argv[1], "--version") == 0)
        return print_version();
    if (strcmp(argv[1], "complete") == 0)
        return complete(argc - 2, argv + 2);
    int command = index_of(argv[help ? 2 : 1]);
    if (command < 0)
        return complain_unknown(argv[help ? 2 : 1]);
    if (help)
        return commands[command].run(2, (char *[]){argv[2], (char[]){"--help"}, NULL});
    return commands[command].run(argc - 1, argv + 1);
}
