/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/config.h>

static const char help[] =
    "usage: taxi --make PAGE_SIZES [--db-dir DIR] [--rows N]\n"
    "       taxi [OPTION]...\n"
    "Queries a database of taxi trips until SIGTERM or SIGINT.\n"
    "\n"
    "  --make PAGE_SIZES    make the databases with these page sizes in bytes (4096,65536)\n"
    "  --db-dir DIR         where the databases are (.)\n"
    "  --rows N             trips in the database (1000000)\n"
    "  --page-size BYTES    (4096)\n"
    "  --cache-mb MB        page cache, of all threads when shared, of each when private (16)\n"
    "  --threads N          (1)\n"
    "  --cache-mode MODE    shared or private (shared)\n"
    "  --mmap-mb MB         of the database to map into memory (0)\n"
    "  --time SECONDS       run for so long, then print the throughput as JSON\n"
    "  --warmup SECONDS     the part of --time that does not count (0.1)\n"
    "\n"
    "With SPEX_CONFIG set, the configuration of `spex explore` replaces --page-size to "
    "--mmap-mb.\n";

struct range {
    const char *name; /* in a configuration */
    int64_t low, high;
};

static const struct range page_size_range = {"page_size", 512, 65536};
static const struct range cache_range = {"cache_memory", 1, 1 << 20};
static const struct range threads_range = {"threads", 1, 256};
static const struct range mmap_range = {"mmap", 0, 1 << 20};
static const struct range rows_range = {"rows", 10000, 1000000000};

static int64_t integer(const char *option, const char *text, const struct range *range) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < range->low || value > range->high)
        errx(2, "--%s: \"%s\" is not an integer of %lld to %lld", option, text,
             (long long)range->low, (long long)range->high);
    return value;
}

static double seconds(const char *option, const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= 0 && value <= 86400))
        errx(2, "--%s: \"%s\" is not a number of seconds of 0 to 86400", option, text);
    return value;
}

static bool is_shared(const char *source, const char *text) {
    if (strcmp(text, "shared") != 0 && strcmp(text, "private") != 0)
        errx(2, "%s: \"%s\" is neither shared nor private", source, text);
    return strcmp(text, "shared") == 0;
}

static void set_option(struct settings *settings, const char *name, char option, const char *text) {
    switch (option) {
    case 'k':
        settings->make = text;
        break;
    case 'd':
        settings->database.dir = text;
        break;
    case 'r':
        settings->database.rows = integer(name, text, &rows_range);
        break;
    case 'p':
        settings->database.page_size = integer(name, text, &page_size_range);
        break;
    case 'c':
        settings->tuning.cache_mb = integer(name, text, &cache_range);
        break;
    case 't':
        settings->threads = integer(name, text, &threads_range);
        break;
    case 'o':
        settings->tuning.shared = is_shared("--cache-mode", text);
        break;
    case 'm':
        settings->tuning.mmap_mb = integer(name, text, &mmap_range);
        break;
    case 's':
        settings->seconds = seconds(name, text);
        break;
    default:
        settings->warmup_seconds = seconds(name, text);
        break;
    }
}

static void read_options(struct settings *settings, int argc, char **argv) {
    static const struct option options[] = {
        {"make", required_argument, NULL, 'k'},
        {"db-dir", required_argument, NULL, 'd'},
        {"rows", required_argument, NULL, 'r'},
        {"page-size", required_argument, NULL, 'p'},
        {"cache-mb", required_argument, NULL, 'c'},
        {"threads", required_argument, NULL, 't'},
        {"cache-mode", required_argument, NULL, 'o'},
        {"mmap-mb", required_argument, NULL, 'm'},
        {"time", required_argument, NULL, 's'},
        {"warmup", required_argument, NULL, 'w'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int index = 0, option;
    while ((option = getopt_long(argc, argv, "", options, &index)) != -1) {
        if (option == '?')
            exit(2);
        if (option == 'h') {
            fputs(help, stdout);
            exit(0);
        }
        set_option(settings, options[index].name, (char)option, optarg);
    }
    if (optind < argc)
        errx(2, "\"%s\" is not an option; see --help", argv[optind]);
    if (settings->seconds > 0 && settings->seconds <= settings->warmup_seconds)
        errx(2, "--time must be longer than --warmup (%g s)", settings->warmup_seconds);
}

static void receive_integer(const struct spex_config *config, const struct range *range,
                            bool optional, int64_t *value) {
    char why[256];
    int err =
        spex_config_integer(config, range->name, range->low, range->high, value, why, sizeof(why));
    if (err && !(optional && err == -ENOENT))
        errx(1, "SPEX_CONFIG: %s", why);
}

/* The configuration agent. */
static void receive_configuration(struct settings *settings) {
    char why[256];
    struct spex_config *config;
    int err = spex_config_receive(&config, why, sizeof(why));
    if (err == -ENOENT && !getenv("SPEX_CONFIG"))
        return;
    if (err)
        errx(1, "SPEX_CONFIG: %s", why);
    settings->tuning.mmap_mb = 0;
    receive_integer(config, &page_size_range, false, &settings->database.page_size);
    receive_integer(config, &cache_range, false, &settings->tuning.cache_mb);
    receive_integer(config, &threads_range, false, &settings->threads);
    receive_integer(config, &mmap_range, true, &settings->tuning.mmap_mb);
    const char *mode = spex_config_text(config, "cache_mode");
    settings->tuning.shared = !mode || is_shared("SPEX_CONFIG: cache_mode", mode);
    spex_config_free(config);
}

static bool is_page_size(int64_t size) {
    return size >= page_size_range.low && size <= page_size_range.high && !(size & (size - 1));
}

int64_t settings_next_page_size(const char **list) {
    if (!**list)
        return 0;
    char *end = (char *)*list;
    long long size = isdigit((unsigned char)*end) ? strtoll(*list, &end, 10) : 0;
    if (!is_page_size(size) || (*end && *end != ',') || (*end && !end[1]))
        errx(2, "--make: \"%s\" is no list of page sizes, powers of two of 512 to 65536", *list);
    *list = *end ? end + 1 : end;
    return size;
}

void settings_read(struct settings *settings, int argc, char **argv) {
    *settings = (struct settings){
        .database = {.dir = ".", .page_size = 4096, .rows = 1000000},
        .tuning = {.cache_mb = 16, .shared = true},
        .threads = 1,
        .warmup_seconds = 0.1,
    };
    read_options(settings, argc, argv);
    if (settings->make)
        return;
    receive_configuration(settings);
    if (!is_page_size(settings->database.page_size))
        errx(2, "page size: %lld is not a power of two", (long long)settings->database.page_size);
}
