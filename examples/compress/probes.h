/* SPDX-License-Identifier: MIT */
#ifndef COMPRESS_PROBES_H
#define COMPRESS_PROBES_H

enum {
    PIECE = 1, /* 4 KiB of input: the same amount of work whatever the block size */
    BLOCK,     /* compressed and sent */
    RATIO,     /* of each block: compressed size per thousand bytes, compressed size in bytes */
};

#endif
