/* SPDX-License-Identifier: MIT */
/* Reads the command line of a command by a table of its options. */
#ifndef SPEX_TOOLS_COMMON_OPTIONS_H
#define SPEX_TOOLS_COMMON_OPTIONS_H

#include <stdbool.h>
#include <sys/types.h>

/* The arguments of options that may be there several times, in their order, with the name of each
 * one's option. */
enum { SPEX_OPTION_TEXTS_MAX = 64 };

struct spex_option_texts {
    const char *names[SPEX_OPTION_TEXTS_MAX], *texts[SPEX_OPTION_TEXTS_MAX];
    unsigned count;
};

/* An option has a name, a letter or both. With `flag` it takes no argument; otherwise its argument
 * is stored through each of the other pointers that is not NULL. */
struct spex_option {
    /* Without the leading "--". */
    const char *name;
    char letter;

    bool *flag;
    const char **text;
    struct spex_option_texts *texts;
    double *number;
    unsigned long *count;
    pid_t *process;

    /* The range of a count, and of a number without `read`. */
    struct {
        double least, most;
    } range;
    bool (*read)(const char *text, double *number);
    /* For the message about a number or count that is refused: "seconds were expected". */
    const char *error;

    /* Checks the argument: an exit status, after a message unless it is SPEX_EXIT_OK. `origin` is
     * the option as users know it, "--name" or "-n". */
    int (*check)(const char *command, const char *origin, const char *text);
};

/* Where the options of a command end. */
enum spex_options_end {
    /* Options may stand anywhere, also between and after operands. */
    SPEX_OPTIONS_ANYWHERE,
    /* Options end at the first operand: what follows belongs to that. */
    SPEX_OPTIONS_FIRST,
    /* Options and operands end at "--": what follows is a program with its arguments. */
    SPEX_OPTIONS_PROGRAM
};

struct spex_syntax {
    const char *command;
    const char *usage;
    /* For the message about fewer operands than `least` or more than `most`. */
    const char *expected;
    int least, most;
    enum spex_options_end end;
};

struct spex_operands {
    char **list;
    int count;
    /* The program and its arguments, up to NULL; NULL comes first where there is no program. */
    char **program;
};

/* The only argument of a command that is to print its options, each on a line, for completion in
 * shells. */
#define SPEX_OPTIONS_COMPLETE "--complete"

/* What stands in messages on budgets. */
#define SPEX_BUDGET_EXPECTED                                                                       \
    "a percentage of the program's CPU time, above 0% and up to 100%, was expected, such as 2%"
#define SPEX_THREAD_BUDGET_EXPECTED                                                                \
    "a percentage of a thread's time, above 0% and up to 100%, was expected, such as 2%"

/* Stores the options' arguments and finds the operands. The table ends with an option without name
 * and letter. Every command also has --help and -h, which print the usage and end the process, as
 * SPEX_OPTIONS_COMPLETE does.
 * SPEX_EXIT_OK, or another status after a message. */
int spex_options_take(const struct spex_syntax *syntax, const struct spex_option *options, int argc,
                      char **argv, struct spex_operands *operands);

#endif
