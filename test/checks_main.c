/* SPDX-License-Identifier: MIT */
/* The main() of test programs without one of their own. */
#include "check.h"

int main(void) {
    return tests_run(NULL, NULL);
}
