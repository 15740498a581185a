/* SPDX-License-Identifier: MIT */
/* In the place of tools/serve/ where spex is built without libmicrohttpd. */
#include "tools/common/command.h"
#include "tools/common/complain.h"

int spex_command_serve(int argc, char **argv) {
    (void)argc, (void)argv;
    return spex_complain(SPEX_EXIT_FAILED, "serve: this spex was built without libmicrohttpd");
}
