/* SPDX-License-Identifier: MIT */
#include <spex/spex.h>

int main(void) {
    spex_start(NULL);
    for (int i = 0; i < 1000; i++) {
        LAT_PROBE_BEGIN(1, 1);
        for (volatile int work = 0; work < 10000; work++)
            continue;
        LAT_PROBE_END(1);
    }
    return spex_stop();
}
