/* SPDX-License-Identifier: MIT */
/* A library that contains all of spex is unloaded when its collection has stopped: threads that
 * have made records end afterwards, the program forks, and nobody looks for spex's code. A library
 * that is unloaded while its spex runs leaves no thread behind.
 *
 *     unloading LIBRARY */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 3, THREADS = 3, EXECUTIONS = 100 };

static int (*collect)(unsigned times);
static int (*start)(const char *control);
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

static void find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    if (!symbol)
        fail(dlerror());
    memcpy(function, &symbol, sizeof(symbol));
}

static void *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail(dlerror());
    find(library, "carrier_collect", &collect);
    find(library, "carrier_start", &start);
    return library;
}

static void unload(void *library, const char *path) {
    if (dlclose(library) != 0 || dlopen(path, RTLD_NOW | RTLD_NOLOAD))
        fail("the library is not unloaded");
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
    unload(library, path);
    pthread_barrier_wait(&unloaded);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    fork_once();
}

static unsigned thread_count(void) {
    DIR *threads = opendir("/proc/self/task");
    unsigned count = 0;
    while (threads && readdir(threads))
        count++;
    if (threads)
        closedir(threads);
    return count;
}

/* A thread that has been joined is in the list for a moment. */
static void unload_started(const char *path) {
    char directory[] = "/tmp/spex-unloading-XXXXXX";
    unsigned before = thread_count();
    void *library = load(path);
    if (!mkdtemp(directory) || start(directory) != 0)
        fail("spex does not start");
    if (thread_count() != before + 1)
        fail("no thread waits for commands");
    unload(library, path);
    alarm(60);
    while (thread_count() > before)
        sched_yield();
    alarm(0);
    if (rmdir(directory) != 0)
        fail("the socket is still there");
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    pthread_barrier_init(&have_collected, NULL, THREADS + 1);
    pthread_barrier_init(&unloaded, NULL, THREADS + 1);
    unsetenv("SPEX_CONTROL");
    unload_started(argv[1]);
    setenv("SPEX_CONTROL", "off", 1);
    for (int round = 0; round < ROUNDS; round++)
        round_run(argv[1]);
    return 0;
}
