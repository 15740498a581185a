/* SPDX-License-Identifier: MIT */
/* The list that says which functions and loops become probes. docs/compiler.md describes it for users.
 *
 *     line := ("function" | "loop") glob [kind] ["file=" glob] ["least=" number]
 *     kind := "kernel" | "lat" | "cnt" | "off"
 *
 * The last line that matches a function, or the function around a loop, decides. */
#ifndef SPEX_COMPILER_LIST_H
#define SPEX_COMPILER_LIST_H

#include <string>
#include <vector>

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>

namespace spex {

enum class Kind { off, kernel, lat, cnt };
enum class What { function, loop };

/* The size that a function or loop has at least, where a line does not say otherwise. */
constexpr unsigned least_size = 200;

struct Rule {
    What what;
    std::string glob;
    Kind kind = Kind::kernel;
    std::string file = "*";
    unsigned least = least_size;
    /* The glob is a name: the function shall be there as a function. */
    bool named = false;
};

class List {
  public:
    /* Reads a file. The error names the line, what stands there and what was expected. */
    static llvm::Expected<List> read(llvm::StringRef path);

    /* The line that decides; null where none matches, or one that is off decides. */
    const Rule *find(What what, const std::string &name, const std::string &file) const;

  private:
    std::vector<Rule> rules;
};

} // namespace spex

#endif
