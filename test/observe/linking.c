/* SPDX-License-Identifier: MIT */
/* A program that links a library and leaves a file behind as soon as anything of it runs: in its
 * constructor, and in the resolver of an indirect function, which has no library to call yet. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

void observed_work(unsigned times);

__attribute__((constructor)) static void construct(void) {
    int fd = open("constructor-ran", O_CREAT | O_WRONLY, 0600);
    if (fd >= 0)
        close(fd);
}

static void make_directory(const char *path) {
#if defined(__x86_64__)
    long result = SYS_mkdirat;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"((long)AT_FDCWD), "S"(path), "d"(0700L)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long folder __asm__("x0") = AT_FDCWD;
    register const char *name __asm__("x1") = path;
    register long mode __asm__("x2") = 0700;
    register long number __asm__("x8") = SYS_mkdirat;
    __asm__ volatile("svc 0" : "+r"(folder) : "r"(name), "r"(mode), "r"(number) : "memory");
#endif
}

static void nothing(void) {
}

__attribute__((used)) static void (*resolve(void))(void) {
    make_directory("resolver-ran");
    return nothing;
}

void indirect(void) __attribute__((ifunc("resolve")));

int main(void) {
    indirect();
    observed_work(1);
    return 0;
}
