/* SPDX-License-Identifier: MIT */
/* `spex report`: reads the command line, and calls spex_report, which writes to the streams and
 * files of its options. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/explore.h>

#include "base/files/whole_file.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/options.h"

static const char report_usage[] =
    "usage: spex report FILE.db [--json [--no-trials] | --csv FILE] [PICTURE…]\n"
    "       spex report A.db B.db [--json]\n"
    "\n"
    "The best configuration with its 95 % interval and those that are as good, the\n"
    "worst, what each parameter does, the Pareto front of several objectives, and how\n"
    "the best was found. Of two stores: whether they can be compared, and what\n"
    "changed from A to B.\n"
    "\n"
    "  --json               the same as one JSON object, with every trial\n"
    "  --no-trials          JSON without the trials\n"
    "  --csv FILE           a table with a row for each trial (RFC 4180); \"-\": on\n"
    "                       standard output\n"
    "  --html FILE          a page with all of it\n"
    "  --heatmap FILE       draws the objective over the space's two axes\n"
    "  --x NAME, --y NAME   parameters for the heat map's axes\n"
    "  --effects FILE       draws the objective over each parameter\n"
    "  --pareto FILE        draws the first objective against the others\n"
    "  --convergence FILE   draws the best so far over trials and seconds\n"
    "\n"
    "Pictures are PNG when FILE ends in .png, else SVG; they and the page need\n"
    "gnuplot.\n";

static const struct spex_syntax report_syntax = {
    "report", report_usage, "one store was expected, or two", 1, 2, SPEX_OPTIONS_ANYWHERE};

struct request {
    struct spex_report_options options;
    /* A path, "-" or NULL. */
    const char *csv;
    /* What goes into that file, when all of it is known. */
    char *table;
    size_t table_size;
};

/* Checks which options go together. An exit status. */
static int report_parse(int argc, char **argv, struct request *request) {
    struct spex_report_options *options = &request->options;
    bool json = false;
    const struct spex_option known[] = {
        {"json", .flag = &json},
        {"no-trials", .flag = &options->without_trials},
        {"csv", .text = &request->csv},
        {"html", .text = &options->html},
        {"heatmap", .text = &options->heatmap},
        {"x", .text = &options->heatmap_x},
        {"y", .text = &options->heatmap_y},
        {"effects", .text = &options->effects},
        {"pareto", .text = &options->pareto},
        {"convergence", .text = &options->convergence},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&report_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    *(json ? &options->json : &options->text) = stdout;
    options->store = operands.list[0];
    /* NULL when one store was given: the list ends with NULL. */
    options->other = operands.list[1];
    if ((options->heatmap_x || options->heatmap_y) && !options->heatmap && !options->html)
        return spex_complain(SPEX_EXIT_USAGE, "report: --x and --y are for --heatmap or --html");
    if (options->without_trials && !json)
        return spex_complain(SPEX_EXIT_USAGE, "report: --no-trials is for --json");
    if (json && request->csv && strcmp(request->csv, "-") == 0)
        return spex_complain(SPEX_EXIT_USAGE,
                             "report: either --json or --csv - was expected on standard output");
    return SPEX_EXIT_OK;
}

/* A table on standard output replaces the report as text; one for a file is kept in memory. */
static int open_csv(struct request *request) {
    if (!request->csv)
        return SPEX_EXIT_OK;
    if (strcmp(request->csv, "-") == 0) {
        request->options.text = NULL;
        request->options.csv = stdout;
        return SPEX_EXIT_OK;
    }
    request->options.csv = open_memstream(&request->table, &request->table_size);
    return request->options.csv ? SPEX_EXIT_OK : spex_complain(SPEX_EXIT_FAILED, "out of memory");
}

/* Writes the file of --csv, unless there is none or the report has failed. An exit status. */
static int write_csv(struct request *request, int status) {
    struct spex_error error = {"out of memory"};
    FILE *csv = request->options.csv;
    if (!csv || csv == stdout)
        return status;
    int err = fclose(csv) != 0 ? -ENOMEM : 0;
    if (!err && !status)
        err = spex_whole_file_write(request->csv, request->table, request->table_size, &error);
    free(request->table);
    return err && !status ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text) : status;
}

int spex_command_report(int argc, char **argv) {
    struct request request = {.options = {.size = sizeof(request.options)}};
    char why[512];
    int status = report_parse(argc, argv, &request);
    if (status)
        return status;
    status = open_csv(&request);
    if (!status && spex_report(&request.options, why, sizeof(why)) != 0)
        status = spex_complain(SPEX_EXIT_FAILED, "%s", why);
    return write_csv(&request, status);
}
