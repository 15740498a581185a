/* SPDX-License-Identifier: MIT */
/* The reason of a failure: one line for a person. The function that fails writes it, and its
 * callers pass it up to the one that shows it. */
#ifndef SPEX_TEXT_ERROR_H
#define SPEX_TEXT_ERROR_H

#include <assert.h>
#include <errno.h>

struct spex_error {
    /* Ends with a 0; a longer line is cut. */
    char text[512];
};

/* Writes the line, as printf, and makes it printable: it may quote a file or another process. */
__attribute__((format(printf, 2, 3))) void spex_error_set(struct spex_error *error,
                                                          const char *format, ...);

/* A failure's own value: that of a success, or an errno with the wrong sign, would hide it. */
static inline int spex_failed(int err) {
    assert(err < 0);
    return err < 0 ? err : -EIO;
}

/* Writes the line, and has the value `err`, for `return spex_fail(error, -EINVAL, "…")`. The
 * analyzer does not look into spex_failed, and would think of 0. */
#ifdef __clang_analyzer__
#define spex_failed(err) (err)
#endif
#define spex_fail(error, err, ...) (spex_error_set((error), __VA_ARGS__), spex_failed(err))

#endif
