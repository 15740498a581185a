/* SPDX-License-Identifier: MIT */
/* Why something failed: one line for a person, carried up to where it is shown. */
#ifndef SPEX_TEXT_ERROR_H
#define SPEX_TEXT_ERROR_H

struct spex_error {
    char text[512];
};

__attribute__((format(printf, 2, 3))) void spex_error_set(struct spex_error *why,
                                                          const char *format, ...);

/* Writes the line; its value is `err`, so that a function can end with it. */
#define spex_fail(why, err, ...) (spex_error_set((why), __VA_ARGS__), (err))

#endif
