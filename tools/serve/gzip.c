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

/* Room for all of it is there, so that one call compresses it. */
static bool compress_into(const char *text, size_t bytes, char *to, size_t room, size_t *length) {
    /* zlib's member is not const where ZLIB_CONST is not defined. */
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)text, .avail_in = (uInt)bytes};
    /* 15 + 16: a window of 32 KiB, and gzip's header. The fastest level: it holds up the server. */
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    stream.next_out = (Bytef *)to;
    stream.avail_out = (uInt)room;
    bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
    *length = stream.total_out;
    deflateEnd(&stream);
    return whole;
}

char *spex_gzip_text(const char *text, size_t bytes, size_t *compressed) {
    /* More than zlib's compressBound tells, for gzip's header and end. */
    size_t room = bytes + bytes / 1000 + 64;
    char *to = room < UINT_MAX ? malloc(room) : NULL;
    if (to && compress_into(text, bytes, to, room, compressed))
        return to;
    free(to);
    return NULL;
}
