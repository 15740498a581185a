/* SPDX-License-Identifier: MIT */
/* Uses the macros in C. */
#include "usage_main.h"

int main(void) {
    return usage_run(usage_all);
}
