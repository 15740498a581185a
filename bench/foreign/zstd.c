/* SPDX-License-Identifier: MIT */
/* Compresses blocks of 4 KiB of text that repeats itself in part, and decompresses them again, as a
 * database does with its pages. The probes are in the library (zstd.patch): around the search for
 * matches and the entropy coder of each block, and at each sequence that is decompressed. */
#include <err.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "budget_random.h"
#include "budget_workload.h"

enum { PAGES = 1024, PAGE = 4096, LEVEL = 3, WORDS = 512 };

struct pages {
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
    unsigned next;
    char text[PAGES][PAGE];
    char compressed[2 * PAGE];
    char back[PAGE];
};

/* Words of 3 to 9 letters: the same ones again and again, the first ones more often. */
static void fill(char *text, uint64_t *random) {
    for (size_t at = 0; at < PAGE;) {
        uint32_t word = budget_random(random, 1 + budget_random(random, WORDS));
        uint64_t letters = word + 1;
        for (uint32_t l = 0; l < 3 + word % 7 && at < PAGE; l++)
            text[at++] = (char)('a' + budget_random(&letters, 26));
        if (at < PAGE)
            text[at++] = ' ';
    }
}

static void *zstd_prepare(void) {
    struct pages *pages = calloc(1, sizeof(*pages));
    uint64_t random = 1;
    if (!pages || !(pages->compressor = ZSTD_createCCtx()) ||
        !(pages->decompressor = ZSTD_createDCtx()))
        errx(1, "zstd: out of memory");
    for (int p = 0; p < PAGES; p++)
        fill(pages->text[p], &random);
    return pages;
}

static unsigned zstd_work(void *state) {
    struct pages *pages = state;
    const char *text = pages->text[pages->next++ % PAGES];
    size_t size = ZSTD_compressCCtx(pages->compressor, pages->compressed, sizeof(pages->compressed),
                                    text, PAGE, LEVEL);
    size_t back = ZSTD_isError(size) ? 0
                                     : ZSTD_decompressDCtx(pages->decompressor, pages->back, PAGE,
                                                           pages->compressed, size);
    if (back != PAGE || memcmp(pages->back, text, PAGE) != 0)
        errx(1, "zstd: a page is not what it was");
    return 1;
}

const struct budget_workload budget_object = {"zstd", zstd_prepare, zstd_work};
