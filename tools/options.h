/* SPDX-License-Identifier: MIT */
/* The command line of a command: a table of its options, each with the place that its argument goes to. */
#ifndef SPEX_OPTIONS_H
#define SPEX_OPTIONS_H

#include <stdbool.h>
#include <sys/types.h>

/* An option has a name, a letter or both. With a flag it takes no argument; else its argument goes to each of the other
 * places that are not NULL. */
struct spex_option {
    /* Without "--". */
    const char *name;
    char letter;

    bool *flag;
    const char **text;
    double *number;
    unsigned long *count;
    pid_t *process;

    /* Of a number that has no `read`, and of a count. */
    struct {
        double least, most;
    } range;
    bool (*read)(const char *text, double *number);
    /* The message about another number or count: "seconds were expected". */
    const char *error;

    /* Judges the argument and says what is wrong with it: an exit status. `origin` is the option, "--name" or "-n". */
    int (*check)(const char *command, const char *origin, const char *text);
};

/* Where options end. */
enum spex_options_end {
    /* Nowhere: they may stand between and after operands. */
    SPEX_OPTIONS_ANYWHERE,
    /* At the first operand: what follows belongs to that. */
    SPEX_OPTIONS_FIRST,
    /* At "--": what follows is a program with its arguments. */
    SPEX_OPTIONS_PROGRAM
};

struct spex_syntax {
    const char *command;
    const char *usage;
    /* The message about fewer operands than `least` or more than `most`: "one process was expected". */
    const char *expected;
    int least, most;
    enum spex_options_end end;
};

struct spex_operands {
    char **list;
    int count;
    /* Ends with NULL, which is the first without a program. */
    char **program;
};

/* Takes the options, a table that ends with one of neither name nor letter, and finds the operands. Every command has
 * --help and -h, too, which end the process. SPEX_EXIT_OK, or another status after a message. */
int spex_options_take(const struct spex_syntax *syntax, const struct spex_option *options, int argc,
                      char **argv, struct spex_operands *operands);

#endif
