"""Runs student code: a job in, an observation out. Only the sandbox's own failure is an exception, `SandboxFault`.

profile (limits and rules as data) → view (what can be seen) → warm (the parent) → slot (a job's way) → collect.
"""

from worker.sandbox.fault import SandboxFault
from worker.sandbox.host import Isolation, isolation

__all__ = ["Isolation", "SandboxFault", "isolation"]
