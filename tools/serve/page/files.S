/* SPDX-License-Identifier: MIT */
/* The files of the page, as they are in the folder; the chart library compressed by the build. */
    .macro page_file name, path
    .global spex_page_\name, spex_page_\name\()_end
    .hidden spex_page_\name, spex_page_\name\()_end
spex_page_\name:
    .incbin "\path"
spex_page_\name\()_end:
    .endm

    .section .rodata
    page_file index, "index.html"
    page_file style, "page.css"
    page_file main, "page.js"
    page_file data, "data.js"
    page_file charts, "charts.js"
    page_file view, "view.js"
    page_file model, "model.js"
    page_file overview, "overview.js"
    page_file table, "table.js"
    page_file signs, "signs.js"
    page_file elements, "elements.js"
    page_file beside, "beside.js"
    page_file exploration, "exploration.js"
    page_file fleet, "fleet.js"
    page_file pictures, "pictures.js"
    page_file pictures_style, "pictures.css"
    page_file blocks, "blocks.js"
    page_file flame, "flame.js"
    page_file timeline, "timeline.js"
    page_file models, "models.js"
    page_file exemplars, "exemplars.js"
    page_file icon, "icon.svg"
    page_file echarts, "echarts.min.js.gz"

    .section .note.GNU-stack, "", %progbits
