/* SPDX-License-Identifier: MIT */
/* A library that contains all of spex is unloaded when its collection has stopped: threads that
 * have made records end afterwards, the program forks, and nobody looks for spex's code.
 *
 *     unloading LIBRARY */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 3, THREADS = 3, EXECUTIONS = 100 };

static int (*collect)(unsigned times);
static pthread_barrier_t have_collected;
static pthread_barrier_t unloaded;

/* What the library has mapped outlives it; it is small next to what this test is about. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0";
}

static void fail(const char *what) {
    printf("%s\n", what);
    exit(1);
}

static void *thread_run(void *arg) {
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    (void)arg;
    pthread_mutex_lock(&one_at_a_time);
    if (collect(EXECUTIONS) != EXECUTIONS)
        fail("not every execution has been recorded");
    pthread_mutex_unlock(&one_at_a_time);
    pthread_barrier_wait(&have_collected);
    pthread_barrier_wait(&unloaded);
    return NULL;
}

static void *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail(dlerror());
    void *symbol = dlsym(library, "carrier_collect");
    if (!symbol)
        fail(dlerror());
    memcpy(&collect, &symbol, sizeof(collect));
    return library;
}

static void fork_once(void) {
    int result;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    if (waitpid(child, &result, 0) != child || result != 0)
        fail("a fork after the unloading fails");
}

static void round_run(const char *path) {
    pthread_t threads[THREADS];
    void *library = load(path);
    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, thread_run, NULL) != 0)
            fail("no thread");
    pthread_barrier_wait(&have_collected);
    if (dlclose(library) != 0 || dlopen(path, RTLD_NOW | RTLD_NOLOAD))
        fail("the library is not unloaded");
    pthread_barrier_wait(&unloaded);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    fork_once();
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    pthread_barrier_init(&have_collected, NULL, THREADS + 1);
    pthread_barrier_init(&unloaded, NULL, THREADS + 1);
    for (int round = 0; round < ROUNDS; round++)
        round_run(argv[1]);
    return 0;
}
