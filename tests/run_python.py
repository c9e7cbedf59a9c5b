#!/usr/bin/env python3
"""Runs test files as `python3 -m unittest discover` does, and names each case that did not run in a line that scripts/test.sh counts.

    tests/run_python.py FOLDER PATTERN [NAME]...    NAME: only cases whose name contains it
"""

import sys
import unittest


def main():
    folder, pattern, *names = sys.argv[1:]
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{name}*" for name in names] or None
    result = unittest.TextTestRunner().run(loader.discover(folder, pattern, top_level_dir=folder))
    for case, reason in result.skipped:
        print(f"skipped because {reason}: {case.id()}")
    return 0 if result.wasSuccessful() and (result.testsRun or result.skipped) else 1


if __name__ == "__main__":
    sys.exit(main())
