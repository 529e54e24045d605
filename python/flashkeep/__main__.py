"""``python -m flashkeep`` is ``flashkeep``."""

import sys

from flashkeep._command import main

sys.exit(main())
