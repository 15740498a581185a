/* SPDX-License-Identifier: MIT */
#include "encoder.h"

#include <err.h>
#include <stdlib.h>

#include <spex/probe.h>
#include <zdict.h>
#include <zstd.h>

#define SAMPLE_SIZE  PIECE_SIZE
#define SAMPLES_MOST 64 /* training takes milliseconds then */

struct encoder {
    ZSTD_CCtx *context;
    size_t block_size;
    size_t out_size;
    char *out;
};

static size_t check(const char *what, size_t result) {
    if (ZSTD_isError(result))
        errx(1, "%s: zstd: %s", what, ZSTD_getErrorName(result));
    return result;
}

static void set(struct encoder *encoder, ZSTD_cParameter parameter, const char *what, int value) {
    check(what, ZSTD_CCtx_setParameter(encoder->context, parameter, value));
}

static void configure(struct encoder *encoder, const struct encoder_settings *settings) {
    set(encoder, ZSTD_c_compressionLevel, "level", settings->level);
    set(encoder, ZSTD_c_windowLog, "window log", settings->window_log);
    set(encoder, ZSTD_c_strategy, "strategy", settings->strategy);
    set(encoder, ZSTD_c_enableLongDistanceMatching, "long-distance matching",
        settings->long_distance);
    if (settings->dictionary)
        check("dictionary", ZSTD_CCtx_loadDictionary(encoder->context, settings->dictionary,
                                                     settings->dictionary_size));
}

struct encoder *encoder_new(const struct encoder_settings *settings) {
    struct encoder *encoder = calloc(1, sizeof(*encoder));
    if (!encoder)
        errx(1, "out of memory");
    encoder->context = ZSTD_createCCtx();
    encoder->block_size = settings->block_size;
    encoder->out_size = ZSTD_compressBound(settings->block_size);
    encoder->out = malloc(encoder->out_size);
    if (!encoder->context || !encoder->out)
        errx(1, "out of memory");
    configure(encoder, settings);
    return encoder;
}

void encoder_free(struct encoder *encoder) {
    ZSTD_freeCCtx(encoder->context);
    free(encoder->out);
    free(encoder);
}

/* There is room for all that comes out, so that each call takes all that goes in. */
size_t encoder_block(struct encoder *encoder, const char *block) {
    ZSTD_outBuffer out = {encoder->out, encoder->out_size, 0};
    check("block", ZSTD_CCtx_reset(encoder->context, ZSTD_reset_session_only));
    check("block", ZSTD_CCtx_setPledgedSrcSize(encoder->context, encoder->block_size));
    for (size_t at = 0; at < encoder->block_size; at += PIECE_SIZE) {
        ZSTD_inBuffer in = {block + at, PIECE_SIZE, 0};
        bool last = at + PIECE_SIZE == encoder->block_size;
        SPEX_TPT_SCOPE("piece"); /* the same amount of work whatever the block size */
        check("block", ZSTD_compressStream2(encoder->context, &out, &in,
                                            last ? ZSTD_e_end : ZSTD_e_continue));
    }
    return out.pos;
}

size_t encoder_train(void *dictionary, size_t size, const char *text, size_t text_size) {
    size_t sizes[SAMPLES_MOST], count = text_size / SAMPLE_SIZE;
    count = count < SAMPLES_MOST ? count : SAMPLES_MOST;
    for (size_t i = 0; i < count; i++)
        sizes[i] = SAMPLE_SIZE;
    return check("dictionary",
                 ZDICT_trainFromBuffer(dictionary, size, text, sizes, (unsigned)count));
}
