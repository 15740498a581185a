/* SPDX-License-Identifier: MIT */
/* What there is to compress: the journal of a few servers, the same for the same seed. Lines of
 * several kinds, with users and paths of which few are frequent, and now and then a stack trace or
 * a settings dump that has been there before, near or far. */
#ifndef COMPRESS_JOURNAL_H
#define COMPRESS_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

/* Fills all of it; the last line may be cut. */
void journal_write(char *text, size_t size, uint64_t seed);

#endif
