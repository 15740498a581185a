/* SPDX-License-Identifier: MIT */
#include "tools/common/complain.h"

#include <errno.h>
#include <stdarg.h>

int spex_complain(int status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("spex: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return status;
}

int spex_written(FILE *out) {
    errno = 0;
    if (fflush(out) != 0 || ferror(out))
        return errno ? -errno : -EIO;
    return 0;
}
