/* SPDX-License-Identifier: MIT */
/* Answers that are compressed, for clients that ask for it. */
#ifndef SPEX_TOOLS_SERVE_GZIP_H
#define SPEX_TOOLS_SERVE_GZIP_H

#include <stdbool.h>
#include <stddef.h>

/* Texts that are shorter are not worth it: they are one packet anyhow. */
enum { SPEX_GZIP_LEAST = 1024 };

/* Whether a client with this header `Accept-Encoding`, which may be NULL, takes gzip. */
bool spex_gzip_is_accepted(const char *accept);

/* The text compressed, to be freed, and its length; NULL: there was no memory for it. */
char *spex_gzip_text(const char *text, size_t bytes, size_t *compressed);

/* A stream, which is compressed part by part. NULL: there was no memory. */
struct spex_gzip *spex_gzip_begin(void);
void spex_gzip_end(struct spex_gzip *gzip);

/* As spex_gzip_text: the next part, which can be read when it has come. Where there is no memory it is
 * left out. */
char *spex_gzip_part(struct spex_gzip *gzip, const char *text, size_t bytes, size_t *compressed);

#endif
