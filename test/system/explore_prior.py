#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex explore --prior`: an exploration that begins with the best of another one.

usage: explore_prior.py SPEX SUBJECT [unittest arguments]
"""

import os
import sys
import unittest

from exploration import Exploration

# Exact: the best is a=5, b=3.
BOWL = ["sh", "-c", "echo score: $((10 + ({a}-5)*({a}-5) + ({b}-3)*({b}-3)))"]


class Prior(Exploration):
    def explore_set(self, store, *options, program=BOWL, sets=("a=1..20", "b=1..20")):
        arguments = [argument for one in sets for argument in ("--set", one)]
        return self.spex("explore", *arguments, "--minimise", "output=score: ([0-9]+)", "--store", f"{self.dir}/{store}",
                         *options, "--", *program)

    def setUp(self):
        super().setUp()
        self.old = f"{self.dir}/old.db"
        space = self.write('<space name="old"><parameter name="a" type="integer" min="1" max="8"/>'
                           '<parameter name="b" type="integer" min="1" max="8"/>'
                           '<objective output="score: ([0-9]+)" goal="minimise"/></space>', "old.xml")
        result = self.spex("explore", space, "--policy", "grid", "--store", self.old, "--", *BOWL)
        self.assertEqual(result.returncode, 0, result.stderr)

    def tried(self, store):
        self.store = f"{self.dir}/{store}"
        return [tuple(trial["config"].values()) for trial in self.report()["trials"]]

    def test_the_best_of_the_other_are_tried_first(self):
        result = self.explore_set("new.db", "--for", "2s", "--prior", self.old)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"it begins with 5 configurations that were good in {self.old}", result.stderr)
        first = list(dict.fromkeys(self.tried("new.db")))[:5]
        self.assertEqual(first[0], (5, 3))
        self.assertEqual(set(first), {(5, 3), (4, 3), (6, 3), (5, 2), (5, 4)})

    def test_it_goes_on_with_them(self):
        self.explore_set("new.db", "--for", "2s", "--prior", self.old)
        before = self.tried("new.db")
        for options in [["--prior", self.old], []]:
            again = self.explore_set("new.db", "--for", "2s", *options)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual(self.tried("new.db")[:len(before)], before)

    def test_another_space_has_some_of_the_parameters(self):
        program = ["sh", "-c", BOWL[2].replace("{b}", "3") + "; : {c}"]
        result = self.explore_set("new.db", "--for", "2s", "--prior", self.old, program=program,
                                  sets=["a=2..20:6", "c=x|y"])
        self.assertEqual(result.returncode, 0, result.stderr)
        # Of a the values are 2, 8, 14 and 20: those next to 5, 4 and 6.
        self.assertEqual(set(list(dict.fromkeys(self.tried("new.db")))[:2]), {(2, "x"), (8, "x")})

    def test_bad_priors(self):
        cases = [(f"{self.dir}/missing.db", "missing.db: No such file or directory", 1),
                 (self.write("no store", "text"), "is no store of spex", 1),
                 (self.old, "it has no parameter of this space", 2)]
        for prior, expected, status in cases:
            with self.subTest(prior=prior):
                result = self.explore_set("new.db", "--prior", prior, program=["echo", "score: {z}"], sets=["z=1..9"])
                self.assert_fails(result, status, "--prior ", expected)
                self.assertEqual(result.stderr.count("\n"), 1)

    def test_a_space_of_its_own(self):
        """The space with what is first is kept beside the store; going on needs the other one no more."""
        text = ('<space name="new"><parameter name="a" type="integer" min="1" max="20"/>'
                '<parameter name="b" type="integer" min="1" max="20"/>{}'
                '<objective output="score: ([0-9]+)" goal="minimise"/><run trials="12"/></space>\n<!-- {} -->\n')
        space = self.write(text.format("", ""), "new.xml")
        begin = ["explore", space, "--store", f"{self.dir}/more.db", "--prior", self.old, "--", *BOWL]
        result = self.spex(*begin)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"it begins with 5 configurations that were good in {self.old}; the space with them is in "
                      f"{self.dir}/more.xml\n", result.stderr)
        before = self.tried("more.db")
        self.assertEqual(set(list(dict.fromkeys(before))[:5]), {(5, 3), (4, 3), (6, 3), (5, 2), (5, 4)})
        os.remove(self.old)
        for command in [begin, ["explore", f"{self.dir}/more.xml", *begin[2:4], "--", *BOWL]]:
            again = self.spex(*command)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual(self.tried("more.db"), before)
        self.write(text.format('<constraint require="$a != 9"/>', ""), "new.xml")
        self.assert_fails(self.spex(*begin), 1, f"{self.dir}/more.xml is not {space} with <first>; --store")

    def test_a_space_that_cannot_have_a_prior(self):
        text = ('<space name="new"><parameter name="a" type="integer" min="1" max="20"/>{}'
                '<objective output="score: ([0-9]+)" goal="minimise"/></space>{}')
        for first, rest, store, expected in [
                ("<first>a\n3</first>", "", "more.db", "either --prior or <first> in "),
                ("", "<!-- </space> -->", "more.db", "nothing after </space> was expected with --prior"),
                ("", "", "new.db", "another --store was expected")]:
            with self.subTest(expected=expected):
                space = self.write(text.format(first, rest), "new.xml")
                result = self.spex("explore", space, "--store", f"{self.dir}/{store}", "--prior", self.old, "--", "true")
                self.assert_fails(result, 2, "explore: ", expected)
                self.assertEqual(os.path.exists(f"{self.dir}/more.xml"), False)

    def test_first_in_a_space(self):
        text = ('<space name="s"><parameter name="a" type="integer" min="1" max="9"/>'
                '<parameter name="b" type="integer" min="1" max="9"/>'
                '<constraint require="$a + $b &lt; 16"/>{}'
                '<objective output="score: ([0-9]+)" goal="minimise"/><run trials="20"/></space>')
        for policy in ["gaussian", "climb", "tpe", "random", "halving"]:
            with self.subTest(policy=policy):
                self.store = f"{self.dir}/{policy}.db"
                result = self.explore(text.format("<first>\na,b\n7,2\n1,9\n</first>"), BOWL, policy=policy)
                self.assertEqual(result.returncode, 0, result.stderr)
                first = list(dict.fromkeys(self.tried(f"{policy}.db")))
                self.assertEqual(first[0], (7, 2))
                if policy != "climb":
                    self.assertEqual(first[1], (1, 9))
        for first, expected in [("<first>a,b\n7,12</first>", 'one of the 9 values of parameter "b" was expected'),
                                ("<first>a\n7</first>", 'a column of parameter "b" was expected'),
                                ("<first>a,b\n9,9</first>", "a configuration that the constraints allow was expected"),
                                ("<first>a,b\n1,2\n1,2</first>", "another configuration than that of line"),
                                ('<first file="x"/>', "no attribute was expected"),
                                ("<first>a,b\n1,1</first>" * 2, "only one was expected")]:
            with self.subTest(first=first):
                self.store = f"{self.dir}/bad.db"
                result = self.explore(text.format(first), BOWL)
                self.assert_fails(result, 1, expected)
                self.assertEqual(result.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
