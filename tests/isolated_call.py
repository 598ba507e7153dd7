"""Inside a network namespace: run the stack, call it, and write down what tried to get out.

unshare --map-root-user --net python -m tests.isolated_call HOME RESULT.json WAV...
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.isolated_network import Watch, make_network
from tests.stack import PARLEY, running_stack

CALL_TIMEOUT_S = 110.0


def main() -> None:
    """Write `{"call": report, "status": int, "output": str, "attempts": [...]}`."""
    home, result, *recordings = map(Path, sys.argv[1:])
    make_network()
    watch = Watch()
    before = watch.take()
    with running_stack(home, PARLEY_LLM_PROBE="1") as stack:
        report = home / "call.json"
        call = subprocess.run(
            [PARLEY, "call", "--json", report, *recordings],
            env=stack.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=CALL_TIMEOUT_S,
        )
    result.write_text(
        json.dumps(
            {
                "network": os.readlink("/proc/self/ns/net"),
                "status": call.returncode,
                "output": call.stdout + call.stderr,
                "call": json.loads(report.read_text()) if report.exists() else None,
                "attempts_before": before,
                "attempts": watch.take(),
            }
        )
    )


if __name__ == "__main__":
    main()
