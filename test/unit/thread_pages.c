/* SPDX-License-Identifier: MIT */
/* The memory of a new thread's state: what its probes will write to is there before they do. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include <spex/spex.h>

#include "../check.h"
#include "probe/threads.h"
#include "site/registry.h"

/* So many that their counts have several pages. */
enum { SITES = 2000 };

/* The file, and what the brackets of the macro have. */
static const char text[] = "made.c\0"
                           "1";

static struct spex_site sites[SITES];

/* Pages from the first byte to the last that are in memory, and how many there are. */
static size_t pages_of(const void *first, size_t bytes, size_t *resident) {
    static unsigned char there[1024];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)first & ~(uintptr_t)(page - 1);
    size_t count = ((uintptr_t)first + bytes - begin + page - 1) / page;
    assert_true(count <= sizeof(there));
    assert_int_equal(mincore((void *)begin, count * page, there), 0);
    *resident = 0;
    for (size_t p = 0; p < count; p++)
        *resident += there[p] & 1;
    return count;
}

TEST(counts_of_all_sites_are_in_memory) {
    size_t resident;
    for (size_t s = 0; s < SITES; s++)
        sites[s] = (struct spex_site){.subsample = 1,
                                      .probe_id = (uint16_t)(1000 + s),
                                      .type_number = SPEX_TYPE_NUMBER_(SPEX_CNT)};
    for (size_t s = 0; s < SITES; s++)
        sites[s].file_offset = (int64_t)((uintptr_t)text - (uintptr_t)&sites[s].file_offset);
    spex_module_register(sites, sites + SITES, NULL, NULL);
    uint32_t count = spex_sites_count();
    assert_true(count >= SITES);
    assert_int_equal(spex_threads_init(), 0);
    struct spex_thread *thread = spex_thread_attach();
    assert_non_null(thread);
    size_t pages;
    for (uint32_t site = 0; site < count; site += SPEX_SITE_BLOCK) {
        uint32_t sites_here = count - site < SPEX_SITE_BLOCK ? count - site : SPEX_SITE_BLOCK;
        const struct spex_countdown *block = spex_countdown_of(thread, site);
        pages = pages_of(block, sites_here * sizeof(*block), &resident);
        assert_int_equal(resident, pages);
    }
    pages = pages_of(thread->executed, count * sizeof(thread->executed[0]), &resident);
    assert_true(pages > 1);
    assert_true(resident + 1 >= pages);
}
