/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <spex/explore.h>

#include "command.h"

static const char usage[] =
    "usage: spex report FILE.db [--json | --csv FILE] [PICTURE…]\n"
    "       spex report A.db B.db [--json]\n"
    "\n"
    "The best configuration with its 95 % interval and those that are as good, the worst, what "
    "each\n"
    "parameter does, the Pareto front of several objectives, and how the best was found. Of two\n"
    "stores: whether they can be compared, and what changed from A to B.\n"
    "\n"
    "  --json               the same as one JSON object, with every trial\n"
    "  --csv FILE           a table with a row for each trial (RFC 4180); \"-\": on standard "
    "output\n"
    "  --html FILE          a page with all of it\n"
    "  --heatmap FILE       draws the objective over the space's two axes\n"
    "  --x NAME, --y NAME   parameters for the heat map's axes\n"
    "  --effects FILE       draws the objective over each parameter\n"
    "  --pareto FILE        draws the first objective against the others\n"
    "  --convergence FILE   draws the best so far over trials and seconds\n"
    "\n"
    "Pictures are PNG when FILE ends in .png, else SVG; they and the page need gnuplot.\n";

struct request {
    struct spex_report_options options;
    const char *csv; /* path, "-" or NULL */
};

static bool take_option(struct request *request, int option) {
    struct spex_report_options *options = &request->options;
    switch (option) {
    case 'j':
        options->text = NULL;
        options->json = stdout;
        return true;
    case 'v':
        request->csv = optarg;
        return true;
    case 'l':
        options->html = optarg;
        return true;
    case 'm':
        options->heatmap = optarg;
        return true;
    case 'x':
        options->heatmap_x = optarg;
        return true;
    case 'y':
        options->heatmap_y = optarg;
        return true;
    case 'e':
        options->effects = optarg;
        return true;
    case 'p':
        options->pareto = optarg;
        return true;
    case 'c':
        options->convergence = optarg;
        return true;
    default:
        return false;
    }
}

/* -1: help was asked for. */
static int parse(int argc, char **argv, struct request *request) {
    static const struct option known[] = {{"json", no_argument, NULL, 'j'},
                                          {"csv", required_argument, NULL, 'v'},
                                          {"html", required_argument, NULL, 'l'},
                                          {"heatmap", required_argument, NULL, 'm'},
                                          {"x", required_argument, NULL, 'x'},
                                          {"y", required_argument, NULL, 'y'},
                                          {"effects", required_argument, NULL, 'e'},
                                          {"pareto", required_argument, NULL, 'p'},
                                          {"convergence", required_argument, NULL, 'c'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
        if (option == 'h') {
            fputs(usage, stdout);
            return -1;
        }
        if (!take_option(request, option)) {
            fputs(usage, stderr);
            return SPEX_EXIT_USAGE;
        }
    }
    int stores = argc - optind;
    if (stores != 1 && stores != 2) {
        fputs(usage, stderr);
        return spex_complain(SPEX_EXIT_USAGE, "report: one store was expected, or two, not %d",
                             stores);
    }
    request->options.store = argv[optind];
    request->options.other = stores == 2 ? argv[optind + 1] : NULL;
    if ((request->options.heatmap_x || request->options.heatmap_y) && !request->options.heatmap &&
        !request->options.html)
        return spex_complain(SPEX_EXIT_USAGE, "report: --x and --y are for --heatmap or --html");
    if (request->csv && strcmp(request->csv, "-") == 0 && request->options.json)
        return spex_complain(SPEX_EXIT_USAGE,
                             "report: either --json or --csv - was expected on standard output");
    return SPEX_EXIT_OK;
}

/* A table on standard output is alone there. */
static int open_csv(struct request *request) {
    if (!request->csv)
        return SPEX_EXIT_OK;
    if (strcmp(request->csv, "-") == 0) {
        request->options.text = NULL;
        request->options.csv = stdout;
        return SPEX_EXIT_OK;
    }
    request->options.csv = fopen(request->csv, "we");
    if (!request->options.csv)
        return spex_complain(SPEX_EXIT_FAILED, "cannot write %s: %s", request->csv,
                             strerror(errno));
    return SPEX_EXIT_OK;
}

int spex_command_report(int argc, char **argv) {
    struct request request = {.options = {.size = sizeof(request.options), .text = stdout}};
    char why[512];
    int status = parse(argc, argv, &request);
    if (status)
        return status < 0 ? SPEX_EXIT_OK : status;
    status = open_csv(&request);
    if (!status && spex_report(&request.options, why, sizeof(why)) != 0)
        status = spex_complain(SPEX_EXIT_FAILED, "%s", why);
    FILE *csv = request.options.csv;
    if (csv && csv != stdout && fclose(csv) != 0 && !status)
        status =
            spex_complain(SPEX_EXIT_FAILED, "cannot write %s: %s", request.csv, strerror(errno));
    return status;
}
