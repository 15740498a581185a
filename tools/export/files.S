/* SPDX-License-Identifier: MIT */
/* Files that are parts of exports, as they are in the folder; each ends with a 0. */
    .macro export_file name, path
    .global spex_export_\name
    .hidden spex_export_\name
spex_export_\name:
    .incbin "\path"
    .byte 0
    .endm

    .section .rodata
    export_file flamegraph_style, "flamegraph.css"
    export_file flamegraph_script, "flamegraph.js"

    .section .note.GNU-stack, "", %progbits
