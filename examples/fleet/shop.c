/* SPDX-License-Identifier: MIT */
/* A small web shop: one of the instances of a fleet. Each keeps its goods in SQLite and answers on
 * loopback, behind a balancer. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <spex/spex.h>

#include "crew.h"
#include "options.h"
#include "server.h"
#include "store.h"

struct options {
    const char *database;
    int64_t port, threads, items, wait_us;
    bool make;
};

static void read_options(struct options *options, int argc, char **argv) {
    const struct option_row rows[] = {
        {"database", OPTION_TEXT, &options->database, "the file with its goods", 0, 0, NULL},
        {"make", OPTION_BOOLEAN, &options->make, "make that file, and end", 0, 0, NULL},
        {"items", OPTION_INTEGER, &options->items, "items in a file that is made", 100, 10000000,
         NULL},
        {"port", OPTION_INTEGER, &options->port, "of 127.0.0.1", 1, 65535, NULL},
        {"threads", OPTION_INTEGER, &options->threads, "that write pages", 1, 64, NULL},
        {"wait-us", OPTION_INTEGER, &options->wait_us,
         "microseconds that a page waits for another machine", 0, 1000000, NULL},
    };
    *options = (struct options){
        .database = "shop.db", .port = 8080, .threads = 1, .items = 20000, .wait_us = 0};
    options_read("A web shop with probes, an instance of a fleet.\n\n", rows,
                 sizeof(rows) / sizeof(*rows), argc, argv);
}

static void run(const struct options *options) {
    struct server_settings settings = {.port = (uint16_t)options->port,
                                       .database = options->database,
                                       .wait_seconds = (double)options->wait_us * 1e-6};
    server_start(&settings);
    for (int64_t t = 0; t < options->threads; t++)
        crew_add(server_work, &settings);
    crew_wait(0);
    crew_join();
    server_stop();
}

int main(int argc, char **argv) {
    struct options options;
    read_options(&options, argc, argv);
    if (options.make)
        return !store_make(options.database, options.items);
    crew_prepare();
    spex_start(NULL);
    run(&options);
    spex_stop();
    return 0;
}
