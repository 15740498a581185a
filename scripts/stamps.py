# SPDX-License-Identifier: MIT
"""What was found good, and is not checked again while all that it depends on is as it was."""

import hashlib
import pathlib
import time

KEPT_SECONDS = 30 * 24 * 3600


def digest(path, cache={}):  # pylint: disable=dangerous-default-value
    """The hash of a file."""
    if path not in cache:
        with open(path, "rb") as file:
            cache[path] = hashlib.sha256(file.read()).hexdigest()
    return cache[path]


class Stamps:
    """A folder with a file for each such check, named by the hash of what it depends on. `common`: what all of them do."""

    def __init__(self, folder, common):
        self.folder, self.common = pathlib.Path(folder), common
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, parts):
        return self.folder / hashlib.sha256("\n".join([self.common, *parts]).encode()).hexdigest()

    def text(self, *parts):
        """What was noted of it; None: it has not been found good."""
        path = self.path(parts)
        if not path.exists():
            return None
        path.touch()
        return path.read_text(encoding="utf-8")

    def note(self, text, *parts):
        self.path(parts).write_text(text, encoding="utf-8")

    def expire(self):
        """Those that nobody has used for a month go."""
        for stamp in self.folder.iterdir():
            if time.time() - stamp.stat().st_mtime > KEPT_SECONDS:
                stamp.unlink(missing_ok=True)
