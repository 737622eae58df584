"""What all tests share."""

import os

# Interpreters that tests start leave the working directory off their path: in the repository's root
# it holds arrayx's sources, which would hide the installed package.
os.environ["PYTHONSAFEPATH"] = "1"
