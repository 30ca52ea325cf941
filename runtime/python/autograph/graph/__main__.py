"""`python -m autograph.graph`"""

import sys

from .command import main

sys.exit(main())
