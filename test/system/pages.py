#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What pages say of the sources is so: names of functions and files, and words of selections.

    pages.py SOURCE_ROOT
"""

import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(os.path.abspath(sys.argv[1]))
SOURCES = ["include", "src", "queues", "policies", "tools"]


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def sources():
    return [path.relative_to(ROOT) for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.[ch]"))]


def section(page, title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", read(page), re.M | re.S)[1]


def prose(text):
    """Without examples, where brackets and # mean other things."""
    return re.sub(r"^```.*?^```$|^ {4}.*?$", "", text, flags=re.M | re.S)


def links(text):
    text = re.sub(r"`[^`\n]*`", "", prose(text))
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:", link)]


def anchors(text):
    """GitHub's: words in lower case with hyphens between, and a number where a heading comes again."""
    found = set()
    for heading in re.findall(r"^#+ +(.*?) *$", prose(text), re.M):
        name = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = anchor = re.sub(r"[^\w\- ]", "", name).replace(" ", "-")
        number = 0
        while anchor in found:
            number += 1
            anchor = f"{name}-{number}"
        found.add(anchor)
    return found


class Pages(unittest.TestCase):
    def test_architectures_names_each_file_that_differs(self):
        named = section("docs/design.md", "Architectures")
        for path in sources():
            if re.search(r"^#.*__(x86_64|aarch64)__", read(path), re.M):
                with self.subTest(path=path):
                    self.assertIn(path.name, named)

    def test_functions_in_recipes_are_there(self):
        files = [path for folder in [*SOURCES, "test", "bench", "examples"] for path in (ROOT / folder).rglob("*")
                 if path.suffix in [".c", ".h", ".py", ".build"]]
        known = set()
        for path in files:
            known.update(re.findall(r"\w+", path.read_text(encoding="utf-8")), [path.stem])
        names = set(re.findall(r"`((?:spex_)?[a-z]+(?:_[a-z]+)+)`", read("docs/recipes.md")))
        self.assertGreater(len(names), 20)
        # spex_dur_… is of the type that the recipe adds.
        self.assertEqual({name for name in names - known if not name.startswith("spex_dur_")}, set())

    def test_selections_are_shown_with_words_of_today(self):
        for path in [*sources(), *sorted(path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.*")), "README.md"]:
            if str(path).endswith((".c", ".h", ".md", ".1", ".7")):
                with self.subTest(path=path):
                    self.assertIsNone(re.search(r'[a-z*"]@probe\b|"probe\\?" or ', read(path)))

    def test_links_lead_somewhere(self):
        """Also those to sections, which are called as their headings are."""
        pages = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "src", "bench", "policies", "examples"]
        paths = [path for page in pages for path in ([ROOT / page] if page.endswith(".md") else (ROOT / page).rglob("*.md"))]
        self.assertGreater(len(paths), 20)
        for path in paths:
            for link in links(path.read_text(encoding="utf-8")):
                page, _, anchor = link.partition("#")
                target = (path.parent / page).resolve() if page else path
                with self.subTest(path=path.relative_to(ROOT), link=link):
                    self.assertTrue(target.exists(), "no such file")
                    if anchor and target.suffix == ".md":
                        self.assertIn(anchor, anchors(target.read_text(encoding="utf-8")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
