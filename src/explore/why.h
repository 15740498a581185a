/* SPDX-License-Identifier: MIT */
/* Why something failed: one line for a person, carried up to where it is shown. */
#ifndef SPEX_WHY_H
#define SPEX_WHY_H

struct spex_why {
    char text[512];
};

/* Writes the line and returns `err`, so that a function can end with it. */
__attribute__((format(printf, 3, 4))) int spex_fail(struct spex_why *why, int err,
                                                    const char *format, ...);

#endif
