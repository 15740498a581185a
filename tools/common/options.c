/* SPDX-License-Identifier: MIT */
/* Turns a table of options into the tables of getopt_long, and stores the arguments where the
 * table says. */
#include "tools/common/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/complain.h"
#include "tools/common/nearest.h"
#include "tools/common/process_argument.h"

enum { OPTIONS_MAX = 32 };

/* getopt_long returns an option with a name as this plus its index in the table, which is above
 * every letter. */
enum { FIRST_NAME = 256 };

/* A table of options in the form that getopt_long takes. --help has an entry besides those of
 * the table. */
struct getopt_tables {
    struct option names[OPTIONS_MAX + 2];
    char letters[2 * OPTIONS_MAX + 4];
};

static bool is_last(const struct spex_option *option) {
    return !option->name && !option->letter;
}

/* `first`: options end at the first operand, which a leading "+" tells getopt_long. Behind it, ":"
 * has it return that where an argument is missing. */
static void make_getopt_tables(const struct spex_option *options, bool first,
                               struct getopt_tables *tables) {
    struct option *name = tables->names;
    char *letter = tables->letters;
    if (first)
        *letter++ = '+';
    *letter++ = ':';
    *letter++ = 'h';
    *name++ = (struct option){"help", no_argument, NULL, 'h'};
    for (int o = 0; !is_last(&options[o]) && o < OPTIONS_MAX; o++) {
        const struct spex_option *option = &options[o];
        if (option->name)
            *name++ = (struct option){option->name, option->flag ? no_argument : required_argument,
                                      NULL, FIRST_NAME + o};
        if (option->letter)
            *letter++ = option->letter;
        if (option->letter && !option->flag)
            *letter++ = ':';
    }
}

/* The option for a value that getopt_long has returned. */
static const struct spex_option *find_option(const struct spex_option *options, int found) {
    if (found >= FIRST_NAME)
        return &options[found - FIRST_NAME];
    while (options->letter != found)
        options++;
    return options;
}

/* Takes decimal numbers alone: strtod would accept "nan", "inf" and "0x1p3". */
static bool read_number(const struct spex_option *option, const char *text) {
    char *end;
    if (option->read)
        return option->read(text, option->number);
    if (text[strspn(text, "0123456789.eE+-")] != '\0')
        return false;
    *option->number = strtod(text, &end);
    return end != text && *end == '\0' && *option->number >= option->range.least &&
           *option->number <= option->range.most;
}

/* spex_is_number refuses a sign, which strtoul would accept. */
static bool read_count(const struct spex_option *option, const char *text) {
    if (!spex_is_number(text))
        return false;
    errno = 0;
    *option->count = strtoul(text, NULL, 10);
    return errno == 0 && (double)*option->count >= option->range.least &&
           (double)*option->count <= option->range.most;
}

static int take_text(const char *command, const struct spex_option *option, const char *text) {
    struct spex_option_texts *texts = option->texts;
    if (option->text)
        *option->text = text;
    if (!texts)
        return SPEX_EXIT_OK;
    if (texts->count == SPEX_OPTION_TEXTS_MAX)
        return spex_complain(SPEX_EXIT_USAGE, "%s: at most %d times --%s were expected", command,
                             SPEX_OPTION_TEXTS_MAX, option->name);
    texts->names[texts->count] = option->name;
    texts->texts[texts->count++] = text;
    return SPEX_EXIT_OK;
}

/* The message names the option with the argument as the user has typed it. */
static int take_option(const char *command, const struct spex_option *option, const char *text) {
    char origin[32];
    if (option->name)
        snprintf(origin, sizeof(origin), "--%s", option->name);
    else
        snprintf(origin, sizeof(origin), "-%c", option->letter);
    if (option->flag)
        *option->flag = true;
    int status = take_text(command, option, text);
    if (status)
        return status;
    if ((option->number && !read_number(option, text)) ||
        (option->count && !read_count(option, text)))
        return spex_complain(SPEX_EXIT_USAGE, "%s: %s %s: %s", command, origin, text,
                             option->error);
    if (option->process)
        return spex_process_argument(command, text, option->process);
    return option->check ? option->check(command, origin, text) : SPEX_EXIT_OK;
}

