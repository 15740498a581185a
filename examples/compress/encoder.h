/* SPDX-License-Identifier: MIT */
/* A thread's zstd: compresses independent blocks, each a frame of its own. Functions end the
 * program with one line when zstd refuses. */
#ifndef COMPRESS_ENCODER_H
#define COMPRESS_ENCODER_H

#include <stdbool.h>
#include <stddef.h>

#define PIECE_SIZE 4096 /* bytes given to zstd at a time, as they come from a file or a pipe */

struct encoder_settings {
    int level;
    int window_log;
    int strategy; /* ZSTD_strategy, or 0: the level's */
    bool long_distance;
    const void *dictionary; /* NULL: none */
    size_t dictionary_size;
    size_t block_size;
};

struct encoder;

struct encoder *encoder_new(const struct encoder_settings *settings);
void encoder_free(struct encoder *encoder);

/* Compresses block_size bytes; the size that they have then. */
size_t encoder_block(struct encoder *encoder, const char *block);

/* Makes a dictionary of at most `size` bytes from text; its size. */
size_t encoder_train(void *dictionary, size_t size, const char *text, size_t text_size);

#endif
