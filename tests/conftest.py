"""What holds for all tests."""

from __future__ import annotations

import signal

# A shell starts what runs in its background with Ctrl-C ignored; the tests of Ctrl-C are to say the same there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
