/* SPDX-License-Identifier: MIT */
/* The heat map of Go and Colmenares, Figure 3, as a script for gnuplot: x and y are two parameters,
 * every combination of the others is a panel, the colour is the objective's mean. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report.h"

#define PANELS_MAX     256
#define PANEL_WIDTH    250
#define PANEL_HEIGHT   230
#define MARGIN_WIDTH   190
#define MARGIN_HEIGHT  120
#define SPACING_PIXELS 64

struct map {
    const struct spex_report_data *data;
    const struct spex_space *space;
    size_t x, y;
    size_t across; /* the first of the other parameters: one column of panels a level */
    size_t columns, rows;
    size_t width, height; /* pixels */
    const struct spex_group *best;
    size_t *levels; /* of the panel being written */
    FILE *script;
};

/* In single quotes gnuplot takes everything as it is; a quote is doubled. */
static void write_text(FILE *script, const char *text) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '\'')
            fputc(c, script);
        fputc(c < ' ' ? ' ' : c, script);
    }
}

static void write_axis(const struct map *map, const char *axis, size_t p) {
    const struct spex_parameter *parameter = &map->space->parameters[p];
    size_t every = parameter->count / 16 + 1; /* labels that still fit */
    fprintf(map->script, "set %slabel '", axis);
    write_text(map->script, parameter->name);
    if (parameter->unit[0]) {
        fputs(" [", map->script);
        write_text(map->script, parameter->unit);
        fputs("]", map->script);
    }
    fprintf(map->script, "'\nset %stics (", axis);
    for (size_t l = 0; l < parameter->count; l += every) {
        fprintf(map->script, "%s'", l ? ", " : "");
        write_text(map->script, parameter->values[l].text);
        fprintf(map->script, "' %zu", l);
    }
    fprintf(map->script, ") out nomirror scale 0.5\nset %srange [-0.5:%zu.5]\n", axis,
            parameter->count - 1);
}

static void write_preamble(const struct map *map) {
    static const char palette[] = /* viridis, darker is more */
        "set palette defined (0 '#fde725', 1 '#90d743', 2 '#35b779', 3 '#21918c', 4 '#31688e', "
        "5 '#443983', 6 '#440154')\n";
    const struct spex_group *best = map->best;
    const struct spex_group *worst = spex_summary_worst(map->data->summary);
    double low = best->criteria[0].mean < worst->criteria[0].mean ? best->criteria[0].mean
                                                                  : worst->criteria[0].mean;
    double high = best->criteria[0].mean < worst->criteria[0].mean ? worst->criteria[0].mean
                                                                   : best->criteria[0].mean;
    size_t width = map->width, height = map->height;
    if (high <= low)
        high = low + (low > 0 ? low : 1) * 1e-6;
    fprintf(map->script,
            "set terminal svg noenhanced size %zu,%zu background rgb 'white' font 'sans,11'\n"
            "set multiplot layout %zu,%zu rowsfirst margins screen %.4f,%.4f,%.4f,%.4f "
            "spacing screen %.4f,%.4f title '",
            width, height, map->rows, map->columns, 70.0 / (double)width, 1 - 120.0 / (double)width,
            55.0 / (double)height, 1 - 65.0 / (double)height,
            (double)SPACING_PIXELS / (double)width, (double)(SPACING_PIXELS + 20) / (double)height);
    write_text(map->script, map->space->name);
    fputs(": ", map->script);
    write_text(map->script, map->space->criteria[0].metric);
    fputs(" of ", map->script);
    write_text(map->script, map->space->criteria[0].probe);
    fputs("; a ring marks the best'\n", map->script);
    fputs(palette, map->script);
    fprintf(map->script,
            "set cbrange [%.17g:%.17g]\nset cblabel '%s%s%s'\nunset colorbox\nunset key\n", low,
            high, map->space->criteria[0].metric,
            *spex_criterion_unit(map->space->criteria) ? ", " : "",
            spex_criterion_unit(map->space->criteria));
    write_axis(map, "x", map->x);
    write_axis(map, "y", map->y);
}

