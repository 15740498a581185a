/* SPDX-License-Identifier: MIT */
/* Fair shares of a budget: every probe may make as many records a second as any other, those that execute less often
 * all of theirs. So rare code is recorded in full, and what is busy pays. Pure. */
#ifndef SPEX_FAIR_H
#define SPEX_FAIR_H

#include <stdbool.h>
#include <stddef.h>

struct spex_fair_class {
    double frequency; /* executions a second */
    double most;      /* records a second: as selected */
    double least;     /* what it is given before others get more */
    double detect;    /* seconds for each execution, */
    double report;    /* and for each record besides */
    double records;   /* out: records a second */
    bool held;        /* out: it is to be off, since its executions alone cost too much */
};

/* `steady`: seconds a second that may be spent in the long run, by which it is decided who is held; `rate`: at present,
 * of which the records are paid, with a little of what is steady at least. */
void spex_fair_shares(struct spex_fair_class *classes, size_t count, double steady, double rate);

#endif
