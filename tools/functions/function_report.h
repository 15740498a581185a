/* SPDX-License-Identifier: MIT */
/* What was found of functions, as a table or as JSON. */
#ifndef SPEX_TOOLS_FUNCTIONS_FUNCTION_REPORT_H
#define SPEX_TOOLS_FUNCTIONS_FUNCTION_REPORT_H

#include <stdbool.h>

#include "tools/common/output_file.h"
#include "tools/functions/function_watch.h"

/* Nothing is counted after that. Closes the output. An exit status, after a message. */
int spex_function_report(const struct spex_function_watch *watch, struct spex_output_file *output,
                         bool json, bool verbose);

#endif
