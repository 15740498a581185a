// SPDX-License-Identifier: MIT
// Functions and loops that are left in all ways of C++: what they print is the same with probes and without, and each is
// ended as often as it is executed. leaves ROUNDS
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static long destroyed;

struct Noted {
    long &count;
    explicit Noted(long &count) : count(count) {
    }
    ~Noted() {
        count++;
    }
};

// Neither catches nor has anything to destroy.
__attribute__((noinline)) int throws_above(int value, int limit) {
    if (value > limit)
        throw std::out_of_range("above " + std::to_string(limit));
    return value;
}

// The loop is left by an exception of what it calls.
__attribute__((noinline)) long left_by_exception(const std::vector<int> &values, int limit) {
    long sum = 0;
    for (int value : values)
        sum += throws_above(value, limit);
    return sum;
}

// The exception goes through destructors.
__attribute__((noinline)) long with_destructors(const std::vector<int> &values, int limit) {
    Noted noted(destroyed);
    long sum = 0;
    for (size_t i = 0; i < values.size(); i++) {
        Noted each(destroyed);
        sum += throws_above(values[i], limit) * 2;
    }
    return sum;
}

// Catches within its loop, and goes on.
__attribute__((noinline)) int catches(const std::vector<int> &values, int limit) {
    int caught = 0;
    for (int value : values) {
        try {
            caught += throws_above(value, limit) < 0;
        } catch (const std::out_of_range &) {
            caught++;
        }
    }
    return caught;
}

// Throws another one from where it has caught.
__attribute__((noinline)) int throws_again(const std::vector<int> &values, int limit) {
    try {
        return static_cast<int>(left_by_exception(values, limit));
    } catch (const std::out_of_range &error) {
        throw std::runtime_error(std::string("again: ") + error.what());
    }
}

__attribute__((noinline)) int never_throws(const std::vector<int> &values, int limit) noexcept {
    try {
        return throws_again(values, limit);
    } catch (const std::exception &error) {
        return static_cast<int>(std::string(error.what()).size());
    }
}

// A return, a break, a goto and a continue out of nested loops.
__attribute__((noinline)) int jumps(const std::vector<int> &values, int wanted) {
    int steps = 0;
    for (int one : values) {
        for (int other : values) {
            steps++;
            if (one + other == wanted)
                return steps;
            if (other > one)
                break;
            if (steps > 100000)
                goto out;
            if (other == wanted)
                continue;
        }
    }
out:
    return -steps;
}

struct Shape {
    virtual ~Shape() = default;
    virtual long area(int scale) const = 0;
};

struct Grid : Shape {
    std::vector<long> rows;
    explicit Grid(size_t count) : rows(count, 3) {
    }
    __attribute__((noinline)) long area(int scale) const override {
        long sum = 0;
        for (long row : rows)
            sum += row * scale;
        return sum;
    }
};

template <typename Number>
__attribute__((noinline)) Number total(const std::vector<Number> &values) {
    Number sum = 0;
    for (const Number &value : values)
        sum += value;
    return sum;
}

__attribute__((noinline)) static long in_threads(int rounds) {
    std::vector<std::thread> threads;
    std::vector<long> results(4);
    for (size_t t = 0; t < results.size(); t++)
        threads.emplace_back([&results, t, rounds] {
            Grid grid(t + 5);
            for (int i = 0; i < rounds; i++)
                results[t] += grid.area(i);
        });
    for (std::thread &thread : threads)
        thread.join();
    return total(results);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
    std::vector<int> values;
    for (int i = 0; i < 50; i++)
        values.push_back(i * 7 % 50);
    long sum = 0, thrown = 0;
    for (int round = 0; round < rounds; round++) {
        try {
            sum += left_by_exception(values, 40 + round % 20);
        } catch (const std::out_of_range &) {
            thrown++;
        }
        try {
            sum += with_destructors(values, 40 + round % 20);
        } catch (const std::out_of_range &) {
            thrown++;
        }
        sum += catches(values, 25) + never_throws(values, 30 + round % 30) +
               jumps(values, 60 + round % 60);
    }
    std::unique_ptr<Shape> shape = std::make_unique<Grid>(100);
    std::vector<double> reals(100, 0.5);
    std::printf("%ld %ld %ld %ld %ld %g\n", sum, thrown, destroyed, shape->area(7),
                in_threads(rounds), total(reals));
    return 0;
}
