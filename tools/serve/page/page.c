/* SPDX-License-Identifier: MIT */
#include "tools/serve/page/page.h"

#include <stddef.h>
#include <string.h>

/* In files.S. */
#define PAGE_FILE(name) extern const char spex_page_##name[], spex_page_##name##_end[]

PAGE_FILE(index);
PAGE_FILE(style);
PAGE_FILE(main);
PAGE_FILE(data);
PAGE_FILE(charts);
PAGE_FILE(view);
PAGE_FILE(model);
PAGE_FILE(overview);
PAGE_FILE(table);
PAGE_FILE(signs);
PAGE_FILE(elements);
PAGE_FILE(beside);
PAGE_FILE(exploration);
PAGE_FILE(fleet);
PAGE_FILE(pictures);
PAGE_FILE(pictures_style);
PAGE_FILE(blocks);
PAGE_FILE(flame);
PAGE_FILE(timeline);
PAGE_FILE(models);
PAGE_FILE(exemplars);
PAGE_FILE(icon);
PAGE_FILE(echarts);

#define HTML        "text/html; charset=utf-8"
#define STYLE       "text/css; charset=utf-8"
#define SCRIPT      "text/javascript; charset=utf-8"
#define BYTES(name) spex_page_##name, spex_page_##name##_end

static const struct spex_page_file files[] = {
    {"/", HTML, BYTES(index), false},
    {"/page.css", STYLE, BYTES(style), false},
    {"/page.js", SCRIPT, BYTES(main), false},
    {"/data.js", SCRIPT, BYTES(data), false},
    {"/charts.js", SCRIPT, BYTES(charts), false},
    {"/view.js", SCRIPT, BYTES(view), false},
    {"/model.js", SCRIPT, BYTES(model), false},
    {"/overview.js", SCRIPT, BYTES(overview), false},
    {"/table.js", SCRIPT, BYTES(table), false},
    {"/signs.js", SCRIPT, BYTES(signs), false},
    {"/elements.js", SCRIPT, BYTES(elements), false},
    {"/beside.js", SCRIPT, BYTES(beside), false},
    {"/exploration.js", SCRIPT, BYTES(exploration), false},
    {"/fleet.js", SCRIPT, BYTES(fleet), false},
    {"/pictures.js", SCRIPT, BYTES(pictures), false},
    {"/pictures.css", STYLE, BYTES(pictures_style), false},
    {"/blocks.js", SCRIPT, BYTES(blocks), false},
    {"/flame.js", SCRIPT, BYTES(flame), false},
    {"/timeline.js", SCRIPT, BYTES(timeline), false},
    {"/models.js", SCRIPT, BYTES(models), false},
    {"/exemplars.js", SCRIPT, BYTES(exemplars), false},
    {"/icon.svg", "image/svg+xml", BYTES(icon), false},
    {"/echarts.js", SCRIPT, BYTES(echarts), true},
};

const struct spex_page_file *spex_page_find(const char *path) {
    for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++)
        if (strcmp(files[f].path, path) == 0)
            return &files[f];
    return NULL;
}
