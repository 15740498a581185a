/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MOST 32
#define HELP      1

static int64_t integer(const struct option_row *row, const char *text) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < row->low || value > row->high)
        errx(2, "--%s: \"%s\" is not an integer of %" PRId64 " to %" PRId64, row->name, text,
             row->low, row->high);
    return value;
}

static double seconds(const struct option_row *row, const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= 0 && value <= 86400))
        errx(2, "--%s: \"%s\" is not a number of seconds of 0 to 86400", row->name, text);
    return value;
}

static bool boolean(const struct option_row *row, const char *text) {
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(text, words[i]) == 0)
            return i % 2;
    errx(2, "--%s: \"%s\" is neither yes nor no", row->name, text);
}

static void list_choices(const struct option_row *row, char *list, size_t size) {
    size_t length = 0;
    list[0] = '\0';
    for (unsigned i = 0; row->choices[i] && length < size; i++)
        length +=
            (size_t)snprintf(list + length, size - length, "%s%s", i ? ", " : "", row->choices[i]);
}

static unsigned choice(const struct option_row *row, const char *text) {
    for (unsigned i = 0; row->choices[i]; i++)
        if (strcmp(text, row->choices[i]) == 0)
            return i;
    char list[256];
    list_choices(row, list, sizeof(list));
    errx(2, "--%s: \"%s\" is none of %s", row->name, text, list);
}

static void take(const struct option_row *row, const char *text) {
    switch (row->kind) {
    case OPTION_INTEGER:
        *(int64_t *)row->value = integer(row, text);
        break;
    case OPTION_BOOLEAN:
        *(bool *)row->value = boolean(row, text);
        break;
    case OPTION_CHOICE:
        *(unsigned *)row->value = choice(row, text);
        break;
    case OPTION_SECONDS:
        *(double *)row->value = seconds(row, text);
        break;
    case OPTION_TEXT:
        *(const char **)row->value = text;
        break;
    }
}

static void help_row(const struct option_row *row) {
    char list[256] = "";
    switch (row->kind) {
    case OPTION_INTEGER:
        printf("  --%-16s %s: %" PRId64 " to %" PRId64 " (%" PRId64 ")\n", row->name, row->help,
               row->low, row->high, *(int64_t *)row->value);
        break;
    case OPTION_BOOLEAN:
        printf("  --%-16s %s: yes or no (%s)\n", row->name, row->help,
               *(bool *)row->value ? "yes" : "no");
        break;
    case OPTION_CHOICE:
        list_choices(row, list, sizeof(list));
        printf("  --%-16s %s: %s (%s)\n", row->name, row->help, list,
               row->choices[*(unsigned *)row->value]);
        break;
    case OPTION_SECONDS:
        printf("  --%-16s %s (%g)\n", row->name, row->help, *(double *)row->value);
        break;
    case OPTION_TEXT:
        printf("  --%-16s %s (%s)\n", row->name, row->help, *(const char **)row->value);
        break;
    }
}

static _Noreturn void print_help(const char *summary, const struct option_row *rows, size_t count) {
    fputs(summary, stdout);
    for (size_t i = 0; i < count; i++)
        help_row(&rows[i]);
    exit(0);
}

void options_read(const char *summary, const struct option_row *rows, size_t count, int argc,
                  char **argv) {
    struct option options[ROWS_MOST + 2] = {{"help", no_argument, NULL, HELP}};
    if (count > ROWS_MOST)
        abort();
    for (size_t i = 0; i < count; i++)
        options[1 + i] = (struct option){rows[i].name, required_argument, NULL, 0};
    int index = 0, option;
    while ((option = getopt_long(argc, argv, "", options, &index)) != -1) {
        if (option == '?')
            exit(2);
        if (option == HELP)
            print_help(summary, rows, count);
        take(&rows[index - 1], optarg);
    }
    if (optind < argc)
        errx(2, "\"%s\" is not an option; see --help", argv[optind]);
}