static void print_options(const struct spex_option *options) {
    for (; !is_last(options); options++) {
        if (options->letter)
            printf("-%c\n", options->letter);
        if (options->name)
            printf("--%s\n", options->name);
    }
    puts("-h\n--help");
}

/* The option with a name that is most like the one that was typed, perhaps with "=". */
static const char *nearest_name(const struct getopt_tables *tables, const char *typed) {
    char begun[64];
    snprintf(begun, sizeof(begun), "%.*s", (int)strcspn(typed, "="), typed);
    struct spex_nearest nearest = spex_nearest_to(begun);
    for (const struct option *name = tables->names; name->name; name++)
        spex_nearest_look(&nearest, name->name);
    return nearest.found;
}

/* `found`: what getopt_long has returned of an option that it cannot take. `optopt` has the option,
 * and 0 of a name that is not known, which then is `word`. */
static int refuse_option(const struct spex_syntax *syntax, const struct spex_option *options,
                         const struct getopt_tables *tables, int found, const char *word) {
    const char *command = syntax->command, *near = optopt ? NULL : nearest_name(tables, word + 2);
    char origin[64];
    if (optopt >= FIRST_NAME)
        snprintf(origin, sizeof(origin), "--%s", options[optopt - FIRST_NAME].name);
    else if (optopt)
        snprintf(origin, sizeof(origin), "-%c", optopt);
    else
        snprintf(origin, sizeof(origin), "%.*s", (int)strcspn(word, "="), word);
    if (found == ':')
        return spex_complain(SPEX_EXIT_USAGE, "%s: an argument of %s was expected", command,
                             origin);
    if (optopt == 'h')
        snprintf(origin, sizeof(origin), "--help");
    if (optopt >= FIRST_NAME || optopt == 'h')
        return spex_complain(SPEX_EXIT_USAGE, "%s: %s takes no argument", command, origin);
    if (near)
        return spex_complain(SPEX_EXIT_USAGE, "%s: there is no option %s; did you mean --%s?",
                             command, origin, near);
    return spex_complain(SPEX_EXIT_USAGE, "%s: there is no option %s; see spex %s --help", command,
                         origin, command);
}

/* --help ends the process here, so that no command needs to handle it. */
static int take_options(const struct spex_syntax *syntax, const struct spex_option *options,
                        int argc, char **argv) {
    struct getopt_tables tables = {.letters = ""};
    int status = SPEX_EXIT_OK, found;
    make_getopt_tables(options, syntax->end == SPEX_OPTIONS_FIRST, &tables);
    if (argc == 2 && strcmp(argv[1], SPEX_OPTIONS_COMPLETE) == 0) {
        print_options(options);
        exit(spex_help_written());
    }
    opterr = 0;
    while (!status && (found = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
        if (found == 'h') {
            fputs(syntax->usage, stdout);
            exit(spex_help_written());
        }
        if (found == '?' || found == ':')
            return refuse_option(syntax, options, &tables, found, argv[optind - 1]);
        status = take_option(syntax->command, find_option(options, found), optarg);
    }
    return status;
}

/* The index of "--", after which the program with its arguments follows; argc when there is
 * none. It is searched before getopt_long sees the arguments, since getopt_long would skip it
 * silently. */
static int find_separator(int argc, char **argv) {
    int separator = 1;
    while (separator < argc && strcmp(argv[separator], "--") != 0)
        separator++;
    return separator;
}

/* getopt_long has moved the operands behind the options, to argv[optind] and on. */
int spex_options_take(const struct spex_syntax *syntax, const struct spex_option *options, int argc,
                      char **argv, struct spex_operands *operands) {
    bool has_program = syntax->end == SPEX_OPTIONS_PROGRAM;
    int end = has_program ? find_separator(argc, argv) : argc;
    int status = take_options(syntax, options, end, argv);
    if (status)
        return status;
    operands->list = argv + optind;
    operands->count = end - optind;
    operands->program = argv + (end < argc ? end + 1 : argc);
    if (operands->count >= syntax->least && operands->count <= syntax->most)
        return SPEX_EXIT_OK;
    return spex_complain(SPEX_EXIT_USAGE, "%s: %s, not %d%s; see spex %s --help", syntax->command,
                         syntax->expected, operands->count,
                         has_program && end == argc ? "; the program goes after \"--\"" : "",
                         syntax->command);
}
