/* SPDX-License-Identifier: MIT */
/* Uses the macros where only C++ has places for them: templates, lambdas, constructors, inline and
 * member functions, exceptions, destructors of thread-local and static objects. */
#include <pthread.h>

#include "usage_main.h"

#if __cplusplus >= 202002L && defined(__has_include)
#if __has_include(<coroutine>) && defined(__cpp_impl_coroutine)
#include <coroutine>
#define USAGE_COROUTINES
#endif
#endif

namespace {

template <typename Number> Number twice(Number x) {
    LAT_PROBE_BEGIN(USAGE_PLAIN, 1);
    x = static_cast<Number>(x * 2);
    LAT_PROBE_END(USAGE_PLAIN);
    USAGE_RAN(SPEX_LAT);
    SNAPSHOT_PROBE(USAGE_PLAIN, 1, x);
    USAGE_RAN(SPEX_SNAPSHOT);
    return x;
}

template <unsigned Depth> int descend() {
    SPEX_CTXSW_SCOPE(USAGE_RECURSIVE, 1);
    USAGE_RAN(SPEX_CTXSW);
    if constexpr (Depth > 0)
        return descend<Depth - 1>() + 1;
    else
        return 0;
}

struct Counter {
    int value;
    explicit Counter(int start) : value(start) {
        CNT_PROBE_BEGIN(USAGE_NESTED, 1);
        value++;
        CNT_PROBE_END(USAGE_NESTED);
        USAGE_RAN(SPEX_CNT);
    }
    virtual ~Counter() {
        SNAPSHOT_PROBE(USAGE_NESTED, 1, value);
        USAGE_RAN(SPEX_SNAPSHOT);
    }
    virtual int next() {
        TPT_PROBE_BEGIN(USAGE_NESTED, 1);
        value++;
        TPT_PROBE_END(USAGE_NESTED);
        USAGE_RAN(SPEX_TPT);
        return value;
    }
};

struct Faster final : Counter {
    explicit Faster(int start) try : Counter(start) {
        SPEX_FLT_SCOPE(USAGE_NESTED, 1);
        USAGE_RAN(SPEX_FLT);
        if (start < 0)
            throw start;
    } catch (int) {
        SPEX_LLC_SCOPE(USAGE_NESTED, 1);
        USAGE_RAN(SPEX_LLC);
    }
    int next() override {
        PERFCNTR_PROBE_BEGIN(USAGE_NESTED, 1, 3);
        value += 2;
        PERFCNTR_PROBE_END(USAGE_NESTED);
        USAGE_RAN(SPEX_PERFCNTR);
        return value;
    }
};

/* A span across a template, a lambda and a virtual function. */
enum class Request : unsigned { first = 7 };

template <typename Key> void answer(Key key) {
    auto end = [](Key of) { SPEX_SPAN_END("usage.request", of); };
    end(key);
    USAGE_RAN(SPEX_SPAN);
}

struct Taker {
    virtual ~Taker() = default;
    virtual void take(const Taker *key) {
        SPEX_SPAN_BEGIN("usage.request", key);
        SPEX_SPAN_BEGIN("usage.request", Request::first);
    }
};

int spans() {
    Taker taker;
    taker.take(&taker);
    answer(static_cast<const Taker *>(&taker));
    answer(Request::first);
    return 1;
}

int thrown(int x) {
    try {
        LAT_PROBE_BEGIN(USAGE_PLAIN, 1);
        LLC_PROBE_BEGIN(USAGE_PLAIN, 1);
        if (x > 0)
            throw x;
        LAT_PROBE_END(USAGE_PLAIN);
        LLC_PROBE_END(USAGE_PLAIN);
        USAGE_RAN(SPEX_LAT);
        USAGE_RAN(SPEX_LLC);
    } catch (int value) {
        return value;
    }
    return 0;
}

int throw_from_scopes(int depth) {
    SPEX_LAT_SCOPE(USAGE_SCOPE, 1);
    SPEX_LLC_SCOPE(USAGE_SCOPE, 1);
    SPEX_FLT_SCOPE(USAGE_SCOPE, 1);
    USAGE_RAN(SPEX_LAT);
    USAGE_RAN(SPEX_LLC);
    USAGE_RAN(SPEX_FLT);
    if (depth == 0)
        throw 7;
    return throw_from_scopes(depth - 1);
}

int thrown_through_scopes(int depth) {
    try {
        SPEX_PERFCNTR_SCOPE(USAGE_SCOPE, 1, 0);
        USAGE_RAN(SPEX_PERFCNTR);
        return throw_from_scopes(depth);
    } catch (int value) {
        return value;
    }
}

int refused() {
    try {
        Faster never(-1);
        return 0;
    } catch (int value) {
        return value;
    }
}

int lambdas(int x) {
    auto add = [](int y) {
        CNT_PROBE_BEGIN(USAGE_LABEL, 1);
        y += 3;
        CNT_PROBE_END(USAGE_LABEL);
        USAGE_RAN(SPEX_CNT);
        return y;
    };
    auto generic = [&add](auto y) {
        SPEX_TPT_SCOPE(USAGE_LABEL, 1);
        USAGE_RAN(SPEX_TPT);
        auto inner = [&] {
            SPEX_PERFCNTR_SCOPE(USAGE_LABEL, 1, 1);
            USAGE_RAN(SPEX_PERFCNTR);
            return add(static_cast<int>(y));
        };
        return inner();
    };
    return generic(x) + generic(static_cast<double>(x));
}

template <typename Number> Number in_region(Number x, int throw_at) {
    auto more = [](Number y) {
        SPEX_REGION(5, 4, {
            SPEX_TPT_SCOPE(USAGE_LABEL, 1);
            USAGE_RAN(SPEX_TPT);
            return static_cast<Number>(y + 1);
        })
    };
    for (int i = 0; i < 3; i++)
        SPEX_REGION(6, 6, {
            SPEX_FLT_SCOPE(USAGE_SCOPE, 1);
            USAGE_RAN(SPEX_FLT);
            auto now = [&](Number y) {
                SPEX_LAT_SCOPE(USAGE_LABEL, 1);
                USAGE_RAN(SPEX_LAT);
                return more(y);
            };
            x = now(x);
            if (i == throw_at)
                throw static_cast<int>(x);
            SNAPSHOT_PROBE(USAGE_LABEL, 1, x);
            USAGE_RAN(SPEX_SNAPSHOT);
        })
    return x;
}

int regions() {
    try {
        return in_region(1, 3) == 4 && in_region(1.5, 4) > 4.4 ? in_region(1u, 1) > 0 : -1;
    } catch (int value) {
        return value;
    }
}

struct Regional {
    int value;
    explicit Regional(int start) : value(start) {
        SPEX_REGION(7, 1, CNT_PROBE_BEGIN(USAGE_NESTED, 1); value++; CNT_PROBE_END(USAGE_NESTED);)
        USAGE_RAN(SPEX_CNT);
    }
};

/* With the thread, after all else in it. */
struct Last {
    int value = 0;
    ~Last() {
        SPEX_CNT_SCOPE(USAGE_NESTED, 1);
        USAGE_RAN(SPEX_CNT);
    }
};

int in_a_thread() {
    int result = 0;
    pthread_t thread;
    auto run = [](void *at) -> void * {
        static thread_local Last last;
        last.value = usage_plain(1);
        *static_cast<int *>(at) = last.value;
        return nullptr;
    };
    return pthread_create(&thread, nullptr, run, &result) == 0 && pthread_join(thread, nullptr) == 0
               ? result
               : 0;
}

#ifdef USAGE_COROUTINES

struct Task {
    struct promise_type {
        Task get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept {
            return {};
        }
        std::suspend_always final_suspend() noexcept {
            return {};
        }
        void return_void() {
        }
        void unhandled_exception() {
        }
    };
    std::coroutine_handle<promise_type> handle;
};

Task suspended(int &steps) {
    SPEX_LAT_SCOPE(USAGE_SCOPE, 1);
    CNT_PROBE_BEGIN(USAGE_SCOPE, 1);
    USAGE_RAN(SPEX_LAT);
    steps++;
    co_await std::suspend_always{};
    CNT_PROBE_END(USAGE_SCOPE);
    USAGE_RAN(SPEX_CNT);
    steps++;
}

int coroutines() {
    int steps = 0;
    Task task = suspended(steps);
    while (!task.handle.done())
        task.handle.resume();
    task.handle.destroy();
    return steps;
}

#else

int coroutines() {
    return 2;
}

#endif

int all() {
    Faster counter(1);
    Counter &base = counter;
    return usage_all() && twice(2) == 4 && twice(2.5) > 4.9 && twice(2u) == 4 &&
           descend<3>() == 3 && lambdas(1) == 8 && base.next() == 4 && base.Counter::next() == 5 &&
           spans() == 1 && thrown(7) == 7 && thrown(0) == 0 && thrown_through_scopes(4) == 7 &&
           refused() == -1 && in_a_thread() == 2 && regions() == 3 && Regional(1).value == 2 &&
           coroutines() == 2 && usage_shared(2) == 4;
}

/* The destructor makes its records before they are counted. */
int everything() {
    return all();
}

/* Before main and after it, when spex may not be there yet or any more. */
struct Outside {
    Outside() {
        usage_plain(1);
        usage_counters(1);
    }
    ~Outside() {
        usage_plain(1);
        usage_counters(1);
    }
};
Outside outside;

} // namespace

int main() {
    return usage_run(everything);
}
