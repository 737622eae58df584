"""What all tests share."""

import os

from hypothesis import settings

# Interpreters that tests start leave the working directory off their path: in the repository's root
# it holds arrayx's sources, which would hide the installed package.
os.environ["PYTHONSAFEPATH"] = "1"

# How long an example takes says more about what else the machine does than about arrayx.
settings.register_profile("arrayx", settings.default, deadline=None)
settings.load_profile("arrayx")
