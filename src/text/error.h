/* SPDX-License-Identifier: MIT */
/* The reason of a failure: one line for a person. The function that fails writes it, and its
 * callers pass it up to the one that shows it. */
#ifndef SPEX_TEXT_ERROR_H
#define SPEX_TEXT_ERROR_H

struct spex_error {
    /* Ends with a 0; a longer line is cut. */
    char text[512];
};

/* Writes the line, as printf, and makes it printable: it may quote a file or another process. */
__attribute__((format(printf, 2, 3))) void spex_error_set(struct spex_error *error,
                                                          const char *format, ...);

/* Writes the line, and has the value `err`, for `return spex_fail(error, -EINVAL, "…")`. */
#define spex_fail(error, err, ...) (spex_error_set((error), __VA_ARGS__), (err))

#endif
