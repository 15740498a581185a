/* SPDX-License-Identifier: MIT */
/* `spex serve`: metrics of running programs over HTTP, and a page that shows them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/models_file.h"
#include "tools/common/options.h"
#include "tools/common/stop_signals.h"
#include "tools/serve/server.h"

static const char serve_usage[] =
    "usage: spex serve [PID… | NAME… | --all] [--store FILE.db] [--trace DIR]\n"
    "                  [--model MODELS] [--fleet FILE.db] [--listen ADDRESS:PORT]\n"
    "                  [--token-file FILE] [--cert FILE --key FILE | --behind-proxy]\n"
    "                  [--host NAME] [--max-probes COUNT] [--buckets 3|10]\n"
    "                  [--quantiles]\n"
    "\n"
    "Tells over HTTP what the probes of running programs have measured, for\n"
    "Prometheus and others at /metrics, and as a page for people at /: of these\n"
    "processes, of programs of these names, or of all that spex can control. The page\n"
    "also shows an exploration, models, and recorded traces. It runs until a signal\n"
    "ends it.\n"
    "\n"
    "  --all                  all programs, as without PID and NAME\n"
    "  --store FILE.db        the exploration of this store, which may still run; no\n"
    "                         programs, unless they are named or --all is given\n"
    "  --trace DIR            the traces in this folder, to be downloaded in other\n"
    "                         formats; the same holds for programs\n"
    "  --fleet FILE.db        what a fleet has measured, by the store of its master;\n"
    "                         the same holds for programs\n"
    "  --model MODELS         the models of this file; programs are watched for\n"
    "                         executions that take longer than they say, as by spex\n"
    "                         watch\n"
    "  --listen ADDRESS:PORT  where to listen; the default is 127.0.0.1:9797, which\n"
    "                         this machine alone can reach; a port of 0 is chosen by\n"
    "                         the system\n"
    "  --token-file FILE      who asks must send the token that this file holds\n"
    "  --cert FILE            TLS: the certificate, as PEM\n"
    "  --key FILE             TLS: its key\n"
    "  --behind-proxy         others can reach ADDRESS only through a proxy that adds\n"
    "                         TLS\n"
    "  --host NAME            the name by which the server is called\n"
    "  --max-probes COUNT     probes that get series, of all programs together; the\n"
    "                         default is 1000\n"
    "  --buckets 3|10         buckets of times a decade: with 3, the default, a\n"
    "                         quantile that others make of them may be off by a\n"
    "                         factor of 2.5, with 10 of 1.28\n"
    "  --quantiles            also p50, p90 and p99 of the last 10 s or more, as spex\n"
    "                         top has them, with their intervals\n";

static const struct spex_syntax serve_syntax = {
    "serve", serve_usage, "processes or names were expected", 0, 1000, SPEX_OPTIONS_ANYWHERE};

struct request {
    struct spex_server_settings settings;
    struct spex_wanted wanted;
    bool all;
    /* Programs are followed. */
    bool follows;
    unsigned long probes_max, buckets;
    bool quantiles;
};

/* A file that cannot be read is told before there is a server. */
static int models_check(const char *path) {
    struct spex_models models = {.count = 0};
    int status = path ? spex_models_file_read(path, &models) : SPEX_EXIT_OK;
    spex_models_free(&models);
    return status;
}

static int serve_parse(int argc, char **argv, struct request *request) {
    const struct spex_option known[] = {
        {.name = "all", .flag = &request->all},
        {.name = "store", .text = &request->settings.shown.store},
        {.name = "trace", .text = &request->settings.shown.traces},
        {.name = "fleet", .text = &request->settings.shown.fleet},
        {.name = "model", .text = &request->settings.shown.models},
        {.name = "listen", .text = &request->settings.listen},
        {.name = "token-file", .text = &request->settings.token_file},
        {.name = "cert", .text = &request->settings.cert_file},
        {.name = "key", .text = &request->settings.key_file},
        {.name = "behind-proxy", .flag = &request->settings.behind_proxy},
        {.name = "host", .text = &request->settings.host},
        {.name = "max-probes",
         .count = &request->probes_max,
         .range = {1, 100000},
         .error = "a number from 1 to 100000 was expected"},
        {.name = "buckets",
         .count = &request->buckets,
         .range = {SPEX_SUMS_COARSE, SPEX_SUMS_FINE},
         .error = "3 or 10 was expected"},
        {.name = "quantiles", .flag = &request->quantiles},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&serve_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    if (request->buckets != SPEX_SUMS_COARSE && request->buckets != SPEX_SUMS_FINE)
        return spex_complain(SPEX_EXIT_USAGE, "serve: --buckets: 3 or 10 was expected, not %lu",
                             request->buckets);
    if (request->all && operands.count)
        return spex_complain(SPEX_EXIT_USAGE, "serve: --all was expected without \"%s\"",
                             operands.list[0]);
    request->wanted = (struct spex_wanted){operands.list, (size_t)operands.count};
    request->follows = request->all || operands.count ||
                       !(request->settings.shown.store || request->settings.shown.traces ||
                         request->settings.shown.fleet);
    status = models_check(request->settings.shown.models);
    return status ? status : spex_wanted_check("serve", &request->wanted);
}

/* The line tells scripts where the server listens when a port was chosen. */
static int say_where(const struct spex_server *server, const struct request *request) {
    printf("http%s://%s/\n", request->settings.cert_file ? "s" : "", server->address);
    int err = spex_written(stdout);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "the address cannot be written: %s", strerror(-err));
    if (request->settings.behind_proxy)
        spex_complain(0, "serve: no TLS here: the token is secret only where a proxy adds it");
    return SPEX_EXIT_OK;
}

int spex_command_serve(int argc, char **argv) {
    struct request request = {
        .settings = {.listen = "127.0.0.1:9797"}, .probes_max = 1000, .buckets = SPEX_SUMS_COARSE};
    struct spex_error error;
    int status = serve_parse(argc, argv, &request);
    if (status)
        return status;
    struct spex_server server = {.programs = {.wanted = request.follows ? &request.wanted : NULL,
                                              .probes_max = request.probes_max,
                                              .quantiles = request.quantiles},
                                 .buckets = (unsigned)request.buckets,
                                 .shown = {.traces = -1}};
    int err = spex_server_open(&server, &request.settings, &error);
    if (err) {
        spex_server_close(&server);
        return spex_complain(err == -EINVAL ? SPEX_EXIT_USAGE : SPEX_EXIT_FAILED, "serve: %s",
                             error.text);
    }
    int stop = spex_stop_signals_open();
    status = say_where(&server, &request);
    if (!status) {
        err = stop < 0 ? stop : spex_server_run(&server, stop);
        if (err)
            status = spex_complain(SPEX_EXIT_FAILED, "serve: cannot go on: %s", strerror(-err));
    }
    spex_server_close(&server);
    return status;
}