static void write_panel_title(const struct map *map) {
    const char *separator = "";
    fputs("set title '", map->script);
    for (size_t p = 0; p < map->space->parameter_count; p++) {
        const struct spex_parameter *parameter = &map->space->parameters[p];
        if (p == map->x || p == map->y)
            continue;
        fputs(separator, map->script);
        write_text(map->script, parameter->name);
        fputc(' ', map->script);
        write_text(map->script, parameter->values[map->levels[p]].text);
        if (parameter->unit[0]) {
            fputc(' ', map->script);
            write_text(map->script, parameter->unit);
        }
        separator = ", ";
    }
    fputs("' offset 0,-0.7\n", map->script);
}

/* The panel's grid of means; "NaN" leaves a cell blank where no trial succeeded. */
static bool write_panel_data(const struct map *map, size_t panel) {
    bool best_is_here = false;
    fprintf(map->script, "$panel%zu << EOD\n", panel);
    for (size_t y = 0; y < map->space->parameters[map->y].count; y++)
        for (size_t x = 0; x < map->space->parameters[map->x].count; x++) {
            map->levels[map->x] = x;
            map->levels[map->y] = y;
            const struct spex_group *group = spex_summary_find(map->data->summary, map->levels);
            if (group && group->trials)
                fprintf(map->script, "%zu %zu %.17g\n", x, y, group->criteria[0].mean);
            else
                fprintf(map->script, "%zu %zu NaN\n", x, y);
            best_is_here |= group == map->best;
        }
    fputs("EOD\n", map->script);
    return best_is_here;
}

static void write_panel(const struct map *map, size_t panel) {
    size_t rest = panel / map->columns;
    for (size_t p = map->space->parameter_count; p-- > 0;) {
        if (p == map->x || p == map->y || p == map->across)
            continue;
        map->levels[p] = rest % map->space->parameters[p].count;
        rest /= map->space->parameters[p].count;
    }
    if (map->across < map->space->parameter_count)
        map->levels[map->across] = panel % map->columns;
    write_panel_title(map);
    bool best_is_here = write_panel_data(map, panel);
    if (panel == map->columns * map->rows - 1)
        fprintf(map->script, "set colorbox user origin screen %.4f,0.15 size screen %.4f,0.7\n",
                1 - 105.0 / (double)map->width, 18.0 / (double)map->width);
    fprintf(map->script, "plot $panel%zu using 1:2:3 with image pixels", panel);
    if (best_is_here)
        fprintf(map->script,
                ", '+' using (%zu):(%zu) every ::0::0 with points pt 6 ps 1.6 lw 3 lc rgb 'white'",
                map->best->levels[map->x], map->best->levels[map->y]);
    fputc('\n', map->script);
}

/* The axes that the space names, or else the threads parameter against the first other. */
static int choose_axes(struct map *map, struct spex_why *why) {
    const struct spex_space *space = map->space;
    size_t none = space->parameter_count;
    map->x = map->data->file->heatmap_x;
    map->y = map->data->file->heatmap_y;
    if (map->x == none) {
        if (none < 2)
            return spex_fail(why, -EINVAL, "a heat map needs a space of two parameters or more");
        map->y = space->threads_parameter < none ? space->threads_parameter : 1;
        map->x = map->y == 0 ? 1 : 0;
    }
    map->across = none;
    map->columns = map->rows = 1;
    for (size_t p = 0; p < none; p++) {
        if (p == map->x || p == map->y)
            continue;
        size_t *along = map->across == none ? &map->columns : &map->rows;
        if (map->across == none)
            map->across = p;
        *along *= space->parameters[p].count;
        if (map->columns * map->rows > PANELS_MAX)
            return spex_fail(why, -E2BIG, "a heat map of this space has more than %d panels",
                             PANELS_MAX);
    }
    return 0;
}

