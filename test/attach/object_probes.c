/* SPDX-License-Identifier: MIT */
/* The USDT probes of this program, by the notes of its file, of which some are malformed. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "../usdt_notes.h"
#include "attach/code/decode.h"
#include "attach/object_probes.h"

extern unsigned short known_semaphore;
unsigned short known_semaphore __attribute__((section(".probes"), used));
void known_sites(int twice);

__attribute__((noinline, used)) void known_sites(int twice) {
    USDT_SITE("known", "several", "0");
    if (twice)
        USDT_SITE("known", "several", "known_semaphore");
    USDT_SITE("known", "one", "0");
    __asm__ volatile("" : "+r"(twice));
}

/* This one was moved with the base since its note was made. */
__asm__(".text\n"
        ".type moved_site, %function\n"
        "moved_site: nop\n"
        "ret\n"
        ".size moved_site, . - moved_site\n" USDT_NOTE("moved_site - 0x1000",
                                                       "_.stapsdt.base - 0x1000", "0",
                                                       USDT_TEXTS("known", "moved")));

enum { MALFORMED = 9 };

/* No nop; no code; a semaphore that is none, in the code, and odd; no provider; no name; texts that do not end;
 * and a site for the second time. */
__asm__(".text\n"
        ".type bad_site, %function\n"
        "bad_site: nop\n"
        "bad_return: ret\n"
        ".size bad_site, . - bad_site\n" USDT_NOTE("bad_return", "0", "0", USDT_TEXTS("bad", "ret"))
            USDT_NOTE("known_semaphore", "0", "0", USDT_TEXTS("bad", "data"))
                USDT_NOTE("bad_site", "0", "0x7fffffffffff", USDT_TEXTS("bad", "nowhere"))
                    USDT_NOTE("bad_site", "0", "bad_site", USDT_TEXTS("bad", "text"))
                        USDT_NOTE("bad_site", "0", "known_semaphore + 1", USDT_TEXTS("bad", "odd"))
                            USDT_NOTE("bad_site", "0", "0", USDT_TEXTS("", "name"))
                                USDT_NOTE("bad_site", "0", "0", USDT_TEXTS("bad", ""))
                                    USDT_NOTE("bad_site", "0", "0", ".ascii \"bad\\0endless\"")
                                        USDT_NOTE("moved_site", "0", "0",
                                                  USDT_TEXTS("known", "moved")));

#ifdef __x86_64__
/* A nop that is the last byte of another instruction, which the function's symbol tells. */
__asm__(".text\n"
        ".type within, %function\n"
        "within: mov $0x90000000, %eax\n"
        "ret\n"
        ".size within, . - within\n" USDT_NOTE("within + 4", "0", "0",
                                               USDT_TEXTS("bad", "within")));
#endif

static void read_own(struct spex_object_functions *object, struct spex_object_probes *probes) {
    struct spex_error error;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(spex_object_functions_read(fd, "it", object, &error), 0);
    assert_int_equal(spex_object_probes_read(fd, "it", object, probes, &error), 0);
    close(fd);
}

TEST(probes_of_this_program) {
    static const char *const names[] = {"known:moved", "known:one", "known:several",
                                        "known:several"};
    struct spex_object_functions object;
    struct spex_object_probes probes;
    unsigned semaphores = 0;
    known_sites(1);
    read_own(&object, &probes);
    size_t first = 0;
    while (first < probes.count && strncmp(probes.items[first].name, "bad:", 4) == 0)
        first++;
    assert_int_equal(probes.count - first, COUNT_OF(names));
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        const struct spex_object_probe_site *site = &probes.items[first + n];
        size_t bytes;
        assert_string_equal(site->name, names[n]);
        assert_true(spex_is_nop(spex_object_functions_bytes(&object, site->address, &bytes), 4));
        semaphores += site->semaphore > 0;
    }
    assert_int_equal(semaphores, 1);
    assert_true(probes.items[first + 2].address < probes.items[first + 3].address);
    spex_object_probes_free(&probes);
    spex_object_functions_free(&object);
}

TEST(semaphores_are_places_in_the_file) {
    struct spex_object_functions object;
    struct spex_object_probes probes;
    unsigned short there = 1;
    read_own(&object, &probes);
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    for (size_t p = 0; p < probes.count; p++)
        if (probes.items[p].semaphore)
            assert_int_equal(pread(fd, &there, sizeof(there), (off_t)probes.items[p].semaphore),
                             sizeof(there));
    assert_int_equal(there, known_semaphore);
    close(fd);
    spex_object_probes_free(&probes);
    spex_object_functions_free(&object);
}

TEST(malformed_notes) {
    struct spex_object_functions object;
    struct spex_object_probes probes;
    read_own(&object, &probes);
    size_t malformed = MALFORMED;
#ifdef __x86_64__
    malformed += spex_can_decode();
#endif
    for (size_t p = 0; p < probes.count && spex_can_decode(); p++)
        assert_string_not_equal(probes.items[p].name, "bad:within");
    assert_int_equal(probes.malformed, malformed);
    spex_object_probes_free(&probes);
    spex_object_functions_free(&object);
}
