#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mandoc has nothing to warn of in the manual pages.

    mandoc.py PAGE…
"""

import shutil
import subprocess
import sys

if not shutil.which('mandoc'):
    print('SKIP: no mandoc')
    sys.exit(77)
sys.exit(subprocess.run(['mandoc', '-T', 'lint', '-W', 'warning', *sys.argv[1:]], check=False).returncode)