static int write_script(const struct spex_report_data *data, int fd, struct spex_why *why) {
    struct map map = {.data = data, .space = &data->file->space};
    int err = choose_axes(&map, why);
    if (err)
        return err;
    map.width = MARGIN_WIDTH + map.columns * PANEL_WIDTH;
    map.height = MARGIN_HEIGHT + map.rows * PANEL_HEIGHT;
    map.best = spex_summary_best(data->summary, map.space->parameter_count, 0);
    map.levels = calloc(map.space->parameter_count, sizeof(size_t));
    map.script = fdopen(dup(fd), "w");
    if (!map.levels || !map.script) {
        free(map.levels);
        return spex_fail(why, -ENOMEM, "out of memory");
    }
    write_preamble(&map);
    for (size_t panel = 0; panel < map.columns * map.rows; panel++)
        write_panel(&map, panel);
    fputs("unset multiplot\n", map.script);
    free(map.levels);
    if (fclose(map.script) != 0)
        return spex_fail(why, -errno, "cannot write gnuplot's script: %s", strerror(errno));
    return 0;
}

static int fail_gnuplot(int complaints, int status, struct spex_why *why) {
    char text[256] = "";
    ssize_t length = pread(complaints, text, sizeof(text) - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    char *line = text + strspn(text, " \n");
    line[strcspn(line, "\n")] = '\0';
    return spex_fail(why, -EIO, "gnuplot failed with status %d: %s", status, line);
}

/* Runs gnuplot with the script as its input and the picture as its output. */
static int run_gnuplot(int script, int picture, struct spex_why *why) {
    char name[] = "gnuplot", input[] = "-";
    char *argv[] = {name, input, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    int status = 0;
    int complaints = memfd_create("gnuplot-stderr", MFD_CLOEXEC);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, script, 0);
    posix_spawn_file_actions_adddup2(&actions, picture, 1);
    posix_spawn_file_actions_adddup2(&actions, complaints, 2);
    int err = complaints < 0 ? errno : posix_spawnp(&pid, "gnuplot", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (err == ENOENT)
        err = spex_fail(why, -ENOENT,
                        "a heat map needs gnuplot, which is not installed (Debian: gnuplot-nox)");
    else if (err)
        err = spex_fail(why, -err, "cannot run gnuplot: %s", strerror(err));
    else if (waitpid(pid, &status, 0) != pid || status != 0)
        err = fail_gnuplot(complaints, status, why);
    if (complaints >= 0)
        close(complaints);
    return err;
}

static int draw(const struct spex_report_data *data, int picture, struct spex_why *why) {
    int script = memfd_create("gnuplot-script", MFD_CLOEXEC);
    if (script < 0)
        return spex_fail(why, -errno, "cannot make a file in memory: %s", strerror(errno));
    int err = write_script(data, script, why);
    if (!err && lseek(script, 0, SEEK_SET) < 0)
        err = spex_fail(why, -errno, "cannot read gnuplot's script: %s", strerror(errno));
    err = err ? err : run_gnuplot(script, picture, why);
    close(script);
    return err;
}

/* The picture appears under its name when it is whole. */
int spex_report_heatmap(const struct spex_report_data *data, const char *path,
                        struct spex_why *why) {
    char *part;
    if (!spex_summary_worst(data->summary))
        return spex_fail(why, -ENODATA, "no trial has a result: there is nothing to draw");
    if (asprintf(&part, "%s.part", path) < 0)
        return spex_fail(why, -ENOMEM, "out of memory");
    int picture = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int err = picture < 0 ? spex_fail(why, -errno, "cannot write %s: %s", part, strerror(errno))
                          : draw(data, picture, why);
    if (picture >= 0 && close(picture) != 0 && !err)
        err = spex_fail(why, -errno, "cannot write %s: %s", part, strerror(errno));
    if (!err && rename(part, path) != 0)
        err = spex_fail(why, -errno, "cannot write %s: %s", path, strerror(errno));
    if (err && picture >= 0)
        unlink(part);
    free(part);
    return err;
}
