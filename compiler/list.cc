/* SPDX-License-Identifier: MIT */
#include "compiler/list.h"

#include <cstring>
#include <fnmatch.h>

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Support/MemoryBuffer.h>

using namespace llvm;

namespace spex {

/* An error about a word: where it stands and what it is, cut, without what a terminal would take for
 * a command. */
static Error wrong(StringRef path, size_t line, StringRef word, const Twine &expected) {
    std::string shown;
    for (unsigned char c : word.take_front(60))
        shown += c < 0x20 || c == 0x7f ? '?' : static_cast<char>(c);
    return createStringError(inconvertibleErrorCode(), "%s:%zu: \"%s\": %s was expected",
                             path.str().c_str(), line, shown.c_str(), expected.str().c_str());
}

/* Takes a word behind the glob. False: it is none. */
static bool take_option(StringRef word, Rule &rule) {
    if (word.consume_front("file=")) {
        rule.file = word.str();
        return !word.empty();
    }
    if (word.consume_front("least="))
        return !word.getAsInteger(10, rule.least);
    auto kind = StringSwitch<int>(word)
                    .Case("kernel", static_cast<int>(Kind::kernel))
                    .Case("lat", static_cast<int>(Kind::lat))
                    .Case("cnt", static_cast<int>(Kind::cnt))
                    .Case("off", static_cast<int>(Kind::off))
                    .Default(-1);
    if (kind >= 0)
        rule.kind = static_cast<Kind>(kind);
    return kind >= 0;
}

static Expected<Rule> rule_of(StringRef path, size_t line, ArrayRef<StringRef> words) {
    Rule rule;
    if (words[0] != "function" && words[0] != "loop")
        return wrong(path, line, words[0], "\"function\" or \"loop\"");
    rule.what = words[0] == "function" ? What::function : What::loop;
    if (words.size() < 2)
        return wrong(path, line, words[0], "a glob over the names of functions behind it");
    rule.glob = words[1].str();
    rule.named = words[1].find_first_of("*?[\\") == StringRef::npos;
    for (StringRef word : words.drop_front(2))
        if (!take_option(word, rule))
            return wrong(path, line, word,
                         "kernel, lat, cnt, off, file=GLOB or least=NUMBER (one glob a line)");
    return rule;
}

Expected<List> List::read(StringRef path) {
    auto text = MemoryBuffer::getFile(path);
    if (!text)
        return createStringError(text.getError(), "%s: %s", path.str().c_str(),
                                 text.getError().message().c_str());
    List list;
    SmallVector<StringRef, 0> lines;
    (*text)->getBuffer().split(lines, '\n');
    for (size_t at = 0; at < lines.size(); at++) {
        SmallVector<StringRef, 6> words;
        SplitString(lines[at].split('#').first, words, " \t\r");
        if (words.empty())
            continue;
        Expected<Rule> rule = rule_of(path, at + 1, words);
        if (!rule)
            return rule.takeError();
        list.rules.push_back(*rule);
    }
    return list;
}

/* As `file=` of selections: the path, or any part of it behind a "/". */
static bool matches_file(const std::string &glob, const std::string &file) {
    for (const char *part = file.c_str(); part;) {
        if (fnmatch(glob.c_str(), part, 0) == 0)
            return true;
        part = strchr(part, '/');
        part += part != nullptr;
    }
    return false;
}

const Rule *List::find(What what, const std::string &name, const std::string &file) const {
    for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule)
        if (rule->what == what && fnmatch(rule->glob.c_str(), name.c_str(), 0) == 0 &&
            matches_file(rule->file, file))
            return rule->kind == Kind::off ? nullptr : &*rule;
    return nullptr;
}

} // namespace spex
