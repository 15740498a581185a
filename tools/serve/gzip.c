/* SPDX-License-Identifier: MIT */
#include "tools/serve/gzip.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

/* Whether the parameters of an encoding say `q=0`: that it is not wanted. */
static bool is_refused(const char *parameters, size_t length) {
    const char *end = parameters + length;
    const char *at = memchr(parameters, ';', length);
    if (!at)
        return false;
    at += 1 + strspn(at + 1, " \t");
    return at + 2 < end && strncasecmp(at, "q=", 2) == 0 && strtod(at + 2, NULL) <= 0;
}

bool spex_gzip_is_accepted(const char *accept) {
    static const char name[] = "gzip";
    while (accept && *accept) {
        accept += strspn(accept, ", \t");
        size_t length = strcspn(accept, ","), of_name = strcspn(accept, ",; \t");
        if (of_name == strlen(name) && strncasecmp(accept, name, of_name) == 0)
            return !is_refused(accept + of_name, length - of_name);
        accept += length;
    }
    return false;
}

struct spex_gzip {
    z_stream stream;
};

struct spex_gzip *spex_gzip_begin(void) {
    struct spex_gzip *gzip = calloc(1, sizeof(*gzip));
    /* 15 + 16: a window of 32 KiB, and gzip's header. The fastest level: it holds up the server. */
    if (gzip && deflateInit2(&gzip->stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8,
                             Z_DEFAULT_STRATEGY) == Z_OK)
        return gzip;
    free(gzip);
    return NULL;
}

void spex_gzip_end(struct spex_gzip *gzip) {
    if (gzip)
        deflateEnd(&gzip->stream);
    free(gzip);
}

/* Room for all of it is made, so that one call compresses it. */
static char *compress_part(struct spex_gzip *gzip, const char *text, size_t bytes, int flush,
                           size_t *compressed) {
    z_stream *stream = &gzip->stream;
    /* More than zlib's compressBound tells, for gzip's header and end. */
    size_t room = bytes + bytes / 1000 + 64;
    char *to = room < UINT_MAX ? malloc(room) : NULL;
    if (!to)
        return NULL;
    /* zlib's member is not const where ZLIB_CONST is not defined. */
    stream->next_in = (Bytef *)(uintptr_t)text;
    stream->avail_in = (uInt)bytes;
    stream->next_out = (Bytef *)to;
    stream->avail_out = (uInt)room;
    int status = deflate(stream, flush);
    *compressed = room - stream->avail_out;
    if (status == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) && stream->avail_out)
        return to;
    free(to);
    return NULL;
}

char *spex_gzip_part(struct spex_gzip *gzip, const char *text, size_t bytes, size_t *compressed) {
    return compress_part(gzip, text, bytes, Z_SYNC_FLUSH, compressed);
}

char *spex_gzip_text(const char *text, size_t bytes, size_t *compressed) {
    struct spex_gzip *gzip = spex_gzip_begin();
    char *to = gzip ? compress_part(gzip, text, bytes, Z_FINISH, compressed) : NULL;
    spex_gzip_end(gzip);
    return to;
}
