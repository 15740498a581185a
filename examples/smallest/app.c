/* SPDX-License-Identifier: MIT */
#include <spex/spex.h>

int main(void) {
    spex_start(NULL);
    for (int i = 0; i < 1000; i++) {
        SPEX_LAT_SCOPE("work");
        for (volatile int work = 0; work < 10000; work++)
            continue;
    }
    return spex_stop();
}
