/* SPDX-License-Identifier: MIT */
/* Threads that compress a journal with zstd, in independent blocks, as a shipper of logs does. */
#include <err.h>
#include <stdlib.h>

#include <spex/spex.h>

#include "crew.h"
#include "encoder.h"
#include "journal.h"
#include "link.h"
#include "settings.h"

#define JOURNAL_SIZE    ((size_t)8 << 20) /* a multiple of every block size that is a power of two */
#define DICTIONARY_SIZE ((size_t)16 << 10)

struct worker {
    const char *journal;
    size_t at; /* where it begins */
    struct encoder_settings settings;
};

static size_t ship(struct encoder *encoder, const char *block) {
    SPEX_TPT_SCOPE("block");
    SPEX_LAT_SCOPE("block");
    SPEX_FLT_SCOPE("block");
    SPEX_CTXSW_SCOPE("block");
    size_t compressed = encoder_block(encoder, block);
    link_send(compressed);
    return compressed;
}

static void *work(void *argument) {
    const struct worker *worker = argument;
    size_t at = worker->at, size = worker->settings.block_size;
    struct encoder *encoder = encoder_new(&worker->settings);
    while (!crew_ends()) {
        at = at + size > JOURNAL_SIZE ? 0 : at;
        size_t compressed = ship(encoder, worker->journal + at);
        /* Compressed size per thousand bytes, and in bytes. */
        SPEX_SNAPSHOT("ratio", compressed * 1000 / size, compressed);
        at += size;
    }
    encoder_free(encoder);
    return NULL;
}

static struct encoder_settings encoder_settings(const struct settings *settings) {
    return (struct encoder_settings){
        .level = (int)settings->level,
        .window_log = (int)settings->window_log,
        .strategy = (int)settings->strategy,
        .long_distance = settings->long_distance,
        .block_size = (size_t)settings->block_kb << 10,
    };
}

static void run(const struct settings *settings, const char *journal) {
    static char dictionary[DICTIONARY_SIZE];
    size_t threads = (size_t)settings->threads;
    struct worker *workers = calloc(threads, sizeof(*workers));
    if (!workers)
        errx(1, "out of memory");
    struct encoder_settings for_all = encoder_settings(settings);
    if (settings->dictionary) {
        for_all.dictionary_size = encoder_train(dictionary, DICTIONARY_SIZE, journal, JOURNAL_SIZE);
        for_all.dictionary = dictionary;
    }
    for (size_t i = 0; i < threads; i++) {
        workers[i] = (struct worker){journal, JOURNAL_SIZE / threads * i, for_all};
        crew_add(work, &workers[i]);
    }
    crew_wait(settings->seconds);
    crew_join();
    free(workers);
}

int main(int argc, char **argv) {
    struct settings settings;
    settings_read(&settings, argc, argv);
    link_set_speed(settings.link_mb);
    char *journal = malloc(JOURNAL_SIZE);
    if (!journal)
        errx(1, "out of memory");
    journal_write(journal, JOURNAL_SIZE, (uint64_t)settings.seed);
    crew_prepare();
    spex_start(NULL);
    run(&settings, journal);
    spex_stop();
    free(journal);
    return 0;
}
